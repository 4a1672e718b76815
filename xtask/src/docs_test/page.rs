//! From a page to steps: what to run, and what to expect.
//!
//! Two forms. In a `console` block a command follows `$ ` (and `> ` where it goes on), and what follows is its whole
//! output; nothing means that only the exit code counts. In an `sh run` block the lines are a script, and a comment
//! `# -> text`, at a line's end or on a line of its own, names text that the commands since the last such comment
//! print.
//!
//! `…` stands for anything within a line; a line of `…` alone for any number of lines. `[exit 3]` expects that code.

use anyhow::{Result, bail};

use crate::markdown::{Document, Fence};

const ANYTHING: &str = "…";
const EXPECT: &str = "# -> ";

/// What the info string of a block says about running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    NotShell,
    Script,
    Console,
    /// Says openly that no test runs it.
    Untested,
    Untagged,
}

pub(crate) fn tag_of(info: &str) -> Tag {
    let words: Vec<&str> = info.split_whitespace().collect();
    match words.as_slice() {
        ["sh", "run"] => Tag::Script,
        ["console"] => Tag::Console,
        ["sh", "no-run"] => Tag::Untested,
        ["sh" | "bash" | "shell" | "zsh" | "console", ..] => Tag::Untagged,
        _ => Tag::NotShell,
    }
}

/// Whether the commands of this document are run.
pub(crate) fn is_page(path: &str) -> bool {
    path == "README.md" || (path.starts_with("docs/") && path.ends_with(".md"))
}

/// Something to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) script: String,
    pub(crate) exit_code: i32,
    pub(crate) output: Expected,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
    /// These lines and no others.
    Whole(Vec<String>),
    /// Each of these somewhere, in order.
    Within(Vec<String>),
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) exit_code: i32,
    pub(crate) output: String,
}

impl Step {
    pub(crate) fn first_line(&self) -> &str {
        self.script.lines().next().unwrap_or_default()
    }

    pub(crate) fn judge(&self, outcome: &Outcome) -> Result<(), String> {
        let lines: Vec<&str> = outcome.output.lines().map(str::trim_end).collect();
        let matches = match &self.output {
            Expected::Anything => true,
            Expected::Whole(patterns) => whole(patterns, &lines),
            Expected::Within(patterns) => within(patterns, &lines),
        };
        if matches && outcome.exit_code == self.exit_code {
            return Ok(());
        }
        let expected = match &self.output {
            Expected::Anything => String::new(),
            Expected::Whole(patterns) | Expected::Within(patterns) => indent(&patterns.join("\n")),
        };
        let codes = format!("exit code {}, expected {}", outcome.exit_code, self.exit_code);
        let output = indent(&outcome.output);
        Err(format!("        {codes}\n        expected:\n{expected}\n        printed:\n{output}"))
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("          {line}")).collect::<Vec<_>>().join("\n")
}

/// Patterns against all lines, where a pattern of `…` alone takes any number of them.
fn whole(patterns: &[String], lines: &[&str]) -> bool {
    match (patterns.split_first(), lines.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((first, rest)), _) if first == ANYTHING => {
            (0..=lines.len()).any(|taken| whole(rest, &lines[taken..]))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((line, others))) => line_matches(first, line) && whole(rest, others),
    }
}

fn within(patterns: &[String], lines: &[&str]) -> bool {
    let mut lines = lines.iter();
    patterns.iter().all(|pattern| {
        let anywhere = format!("{ANYTHING}{pattern}{ANYTHING}");
        lines.any(|line| line_matches(&anywhere, line))
    })
}

/// `…` takes any text within the line.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((before, after)) = pattern.split_once(ANYTHING) else {
        return pattern == line;
    };
    let Some(rest) = line.strip_prefix(before) else {
        return false;
    };
    let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.any(|at| line_matches(after, &rest[at..]))
}

pub(crate) fn steps(text: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for fence in Document::parse(text).fences {
        match tag_of(fence.info) {
            Tag::Script => steps.extend(script_steps(&fence)),
            Tag::Console => steps.extend(console_steps(&fence)?),
            Tag::NotShell | Tag::Untested | Tag::Untagged => {}
        }
    }
    Ok(steps)
}

fn script_steps(fence: &Fence<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open: Option<Step> = None;
    for (index, line) in fence.body.iter().enumerate() {
        let (code, expected) = match line.split_once(EXPECT) {
            Some((code, expected)) => (code.trim_end(), Some(expected.trim())),
            None => (*line, None),
        };
        // A comment on its own line speaks of the step that the comment before it closed.
        if let (true, None, Some(expected), Some(last)) = (code.is_empty(), &open, expected, steps.last_mut())
        {
            last.expect_within(expected);
            continue;
        }
        if !code.trim().is_empty() || open.is_some() {
            let step = open.get_or_insert_with(|| Step::new(fence.line + 1 + index));
            step.script.push_str(code);
            step.script.push('\n');
        }
        if let (Some(expected), Some(mut step)) = (expected, open.take_if(|_| expected.is_some())) {
            step.expect_within(expected);
            steps.push(step);
        }
    }
    steps.extend(open);
    steps
}

fn console_steps(fence: &Fence<'_>) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, line) in fence.body.iter().enumerate() {
        let number = fence.line + 1 + index;
        if let Some(command) = line.strip_prefix("$ ") {
            let mut step = Step::new(number);
            step.script = format!("{command}\n");
            steps.push(step);
            continue;
        }
        let Some(step) = steps.last_mut() else {
            bail!("line {number}: output before the first `$ ` command")
        };
        match (line.strip_prefix("> "), exit_code(line), &mut step.output) {
            (Some(more), _, Expected::Anything) => {
                step.script.push_str(more);
                step.script.push('\n');
            }
            (_, Some(code), _) => step.exit_code = code,
            (_, None, Expected::Whole(lines)) => lines.push(line.trim_end().to_owned()),
            (_, None, output) => *output = Expected::Whole(vec![line.trim_end().to_owned()]),
        }
    }
    Ok(steps)
}

fn exit_code(line: &str) -> Option<i32> {
    line.trim().strip_prefix("[exit ")?.strip_suffix(']')?.parse().ok()
}

impl Step {
    fn new(line: usize) -> Self {
        Self { line, script: String::new(), exit_code: 0, output: Expected::Anything }
    }

    fn expect_within(&mut self, expected: &str) {
        if let Some(code) = exit_code(expected) {
            self.exit_code = code;
        } else if let Expected::Within(lines) = &mut self.output {
            lines.push(expected.to_owned());
        } else {
            self.output = Expected::Within(vec![expected.to_owned()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within_lines(lines: &[&str]) -> Expected {
        Expected::Within(lines.iter().map(|&line| line.to_owned()).collect())
    }

    fn judge(output: Expected, printed: &str) -> bool {
        let step = Step { output, ..Step::new(1) };
        step.judge(&Outcome { exit_code: 0, output: printed.to_owned() }).is_ok()
    }

    #[test]
    fn tags_say_whether_a_block_is_run() {
        assert_eq!(tag_of("sh run"), Tag::Script);
        assert_eq!(tag_of("console"), Tag::Console);
        assert_eq!(tag_of("sh no-run"), Tag::Untested);
        assert_eq!((tag_of("bash"), tag_of("sh")), (Tag::Untagged, Tag::Untagged));
        assert_eq!((tag_of("json"), tag_of("")), (Tag::NotShell, Tag::NotShell));
    }

    #[test]
    fn a_script_is_cut_at_its_expectations() {
        let text = "```sh run\nid=7\necho $id   # -> 7\n\nwarren ws ls\n# -> demo\n# -> online\nfalse # -> [exit 1]\ntrue\n```\n";
        let steps = steps(text).unwrap();
        let shown: Vec<_> =
            steps.iter().map(|step| (step.line, step.script.as_str(), step.exit_code)).collect();
        assert_eq!(
            shown,
            [(2, "id=7\necho $id\n", 0), (5, "warren ws ls\n\n", 0), (8, "false\n", 1), (9, "true\n", 0)]
        );
        assert_eq!(steps[0].output, within_lines(&["7"]));
        assert_eq!(steps[1].output, within_lines(&["demo", "online"]));
        assert_eq!(steps[3].output, Expected::Anything);
    }

    #[test]
    fn a_console_block_has_commands_and_their_whole_output() {
        let steps = steps("```console\n$ echo a \\\n>   b\na b\n$ false\n[exit 1]\n$ true\n```\n").unwrap();
        assert_eq!(steps[0].script, "echo a \\\n  b\n");
        assert_eq!(steps[0].output, Expected::Whole(vec!["a b".to_owned()]));
        assert_eq!((steps[1].exit_code, &steps[1].output), (1, &Expected::Anything));
        assert_eq!(steps[2].output, Expected::Anything);
    }

    #[test]
    fn output_before_a_command_is_a_mistake_of_the_page() {
        assert!(steps("```console\nhello\n```\n").unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn whole_output_is_compared_with_gaps_where_the_page_leaves_them() {
        let pattern = |lines: &[&str]| Expected::Whole(lines.iter().map(|&line| line.to_owned()).collect());
        assert!(judge(pattern(&["id  … ready", "…", "end"]), "id  42 ready\nx\ny\nend\n"));
        assert!(judge(pattern(&["…"]), ""));
        assert!(!judge(pattern(&["id  … ready"]), "id  42 ready\nmore\n"));
        assert!(!judge(pattern(&["a", "b"]), "a\n"));
    }

    #[test]
    fn expected_words_must_be_printed_in_order() {
        assert!(judge(within_lines(&["one", "t…o"]), "x one y\nz two\n"));
        assert!(!judge(within_lines(&["two", "one"]), "one\ntwo\n"));
        assert!(!judge(within_lines(&["three"]), "one\n"));
    }

    #[test]
    fn a_wrong_exit_code_fails_and_is_told_with_what_was_printed() {
        let told = Step::new(1).judge(&Outcome { exit_code: 3, output: "boom".to_owned() }).unwrap_err();
        assert!(told.contains("exit code 3, expected 0") && told.contains("boom"), "{told}");
    }
}

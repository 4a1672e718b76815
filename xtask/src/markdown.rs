//! As much of Markdown as the checks need: fenced blocks, headings and links.

/// A line outside fenced blocks, with its number from 1.
pub(crate) type ProseLine<'a> = (usize, &'a str);

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    /// The line of the opening fence, from 1.
    pub(crate) line: usize,
    /// What follows the opening fence, for example `sh run`.
    pub(crate) info: &'a str,
    pub(crate) body: Vec<&'a str>,
}

/// A document taken apart.
#[derive(Debug, Default)]
pub(crate) struct Document<'a> {
    pub(crate) prose: Vec<ProseLine<'a>>,
    pub(crate) fences: Vec<Fence<'a>>,
}

impl<'a> Document<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let mut document = Self::default();
        let mut open: Option<(&str, Fence<'a>)> = None;
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            let ticks = &trimmed[..trimmed.len() - trimmed.trim_start_matches('`').len()];
            open = match open.take() {
                Some((opening, fence)) if ticks.len() >= opening.len() && trimmed.trim_end() == ticks => {
                    document.fences.push(fence);
                    None
                }
                Some((opening, mut fence)) => {
                    fence.body.push(line);
                    Some((opening, fence))
                }
                None if ticks.len() >= 3 => {
                    let info = trimmed[ticks.len()..].trim();
                    Some((ticks, Fence { line: index + 1, info, body: Vec::new() }))
                }
                None => {
                    document.prose.push((index + 1, line));
                    None
                }
            };
        }
        document.fences.extend(open.map(|(_, fence)| fence));
        document
    }

    /// The anchors that headings and `<a id="…">` give.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in &self.prose {
            if let Some(heading) = heading_of(line) {
                anchors.push(slug(heading));
            }
            for part in line.split("<a id=\"").skip(1) {
                anchors.extend(part.split_once('"').map(|(id, _)| id.to_owned()));
            }
        }
        anchors
    }

    /// The targets of `[text](target)`, with their line, outside code.
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in &self.prose {
            let text = without_code_spans(line);
            for part in text.split("](").skip(1) {
                if let Some((target, _)) = part.split_once(')') {
                    let target = target.split_whitespace().next().unwrap_or_default();
                    links.push((*number, target.trim_matches(['<', '>']).to_owned()));
                }
            }
        }
        links
    }
}

fn heading_of(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    (rest.len() < line.len() && rest.starts_with(' ')).then(|| rest.trim())
}

/// The anchor that forges give a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("` `")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_apart_with_their_place_and_tag() {
        let document = Document::parse("a\n```sh run\nls\n```\nb\n````md\n```sh\n```\n````\n");
        assert_eq!(document.prose, [(1, "a"), (5, "b")]);
        assert_eq!(document.fences[0], Fence { line: 2, info: "sh run", body: vec!["ls"] });
        assert_eq!(document.fences[1], Fence { line: 6, info: "md", body: vec!["```sh", "```"] });
    }

    #[test]
    fn a_block_that_is_never_closed_reaches_to_the_end() {
        assert_eq!(Document::parse("```sh\nls").fences[0].body, ["ls"]);
    }

    #[test]
    fn links_in_code_are_not_links() {
        let document =
            Document::parse("[a](b.md) `[c](d.md)` ![e](<f.png> \"title\")\n```\n[g](h.md)\n```\n");
        assert_eq!(document.links(), [(1, "b.md".to_owned()), (1, "f.png".to_owned())]);
    }

    #[test]
    fn anchors_are_those_a_forge_would_make() {
        let document =
            Document::parse("# The way of a request\n## `make up`, and S3!\n<a id=\"here\"></a>\n");
        assert_eq!(document.anchors(), ["the-way-of-a-request", "make-up-and-s3", "here"]);
    }
}

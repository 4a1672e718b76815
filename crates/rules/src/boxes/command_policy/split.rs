//! Splits a command line into words, as a shell would split one that has nothing for a shell to do.

use warren_model::RefusalKind;

use super::shown;

pub(super) struct Problem {
    pub kind: RefusalKind,
    pub sentence: String,
}

/// What a shell would act on wherever it stands: operators, expansions, globs, braces, escapes.
const ANYWHERE: &str = ";&|<>()$`\\*?[]{}";
/// What a shell would act on at the beginning of a word: home directories, comments, negation.
const AT_START: &str = "~#!";

/// Words are separated by spaces. Quotes group, and hold no metacharacters either.
pub(super) fn words(text: &str) -> Result<Vec<String>, Problem> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for one in text.chars() {
        check_character(one)?;
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(one);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, _) if word.is_none() && AT_START.contains(one) => return Err(metacharacter(one)),
            (Some(_) | None, _) => word.get_or_insert_default().push(one),
        }
    }
    if quote.is_some() {
        let sentence = "the command has a quote that is not closed".to_owned();
        return Err(Problem { kind: RefusalKind::Malformed, sentence });
    }
    words.extend(word);
    if let Some(first) = words.first().filter(|first| first.contains('=')) {
        let sentence = format!("`{}` sets a variable: use `env` of the tool instead", shown(first));
        return Err(Problem { kind: RefusalKind::Metacharacter, sentence });
    }
    Ok(words)
}

fn check_character(one: char) -> Result<(), Problem> {
    // U+2028 and U+2029 end a line in some readers of logs and terminals.
    let is_control = one.is_control() || matches!(one, '\u{2028}' | '\u{2029}');
    if is_control || ANYWHERE.contains(one) { Err(metacharacter(one)) } else { Ok(()) }
}

fn metacharacter(one: char) -> Problem {
    let name = match one {
        '\n' | '\r' => "a line break".to_owned(),
        one if one.is_control() || matches!(one, '\u{2028}' | '\u{2029}') => {
            format!("the control character U+{:04X}", u32::from(one))
        }
        one => format!("`{one}`"),
    };
    Problem {
        kind: RefusalKind::Metacharacter,
        sentence: format!(
            "the command contains {name}, which is refused: one program at a time, or use `argv`"
        ),
    }
}

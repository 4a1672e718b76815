//! What may be handed to a program (sec/T09).

use warren_model::ErrorCode;
use warren_workspace::Error;
use warren_workspace::shell::Invocation;

/// The kernel's limit for one argument, and ours for all of them with the environment.
const MAX_TOTAL_BYTES: usize = 128 << 10;
const MAX_ARGUMENTS: usize = 4_096;

/// A program and its arguments, checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) program: String,
    pub(crate) rest: Vec<String>,
}

impl Arguments {
    pub(crate) fn of(invocation: &Invocation) -> Result<Self, Error> {
        let words = match invocation {
            Invocation::Argv(words) => words.clone(),
            Invocation::Script(text) if text.trim().is_empty() => Vec::new(),
            Invocation::Script(text) => vec!["/bin/sh".into(), "-c".into(), text.clone()],
        };
        if words.len() > MAX_ARGUMENTS {
            let count = words.len();
            return Err(invalid(format!(
                "the command has {count} arguments; at most {MAX_ARGUMENTS} are taken"
            )));
        }
        // One byte for the NUL after each.
        if words.iter().map(|word| word.len() + 1).sum::<usize>() > MAX_TOTAL_BYTES {
            return Err(invalid(format!("the command is longer than {MAX_TOTAL_BYTES} bytes in all")));
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(invalid("the command contains a NUL byte".into()));
        }
        let mut words = words.into_iter();
        match words.next() {
            Some(program) if !program.is_empty() => Ok(Self { program, rest: words.collect() }),
            _ => Err(invalid("the command is empty".into())),
        }
    }
}

pub(super) fn check_environment_size(environment: &[(String, String)]) -> Result<(), Error> {
    let bytes: usize = environment.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    if bytes > MAX_TOTAL_BYTES {
        return Err(invalid(format!("the environment is longer than {MAX_TOTAL_BYTES} bytes")));
    }
    Ok(())
}

pub(super) fn invalid(detail: String) -> Error {
    Error::operation(ErrorCode::InvalidCommand, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    // T09 (security)
    #[test]
    fn commands_that_no_kernel_takes_are_refused_with_a_reason() {
        let argv = |words: Vec<String>| Arguments::of(&Invocation::Argv(words));
        for words in [
            vec![],
            vec![String::new()],
            vec!["a\0b".into()],
            vec!["x".into(), "y\0".into()],
            vec!["x".repeat(2 << 20)],
            vec!["x".into(); 100_000],
            vec!["x".repeat(64), "y".repeat(128 << 10)],
        ] {
            assert_eq!(argv(words).unwrap_err().code(), ErrorCode::InvalidCommand);
        }
        for script in ["", "  \n", "a\0", &"x".repeat(2 << 20)] {
            let error = Arguments::of(&Invocation::Script(script.into())).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidCommand);
        }
        assert_eq!(argv(vec!["ls".into(), String::new()]).unwrap().rest, [""]);
    }
}

//! What the `workspace_run` tool may start (W61).
//!
//! The policy keeps an honest model on its path and answers in words it can use. **It is not the wall.** A program on
//! the allowlist can be talked into starting others in more ways than any table knows, and a build tool or an
//! interpreter runs whatever the files say. The wall is the box; `local` has none, and is for trusted input. The
//! table in [`arguments`] refuses the best-known detours because it is cheap, not because it is complete.
//!
//! Surprises: the first word is compared byte for byte with the allowlist, so `./git`, `/ws/bin/git`, `GIT` and
//! `git ` are all refused. In `command` mode metacharacters are refused even inside quotes: no shell reads the text,
//! but a refusal is better than a word that means something else than its writer thought. `argv` takes any text.

mod arguments;
mod split;

use warren_model::{CommandMode, ProviderKind, RefusalKind, RunPolicy};

/// Bytes of all words together.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024;
pub const MAX_WORDS: usize = 4_096;
/// Names an allowlist may hold.
pub const MAX_ALLOWED: usize = 1_000;

/// What the model asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    Argv(&'a [String]),
    Command(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Start this program; no shell reads it.
    Argv(Vec<String>),
    /// Give this text to a shell. Only ever inside a box.
    Script(String),
    Refused(CommandRefusal),
}

/// An answer the model can use: what was refused, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRefusal {
    pub kind: RefusalKind,
    /// What was refused and why.
    pub sentence: String,
    /// What is allowed instead.
    pub allowed: String,
}

/// Whether a provider runs commands behind an isolation boundary.
pub const fn is_boxed(provider: ProviderKind) -> bool {
    match provider {
        ProviderKind::Memory | ProviderKind::Local => false,
        ProviderKind::Sandbox | ProviderKind::Docker => true,
    }
}

/// Checks a policy when it is configured, long before a model meets it. The error names the field.
pub fn check(policy: &RunPolicy, provider_is_boxed: bool) -> Result<(), String> {
    match (policy.mode, &policy.allow) {
        (CommandMode::Full, _) if !provider_is_boxed => {
            return Err("run.mode: `full` needs a provider with a box; use `argv` or `command`".into());
        }
        (CommandMode::Full, Some(_)) => {
            return Err("run.allow: an allowlist cannot be kept when a shell reads the command; \
                        leave it out, or use `argv` or `command`"
                .into());
        }
        (CommandMode::Argv | CommandMode::Command | CommandMode::Full, _) => {}
    }
    let allow = policy.allow.as_deref().unwrap_or_default();
    if allow.len() > MAX_ALLOWED {
        return Err(format!("run.allow: at most {MAX_ALLOWED} programs"));
    }
    for (index, name) in allow.iter().enumerate() {
        if !is_program_name(name) {
            return Err(format!(
                "run.allow[{index}]: `{}` is not a program's name: letters, digits and `+-._` only, without a path",
                shown(name)
            ));
        }
        if arguments::is_launcher(name) {
            return Err(format!(
                "run.allow[{index}]: `{name}` starts any program it is given; list those programs instead"
            ));
        }
    }
    Ok(())
}

/// The programs of an allowlist that run whatever code the files hold. Allowed, since an operator listed them, but
/// worth a word: with one of these the list holds nothing back.
pub fn unrestrained(policy: &RunPolicy) -> Vec<&str> {
    let names = policy.allow.iter().flatten().map(String::as_str);
    names.filter(|name| arguments::runs_any_code(name)).collect()
}

pub fn decide(policy: &RunPolicy, provider_is_boxed: bool, request: Request<'_>) -> Decision {
    match judge(policy, provider_is_boxed, request) {
        Ok(decision) => decision,
        Err(refusal) => Decision::Refused(refusal),
    }
}

/// Whether this can be the name of a variable at all.
pub fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether no caller, person or model, may set this variable for a command.
pub fn is_reserved_variable(name: &str) -> bool {
    arguments::is_reserved_variable(name)
}

/// Whether the model may set this variable: not one that names other programs or code to load (sec/T03).
pub fn check_variable(name: &str) -> Result<(), CommandRefusal> {
    if is_variable_name(name) && !arguments::is_reserved_for_models(name) {
        return Ok(());
    }
    Err(CommandRefusal {
        kind: RefusalKind::Variable,
        sentence: format!("the variable `{}` may not be set", shown(name)),
        allowed:
            "variables with names of letters, digits and `_` that do not change how programs are found or \
                  loaded"
                .into(),
    })
}

fn judge(
    policy: &RunPolicy,
    provider_is_boxed: bool,
    request: Request<'_>,
) -> Result<Decision, CommandRefusal> {
    let refuse = |kind, sentence: String| CommandRefusal {
        kind,
        sentence,
        allowed: allowed_sentence(policy, provider_is_boxed),
    };
    check_size(request).map_err(|sentence| refuse(RefusalKind::Malformed, sentence))?;
    let words = match (request, policy.mode) {
        (Request::Argv(words), CommandMode::Argv | CommandMode::Command | CommandMode::Full) => {
            words.to_vec()
        }
        (Request::Command(_), CommandMode::Argv) => {
            let sentence = "a command line is not taken here: send `argv`, a list of words".to_owned();
            return Err(refuse(RefusalKind::Mode, sentence));
        }
        (Request::Command(text), CommandMode::Command) => {
            split::words(text).map_err(|problem| refuse(problem.kind, problem.sentence))?
        }
        // An allowlist cannot be kept by a shell; `check` refuses the pair, and so does this.
        (Request::Command(text), CommandMode::Full) if provider_is_boxed && policy.allow.is_none() => {
            return Ok(Decision::Script(text.to_owned()));
        }
        (Request::Command(_), CommandMode::Full) => {
            let sentence =
                "a shell is only given to a workspace with a box and without an allowlist".to_owned();
            return Err(refuse(RefusalKind::Mode, sentence));
        }
    };
    judge_words(policy, provider_is_boxed, &words).map_err(|(kind, sentence)| refuse(kind, sentence))?;
    Ok(Decision::Argv(words))
}

fn judge_words(policy: &RunPolicy, is_boxed: bool, words: &[String]) -> Result<(), (RefusalKind, String)> {
    let Some(program) = words.first().filter(|program| !program.is_empty()) else {
        return Err((RefusalKind::Malformed, "the command has no program".into()));
    };
    let Some(allow) = &policy.allow else {
        return if is_boxed {
            Ok(())
        } else {
            let sentence = format!("`{}` may not be run: this workspace has no allowlist", shown(program));
            Err((RefusalKind::NothingAllowed, sentence))
        };
    };
    if program.contains('/') {
        let sentence = format!("`{}` has a path: name the program alone", shown(program));
        return Err((RefusalKind::ProgramPath, sentence));
    }
    if !allow.contains(program) {
        let sentence = format!("`{}` is not on the allowlist", shown(program));
        return Err((RefusalKind::ProgramNotAllowed, sentence));
    }
    if arguments::is_launcher(program) {
        let sentence = format!("`{program}` starts other programs, which the allowlist could not judge");
        return Err((RefusalKind::Launcher, sentence));
    }
    match arguments::detour(program, &words[1..]) {
        Some(detour) => Err((RefusalKind::Argument, detour)),
        None => Ok(()),
    }
}

fn check_size(request: Request<'_>) -> Result<(), String> {
    let (words, bytes, has_nul) = match request {
        Request::Argv(words) => (
            words.len(),
            words.iter().map(|word| word.len() + 1).sum(),
            words.iter().any(|word| word.contains('\0')),
        ),
        Request::Command(text) => (1, text.len(), text.contains('\0')),
    };
    if has_nul {
        return Err("the command contains a NUL byte".into());
    }
    if words > MAX_WORDS {
        return Err(format!("the command has {words} words; at most {MAX_WORDS} are taken"));
    }
    if bytes > MAX_COMMAND_BYTES {
        return Err(format!("the command has {bytes} bytes; at most {MAX_COMMAND_BYTES} are taken"));
    }
    if let Request::Command(text) = request
        && text.trim().is_empty()
    {
        return Err("the command is empty".into());
    }
    Ok(())
}

fn allowed_sentence(policy: &RunPolicy, is_boxed: bool) -> String {
    const SHOWN: usize = 50;
    let form = match policy.mode {
        CommandMode::Argv => "`argv`",
        CommandMode::Command => "`argv`, or a plain `command` without metacharacters,",
        CommandMode::Full if is_boxed => "`argv` or `command`",
        CommandMode::Full => "`argv`",
    };
    match &policy.allow {
        None if is_boxed => format!("{form} with any program"),
        None => "nothing: an operator can set `run.allow` in the workspace's provider config".to_owned(),
        Some(allow) if allow.is_empty() => "nothing: `run.allow` is empty".to_owned(),
        Some(allow) => {
            let names = allow.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = allow.len().saturating_sub(SHOWN);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{form} with one of these programs: {names}{rest}")
        }
    }
}

fn is_program_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    (1..=255).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with(['-', '.'])
}

/// Text of the model's, fit for a sentence: short, and without control characters.
fn shown(text: &str) -> String {
    let clean: String =
        text.chars().take(64).map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect();
    if text.chars().nth(64).is_some() { format!("{clean}…") } else { clean }
}

#[cfg(test)]
mod tests;

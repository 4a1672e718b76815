//! What the `workspace_run` tool may start (W61).
//!
//! The policy keeps an honest model on its path and answers in words it can use. **It is not the wall.** It decides which
//! program Warren starts, and nothing about what that program does then. Many can be talked into starting others, in more ways
//! than any table of options knows; those that are known to (`git`, `tar`, `sed`, interpreters …) are run in a box, where
//! the wall is, and without one only if an operator has named them in `allow_unrestrained`. `local` has no box, and is
//! for trusted input: an allowed `cp` writes wherever Warren's user may.
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
    check_unrestrained_names(policy)
}

fn check_unrestrained_names(policy: &RunPolicy) -> Result<(), String> {
    let named = &policy.allow_unrestrained;
    if named.len() > MAX_ALLOWED {
        return Err(format!("run.allow_unrestrained: at most {MAX_ALLOWED} programs"));
    }
    match named.iter().position(|name| !is_program_name(name)) {
        Some(index) => Err(format!(
            "run.allow_unrestrained[{index}]: `{}` is not a program's name: letters, digits and `+-._` only, without a path",
            shown(&named[index])
        )),
        None => Ok(()),
    }
}

/// Checks a policy that is written now. One that was written before is kept as it is: what it lists and is not run any more
/// is refused when it is asked for.
pub fn check_new(policy: &RunPolicy, provider_is_boxed: bool) -> Result<(), String> {
    check(policy, provider_is_boxed)?;
    let listed = policy.allow.iter().flatten().enumerate();
    let mut unheld = listed.filter(|(_, name)| needs_box(policy, provider_is_boxed, name));
    match unheld.next() {
        Some((index, name)) => Err(format!(
            "run.allow[{index}]: `{name}` can start any other program, so that a list with it holds nothing back; use a \
             provider with a box, or name it in `run.allow_unrestrained`"
        )),
        None => Ok(()),
    }
}

/// Whether a listed program is not run for what it can start.
fn needs_box(policy: &RunPolicy, provider_is_boxed: bool, program: &str) -> bool {
    let is_named = policy.allow_unrestrained.iter().any(|name| name == program);
    !provider_is_boxed && !is_named && arguments::starts_others(program)
}

/// The programs that a policy lets run and that can start any other. With one of these the list holds nothing back.
pub fn unrestrained(policy: &RunPolicy) -> Vec<&str> {
    let listed = policy.allow.iter().flatten().filter(|name| arguments::starts_others(name));
    let mut names: Vec<&str> = listed.chain(&policy.allow_unrestrained).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What whoever writes such a policy is told; absent where there is nothing to say.
pub fn warning(policy: &RunPolicy, provider_is_boxed: bool) -> Option<String> {
    let names = unrestrained(policy);
    if names.is_empty() {
        return None;
    }
    let names: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
    let held = match provider_is_boxed {
        true => "the box is what holds them",
        false => {
            "and this provider has no box: a model that may run them may run everything, as the user who runs Warren"
        }
    };
    Some(format!("run: {} can start any other program; {held}", names.join(", ")))
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
    let allow = match &policy.allow {
        Some(allow) => allow.as_slice(),
        None if is_boxed => return Ok(()),
        None if policy.allow_unrestrained.is_empty() => {
            let sentence = format!("`{}` may not be run: this workspace has no allowlist", shown(program));
            return Err((RefusalKind::NothingAllowed, sentence));
        }
        None => &[],
    };
    if program.contains('/') {
        let sentence = format!("`{}` has a path: name the program alone", shown(program));
        return Err((RefusalKind::ProgramPath, sentence));
    }
    if policy.allow_unrestrained.contains(program) {
        return Ok(());
    }
    if !allow.contains(program) {
        let sentence = format!("`{}` is not on the allowlist", shown(program));
        return Err((RefusalKind::ProgramNotAllowed, sentence));
    }
    if arguments::is_launcher(program) {
        let sentence = format!("`{program}` starts other programs, which the allowlist could not judge");
        return Err((RefusalKind::Launcher, sentence));
    }
    if needs_box(policy, is_boxed, program) {
        let sentence = format!(
            "`{program}` can start other programs, which the allowlist could not judge; without a box it is run only if an \
             operator names it in `run.allow_unrestrained`"
        );
        return Err((RefusalKind::Launcher, sentence));
    }
    Ok(())
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
        None if policy.allow_unrestrained.is_empty() => {
            "nothing: an operator can set `run.allow` in the workspace's provider config".to_owned()
        }
        allow => {
            let listed = allow.iter().flatten().filter(|name| !needs_box(policy, is_boxed, name));
            let allow: Vec<&str> = listed.chain(&policy.allow_unrestrained).map(String::as_str).collect();
            if allow.is_empty() {
                return "nothing: `run.allow` lists no program that is run here".to_owned();
            }
            let names = allow.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
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

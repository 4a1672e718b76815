//! The environment of a command, built from nothing (W33).

use std::collections::BTreeMap;

use warren_doors::Environment;
use warren_model::ErrorCode;
use warren_workspace::Error;
use warren_workspace::shell::{is_reserved_variable, is_variable_name};

use super::arguments::{check_environment_size, invalid};

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// By this variable the processes of one command are found again, wherever they went (`group`).
pub(super) const RUN_MARK: &str = "WARREN_RUN_ID";

pub(crate) struct Sources<'a> {
    pub(crate) host: &'a Environment,
    pub(crate) pass_env: &'a [String],
    pub(crate) home: &'a str,
    pub(crate) has_terminal: bool,
    /// Programs of Warren's own, found after all others.
    pub(crate) programs: Option<&'a str>,
    /// By Warren itself.
    pub(crate) given: &'a BTreeMap<String, String>,
    pub(crate) of_command: &'a BTreeMap<String, String>,
    /// Absent in a box: there the box knows what belongs to a command.
    pub(crate) mark: Option<&'a str>,
}

/// All variables of the command; later sources overrule earlier ones.
pub(crate) fn build(sources: &Sources<'_>) -> Result<Vec<(String, String)>, Error> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: &str| variables.insert(name.to_owned(), value.to_owned());
    match sources.programs {
        Some(programs) => set("PATH", &format!("{DEFAULT_PATH}:{programs}")),
        None => set("PATH", DEFAULT_PATH),
    };
    set("HOME", sources.home);
    set("LANG", "C.UTF-8");
    if sources.has_terminal {
        set("TERM", "xterm-256color");
    }
    for name in sources.pass_env {
        if let Some(value) = sources.host.get(name) {
            set(name, value);
        }
    }
    for (name, value) in sources.given {
        set(name, value);
    }
    for (name, value) in sources.of_command {
        check_variable(name, value)?;
        set(name, value);
    }
    if let Some(mark) = sources.mark {
        set(RUN_MARK, mark);
    }
    let variables: Vec<_> = variables.into_iter().collect();
    check_environment_size(&variables)?;
    Ok(variables)
}

fn check_variable(name: &str, value: &str) -> Result<(), Error> {
    if !is_variable_name(name) {
        return Err(invalid(format!("`{}` is not a name of a variable", name.escape_debug())));
    }
    if value.contains('\0') {
        return Err(invalid(format!("the value of {name} contains a NUL byte")));
    }
    if is_reserved_variable(name) {
        let detail = format!("the variable {name} is reserved and cannot be set for a command");
        return Err(Error::operation(ErrorCode::CommandRefused, detail));
    }
    Ok(())
}

/// An operator names what is passed, so that almost anything may be; not Warren's own secrets.
pub(crate) fn check_pass_env(names: &[String]) -> Result<(), Error> {
    for (index, name) in names.iter().enumerate() {
        if !is_variable_name(name) || name.starts_with("WARREN_") {
            let detail =
                format!("pass_env[{index}]: `{}` is not a name that can be passed", name.escape_debug());
            return Err(Error::permanent(ErrorCode::InvalidConfig, detail));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_with(pass_env: &[&str], of_command: &[(&str, &str)]) -> Result<Vec<(String, String)>, Error> {
        let host: Environment =
            [("API_KEY", "hunter2"), ("EDITOR", "vi"), ("PATH", "/host/bin")].into_iter().collect();
        let pass_env: Vec<_> = pass_env.iter().map(|&name| name.to_owned()).collect();
        let of_command =
            of_command.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        build(&Sources {
            host: &host,
            pass_env: &pass_env,
            home: "/home",
            has_terminal: false,
            programs: None,
            given: &BTreeMap::new(),
            of_command: &of_command,
            mark: Some("m"),
        })
    }

    // W33
    #[test]
    fn nothing_of_the_host_is_passed_unless_it_is_named() {
        let names = |variables: Vec<(String, String)>| {
            variables.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(build_with(&[], &[]).unwrap()), "HOME LANG PATH WARREN_RUN_ID");
        let passed = build_with(&["EDITOR", "PATH", "ABSENT"], &[("LANG", "de_DE")]).unwrap();
        assert!(passed.contains(&("EDITOR".into(), "vi".into())));
        assert!(passed.contains(&("PATH".into(), "/host/bin".into())));
        assert!(passed.contains(&("LANG".into(), "de_DE".into())));
        assert!(!passed.iter().any(|(name, _)| name == "API_KEY" || name == "ABSENT"));
    }

    // W33, T03 (security)
    #[test]
    fn reserved_and_malformed_names_are_refused() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "PATH",
            "WARREN_TOKEN",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "GIT_SSH_COMMAND",
        ] {
            let error = build_with(&[], &[(name, "x")]).unwrap_err();
            assert_eq!(error.code(), ErrorCode::CommandRefused, "{name}");
            assert!(error.to_string().contains(name));
        }
        for name in ["", "A=B", "1A", "A B", "A\0", "é"] {
            assert_eq!(
                build_with(&[], &[(name, "x")]).unwrap_err().code(),
                ErrorCode::InvalidCommand,
                "{name}"
            );
        }
        assert!(build_with(&[], &[("GIT_AUTHOR_NAME", "x")]).is_ok());
        assert_eq!(check_pass_env(&["WARREN_TOKEN".into()]).unwrap_err().code(), ErrorCode::InvalidConfig);
    }
}

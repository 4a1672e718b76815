//! Exit codes: one table, from which the reference page is made.

use std::process::ExitCode;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(pub(crate) u8);

impl Exit {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const FAILURE: Self = Self(1);
    pub(crate) const USAGE: Self = Self(2);
    pub(crate) const NOT_FOUND: Self = Self(3);
    pub(crate) const NOT_PERMITTED: Self = Self(4);
    pub(crate) const CONFLICT: Self = Self(5);
    pub(crate) const UNAVAILABLE: Self = Self(6);
    /// A session that waits for somebody.
    pub(crate) const WAITING: Self = Self(7);
    pub(crate) const INTERRUPTED: Self = Self(128 + 2);
    pub(crate) const COMMAND_TIMED_OUT: Self = Self(124);
    pub(crate) const COMMAND_NOT_RUN: Self = Self(125);
    pub(crate) const COMMAND_REFUSED: Self = Self(126);
    pub(crate) const COMMAND_NOT_FOUND: Self = Self(127);

    /// For the reference page.
    pub(crate) const TABLE: &[(&str, &str)] = &[
        ("0", "It worked. `doctor`: nothing failed, warnings at most."),
        ("1", "It failed in a way that no other code names. `doctor`: at least one check failed."),
        ("2", "The command line is not valid."),
        ("3", "Something that was named does not exist."),
        ("4", "No valid token, or one that may not do this."),
        ("5", "It clashes with what is there: a wrong state, a changed version, an ambiguous name."),
        ("6", "The server or a part of it is not available; the same command may work later."),
        (
            "7",
            "`run`, `session follow`, `session resume`: the session waits for somebody; stderr says for what and how to go on.",
        ),
        ("124", "`ws exec`, `ws shell`, `ws attach`: the command ran into its time limit."),
        ("125", "`ws exec`, `ws shell`, `ws attach`: Warren could not carry the command through."),
        ("126", "`ws exec`, `ws shell`: the command was refused by the workspace's policy."),
        ("127", "`ws exec`, `ws shell`: the program was not found in the workspace."),
        (
            "130",
            "`run`, `session follow`, `session resume`: the run was interrupted, or left with Ctrl-C; it can be gone on with.",
        ),
        ("128 + n", "`ws exec`, `ws shell`, `ws attach`: signal n ended the command."),
        ("any other", "`ws exec`, `ws shell`, `ws attach`: the command's own exit code."),
    ];

    /// How a command in a workspace ended.
    pub(crate) fn of_command(exit_code: Option<i32>, signal: Option<i32>, timed_out: bool) -> Self {
        if timed_out {
            return Self::COMMAND_TIMED_OUT;
        }
        let byte = |code: i32| u8::try_from(code.rem_euclid(256)).unwrap_or(u8::MAX);
        match (exit_code, signal) {
            (Some(code), _) => Self(byte(code)),
            (None, Some(signal)) => Self(byte(128 + signal)),
            (None, None) => Self::COMMAND_NOT_RUN,
        }
    }

    /// A problem's exit code follows its HTTP status, so that a new code needs no change here.
    pub(crate) const fn of_status(status: u16) -> Self {
        match status {
            404 => Self::NOT_FOUND,
            401 | 403 => Self::NOT_PERMITTED,
            409 | 412 => Self::CONFLICT,
            429 | 503 => Self::UNAVAILABLE,
            _ => Self::FAILURE,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11
    #[test]
    fn a_command_s_end_becomes_an_exit_code() {
        let exit = |exit_code, signal, timed_out| Exit::of_command(exit_code, signal, timed_out).0;
        assert_eq!(exit(Some(0), None, false), 0);
        assert_eq!(exit(Some(7), None, false), 7);
        assert_eq!(exit(None, Some(9), false), 137);
        assert_eq!(exit(None, Some(9), true), 124);
        assert_eq!(exit(None, None, false), 125);
    }
}

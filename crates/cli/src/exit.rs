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
        ("124", "`ws exec`: the command ran into its time limit."),
        ("125", "`ws exec`: Warren could not carry the command through."),
        ("126", "`ws exec`: the command was refused by the workspace's policy."),
        ("127", "`ws exec`: the program was not found in the workspace."),
        ("128 + n", "`ws exec`: signal n ended the command."),
        ("any other", "`ws exec`: the command's own exit code."),
    ];

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

//! The door: the only place that starts a program.
//!
//! Between fork and exec the child makes itself a session of its own, goes to its directory by handle (a path could be
//! swapped meanwhile), takes the terminal if it has one, takes no signal settings along, and marks every descriptor but 0,
//! 1 and 2 to close on exec.

#![expect(unsafe_code, reason = "`pre_exec` and `close_range`; each block says why it holds")]

use std::io;
use std::process::Stdio;

use rustix::fd::OwnedFd;
use rustix::process::{Resource, Rlimit, fchdir, getrlimit, ioctl_tiocsctty, setrlimit, setsid};
use tokio::process::{Child, Command};
use warren_doors::reset_signals;
use warren_model::ErrorCode;
use warren_workspace::Error;

use super::arguments::Arguments;

/// The soft limit that login shells give.
const USUAL_DESCRIPTORS: u64 = 1_024;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) arguments: Arguments,
    pub(super) environment: Vec<(String, String)>,
    pub(super) directory: OwnedFd,
    pub(super) streams: Streams,
}

/// Where a program's input comes from and its output goes to.
#[derive(Debug)]
pub(super) enum Streams {
    /// A pipe each, since the caller wants to tell output from errors.
    Separate,
    /// A pipe for input, and one for output and errors together: they stay in the order in which they were written.
    Joined(OwnedFd),
    /// The terminal's own end.
    Terminal(OwnedFd),
}

impl Streams {
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }
}

pub(super) fn spawn(plan: Plan) -> Result<Child, Error> {
    let program = plan.arguments.program.clone();
    start(plan).map_err(|error| failure(&program, &error))
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
fn start(plan: Plan) -> io::Result<Child> {
    let mut command = Command::new(&plan.arguments.program);
    command.args(&plan.arguments.rest).env_clear().envs(plan.environment).kill_on_drop(true);
    let has_terminal = plan.streams.is_terminal();
    match plan.streams {
        Streams::Separate => command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()),
        Streams::Joined(output) => {
            command.stdin(Stdio::piped()).stdout(Stdio::from(output.try_clone()?)).stderr(Stdio::from(output))
        }
        Streams::Terminal(terminal) => command
            .stdin(Stdio::from(terminal.try_clone()?))
            .stdout(Stdio::from(terminal.try_clone()?))
            .stderr(Stdio::from(terminal)),
    };
    let directory = plan.directory;
    let descriptors = usual_descriptors();
    // SAFETY: the closure runs in the child between fork and exec, where only async-signal-safe calls are allowed. It
    // makes bare system calls on values that were made before the fork; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            setsid()?;
            fchdir(&directory)?;
            setrlimit(Resource::Nofile, descriptors)?;
            if has_terminal {
                ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
            reset_signals()?;
            close_on_exec_from_3()
        });
    }
    command.spawn()
}

/// Programs that use `select` break with more than 1,024 descriptors, so that a server which raised its own limit does
/// not hand it on.
fn usual_descriptors() -> Rlimit {
    let own = getrlimit(Resource::Nofile);
    Rlimit { current: Some(own.current.unwrap_or(USUAL_DESCRIPTORS).min(USUAL_DESCRIPTORS)), ..own }
}

/// Handles of ours are close-on-exec from birth; this is for those that Warren itself was started with.
fn close_on_exec_from_3() -> io::Result<()> {
    // SAFETY: a bare system call with integer arguments; descriptors are only flagged, none is closed here, so none
    // that Rust owns is invalidated.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if result == 0 {
        return Ok(());
    }
    // Before Linux 5.11. As many as a process usually may have.
    for descriptor in 3..4_096 {
        // SAFETY: as above; a descriptor that is not open answers EBADF, which does not matter.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

fn failure(program: &str, error: &io::Error) -> Error {
    let shown: String = program.chars().take(200).collect();
    match error.kind() {
        io::ErrorKind::NotFound => {
            Error::operation(ErrorCode::ProgramNotFound, format!("the program `{shown}` was not found"))
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
            Error::operation(ErrorCode::ProgramNotFound, format!("the program `{shown}` cannot be executed"))
        }
        io::ErrorKind::ArgumentListTooLong | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
            Error::operation(ErrorCode::InvalidCommand, "the host does not take this command")
        }
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => Error::operation(
            ErrorCode::ProgramNotFound,
            format!("the program `{shown}` is not of a kind that the host can execute"),
        ),
        _ if matches!(
            error.raw_os_error(),
            Some(libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM)
        ) =>
        {
            Error::operation(
                ErrorCode::TooManyRequests,
                "the host has no room for another process; try again",
            )
        }
        _ => {
            tracing::error!(%error, "a process could not be started");
            Error::operation(ErrorCode::Internal, "the process could not be started")
        }
    }
}

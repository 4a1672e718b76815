//! Starting a program: the only place that makes a process.
//!
//! The child borrows init's memory until it executes its program (as `vfork` does), which costs a third of a copy. Init
//! stands still for that moment, so the child may only make system calls on what was prepared before.
//!
//! Each program is a session of its own and the **subreaper** of its descendants: whoever is orphaned beneath it becomes
//! its child, and when it ends, all that is left becomes ours. So nothing that comes to init is anyone's: see `children`.

#![expect(unsafe_code, reason = "clone and exec; each block says why it holds")]

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use libc::{c_char, c_int, c_void};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use warren_init::{Failure, FailureKind, SpawnLimits};

use super::memory::OutOfMemoryScore;

const STACK_BYTES: usize = 64 << 10;
/// For programs without a `PATH` of their own.
const USUAL_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

#[derive(Debug)]
pub(super) struct Launcher {
    /// The child's, while it borrows our memory. One at a time: we stand still meanwhile.
    stack: Vec<u128>,
    is_process_1: bool,
    score: Option<OutOfMemoryScore>,
}

#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) argv: Vec<Vec<u8>>,
    pub(super) env: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) directory: BorrowedFd<'a>,
    /// 0, 1 and 2.
    pub(super) stdio: [BorrowedFd<'a>; 3],
    pub(super) has_terminal: bool,
    pub(super) limits: SpawnLimits,
}

/// Everything the child needs, as the kernel takes it.
#[derive(Debug)]
struct Prepared {
    candidates: Vec<*const c_char>,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    directory: RawFd,
    stdio: [RawFd; 3],
    has_terminal: bool,
    limits: [Option<(Resource, libc::rlimit)>; 4],
    dies_with_parent: bool,
    /// Written by the child: how far it came, and why no further.
    step: LaunchStage,
    errno: c_int,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaunchStage {
    Prepare,
    EnterDirectory,
    Execute,
}

type Resource = libc::__rlimit_resource_t;

impl Launcher {
    pub(super) fn new(is_process_1: bool, score: Option<OutOfMemoryScore>) -> Self {
        Self { stack: vec![0; STACK_BYTES / size_of::<u128>()], is_process_1, score }
    }

    /// The process that now runs the program.
    pub(super) fn launch(&mut self, plan: Plan<'_>) -> Result<Pid, Failure> {
        let (argv, env) = (terminated(plan.argv)?, variables(plan.env)?);
        let program = argv.first().filter(|program| program.len() > 1).ok_or(INVALID)?;
        let candidates = candidates(program, &env);
        let mut prepared = Prepared {
            candidates: pointers(&candidates),
            argv: pointers(&argv),
            env: pointers(&env),
            directory: plan.directory.as_raw_fd(),
            stdio: plan.stdio.map(|descriptor| descriptor.as_raw_fd()),
            has_terminal: plan.has_terminal,
            limits: limits(plan.limits),
            dies_with_parent: !self.is_process_1,
            step: LaunchStage::Prepare,
            errno: 0,
        };
        let top = self.stack.as_mut_ptr_range().end.cast::<c_void>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        self.score.iter().for_each(OutOfMemoryScore::raise);
        // SAFETY: `become_program` gets memory that outlives it, since CLONE_VFORK returns only after the child executed
        // its program or ended. It runs on a stack of its own, of whose end (aligned to 16) `top` is the address. All
        // signals are blocked, so no handler of ours can run in it.
        let number = unsafe { libc::clone(become_program, top, flags, (&raw mut prepared).cast()) };
        let clone_errno = last_errno();
        self.score.iter().for_each(OutOfMemoryScore::lower);
        let Some(child) = Pid::from_raw(number.max(0)) else {
            return Err(system(clone_errno));
        };
        // SAFETY: `prepared` is alive; the child wrote through a pointer, which the compiler must not overlook.
        let (errno, step) = unsafe {
            ((&raw const prepared.errno).read_volatile(), (&raw const prepared.step).read_volatile())
        };
        if errno == 0 {
            return Ok(child);
        }
        // It has ended or is about to: no program took its place.
        let _ = waitpid(Some(child), WaitOptions::empty());
        Err(failure(step, errno))
    }
}

/// In the child. Allocates nothing, takes no lock, and never returns.
extern "C" fn become_program(prepared: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a `Prepared` that nobody else touches until this process has executed or ended. What
    // follows are system calls on descriptors and strings that it holds.
    unsafe {
        let prepared = &mut *prepared.cast::<Prepared>();
        let errno = match prepare(prepared) {
            Ok(()) => execute(prepared),
            Err(errno) => errno,
        };
        (&raw mut prepared.errno).write_volatile(errno.max(1));
        libc::_exit(127)
    }
}

/// SAFETY: only in the child, see `become_program`.
unsafe fn prepare(prepared: &mut Prepared) -> Result<(), c_int> {
    // SAFETY: system calls on numbers and on memory that `prepared` or this function owns.
    unsafe {
        libc::setsid();
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        if prepared.dies_with_parent {
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
        }
        (&raw mut prepared.step).write_volatile(LaunchStage::EnterDirectory);
        check(libc::fchdir(prepared.directory))?;
        (&raw mut prepared.step).write_volatile(LaunchStage::Prepare);
        for (target, source) in prepared.stdio.iter().enumerate() {
            check(libc::dup2(*source, target as c_int))?;
        }
        if prepared.has_terminal {
            check(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
        }
        for (resource, limit) in prepared.limits.iter().flatten() {
            check(libc::setrlimit(*resource, limit))?;
        }
        // All of ours close by themselves; this holds even if one should not.
        libc::syscall(libc::SYS_close_range, 3, c_int::MAX, 0);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        check(libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()))?;
        (&raw mut prepared.step).write_volatile(LaunchStage::Execute);
    }
    Ok(())
}

/// Tries one place after another, as shells do. Returns only if none holds a program, with the reason.
///
/// SAFETY: only in the child, see `become_program`.
unsafe fn execute(prepared: &Prepared) -> c_int {
    let mut reason = libc::ENOENT;
    for candidate in &prepared.candidates[..prepared.candidates.len().saturating_sub(1)] {
        // SAFETY: all three are arrays of terminated strings, ended by a null pointer.
        unsafe { libc::execve(*candidate, prepared.argv.as_ptr(), prepared.env.as_ptr()) };
        match last_errno() {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => reason = libc::EACCES,
            other => return other,
        }
    }
    reason
}

fn check(result: c_int) -> Result<(), c_int> {
    if result < 0 { Err(last_errno()) } else { Ok(()) }
}

fn last_errno() -> c_int {
    // SAFETY: the C library's own variable, of this thread.
    unsafe { *libc::__errno_location() }
}

const INVALID: Failure = Failure { kind: FailureKind::Invalid, errno: 0 };

pub(super) fn system(errno: c_int) -> Failure {
    Failure { kind: FailureKind::System, errno }
}

pub(super) fn refused(errno: Errno) -> Failure {
    system(errno.raw_os_error())
}

fn failure(step: LaunchStage, errno: c_int) -> Failure {
    let kind = match errno {
        _ if step == LaunchStage::Prepare => FailureKind::System,
        _ if step == LaunchStage::EnterDirectory => FailureKind::BadDirectory,
        libc::ENOENT | libc::ENOTDIR => FailureKind::ProgramNotFound,
        libc::EACCES | libc::EPERM | libc::EISDIR | libc::ENOEXEC | libc::ELIBBAD => {
            FailureKind::ProgramNotExecutable
        }
        libc::E2BIG | libc::ENAMETOOLONG => FailureKind::Invalid,
        _ => FailureKind::System,
    };
    Failure { kind, errno }
}

fn terminated(words: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Failure> {
    words.into_iter().map(with_nul).collect()
}

fn with_nul(mut word: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if word.contains(&0) {
        return Err(INVALID);
    }
    word.push(0);
    Ok(word)
}

fn variables(env: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Vec<Vec<u8>>, Failure> {
    let variable = |(mut name, value): (Vec<u8>, Vec<u8>)| {
        if name.is_empty() || name.contains(&b'=') {
            return Err(INVALID);
        }
        name.push(b'=');
        name.extend(value);
        with_nul(name)
    };
    env.into_iter().map(variable).collect()
}

/// Where the program may be. `program` and the variables end with NUL.
fn candidates(program: &[u8], env: &[Vec<u8>]) -> Vec<Vec<u8>> {
    if program.contains(&b'/') {
        return vec![program.to_vec()];
    }
    let path = env.iter().find_map(|variable| variable.strip_prefix(b"PATH=")?.strip_suffix(&[0]));
    let directories = path.unwrap_or(USUAL_PATH).split(|byte| *byte == b':');
    directories
        .map(|directory| if directory.is_empty() { &b"."[..] } else { directory })
        .map(|directory| [directory, b"/", program].concat())
        .collect()
}

fn pointers(strings: &[Vec<u8>]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr().cast()).chain([std::ptr::null()]).collect()
}

fn limits(limits: SpawnLimits) -> [Option<(Resource, libc::rlimit)>; 4] {
    let limit = |resource, value: Option<u64>| {
        let value = value?.min(highest(resource));
        Some((resource, libc::rlimit { rlim_cur: value, rlim_max: value }))
    };
    [
        limit(libc::RLIMIT_NOFILE, limits.open_files),
        limit(libc::RLIMIT_FSIZE, limits.file_bytes),
        limit(libc::RLIMIT_AS, limits.address_space_bytes),
        limit(libc::RLIMIT_CPU, limits.cpu_seconds),
    ]
}

/// What may be asked for without privileges: to ask for more would be refused.
fn highest(resource: Resource) -> u64 {
    let mut own = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills the structure it is given; on an error it stays as it is.
    unsafe { libc::getrlimit(resource, &raw mut own) };
    own.rlim_max
}

//! What init does first: it lets go of everything it was started with, and gives up what no box needs.
//!
//! Order matters: the channel is taken, everything else is closed, signals are blocked; a socket for owners is made
//! while it still may be; Landlock comes last, since it holds for init too.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use warren_confined_fs::Root;
use warren_init::Facts;

use super::descriptors;
use super::memory::OutOfMemoryScore;
use super::options::{Channel, Landlock, Options};
use super::own_filter;
use super::owner::{self, OwnerDescriptors};
use super::signals;

/// What the loop begins with.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) ends: OwnerDescriptors,
    pub(super) root: Root,
    pub(super) nothing: OwnedFd,
    pub(super) signals: OwnedFd,
    pub(super) score: Option<OutOfMemoryScore>,
    pub(super) facts: Facts,
}

#[derive(Debug)]
pub(super) enum SetupError {
    Channel(Errno),
    Root(PathBuf, Errno),
    Kernel(&'static str, Errno),
    Landlock(RulesetError),
    NoLandlock,
}

impl std::fmt::Display for SetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(errno) => write!(f, "the channel cannot be used: {errno}"),
            Self::Root(path, errno) => {
                write!(f, "the workspace {} cannot be opened: {errno}", path.display())
            }
            Self::Kernel(what, errno) => write!(f, "{what} was refused: {errno}"),
            Self::Landlock(error) => write!(f, "Landlock was refused: {error}"),
            Self::NoLandlock => f.write_str("Landlock is required, and this kernel does not offer it"),
        }
    }
}

pub(super) fn enter(options: &Options) -> Result<Prepared, SetupError> {
    let (ends, nothing) = take_channel(&options.channel).map_err(SetupError::Channel)?;
    let signals = signals::take_over().map_err(|errno| SetupError::Kernel("blocking signals", errno))?;
    let score = OutOfMemoryScore::open();
    give_up_privileges()?;
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    let is_process_1 = rustix::process::getpid() == rustix::process::Pid::INIT;
    if !is_process_1 {
        let own = Some(rustix::process::getpid());
        rustix::process::set_child_subreaper(own)
            .map_err(|errno| SetupError::Kernel("becoming a subreaper", errno))?;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(&options.root, flags, Mode::empty())
        .map(Root::from_handle)
        .map_err(|errno| SetupError::Root(options.root.clone(), errno))?;
    let landlock_abi = apply_landlock(options)?;
    descriptors::let_go_of_stderr(&nothing).map_err(SetupError::Channel)?;
    let facts = Facts { landlock_abi, is_process_1, ..facts() };
    // After the facts: they tell what the box was shut with from outside.
    own_filter::put_on().map_err(|errno| SetupError::Kernel("filtering system calls", errno))?;
    Ok(Prepared { ends, root, nothing, signals, score, facts })
}

fn take_channel(channel: &Channel) -> Result<(OwnerDescriptors, OwnedFd), Errno> {
    match channel {
        Channel::Inherited(number) => {
            let reading = descriptors::inherit(*number)?;
            let writing = descriptors::inherit(*number)?;
            let nothing = descriptors::close_all_but(&[reading.as_fd(), writing.as_fd()])?;
            Ok((OwnerDescriptors::Connected { reading, writing }, nothing))
        }
        Channel::Stdio => {
            let (reading, writing) = (descriptors::inherit(0)?, descriptors::inherit(1)?);
            let nothing = descriptors::close_all_but(&[reading.as_fd(), writing.as_fd()])?;
            Ok((OwnerDescriptors::Connected { reading, writing }, nothing))
        }
        Channel::Listen(path) => {
            let nothing = descriptors::close_all_but(&[])?;
            Ok((OwnerDescriptors::Listening(owner::listen(path)?), nothing))
        }
    }
}

/// Nobody in the box may trace or read init, no program gains rights, and none leaves a core file.
fn give_up_privileges() -> Result<(), SetupError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| SetupError::Kernel("hiding from tracers", errno))?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|errno| SetupError::Kernel("giving up new privileges", errno))?;
    rustix::process::setrlimit(Resource::Core, no_core_files())
        .map_err(|errno| SetupError::Kernel("turning core files off", errno))
}

/// 1 is too little for a file, and the one value with which the kernel pipes none to a program of the host either (0 does
/// not keep it from that). Where the hard limit is 0 already, nobody but root could raise it.
fn no_core_files() -> Rlimit {
    let limit = rustix::process::getrlimit(Resource::Core).maximum.unwrap_or(1).min(1);
    Rlimit { current: Some(limit), maximum: Some(limit) }
}

/// Writable in every box: devices and terminals, what `/proc` itself guards, and places for temporary files.
const USUALLY_WRITABLE: [&str; 4] = ["/dev", "/proc", "/tmp", "/var/tmp"];

/// The version of Landlock that now holds; 0: none.
fn apply_landlock(options: &Options) -> Result<u32, SetupError> {
    let level = match options.landlock {
        Landlock::Off => return Ok(0),
        Landlock::Try | Landlock::Require => CompatLevel::BestEffort,
    };
    let applied = restrict(options, level);
    match (applied, options.landlock) {
        (Ok(0), Landlock::Require) => Err(SetupError::NoLandlock),
        (Err(error), Landlock::Require) => Err(SetupError::Landlock(error)),
        (Ok(abi), _) => Ok(abi),
        (Err(_), _) => Ok(0),
    }
}

fn restrict(options: &Options, level: CompatLevel) -> Result<u32, RulesetError> {
    let abi = ABI::V6;
    let all = AccessFs::from_all(abi);
    let reading = AccessFs::from_read(abi);
    let mut ruleset = Ruleset::default()
        .set_compatibility(level)
        .handle_access(all)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?
        .set_compatibility(level);
    ruleset = allow(ruleset, Path::new("/"), reading)?;
    let usual = USUALLY_WRITABLE.iter().map(Path::new);
    let given = options.writable.iter().map(PathBuf::as_path);
    for path in usual.chain(given).chain([options.root.as_path()]) {
        ruleset = allow(ruleset, path, all)?;
    }
    let status = ruleset.restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => 0,
        (_, LandlockStatus::Available { effective_abi, .. }) => effective_abi as u32,
        (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => 0,
    })
}

/// A path that is not there needs no rule.
fn allow(
    ruleset: landlock::RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(handle) => ruleset.add_rule(PathBeneath::new(handle, access)),
        Err(_) => Ok(ruleset),
    }
}

/// As the kernel tells it.
fn facts() -> Facts {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or("").trim()
    };
    Facts {
        seccomp_mode: field("Seccomp").parse().unwrap_or(0),
        no_new_privileges: rustix::thread::no_new_privs().unwrap_or(false),
        effective_capabilities: u64::from_str_radix(field("CapEff"), 16).unwrap_or(0),
        bounding_capabilities: u64::from_str_radix(field("CapBnd"), 16).unwrap_or(0),
        user: rustix::process::getuid().as_raw(),
        ..Facts::default()
    }
}

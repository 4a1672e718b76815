//! Memory, processor and process limits of a box by control groups, version 1 or 2, where the host lets Warren make
//! them. What cannot be had is told (`Enforcement`), never pretended.
//!
//! ```text
//!   <hierarchy>/<Warren's own group>/warren-box-<folder>/<box>
//! ```
//!
//! Warren's own group is the parent, so that a limit on Warren itself holds for its boxes too; where version 2 does not let
//! it be one, `hierarchy` says what is done.

mod hierarchy;
mod settings;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process};
use warren_model::BoxLimits;

use self::hierarchy::{Controller, Group, Version};

/// How long to wait for killed processes to leave.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Which limits the host really enforces, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Enforcement {
    pub(super) memory: &'static str,
    pub(super) cpu: &'static str,
    pub(super) pids: &'static str,
}

/// The groups of this instance, one for each hierarchy that it may use.
#[derive(Debug)]
pub(super) struct Cgroups {
    groups: Vec<Group>,
}

impl Cgroups {
    /// Makes the groups of `instance`. What the host does not allow is left out.
    pub(super) fn of_host(instance: &str) -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let places = hierarchy::find(&mounts, &own);
        Self { groups: places.into_iter().filter_map(|place| place.group_of(instance)).collect() }
    }

    pub(super) fn enforcement(&self) -> Enforcement {
        let by = |controller, otherwise| {
            let found = self.groups.iter().find(|(_, controllers, _)| controllers.contains(&controller));
            match found {
                Some((Version::One, ..)) => "cgroup v1",
                Some((Version::Two, ..)) => "cgroup v2",
                None => otherwise,
            }
        };
        Enforcement {
            memory: by(Controller::Memory, "rlimit, per process"),
            cpu: by(Controller::Cpu, "not enforced"),
            pids: by(Controller::Pids, "rlimit"),
        }
    }

    pub(super) fn has_memory(&self) -> bool {
        self.groups.iter().any(|(_, controllers, _)| controllers.contains(&Controller::Memory))
    }

    pub(super) fn has_pids(&self) -> bool {
        self.groups.iter().any(|(_, controllers, _)| controllers.contains(&Controller::Pids))
    }

    /// Makes the group of one box, without limits yet.
    pub(super) fn make(&self, name: &str) -> io::Result<BoxCgroup> {
        let mut made = BoxCgroup { folders: Vec::new() };
        for (version, controllers, group) in &self.groups {
            let folder = group.join(name);
            // The group itself may have looked empty to another Warren, which then removed it.
            hierarchy::make(*version, controllers, group)?;
            make_folder(&folder)?;
            made.folders.push((*version, controllers.clone(), folder));
        }
        Ok(made)
    }

    /// Whether a single thread can be moved, so that what it starts is born in its group.
    pub(super) fn can_move_threads(&self) -> bool {
        !self.groups.is_empty() && self.groups.iter().all(|(version, ..)| *version == Version::One)
    }

    /// Moves the calling thread back to where Warren is.
    pub(super) fn leave(&self) -> io::Result<()> {
        let mut parents = self.groups.iter().filter_map(|(_, _, group)| group.parent());
        parents.try_for_each(move_thread)
    }

    /// Ends and removes what boxes of a process that died have left, except those that are `live`.
    pub(super) fn sweep(&self, is_live: impl Fn(&str) -> bool) -> (u32, Vec<String>) {
        let mut left = std::collections::BTreeMap::<String, Vec<Group>>::new();
        for (version, controllers, group) in &self.groups {
            for entry in std::fs::read_dir(group).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_live(&name) {
                    left.entry(name).or_default().push((*version, controllers.clone(), entry.path()));
                }
            }
        }
        let (mut removed, mut problems) = (0, Vec::new());
        for (name, folders) in left {
            match (BoxCgroup { folders }).end() {
                Ok(()) => removed += 1,
                Err(error) => {
                    problems.push(format!("the control group of box {name} cannot be removed: {error}"));
                }
            }
        }
        (removed, problems)
    }
}

impl Drop for Cgroups {
    /// An empty group that is left would do no harm, but it would not look tidy either.
    fn drop(&mut self) {
        for (_, _, group) in &self.groups {
            let _ = std::fs::remove_dir(group);
        }
    }
}

/// The groups of one box.
#[derive(Debug, Clone)]
pub(super) struct BoxCgroup {
    folders: Vec<Group>,
}

impl BoxCgroup {
    /// Limits that nothing but the box feels, even while Warren's own thread is in the group.
    pub(super) fn limit_space(&self, limits: &BoxLimits) -> io::Result<()> {
        self.set(&[Controller::Memory, Controller::Pids], limits)
    }

    pub(super) fn limit_time(&self, limits: &BoxLimits) -> io::Result<()> {
        self.set(&[Controller::Cpu], limits)
    }

    fn set(&self, wanted: &[Controller], limits: &BoxLimits) -> io::Result<()> {
        for (version, controllers, folder) in &self.folders {
            for &controller in controllers.iter().filter(|one| wanted.contains(one)) {
                for setting in settings::of(*version, controller, limits) {
                    match write(&folder.join(setting.file), &setting.value) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound && setting.is_optional => {}
                        other => other?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Handles through which a process joins, by writing `0`.
    pub(super) fn entrances(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |folder: &PathBuf| OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        self.folders.iter().map(|(_, _, folder)| open(folder).map(OwnedFd::from)).collect()
    }

    /// Moves the calling thread into it (version 1 only).
    pub(super) fn enter(&self) -> io::Result<()> {
        self.folders.iter().try_for_each(|(_, _, folder)| move_thread(folder))
    }

    /// Kills what is left in it and removes it. Blocks for as long as that takes, within limits.
    #[expect(
        clippy::disallowed_methods,
        reason = "on a thread that is for blocking; the kernel tells no event for this"
    )]
    pub(super) fn end(&self) -> io::Result<()> {
        let mut waited = Duration::ZERO;
        loop {
            self.kill_all();
            let refused = self.folders.iter().find_map(|(_, _, folder)| remove(folder).err());
            match refused {
                None => return Ok(()),
                Some(error) if waited >= PATIENCE => return Err(error),
                Some(_) => {}
            }
            std::thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }

    /// The processes in it; absent where there is no group.
    pub(super) fn processes(&self) -> Option<Vec<u32>> {
        let (_, _, folder) = self.folders.first()?;
        let listed = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let processes = listed.lines().filter_map(|line| line.parse().ok());
        Some(processes.filter(|&process| process != std::process::id()).collect())
    }

    /// How many programs the kernel has ended here for the memory limit; absent where it does not count them.
    pub(super) fn memory_kills(&self) -> Option<u64> {
        let has_memory = |(_, controllers, _): &&Group| controllers.contains(&Controller::Memory);
        let (version, _, folder) = self.folders.iter().find(has_memory)?;
        let file = match version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }

    fn kill_all(&self) {
        // A thread of ours may stand in the group of the box that it has just started.
        let ourselves = rustix::process::getpid();
        for (_, _, folder) in &self.folders {
            if write(&folder.join("cgroup.kill"), "1").is_ok() {
                continue;
            }
            let processes = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            let processes = processes.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?));
            for pid in processes.filter(|&pid| pid != ourselves) {
                // Gone already is fine.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A control file takes a value in one write.
fn write(path: &Path, value: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(value.as_bytes())
}

fn move_thread(folder: &Path) -> io::Result<()> {
    write(&folder.join("tasks"), &rustix::thread::gettid().as_raw_nonzero().to_string())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

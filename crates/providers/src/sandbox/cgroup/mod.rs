//! Memory, processor and process limits of a box by control groups, version 1 or 2, where the host lets Warren make
//! them. What cannot be had is told (`Enforcement`), never pretended.
//!
//! ```text
//!   <hierarchy>/<Warren's own group>/warren-box-<folder>/<box>
//! ```
//!
//! Warren's own group is the parent, so that a limit on Warren itself holds for its boxes too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process};
use warren_model::{BoxLimits, MIB};

use crate::boxes::disk::deleted_bytes;

const PREFIX: &str = "warren-box-";
const PERIOD_US: u64 = 100_000;
/// How long to wait for killed processes to leave.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);
/// A group that is younger may still be waiting for its first process.
const BIRTH: Duration = Duration::from_secs(60);
/// Bubblewrap's own process outside the box, and process 1.
const OWN_PROCESSES: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Memory,
    Cpu,
    Pids,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Cpu, Self::Pids];

    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

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

/// A folder of one hierarchy, and what it can limit.
type Group = (Version, Vec<Controller>, PathBuf);

impl Cgroups {
    /// Makes the groups of `instance`. What the host does not allow is left out.
    pub(super) fn of_host(instance: &str) -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let groups = hierarchies(&mounts, &own).into_iter().filter_map(|(version, controllers, parent)| {
            remove_empty(&parent);
            let group = parent.join(format!("{PREFIX}{instance}"));
            match prepare(version, &controllers, &parent, &group) {
                Ok(()) => Some((version, controllers, group)),
                Err(error) => {
                    tracing::debug!(%error, group = %group.display(), "a control group cannot be used");
                    None
                }
            }
        });
        Self { groups: groups.collect() }
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
            // The group itself may have looked empty to another Warren.
            make_folder(group)?;
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
                for (file, value) in settings(*version, controller, limits) {
                    match write(&folder.join(file), &value) {
                        // Swap accounting and the like are not on every kernel.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
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

    /// What files that were deleted but are still open in the box take of a device. Without a group nobody can tell.
    pub(super) fn deleted_bytes(&self, device: u64) -> u64 {
        let Some((_, _, folder)) = self.folders.first() else {
            return 0;
        };
        let processes = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let processes = processes.lines().filter_map(|line| line.parse().ok());
        deleted_bytes(processes.filter(|&process| process != std::process::id()), device)
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

/// Removes groups that Warrens of other folders left behind when they died. One that is in use cannot be removed, so that
/// nobody has to be asked; one that was made just now may not be in use yet.
fn remove_empty(parent: &Path) {
    let folders = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    };
    let left = folders(parent).filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for group in left {
        if folders(&group.path()).all(|one| is_old(&one.path())) && is_old(&group.path()) {
            for one in folders(&group.path()) {
                let _ = std::fs::remove_dir(one.path());
            }
            let _ = std::fs::remove_dir(group.path());
        }
    }
}

fn is_old(folder: &Path) -> bool {
    let made = std::fs::metadata(folder).and_then(|facts| facts.modified()).ok();
    made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > BIRTH)
}

/// A control file takes a value in one write.
fn write(path: &Path, value: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(value.as_bytes())
}

fn move_thread(folder: &Path) -> io::Result<()> {
    write(&folder.join("tasks"), &rustix::thread::gettid().as_raw_nonzero().to_string())
}

fn prepare(version: Version, controllers: &[Controller], parent: &Path, group: &Path) -> io::Result<()> {
    if version == Version::Two {
        let wanted = controllers.iter().map(|one| format!("+{}", one.name())).collect::<Vec<_>>().join(" ");
        write(&parent.join("cgroup.subtree_control"), &wanted)?;
        make_folder(group)?;
        return write(&group.join("cgroup.subtree_control"), &wanted);
    }
    make_folder(group)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn settings(version: Version, controller: Controller, limits: &BoxLimits) -> Vec<(&'static str, String)> {
    let memory = (u64::from(limits.memory_mb) * MIB).to_string();
    let pids = (u64::from(limits.pids) + OWN_PROCESSES).to_string();
    // From 0.01 to 4096 processors, so that this is from 1,000 to 409,600,000.
    let quota = (limits.cpus * PERIOD_US as f64) as u64;
    match (version, controller) {
        (Version::One, Controller::Memory) => {
            // The group may have been limited for another box: memory cannot be raised past memory and swap together.
            let together = "memory.memsw.limit_in_bytes";
            vec![(together, "-1".into()), ("memory.limit_in_bytes", memory.clone()), (together, memory)]
        }
        (Version::Two, Controller::Memory) => {
            vec![("memory.max", memory), ("memory.swap.max", "0".into()), ("memory.oom.group", "0".into())]
        }
        (Version::One, Controller::Cpu) => {
            vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())]
        }
        (Version::Two, Controller::Cpu) => vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
        (_, Controller::Pids) => vec![("pids.max", pids)],
    }
}

/// Where each controller is, and Warren's own group there.
fn hierarchies(mounts: &str, own: &str) -> Vec<Group> {
    let mut found = Vec::new();
    let mut taken = Vec::new();
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(mount_root), Some(mount_point)) = (before.split(' ').nth(3), before.split(' ').nth(4))
        else {
            continue;
        };
        let mut after = after.split(' ');
        let (kind, options) = (after.next(), after.nth(1).unwrap_or_default());
        if kind != Some("cgroup") {
            continue;
        }
        let here: Vec<_> = Controller::ALL
            .into_iter()
            .filter(|one| options.split(',').any(|option| option == one.name()))
            .collect();
        if let Some(first) = here.first() {
            taken.extend(&here);
            let path = own_group(own, |names| names.split(',').any(|name| name == first.name()));
            found.push((Version::One, here, inside(mount_point, mount_root, &path)));
        }
    }
    let unified = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let is_unified = after.split(' ').next() == Some("cgroup2");
        is_unified.then(|| (before.split(' ').nth(3).unwrap_or("/"), before.split(' ').nth(4).unwrap_or("/")))
    });
    if let Some((mount_root, mount_point)) = unified {
        let rest: Vec<_> = Controller::ALL.into_iter().filter(|one| !taken.contains(one)).collect();
        if !rest.is_empty() {
            let path = own_group(own, str::is_empty);
            found.push((Version::Two, rest, inside(mount_point, mount_root, &path)));
        }
    }
    found
}

fn own_group(own: &str, is_it: impl Fn(&str) -> bool) -> String {
    let line = own
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        .find(|(names, _)| is_it(names));
    line.map_or_else(|| "/".to_owned(), |(_, path)| path.to_owned())
}

/// A group's folder, where the hierarchy may be mounted from within.
fn inside(mount_point: &str, mount_root: &str, path: &str) -> PathBuf {
    let below = path.strip_prefix(mount_root).unwrap_or(path);
    let folder = Path::new(mount_point).join(below.trim_start_matches('/'));
    if folder.is_dir() || !Path::new(mount_point).is_dir() { folder } else { PathBuf::from(mount_point) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "\
30 25 0:26 / /cg/memory rw - cgroup cgroup rw,memory
31 25 0:27 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / /cg/pids rw - cgroup cgroup rw,pids
33 25 0:29 / /cg/unified rw - cgroup2 cgroup2 rw
";

    // W72
    #[test]
    fn controllers_are_found_in_either_version() {
        let own = "4:memory:/svc/a\n1:cpu,cpuacct:/\n8:pids:/\n0::/\n";
        let found = hierarchies(ONE, own);
        assert_eq!(
            found,
            [
                (Version::One, vec![Controller::Memory], "/cg/memory/svc/a".into()),
                (Version::One, vec![Controller::Cpu], "/cg/cpu,cpuacct/".into()),
                (Version::One, vec![Controller::Pids], "/cg/pids/".into()),
            ]
        );
        let two = "29 24 0:25 / /cg rw - cgroup2 cgroup2 rw\n";
        let found = hierarchies(two, "0::/user.slice/app\n");
        assert_eq!(found, [(Version::Two, Controller::ALL.to_vec(), "/cg/user.slice/app".into())]);
        assert!(hierarchies("", "").is_empty());
    }

    // W72
    #[test]
    fn limits_become_the_kernels_numbers() {
        let limits = BoxLimits { memory_mb: 100, cpus: 0.5, pids: 10, ..BoxLimits::default() };
        assert_eq!(
            settings(Version::Two, Controller::Memory, &limits)[0],
            ("memory.max", "104857600".into())
        );
        assert_eq!(settings(Version::Two, Controller::Cpu, &limits)[0], ("cpu.max", "50000 100000".into()));
        assert_eq!(settings(Version::One, Controller::Cpu, &limits)[1], ("cpu.cfs_quota_us", "50000".into()));
        assert_eq!(settings(Version::One, Controller::Pids, &limits)[0], ("pids.max", "12".into()));
    }
}

//! Where the host has its control groups, and which of them can be the parent of boxes.
//!
//! Version 2 lets a group have either processes or groups with limits (the root has both). Warren stands in its own group, so
//! that this cannot be the parent as it is. Tried in this order:
//!
//! 1. The own group. Where nobody else is in it, Warren moves to a leaf of it first (`warren-itself`), as services with
//!    delegated groups do.
//! 2. Those above it, up to the root: a limit on Warren itself then does not hold for its boxes.
//!
//! Who is not root gets as far as the host has delegated groups to him; without any, there are no limits by groups, and
//! `describe()` tells.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{make_folder, write};

const PREFIX: &str = "warren-box-";
/// Where Warren goes when its own group is to have limits.
const LEAF: &str = "warren-itself";
/// A group that is younger may still be waiting for its first process.
const BIRTH: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Cpu,
    Pids,
}

impl Controller {
    pub(super) const ALL: [Self; 3] = [Self::Memory, Self::Cpu, Self::Pids];

    /// As the kernel calls it.
    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }

    /// Without it the controller limits nothing.
    const fn main_file(self, version: Version) -> &'static str {
        match (version, self) {
            (Version::One, Self::Memory) => "memory.limit_in_bytes",
            (Version::Two, Self::Memory) => "memory.max",
            (Version::One, Self::Cpu) => "cpu.cfs_quota_us",
            (Version::Two, Self::Cpu) => "cpu.max",
            (Version::One | Version::Two, Self::Pids) => "pids.max",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A folder of one hierarchy, and what it can limit.
pub(super) type Group = (Version, Vec<Controller>, PathBuf);

/// A hierarchy of the host, as Warren sees it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostHierarchy {
    version: Version,
    controllers: Vec<Controller>,
    mount_point: PathBuf,
    /// Warren's own group.
    own: PathBuf,
}

impl HostHierarchy {
    /// The group in which boxes of `instance` have theirs; `None` where the host does not allow one.
    pub(super) fn group_of(&self, instance: &str) -> Option<Group> {
        self.parents().find_map(|parent| {
            remove_empty(parent);
            let made = self.make_below(parent, &format!("{PREFIX}{instance}"));
            made.inspect_err(|error| {
                tracing::debug!(%error, parent = %parent.display(), "a control group cannot be used");
            })
            .ok()
        })
    }

    /// Those that may be the parent, the best first.
    fn parents(&self) -> impl Iterator<Item = &Path> {
        let own = if self.own.ends_with(LEAF) { self.own.parent() } else { Some(self.own.as_path()) };
        let above = match self.version {
            Version::One => 1,
            Version::Two => usize::MAX,
        };
        own.into_iter()
            .flat_map(Path::ancestors)
            .take(above)
            .take_while(|folder| folder.starts_with(&self.mount_point))
    }

    fn make_below(&self, parent: &Path, name: &str) -> io::Result<Group> {
        let group = parent.join(name);
        let mut controllers = self.controllers.clone();
        if self.version == Version::Two {
            self.offer(parent);
            let offered = std::fs::read_to_string(parent.join("cgroup.controllers"))?;
            controllers.retain(|one| offered.split_whitespace().any(|name| name == one.name()));
            self.enable(parent, &controllers)?;
        }
        make(self.version, &controllers, &group)?;
        // A kernel may have a controller and not all that it could do.
        controllers.retain(|one| group.join(one.main_file(self.version)).exists());
        if controllers.is_empty() {
            let _ = std::fs::remove_dir(&group);
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok((self.version, controllers, group))
    }

    /// A group offers what all above it pass on, and hosts pass on what somebody has asked for. Those that refuse are left as
    /// they are.
    fn offer(&self, parent: &Path) {
        let above: Vec<_> = parent.ancestors().skip(1).collect();
        for folder in above.into_iter().rev().filter(|folder| folder.starts_with(&self.mount_point)) {
            for controller in &self.controllers {
                let _ = enable(folder, std::slice::from_ref(controller));
            }
        }
    }

    /// Lets what is below `parent` be limited.
    fn enable(&self, parent: &Path, controllers: &[Controller]) -> io::Result<()> {
        match enable(parent, controllers) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && parent == self.own => {
                move_to_leaf(parent)?;
                enable(parent, controllers)
            }
            other => other,
        }
    }
}

fn enable(group: &Path, controllers: &[Controller]) -> io::Result<()> {
    let wanted = controllers.iter().map(|one| format!("+{}", one.name())).collect::<Vec<_>>().join(" ");
    write(&group.join("cgroup.subtree_control"), &wanted)
}

/// Only where nobody else is: who shares our group is not ours to move.
fn move_to_leaf(own: &Path) -> io::Result<()> {
    let ourselves = std::process::id().to_string();
    let here = std::fs::read_to_string(own.join("cgroup.procs"))?;
    if here.lines().any(|process| process != ourselves) {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let leaf = own.join(LEAF);
    make_folder(&leaf)?;
    write(&leaf.join("cgroup.procs"), &ourselves)
}

/// A group in which boxes can have limited ones. There already is fine.
pub(super) fn make(version: Version, controllers: &[Controller], group: &Path) -> io::Result<()> {
    make_folder(group)?;
    match version {
        Version::One => Ok(()),
        Version::Two => enable(group, controllers),
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

/// Where each controller is, from what `/proc` says of mounts and of our own groups.
pub(super) fn find(mounts: &str, own: &str) -> Vec<HostHierarchy> {
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
            found.push(HostHierarchy {
                version: Version::One,
                controllers: here,
                mount_point: mount_point.into(),
                own: inside(mount_point, mount_root, &path),
            });
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
            found.push(HostHierarchy {
                version: Version::Two,
                controllers: rest,
                mount_point: mount_point.into(),
                own: inside(mount_point, mount_root, &path),
            });
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
        let told = |place: &HostHierarchy| (place.version, place.controllers.clone(), place.own.clone());
        let found: Vec<_> = find(ONE, own).iter().map(told).collect();
        assert_eq!(
            found,
            [
                (Version::One, vec![Controller::Memory], "/cg/memory/svc/a".into()),
                (Version::One, vec![Controller::Cpu], "/cg/cpu,cpuacct/".into()),
                (Version::One, vec![Controller::Pids], "/cg/pids/".into()),
            ]
        );
        let two = "29 24 0:25 / /cg rw - cgroup2 cgroup2 rw\n";
        let found: Vec<_> = find(two, "0::/user.slice/app\n").iter().map(told).collect();
        assert_eq!(found, [(Version::Two, Controller::ALL.to_vec(), "/cg/user.slice/app".into())]);
        assert!(find("", "").is_empty());
    }

    // W72
    #[test]
    fn boxes_go_below_the_own_group_or_one_above_it_and_never_above_the_hierarchy() {
        let parents = |version, own: &str| {
            let (mount_point, own) = (PathBuf::from("/sys/cg"), PathBuf::from(own));
            let place = HostHierarchy { version, controllers: Controller::ALL.to_vec(), mount_point, own };
            place.parents().map(|folder| folder.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(parents(Version::Two, "/sys/cg/a/b"), ["/sys/cg/a/b", "/sys/cg/a", "/sys/cg"]);
        // Where Warren has gone to before.
        assert_eq!(parents(Version::Two, "/sys/cg/a/warren-itself"), ["/sys/cg/a", "/sys/cg"]);
        assert_eq!(parents(Version::Two, "/sys/cg"), ["/sys/cg"]);
        assert_eq!(parents(Version::One, "/sys/cg/a/b"), ["/sys/cg/a/b"]);
    }
}

//! The command line of bubblewrap, as a function of what the box is to be.
//!
//! Order matters: mounts are made in the order they are named, and the last two lines shut what the others needed open.
//! Nothing is mounted below a directory that programs in the box may write to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use warren_init::WORKSPACE_ROOT;
use warren_model::{BoxLimits, MIB};

/// Who programs are inside, whatever their user is outside.
pub(super) const INSIDE_ID: u32 = 1000;
/// Where process 1 is in the box: with what every box is given anyway, since each mount takes time.
pub(super) const INIT: &str = "/etc/warren/warren-init";
pub(super) const RUNNER: &str = "/etc/warren/warren-runner";
/// Where programs of the box find `warren`.
pub(super) const PROGRAMS: &str = "/etc/warren/bin";
/// Descriptors that bubblewrap and process 1 are started with.
pub(super) const CHANNEL_FD: i32 = 3;
pub(super) const FIRST_FILTER_FD: i32 = 4;

/// Parts of the host's own system that programs need to run at all.
const SYSTEM_FOLDERS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What of the host's system is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct System {
    /// A folder that is a link (as `/bin` is to `usr/bin`) is made one in the box.
    folders: Vec<(PathBuf, Option<PathBuf>)>,
}

impl System {
    pub(super) fn of_host() -> Self {
        let folders = SYSTEM_FOLDERS.iter().map(PathBuf::from).filter(|folder| folder.exists());
        Self { folders: folders.map(|folder| (folder.clone(), std::fs::read_link(&folder).ok())).collect() }
    }

    /// Each folder, and where it leads if it is a link.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&Path, Option<&Path>)> {
        self.folders.iter().map(|(folder, link)| (folder.as_path(), link.as_deref()))
    }

    /// Whether a program is where every box, and bubblewrap itself, finds it.
    pub(super) fn holds(&self, program: &Path) -> bool {
        self.folders.iter().any(|(folder, _)| program.starts_with(folder))
    }
}

/// A host path as bubblewrap finds it, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) source: PathBuf,
    pub(super) target: String,
    pub(super) is_writable: bool,
}

/// What a box is to be.
#[derive(Debug)]
pub(super) struct Shape<'a> {
    pub(super) system: &'a System,
    pub(super) workspace: &'a Path,
    /// Ours, not the host's (`box_etc`).
    pub(super) etc: &'a Path,
    /// One that was made for boxes, shut already (`mount_namespace`). Otherwise bubblewrap makes one.
    pub(super) devices: Option<&'a Path>,
    pub(super) mounts: &'a [Bind],
    pub(super) limits: &'a BoxLimits,
    pub(super) filters: usize,
}

pub(super) fn command_line(shape: &Shape<'_>) -> Vec<OsString> {
    let mut line = Line::default();
    line.words(["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]);
    line.words(["--as-pid-1", "--clearenv", "--cap-drop", "ALL", "--hostname", "warren"]);
    let id = INSIDE_ID.to_string();
    line.words(["--uid", &id, "--gid", &id]);
    for (folder, link) in shape.system.folders() {
        match link {
            Some(target) => line.bind("--symlink", target, folder),
            None => line.bind("--ro-bind", folder, folder),
        }
    }
    // Few mounts: each costs bubblewrap about as much as a command costs.
    line.bind("--ro-bind", shape.etc, "/etc");
    line.words(["--proc", "/proc"]);
    // A second fence: even a program with a capability finds these read-only.
    line.bind("--ro-bind", "/proc/sys", "/proc/sys");
    match shape.devices {
        Some(devices) => line.bind("--dev-bind", devices, "/dev"),
        None => line.words(["--dev", "/dev"]),
    }
    let bytes = (u64::from(shape.limits.tmp_mb) * MIB).to_string();
    line.words(["--perms", "1777", "--size", &bytes, "--tmpfs", "/tmp"]);
    line.words(["--perms", "1777", "--size", &bytes, "--tmpfs", "/dev/shm"]);
    line.words(["--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--dir", "/run"]);
    line.bind("--bind", shape.workspace, WORKSPACE_ROOT);
    for mount in shape.mounts {
        line.bind(if mount.is_writable { "--bind" } else { "--ro-bind" }, &mount.source, &mount.target);
    }
    if shape.devices.is_none() {
        line.words(["--remount-ro", "/dev"]);
    }
    line.words(["--remount-ro", "/", "--chdir", WORKSPACE_ROOT]);
    for filter in 0..shape.filters {
        let descriptor = FIRST_FILTER_FD + i32::try_from(filter).unwrap_or_default();
        line.words(["--add-seccomp-fd", &descriptor.to_string()]);
    }
    let channel = format!("fd:{CHANNEL_FD}");
    line.words(["--", INIT, "--channel", &channel, "--root", WORKSPACE_ROOT, "--landlock", "try"]);
    line.words(["--ipc", "own"]);
    let writable = shape.mounts.iter().filter(|mount| mount.is_writable).map(|mount| mount.target.as_str());
    for path in [WORKSPACE_ROOT, "/tmp", "/dev"].into_iter().chain(writable) {
        line.words(["--writable", path]);
    }
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn bind(&mut self, option: &str, source: impl AsRef<Path>, target: impl AsRef<Path>) {
        self.0.extend([option.into(), source.as_ref().into(), target.as_ref().into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mounts: &[Bind], devices: Option<&Path>) -> Vec<String> {
        let system = System { folders: vec![("/usr".into(), None), ("/bin".into(), Some("usr/bin".into()))] };
        let shape = Shape {
            system: &system,
            workspace: Path::new("/stage/w"),
            etc: Path::new("/stage/e"),
            devices,
            mounts,
            limits: &BoxLimits::default(),
            filters: 2,
        };
        command_line(&shape).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    fn position(line: &[String], words: &[&str]) -> usize {
        line.windows(words.len())
            .position(|window| window == words)
            .unwrap_or_else(|| panic!("{words:?}: {line:?}"))
    }

    // W72
    #[test]
    fn a_box_has_no_namespace_of_the_host_and_is_shut_last() {
        let line = line(&[], None);
        for words in [
            &["--unshare-all"][..],
            &["--unshare-user"],
            &["--disable-userns"],
            &["--die-with-parent"],
            &["--new-session"],
            &["--clearenv"],
            &["--cap-drop", "ALL"],
            &["--as-pid-1"],
            &["--ro-bind", "/usr", "/usr"],
            &["--symlink", "usr/bin", "/bin"],
            &["--size", "67108864", "--tmpfs", "/tmp"],
            &["--add-seccomp-fd", "4", "--add-seccomp-fd", "5"],
        ] {
            position(&line, words);
        }
        let workspace = position(&line, &["--bind", "/stage/w", "/workspace"]);
        assert!(workspace < position(&line, &["--remount-ro", "/"]));
        assert_eq!(line.iter().filter(|word| *word == "--bind").count(), 1, "only the workspace is writable");
        assert!(!line.iter().any(|word| word.starts_with("/workspace/")), "nothing is mounted below it");
        assert!(!line.iter().any(|word| word == "--share-net"));
    }

    // W72
    #[test]
    fn a_folder_of_devices_is_shut_by_whoever_made_it() {
        let made_by_bubblewrap = line(&[], None);
        let shut = position(&made_by_bubblewrap, &["--remount-ro", "/dev"]);
        assert!(position(&made_by_bubblewrap, &["--dev", "/dev"]) < shut);
        let made_before = line(&[], Some(Path::new("/dev")));
        let bound = position(&made_before, &["--dev-bind", "/dev", "/dev"]);
        assert!(bound < position(&made_before, &["--tmpfs", "/dev/shm"]));
        assert!(!made_before.iter().any(|word| word == "--dev"));
    }

    // W73
    #[test]
    fn mounts_are_read_only_unless_they_say_otherwise() {
        let mount = |target: &str, is_writable| Bind {
            source: "/stage/m".into(),
            target: target.into(),
            is_writable,
        };
        let line = line(&[mount("/data", false), mount("/out", true)], None);
        position(&line, &["--ro-bind", "/stage/m", "/data"]);
        position(&line, &["--bind", "/stage/m", "/out"]);
        position(&line, &["--writable", "/out"]);
        assert!(!line.windows(2).any(|window| window == ["--writable", "/data"]));
    }
}

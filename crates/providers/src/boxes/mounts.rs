//! Host paths that a box may see besides its own files (W73).
//!
//! A source is opened once, without following any link, and handed on by its handle: what is granted is what was
//! checked. Nothing is mounted below a directory that programs in the box can write to (bubblewrap before 0.12 follows
//! links there, on the host).

use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use warren_init::WORKSPACE_ROOT;
use warren_model::{ErrorCode, Mount, MountMode};
use warren_workspace::Error;

const MAX_MOUNTS: usize = 32;
/// What a box has of its own and nothing may cover.
const RESERVED: [&str; 16] = [
    WORKSPACE_ROOT,
    "/proc",
    "/sys",
    "/dev",
    "/tmp",
    "/run",
    "/.warren",
    "/oldroot",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
];
/// What would hand the host over with it.
const NEVER_GRANTED: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// A checked and opened source.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) handle: OwnedFd,
    pub(crate) source: PathBuf,
    pub(crate) target: String,
    pub(crate) is_writable: bool,
    pub(crate) is_directory: bool,
}

/// What can be told without looking at the host.
pub(crate) fn check(mounts: &[Mount]) -> Result<(), Error> {
    if mounts.len() > MAX_MOUNTS {
        return Err(invalid(format!("mounts: at most {MAX_MOUNTS} are taken")));
    }
    for (index, mount) in mounts.iter().enumerate() {
        let problem = path_problem(&mount.source)
            .or_else(|| is_below_any(&mount.source, &NEVER_GRANTED).then_some("cannot be granted to a box"))
            .or_else(|| (mount.source == "/").then_some("cannot be the whole host"));
        if let Some(problem) = problem {
            return Err(invalid(format!("mounts[{index}].source: {problem}")));
        }
        let problem = path_problem(&mount.target)
            .or_else(|| is_below_any(&mount.target, &RESERVED).then_some("is reserved in a box"))
            .or_else(|| (mount.target == "/").then_some("cannot be the box's root"));
        if let Some(problem) = problem {
            return Err(invalid(format!("mounts[{index}].target: {problem}")));
        }
        let overlaps = |other: &Mount| {
            is_below_any(&mount.target, &[&other.target]) || is_below_any(&other.target, &[&mount.target])
        };
        if mounts[..index].iter().any(overlaps) {
            return Err(invalid(format!("mounts[{index}].target: overlaps with another mount")));
        }
    }
    Ok(())
}

/// Checks, and opens each source. `forbidden` are folders of Warren's own: granting one would open every workspace.
pub(crate) fn open(mounts: &[Mount], forbidden: &[&Path]) -> Result<Vec<Grant>, Error> {
    check(mounts)?;
    mounts.iter().enumerate().map(|(index, mount)| open_one(index, mount, forbidden)).collect()
}

fn open_one(index: usize, mount: &Mount, forbidden: &[&Path]) -> Result<Grant, Error> {
    let wrong = |problem: String| invalid(format!("mounts[{index}].source: {problem}"));
    let given = Path::new(&mount.source);
    let canonical = given.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong(format!("{} does not exist", mount.source)),
        _ => wrong(format!("{} cannot be used: {error}", mount.source)),
    })?;
    if canonical != given {
        return Err(wrong(format!("goes through a symbolic link; write {} instead", canonical.display())));
    }
    if forbidden.iter().any(|folder| canonical.starts_with(folder) || folder.starts_with(&canonical)) {
        return Err(wrong("holds Warren's own files or lies among them".into()));
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = openat2(CWD, &canonical, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(|errno| wrong(format!("{} cannot be opened: {errno}", mount.source)))?;
    let stat = fstat(&handle).map_err(|errno| wrong(format!("{} cannot be read: {errno}", mount.source)))?;
    // Also by another name: a folder may be mounted in two places.
    let is_same = |folder: &Path| {
        rustix::fs::stat(folder).is_ok_and(|other| (other.st_dev, other.st_ino) == (stat.st_dev, stat.st_ino))
    };
    if forbidden.iter().any(|folder| folder.ancestors().any(is_same)) {
        return Err(wrong("holds Warren's own files or lies among them".into()));
    }
    let is_directory = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => true,
        FileType::RegularFile => false,
        _ => return Err(wrong("is neither a directory nor a regular file".into())),
    };
    Ok(Grant {
        handle,
        source: canonical,
        target: mount.target.clone(),
        is_writable: mount.mode == MountMode::Rw,
        is_directory,
    })
}

fn path_problem(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        return Some("expected an absolute path");
    }
    if path.contains(['\0', '\n', ',', ':']) {
        return Some("contains a character that cannot be used here");
    }
    if path.len() > 4_000 {
        return Some("is too long");
    }
    if path.split('/').any(|name| name.len() > 255) {
        return Some("has a name of more than 255 bytes");
    }
    let is_plain = path == "/" || path[1..].split('/').all(|name| !matches!(name, "" | "." | ".."));
    (!is_plain).then_some("expected a path without `.`, `..`, `//` or a `/` at its end")
}

fn is_below_any(path: &str, roots: &[&str]) -> bool {
    roots.iter().any(|root| Path::new(path).starts_with(root))
}

fn invalid(detail: String) -> Error {
    Error::permanent(ErrorCode::InvalidConfig, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: &str, target: &str) -> Mount {
        Mount { source: source.into(), target: target.into(), mode: MountMode::Ro }
    }

    fn problem(mounts: &[Mount]) -> String {
        open(mounts, &[]).unwrap_err().to_string()
    }

    // W73
    #[test]
    fn bad_mounts_are_refused_and_named() {
        for (source, target, told) in [
            ("relative", "/data", "mounts[0].source: expected an absolute path"),
            ("/no/such/folder", "/data", "does not exist"),
            ("/", "/data", "the whole host"),
            ("/proc/self", "/data", "cannot be granted"),
            ("/usr/../usr", "/data", "without `.`"),
            ("/usr", "data", "mounts[0].target: expected an absolute path"),
            ("/usr", "/workspace/x", "reserved"),
            ("/usr", "/usr/local/x", "reserved"),
            ("/usr", "/etc/passwd", "reserved"),
            ("/usr", "/proc", "reserved"),
            ("/usr", "/.warren/x", "reserved"),
            ("/usr", "/", "root"),
            ("/usr", "/a\0b", "character"),
            ("/dev/null", "/data", "cannot be granted"),
        ] {
            let problem = problem(&[mount(source, target)]);
            assert!(problem.contains(told), "{source} {target}: {problem}");
        }
        let twice = [mount("/usr", "/data"), mount("/etc", "/data/inner")];
        assert!(problem(&twice).contains("mounts[1].target: overlaps"));
        assert!(problem(&vec![mount("/usr", "/x"); 33]).contains("at most 32"));
    }

    // W73
    #[test]
    fn a_source_behind_a_link_is_refused_with_its_real_path() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir(folder.join("real")).unwrap();
        std::os::unix::fs::symlink(folder.join("real"), folder.join("link")).unwrap();
        let linked = folder.join("link");
        let told = problem(&[mount(linked.to_str().unwrap(), "/data")]);
        assert!(told.contains(folder.join("real").to_str().unwrap()), "{told}");
        let real = folder.join("real");
        let granted = open(&[mount(real.to_str().unwrap(), "/data")], &[]).unwrap();
        assert!(granted[0].is_directory && !granted[0].is_writable && granted[0].source == real);
    }

    #[test]
    fn folders_of_warrens_own_are_never_granted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("data/workspaces")).unwrap();
        let forbidden = folder.join("data");
        for source in [folder.clone(), folder.join("data"), folder.join("data/workspaces")] {
            let error = open(&[mount(source.to_str().unwrap(), "/data")], &[&forbidden]).unwrap_err();
            assert!(error.to_string().contains("Warren's own"), "{error}");
        }
    }
}

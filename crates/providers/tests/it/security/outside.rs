//! Programs outside of any box: the attacks without the defence.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::probe;

#[expect(clippy::disallowed_methods, reason = "a control is a program that no box holds")]
pub(crate) fn program(path: impl AsRef<OsStr>) -> Command {
    Command::new(path)
}

/// Fails in words where a test needs what only root may do.
#[track_caller]
pub(crate) fn require_root(why: &str) {
    assert!(rustix::process::geteuid().is_root(), "run this test as root: it {why}");
}

/// What the hostile program says where nothing holds it.
pub(crate) fn probe_says(words: &[&str]) -> String {
    says(program(probe::path()).args(words))
}

#[track_caller]
pub(crate) fn says(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    text(&output)
}

#[track_caller]
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A program as another user of the host. Controls that need it need root, as CI has it.
pub(crate) fn as_user(uid: u32, path: impl AsRef<OsStr>) -> Command {
    require_root("starts a program as another user");
    let mut command = program("setpriv");
    let id = uid.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(path);
    command
}

/// Something mounted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Memory of so many kilobytes at a folder that is made.
    pub(crate) fn memory(at: &Path, kilobytes: u32) -> Self {
        require_root("mounts a file system");
        std::fs::create_dir_all(at).unwrap();
        says(
            program("mount")
                .args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k,mode=755"), "probe"])
                .arg(at),
        );
        Self(at.to_owned())
    }

    /// A disk of so many megabytes at a folder that is made; `image` is the file that it is in.
    pub(crate) fn disk(image: &Path, at: &Path, megabytes: u64) -> Self {
        require_root("mounts a file system");
        std::fs::create_dir_all(at).unwrap();
        std::fs::File::create(image).unwrap().set_len(megabytes << 20).unwrap();
        says(program("mkfs.ext4").args(["-q", "-m", "0"]).arg(image));
        says(program("mount").args(["-o", "loop"]).arg(image).arg(at));
        Self(at.to_owned())
    }

    /// A folder by another name.
    pub(crate) fn again(folder: &Path, at: &Path) -> Self {
        require_root("mounts a folder in a second place");
        std::fs::create_dir_all(at).unwrap();
        says(program("mount").arg("--bind").arg(folder).arg(at));
        Self(at.to_owned())
    }

    /// Mounts below it are passed on to whoever listens.
    pub(crate) fn shared(self) -> Self {
        says(program("mount").arg("--make-shared").arg(&self.0));
        self
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = program("umount").arg("--lazy").arg(&self.0).status();
    }
}

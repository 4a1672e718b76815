//! The `/etc` of every box: it says nothing about the host, and has process 1 and the runner in it.
//!
//! ```text
//!   <base>/.box/etc/          our own passwd, hosts …; copies of what loaders, clocks and certificate checks read
//!   <base>/.box/etc/warren/   process 1 and the runner; here, so that one mount gives a box all of it
//! ```
//!
//! Written when Warren starts, readable by every box's user, writable by none.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::boxes::program::{self, Program};

/// Files with our own text, since the host's would say something about the host.
const OWN: [(&str, &str); 6] = [
    (
        "passwd",
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nagent:x:1000:1000:agent:/workspace:/bin/sh\n",
    ),
    ("group", "root:x:0:\nagent:x:1000:\n"),
    ("hosts", "127.0.0.1 localhost warren\n::1 localhost\n"),
    ("hostname", "warren\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("resolv.conf", ""),
];
/// Small, harmless, and the same for all; copied, since a mount of each would make every box slower to open.
const COPIED: [&str; 7] = [
    "ld.so.cache",
    "localtime",
    "mime.types",
    "protocols",
    "services",
    "ssl/certs/ca-certificates.crt",
    "ssl/openssl.cnf",
];
/// Links by which many programs are found.
const ALTERNATIVES: &str = "/etc/alternatives";
const MAX_COPIED_BYTES: u64 = 4 << 20;

/// Writes the files, and returns where the `/etc` of boxes is.
pub(super) fn write_box_etc(folder: &Path) -> io::Result<PathBuf> {
    let etc = folder.join("etc");
    make_folder(folder)?;
    make_folder(&etc)?;
    make_folder(&etc.join("warren"))?;
    for program in Program::ALL {
        program::install(program, &etc.join("warren"))?;
    }
    // By this name the runner asks Warren for something.
    make_folder(&etc.join("warren/bin"))?;
    put_link(&etc.join("warren/bin/warren"), Path::new("../warren-runner"))?;
    for (name, text) in OWN {
        put(&etc.join(name), text.as_bytes())?;
    }
    for folder in ["ssl", "ssl/certs", "alternatives"] {
        make_folder(&etc.join(folder))?;
    }
    for name in COPIED {
        let source = Path::new("/etc").join(name);
        if std::fs::metadata(&source).is_ok_and(|facts| facts.is_file() && facts.len() <= MAX_COPIED_BYTES) {
            put(&etc.join(name), &std::fs::read(&source)?)?;
        }
    }
    for entry in std::fs::read_dir(ALTERNATIVES).into_iter().flatten().flatten() {
        if let Ok(target) = std::fs::read_link(entry.path()) {
            put_link(&etc.join("alternatives").join(entry.file_name()), &target)?;
        }
    }
    Ok(etc)
}

fn put_link(path: &Path, target: &Path) -> io::Result<()> {
    if std::fs::read_link(path).is_ok_and(|there| there == target) {
        return Ok(());
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => std::os::unix::fs::symlink(target, path),
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o755))
}

/// Writes beside the file and renames, so that a box never reads half of it.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let staged = path.with_extension("new");
    std::fs::write(&staged, bytes)?;
    std::fs::set_permissions(&staged, Permissions::from_mode(0o444))?;
    std::fs::rename(&staged, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    // W72
    #[test]
    fn a_box_gets_an_etc_of_its_own_and_mended_files() {
        let folder = tempfile::tempdir().unwrap();
        write_box_etc(folder.path()).unwrap();
        let passwd = folder.path().join("etc/passwd");
        assert!(std::fs::read_to_string(&passwd).unwrap().contains("agent:x:1000"));
        assert!(!folder.path().join("etc/shadow").exists());
        assert!(folder.path().join("etc/ssl/certs").is_dir());
        std::fs::remove_file(&passwd).unwrap();
        std::fs::write(&passwd, "somebody:x:0:0::/:/bin/sh").unwrap();
        write_box_etc(folder.path()).unwrap();
        assert!(!std::fs::read_to_string(&passwd).unwrap().contains("somebody"));
    }
}

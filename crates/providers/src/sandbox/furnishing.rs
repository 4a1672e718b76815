//! What every box is given: process 1, and an `/etc` that tells nothing of the host.
//!
//! ```text
//!   <base>/.box/warren-init
//!   <base>/.box/etc/          our own passwd, hosts …; copies of what loaders and clocks read; places for two mounts
//! ```
//!
//! Written when Warren starts, readable by every box's user, writable by none.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::arguments::LIVE_ETC;
use crate::boxes::program;

/// What would tell of the host if it were the host's.
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
const COPIED: [&str; 5] = ["ld.so.cache", "localtime", "mime.types", "protocols", "services"];
const MAX_COPIED_BYTES: u64 = 4 << 20;

pub(super) fn furnish(folder: &Path) -> io::Result<()> {
    let etc = folder.join("etc");
    make_folder(folder)?;
    make_folder(&etc)?;
    program::install(folder)?;
    for (name, text) in OWN {
        put(&etc.join(name), text.as_bytes())?;
    }
    for name in COPIED {
        let source = Path::new("/etc").join(name);
        if std::fs::metadata(&source).is_ok_and(|facts| facts.is_file() && facts.len() <= MAX_COPIED_BYTES) {
            put(&etc.join(name), &std::fs::read(&source)?)?;
        }
    }
    for live in LIVE_ETC {
        let below = live.strip_prefix("/etc/").unwrap_or(live);
        below
            .split('/')
            .try_fold(etc.clone(), |above, name| make_folder(&above.join(name)).map(|()| above.join(name)))?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o755))
}

/// Beside it first, so that a box never reads half a file.
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
        furnish(folder.path()).unwrap();
        let passwd = folder.path().join("etc/passwd");
        assert!(std::fs::read_to_string(&passwd).unwrap().contains("agent:x:1000"));
        assert!(!folder.path().join("etc/shadow").exists());
        assert!(folder.path().join("etc/ssl/certs").is_dir());
        std::fs::remove_file(&passwd).unwrap();
        std::fs::write(&passwd, "somebody:x:0:0::/:/bin/sh").unwrap();
        furnish(folder.path()).unwrap();
        assert!(!std::fs::read_to_string(&passwd).unwrap().contains("somebody"));
    }
}

//! The data folder and the space below it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use warren_fleet::LastBackup;

use super::Check;
use crate::context::Context;

const AREA: &str = "data";
const MIB: u64 = 1 << 20;
const LITTLE_SPACE: u64 = 1_024 * MIB;
const TOO_LITTLE_SPACE: u64 = 100 * MIB;

pub(super) fn checks(context: &Context) -> Vec<Check> {
    match context.data_path() {
        Ok(path) => {
            [Some(folder(&path)), Some(space(&path)), last_backup(&path)].into_iter().flatten().collect()
        }
        Err(_) => {
            vec![Check::ok(AREA, "folder", "unknown").fail("Set HOME, or name a folder with `--data DIR`.")]
        }
    }
}

fn folder(path: &Path) -> Check {
    let shown = path.display();
    let check = |finding: String| {
        Check::ok(AREA, "folder", finding).effect("Holds the database, the workspaces and the local token.")
    };
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => {
            check(format!("{shown} is not a folder")).fail("Choose another one with `--data`.")
        }
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            check(format!("{shown} can be entered by other users")).warn(format!("Run `chmod 700 {shown}`."))
        }
        Ok(_) => match rustix::fs::access(path, rustix::fs::Access::WRITE_OK) {
            Ok(()) => check(format!("{shown}, private")),
            Err(error) => {
                check(format!("{shown}: {error}")).fail("Fix its owner, or choose another one with `--data`.")
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            check(format!("{shown} does not exist yet; `warren up` makes it"))
        }
        Err(error) => check(format!("{shown}: {error}")).fail("Choose another one with `--data`."),
    }
}

/// Absent where no server has run yet.
fn last_backup(path: &Path) -> Option<Check> {
    crate::data_folder::sign_of_use(path)?;
    let check = |finding: String| {
        Check::ok(AREA, "last backup", finding).effect("What was written since is lost with the disk.")
    };
    Some(match LastBackup::read(path) {
        Some(LastBackup { at }) => check(format!("taken through the server at {at}")),
        None => check("none was taken through the server".to_owned()),
    })
}

/// Of the nearest folder that exists.
fn space(path: &Path) -> Check {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(existing) {
        Ok(found) => judge_space(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => {
            Check::ok(AREA, "disk space", error.to_string()).warn("Check the file system of the data folder.")
        }
    }
}

fn judge_space(free: u64) -> Check {
    let check = Check::ok(AREA, "disk space", format!("{} MiB free", free / MIB))
        .effect("Without space nothing is lost, and nothing new is accepted.");
    if free < TOO_LITTLE_SPACE {
        check.fail("Free some space, or move the data folder.")
    } else if free < LITTLE_SPACE {
        check.warn("Free some space soon.")
    } else {
        check
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    // O1
    #[test]
    fn little_space_is_a_warning_and_none_a_failure() {
        assert_eq!(judge_space(50 * MIB).state, State::Fail);
        assert_eq!(judge_space(500 * MIB).state, State::Warn);
        assert_eq!(judge_space(5_000 * MIB).state, State::Ok);
    }

    // O1
    #[test]
    fn a_folder_is_judged_by_what_it_is_and_who_can_enter_it() {
        let parent = tempfile::tempdir().unwrap();
        let open = parent.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(folder(&open).state, State::Warn);
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(folder(&open).state, State::Ok);
        let file = parent.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(folder(&file).state, State::Fail);
        assert_eq!(folder(&parent.path().join("none")).state, State::Ok);
        assert_eq!(folder(&file.join("below")).state, State::Fail);
    }
}

//! The data folder of a local server: private to its owner, and held by one server at a time.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use warren_model::ErrorCode;

use crate::failure::{Outcome, Report};

const LOCK_NAME: &str = "warren.lock";
const DATABASE_NAME: &str = "warren.db";

/// A folder that this process holds until it ends. The kernel lets go of the lock also after a crash.
#[derive(Debug)]
pub(crate) struct DataFolder {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl DataFolder {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let unusable = |what: &str, error: &io::Error| {
            Report::new(ErrorCode::DataFolderUnusable).because(format!("{}: {what}: {error}", path.display()))
        };
        make_private(path).map_err(|error| unusable("cannot be made", &error))?;
        let path = path.canonicalize().map_err(|error| unusable("cannot be reached", &error))?;
        let lock = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join(LOCK_NAME))
            .map_err(|error| unusable("cannot be written to", &error))?;
        let lock = take_lock(lock, &path)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn default_database(&self) -> String {
        default_database(&self.path)
    }

    /// Where the local provider keeps its workspaces.
    pub(crate) fn workspaces(&self) -> PathBuf {
        self.path.join("workspaces")
    }
}

pub(crate) fn default_database(data: &Path) -> String {
    format!("sqlite:{}", data.join(DATABASE_NAME).display())
}

/// Only the folder itself is private; those above it are made as usual.
fn make_private(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}

fn take_lock(mut lock: File, path: &Path) -> Outcome<File> {
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            // Who holds it is a courtesy; that it is held is certain.
            let _ = lock.read_to_string(&mut holder);
            let holder = holder.trim();
            let by = if holder.is_empty() { String::new() } else { format!(" by process {holder}") };
            return Err(Report::new(ErrorCode::DataFolderInUse)
                .because(format!("{} is held{by}", path.display()))
                .into());
        }
        Err(error) => {
            return Err(Report::new(ErrorCode::DataFolderUnusable)
                .because(format!("{}: the lock cannot be taken: {error}", path.display()))
                .hint("Choose a folder on a local disk with `--data`.")
                .into());
        }
    }
    let noted =
        lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| writeln!(lock, "{}", std::process::id()));
    noted.map_err(|error| {
        Report::new(ErrorCode::DataFolderUnusable)
            .because(format!("{}: cannot be written to: {error}", path.display()))
    })?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::failure::Failure;

    fn refusal(path: &Path) -> Report {
        match DataFolder::open(path).unwrap_err() {
            Failure::Told(report) => *report,
            Failure::BrokenPipe => panic!("no pipe is involved"),
        }
    }

    // S10
    #[test]
    fn a_new_folder_is_private_and_held_by_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("deep/data");
        let held = DataFolder::open(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let refused = refusal(&path);
        assert_eq!(refused.code, "data_folder_in_use");
        assert!(refused.causes[0].contains(&format!("process {}", std::process::id())), "{refused:?}");
        drop(held);
        DataFolder::open(&path).unwrap();
    }

    // S10
    #[test]
    fn a_path_that_cannot_be_a_folder_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "precious").unwrap();
        for path in [file.clone(), file.join("below")] {
            assert_eq!(refusal(&path).code, "data_folder_unusable", "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }
}

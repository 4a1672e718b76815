//! The data folder of a local server: private to its owner, and held by one server at a time.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use warren_doors::Entropy;
use warren_model::{ErrorCode, WorkspaceId};

use crate::access;
use crate::failure::{Outcome, Report};

const LOCK_NAME: &str = "warren.lock";
const DATABASE_NAME: &str = "warren.db";
const WORKSPACES_NAME: &str = "workspaces";
/// Where providers keep files of workspaces.
const PLACES_NAMES: [&str; 3] = [WORKSPACES_NAME, "sandbox", "docker"];
const REPLICA_NAME: &str = "replica";

/// How long the lock of a dead server is waited for. A child that a killed server had just forked holds it until it
/// becomes the command: milliseconds, and more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// A folder that this process holds until it ends. The kernel lets go of the lock also after a crash.
#[derive(Debug)]
pub(crate) struct DataFolder {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl DataFolder {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        Self::open_within(path, PATIENCE)
    }

    fn open_within(path: &Path, patience: Duration) -> Outcome<Self> {
        let unusable = |what: &str, error: &io::Error| {
            Report::new(ErrorCode::DataFolderUnusable).because(format!("{}: {what}: {error}", path.display()))
        };
        make_private(path).map_err(|error| unusable("cannot be made", &error))?;
        let path = path.canonicalize().map_err(|error| unusable("cannot be reached", &error))?;
        let lock = open_lock(&path).map_err(|error| unusable("its lock cannot be opened", &error))?;
        take_lock(&lock, &path, patience)?;
        note_holder(&lock).map_err(|error| unusable("cannot be written to", &error))?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn default_database(&self) -> String {
        default_database(&self.path)
    }

    /// The name of this Warren among those on the same database: as long as the folder stays, so does the name.
    pub(crate) fn replica(&self, entropy: &dyn Entropy) -> Outcome<String> {
        let path = self.path.join(REPLICA_NAME);
        let unusable = |error: io::Error| {
            Report::new(ErrorCode::DataFolderUnusable).because(format!("{}: {error}", path.display()))
        };
        match fs::read_to_string(&path) {
            Ok(name) if !name.trim().is_empty() => return Ok(name.trim().to_owned()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unusable(error).into()),
        }
        let name: String = entropy.secret()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&path, &name).map_err(unusable)?;
        Ok(name)
    }

    /// Where the local provider keeps its workspaces.
    pub(crate) fn workspaces(&self) -> PathBuf {
        self.path.join(WORKSPACES_NAME)
    }
}

pub(crate) fn default_database(data: &Path) -> String {
    format!("sqlite:{}", data.join(DATABASE_NAME).display())
}

/// What shows that a server with a database ran here, in words. Both are made only after the database is.
pub(crate) fn sign_of_use(data: &Path) -> Option<String> {
    for folder in PLACES_NAMES.map(|name| data.join(name)) {
        let places = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| {
                entry.file_name().to_str().is_some_and(|name| name.parse::<WorkspaceId>().is_ok())
            })
            .count();
        if places > 0 {
            return Some(format!("{} holds the files of workspaces ({places})", folder.display()));
        }
    }
    let access = access::path_in(data);
    access.exists().then(|| format!("{} shows that a server ran here", access.display()))
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

/// Not through a link: the process's id is written into it, in place of what was there.
fn open_lock(folder: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(folder.join(LOCK_NAME))
}

/// A living server is respected at once. A dead one can leave its lock behind for a moment: `flock` belongs to the
/// open file, which a child has too between its fork and its exec.
fn take_lock(lock: &File, path: &Path, patience: Duration) -> Outcome<()> {
    let deadline = Instant::now() + patience;
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => {
                return Err(Report::new(ErrorCode::DataFolderUnusable)
                    .because(format!("{}: the lock cannot be taken: {error}", path.display()))
                    .hint("Choose a folder on a local disk with `--data`.")
                    .into());
            }
        }
        let holder = noted_holder(lock);
        if holder.is_some_and(is_another_living_process) || Instant::now() >= deadline {
            let by = holder.map_or_else(String::new, |holder| format!(" by process {holder}"));
            return Err(Report::new(ErrorCode::DataFolderInUse)
                .because(format!("{} is held{by}", path.display()))
                .into());
        }
        #[expect(clippy::disallowed_methods, reason = "before the runtime starts there is nothing to block")]
        std::thread::sleep(PAUSE);
    }
}

fn note_holder(mut lock: &File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

/// `None` also while the holder has not written it yet.
fn noted_holder(mut lock: &File) -> Option<Pid> {
    let mut text = String::new();
    lock.rewind().and_then(|()| lock.read_to_string(&mut text)).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

/// Our own id in the note is that of a server before us: in a container ids begin anew.
fn is_another_living_process(process: Pid) -> bool {
    process != rustix::process::getpid()
        && test_kill_process(process) != Err(Errno::SRCH)
        && !is_zombie(process)
}

/// Ended, and its parent has not asked how.
fn is_zombie(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state follows the name, which stands in parentheses and may hold any.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
}

#[cfg(test)]
mod tests;

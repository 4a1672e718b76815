//! What this provider keeps on the host.
//!
//! ```text
//!   <base>/<workspace id>/                   one workspace's files, owned by the box's user
//!   <base>/.boxes/<workspace id>/run/        the directory that process 1 has its socket in
//!   <base>/.boxes/<workspace id>/generation  the number of the last container that was given out
//!   <base>/.boxes/<workspace id>/volume-owner  whom its volume belongs to, with a daemon elsewhere
//!   <base>/.program/warren-init              process 1
//!   <base>/.program/warren-runner            the runner of a resident agent
//!   <base>/.instance                         who made the containers, also after a restart
//! ```
//!
//! With a daemon elsewhere the files are in a volume there. Their folder here is empty then: a record that the workspace is
//! there, and, by its owner, whose.
//!
//! The socket's directory belongs to the box's user only until process 1 has made its socket. Before the first program
//! runs in the box it is Warren's again (as root), so that nobody in there can put another socket in its place, or files.

use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, chown, fchown, fstat, mkdirat, open};
use rustix::io::Errno;
use warren_confined_fs::{Owner, Root, Staging, make_folder};
use warren_doors::Entropy;
use warren_model::{ErrorCode, WorkspaceId};
use warren_workspace::Error;

use crate::boxes::owner::{self, Owners};
use crate::boxes::program::{self, Program};
use crate::directory::{errno, open_staging};
use crate::process;

const BOXES: &str = ".boxes";
const PROGRAM: &str = ".program";
const INSTANCE: &str = ".instance";
const VOLUME_OWNER: &str = "volume-owner";
const MAX_INSTANCE_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct Folders {
    pub(super) base: PathBuf,
    pub(super) instance: String,
    pub(super) init: PathBuf,
    pub(super) runner: PathBuf,
    pub(super) staging: Arc<Staging>,
    owners: Owners,
}

impl Folders {
    pub(super) fn open(base: &Path, entropy: &dyn Entropy) -> Result<Self, Error> {
        let failed = |what: &'static str| {
            move |error: io::Error| errno::opening(Errno::from_io_error(&error).unwrap_or(Errno::IO), what)
        };
        std::fs::create_dir_all(base).map_err(failed("the containers' folder cannot be made"))?;
        let base = base.canonicalize().map_err(failed("the containers' folder cannot be found"))?;
        for name in [BOXES, PROGRAM] {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(base.join(name));
            made.map_err(failed("the containers' folder cannot be used"))?;
        }
        let staging = open_staging(&base, process::random_mark(entropy))
            .map_err(|errno| errno::opening(errno, "the containers' folder cannot be used"))?;
        let unwritable = failed("the containers' folder cannot be written");
        Ok(Self {
            instance: read_or_make_instance(&base, entropy).map_err(unwritable)?,
            init: program::install(Program::Init, &base.join(PROGRAM)).map_err(unwritable)?,
            runner: program::install(Program::Runner, &base.join(PROGRAM)).map_err(unwritable)?,
            staging: Arc::new(staging),
            owners: Owners::of(&base).map_err(failed("the containers' folder cannot be listed"))?,
            base,
        })
    }

    pub(super) fn files(&self, workspace: WorkspaceId) -> PathBuf {
        self.base.join(workspace.to_string())
    }

    pub(super) fn run(&self, workspace: WorkspaceId) -> PathBuf {
        self.of_box(workspace).join("run")
    }

    fn of_box(&self, workspace: WorkspaceId) -> PathBuf {
        self.base.join(BOXES).join(workspace.to_string())
    }

    /// Makes the files' folder unless it is there, and tells whose it is. `user` is set where the config says who.
    pub(super) fn make_files(&self, workspace: WorkspaceId, user: Option<Owner>) -> Result<Owner, Error> {
        let failed = |errno| errno::opening(errno, "the workspace's folder cannot be made");
        let folder = self.files(workspace);
        make_folder(&folder).map_err(failed)?;
        self.owner_of(&open_folder(&folder).map_err(failed)?, user)
    }

    /// The owner of files that must be there.
    pub(super) fn find_files(&self, workspace: WorkspaceId, user: Option<Owner>) -> Result<Owner, Error> {
        let handle = open_folder(&self.files(workspace)).map_err(|errno| match errno {
            Errno::NOENT => {
                Error::permanent(ErrorCode::WorkspaceFailed, "the workspace's folder is gone from the host")
            }
            other => errno::opening(other, "the workspace's folder cannot be opened"),
        })?;
        self.owner_of(&handle, user)
    }

    fn owner_of(&self, folder: &OwnedFd, user: Option<Owner>) -> Result<Owner, Error> {
        let failed = |errno| errno::opening(errno, "the workspace's folder cannot be given to its user");
        let stat = fstat(folder).map_err(failed)?;
        if user.is_none()
            && let Some(owner) = self.owners.of_directory(stat.st_uid, stat.st_gid)
        {
            return Ok(owner);
        }
        // New, or made by a process that ended before it could give it away, or the config names somebody else.
        let owner = user.or_else(|| self.owners.give()).ok_or_else(|| {
            let detail = "this data folder has had as many containers' users as it can";
            Error::permanent(ErrorCode::WorkspaceLimit, detail)
        })?;
        if is_root() {
            fchown(folder, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid))).map_err(failed)?;
        }
        Ok(owner)
    }

    /// Where what is known of a box is kept.
    pub(super) fn make_box(&self, workspace: WorkspaceId) -> Result<(), Error> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(self.of_box(workspace));
        made.map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            errno::opening(errno, "the box's folder cannot be made")
        })
    }

    /// A new, empty directory for process 1's socket.
    pub(super) fn make_run(&self, workspace: WorkspaceId, owner: Owner) -> Result<(), Error> {
        let failed = |errno| errno::opening(errno, "the box's socket folder cannot be made");
        self.make_box(workspace)?;
        self.discard(&self.of_box(workspace), "run").map_err(failed)?;
        let run = self.run(workspace);
        mkdirat(CWD, &run, Mode::from_raw_mode(0o700)).map_err(failed)?;
        self.give_run(&run, owner).map_err(failed)
    }

    /// From here on nobody in the box can put anything beside the socket or in its place.
    pub(super) fn lock_run(&self, workspace: WorkspaceId) -> Result<(), Error> {
        self.give_run(&self.run(workspace), owner::warren())
            .map_err(|errno| errno::opening(errno, "the box's socket folder cannot be locked"))
    }

    fn give_run(&self, run: &Path, owner: Owner) -> Result<(), Errno> {
        if !is_root() {
            return Ok(());
        }
        chown(run, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))
    }

    /// The number of the next container of a workspace; the same until one was given out.
    pub(super) fn next_generation(&self, workspace: WorkspaceId) -> u64 {
        let recorded = std::fs::read_to_string(self.of_box(workspace).join("generation"));
        recorded.ok().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0).saturating_add(1)
    }

    pub(super) fn record_generation(&self, workspace: WorkspaceId, generation: u64) -> io::Result<()> {
        let folder = self.of_box(workspace);
        let staged = folder.join("generation.new");
        std::fs::write(&staged, generation.to_string())?;
        std::fs::rename(staged, folder.join("generation"))
    }

    /// Whom the workspace's volume was given to, with a daemon elsewhere.
    pub(super) fn volume_owner(&self, workspace: WorkspaceId) -> Option<Owner> {
        let recorded = std::fs::read_to_string(self.of_box(workspace).join(VOLUME_OWNER)).ok()?;
        let (uid, gid) = recorded.trim().split_once(':')?;
        Some(Owner { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
    }

    pub(super) fn record_volume_owner(&self, workspace: WorkspaceId, owner: Owner) -> io::Result<()> {
        std::fs::write(self.of_box(workspace).join(VOLUME_OWNER), format!("{}:{}", owner.uid, owner.gid))
    }

    /// Workspaces that have had a box.
    pub(super) fn boxes(&self) -> io::Result<Vec<WorkspaceId>> {
        let mut known = Vec::new();
        for entry in std::fs::read_dir(self.base.join(BOXES))? {
            let name = entry?.file_name();
            known.extend(name.to_str().and_then(|name| name.parse::<WorkspaceId>().ok()));
        }
        Ok(known)
    }

    /// What is left of a box once its container is gone.
    pub(super) fn delete_box(&self, workspace: WorkspaceId) -> Result<(), Errno> {
        self.discard(&self.base.join(BOXES), &workspace.to_string())
    }

    pub(super) fn delete_files(&self, workspace: WorkspaceId) -> Result<(), Errno> {
        self.discard(&self.base, &workspace.to_string())
    }

    /// Renamed first: a crash from here on is finished by the reaper, and nobody opens half of it.
    fn discard(&self, parent: &Path, name: &str) -> Result<(), Errno> {
        let parent = Root::open(parent)?;
        match self.staging.discard(parent.handle(), name.as_ref()) {
            Ok(discarded) => self.staging.delete_discarded(&discarded),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

pub(super) fn is_root() -> bool {
    owner::warren().uid == 0
}

fn open_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Written whole before anybody reads it; of two who make it at once, one wins and both read the same.
fn read_or_make_instance(base: &Path, entropy: &dyn Entropy) -> io::Result<String> {
    let path = base.join(INSTANCE);
    if let Some(known) = read_instance(&path)? {
        return Ok(known);
    }
    let mark = process::random_mark(entropy);
    let staged = base.join(format!("{INSTANCE}.{mark}"));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged)?;
    file.write_all(mark.as_bytes())?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&staged, &path);
    std::fs::remove_file(&staged)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    read_instance(&path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read_instance(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let is_mark = |text: &str| {
                (8..=MAX_INSTANCE_BYTES).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            };
            let text = text.trim().to_owned();
            // Guessing another one would orphan every container there is.
            if is_mark(&text) { Ok(Some(text)) } else { Err(io::ErrorKind::InvalidData.into()) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use warren_doors::OsEntropy;

    use super::*;

    // W76
    #[test]
    fn an_instance_keeps_its_name_and_a_damaged_one_is_not_guessed() {
        let base = tempfile::tempdir().unwrap();
        let open = || Folders::open(base.path(), &OsEntropy);
        let first = open().unwrap().instance;
        assert_eq!(open().unwrap().instance, first);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Folders::open(other.path(), &OsEntropy).unwrap().instance, first);
        std::fs::write(base.path().join(INSTANCE), "").unwrap();
        assert!(open().is_err());
    }

    // W74
    #[test]
    fn generations_go_on_from_the_last_container_that_was_given_out() {
        let base = tempfile::tempdir().unwrap();
        let folders = Folders::open(base.path(), &OsEntropy).unwrap();
        let workspace: WorkspaceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let owner = folders.make_files(workspace, None).unwrap();
        folders.make_run(workspace, owner).unwrap();
        assert_eq!(folders.next_generation(workspace), 1);
        assert_eq!(folders.next_generation(workspace), 1, "asked again, the same");
        folders.record_generation(workspace, 1).unwrap();
        folders.make_run(workspace, owner).unwrap();
        assert_eq!(folders.next_generation(workspace), 2);
        assert_eq!(folders.boxes().unwrap(), [workspace]);
        folders.delete_box(workspace).unwrap();
        folders.delete_files(workspace).unwrap();
        assert!(folders.boxes().unwrap().is_empty() && !folders.files(workspace).exists());
    }
}

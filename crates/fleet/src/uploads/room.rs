//! How much room there is for uploads, counted over all that are under way to one workspace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;
use warren_model::{ErrorCode, WorkspaceId};
use warren_rules::messages::uploads::{self, Arrived, NoRoom, Room};
use warren_service::Error;
use warren_workspace::fs::LsQuery;
use warren_workspace::{Workspace, WorkspacePath};

use super::fs_of;

/// What is measured of a folder: more than so many entries count as a full one.
const MEASURED_PAGES: u32 = 20;
const MEASURED_ENTRIES: u32 = 5_000;
const MEASURED_DEPTH: u32 = 32;

/// What one upload has brought so far.
#[derive(Debug)]
pub(super) struct UploadTally {
    pub(super) room: Room,
    account: Arc<Account>,
    of_upload: Mutex<u64>,
}

impl UploadTally {
    pub(super) fn new(room: Room, account: Arc<Account>) -> Self {
        Self { room, account, of_upload: Mutex::new(0) }
    }

    pub(super) fn take(&self, of_file: u64, more: u64) -> Result<(), warren_workspace::Error> {
        let mut of_upload = locked(&self.of_upload);
        let Some(in_folder) = self.account.in_folder.get() else { return Ok(()) };
        let mut in_folder = locked(in_folder);
        let arrived = Arrived { of_file, of_upload: *of_upload, in_folder: *in_folder };
        uploads::admit(&self.room, arrived, more).map_err(no_room)?;
        *of_upload += more;
        *in_folder += more;
        Ok(())
    }

    pub(super) fn give_back(&self) {
        let of_upload = std::mem::take(&mut *locked(&self.of_upload));
        if let Some(in_folder) = self.account.in_folder.get() {
            let mut in_folder = locked(in_folder);
            *in_folder = in_folder.saturating_sub(of_upload);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands in the folder of one workspace, while anything is under way to it.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) in_folder: OnceCell<Mutex<u64>>,
}

#[derive(Debug, Default)]
pub(super) struct Accounts(Mutex<BTreeMap<WorkspaceId, Weak<Account>>>);

impl Accounts {
    pub(super) fn of(&self, id: WorkspaceId) -> Arc<Account> {
        let mut open = locked(&self.0);
        if let Some(account) = open.get(&id).and_then(Weak::upgrade) {
            return account;
        }
        open.retain(|_, account| account.strong_count() > 0);
        let account = Arc::default();
        open.insert(id, Arc::downgrade(&account));
        account
    }
}

/// Bytes of all that was uploaded and is still there.
pub(super) async fn measure(workspace: &dyn Workspace) -> Result<Mutex<u64>, Error> {
    let fs = fs_of(workspace)?;
    let folder = WorkspacePath::parse(uploads::FOLDER)?;
    let mut query = LsQuery { depth: MEASURED_DEPTH, limit: MEASURED_ENTRIES, after: None };
    let mut bytes = 0_u64;
    for _ in 0..MEASURED_PAGES {
        let page = match fs.ls(&folder, &query).await {
            Ok(page) => page,
            Err(error) if error.code() == ErrorCode::FileNotFound => return Ok(Mutex::new(0)),
            Err(error) => return Err(error.into()),
        };
        bytes = page.entries.iter().fold(bytes, |bytes, entry| bytes.saturating_add(entry.bytes));
        if page.next.is_none() {
            return Ok(Mutex::new(bytes));
        }
        query.after = page.next;
    }
    Ok(Mutex::new(u64::MAX))
}

pub(super) fn no_room(problem: NoRoom) -> warren_workspace::Error {
    let code = match problem {
        NoRoom::File { .. } | NoRoom::Upload { .. } => ErrorCode::PayloadTooLarge,
        NoRoom::Folder { .. } => ErrorCode::StorageFull,
        NoRoom::Files => ErrorCode::InvalidUpload,
    };
    warren_workspace::Error::operation(code, problem.to_string())
}

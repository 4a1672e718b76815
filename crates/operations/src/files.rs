//! Files and directories of a workspace.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use warren_fleet::Fleet;
use warren_model::{ErrorCode, FileChange, WorkspaceId};
use warren_service::{Action, Error, Identity};
use warren_workspace::fs::{
    ByteRange, ByteStream, Change, EntryKind, FileContents, Fs, Listing, LsQuery, WriteMode, Written,
};
use warren_workspace::{Workspace, WorkspacePath};

use crate::access::{AccessWatch, while_allowed};
use crate::journal;
use crate::modules::fs_of;

#[derive(Debug, Clone)]
pub struct Files {
    pub(crate) fleet: Fleet,
}

/// What a watcher of files is told. `Closing` is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    Changed(Change),
    /// The watcher must stop, and why.
    Closing(ErrorCode),
}

pub type WatchStream = Pin<Box<dyn Stream<Item = WatchEvent> + Send>>;

/// What is found under a path.
#[derive(Debug)]
pub enum FileOrListing {
    File(FileContents),
    Directory(Listing),
}

impl Files {
    pub(crate) fn new(fleet: Fleet) -> Self {
        Self { fleet }
    }

    /// Reads a range of a file, or lists a directory: whichever the path names.
    #[tracing::instrument(name = "operations.files.read", skip_all, fields(workspace.id = %id))]
    pub async fn read(
        &self,
        who: &Identity,
        id: WorkspaceId,
        path: &WorkspacePath,
        range: ByteRange,
        query: &LsQuery,
    ) -> Result<FileOrListing, Error> {
        self.fleet.workspaces.usable(who, Action::ReadWorkspaces, id).await?;
        let read = |workspace: Arc<dyn Workspace>| async move {
            read_or_list(fs_of(&*workspace)?, path, range, query).await
        };
        Ok(self.fleet.registry.with(id, read).await?)
    }

    /// Lists a directory.
    #[tracing::instrument(name = "operations.files.list", skip_all, fields(workspace.id = %id))]
    pub async fn list(
        &self,
        who: &Identity,
        id: WorkspaceId,
        path: &WorkspacePath,
        query: &LsQuery,
    ) -> Result<Listing, Error> {
        self.fleet.workspaces.usable(who, Action::ReadWorkspaces, id).await?;
        let list = |workspace: Arc<dyn Workspace>| async move { fs_of(&*workspace)?.ls(path, query).await };
        Ok(self.fleet.registry.with(id, list).await?)
    }

    /// Changes below a path from now on, up to the end of the caller's access, or until `ends_with` is cancelled.
    #[tracing::instrument(name = "operations.files.watch", skip_all, fields(workspace.id = %id))]
    pub async fn watch(
        &self,
        who: &Identity,
        id: WorkspaceId,
        path: &WorkspacePath,
        ends_with: CancellationToken,
    ) -> Result<WatchStream, Error> {
        let action = Action::ReadWorkspaces;
        self.fleet.workspaces.usable(who, action, id).await?;
        let workspace = Arc::clone(self.fleet.registry.acquire(id).await?.workspace());
        let changes = fs_of(&*workspace)?.watch(path).await?;
        let events = changes.map(move |change| {
            let _held = &workspace;
            change.map_or_else(|error| WatchEvent::Closing(error.code()), WatchEvent::Changed)
        });
        let (fleet, who) = (self.fleet.clone(), who.clone());
        let access = AccessWatch { fleet, who, action, workspace_id: id, ends_with: Some(ends_with) };
        Ok(while_allowed(events, access.lost(), WatchEvent::Closing).boxed())
    }

    /// Writes a file, atomically: readers see the old contents or the new. The contents can be read once, so this is not
    /// repeated after an eviction: the client sends them again.
    #[tracing::instrument(name = "operations.files.write", skip_all, fields(workspace.id = %id))]
    pub async fn write(
        &self,
        who: &Identity,
        id: WorkspaceId,
        path: &WorkspacePath,
        contents: ByteStream,
        mode: WriteMode,
    ) -> Result<Written, Error> {
        let row = self.fleet.workspaces.usable(who, Action::UseWorkspace, id).await?;
        let workspace = Arc::clone(self.fleet.registry.acquire(id).await?.workspace());
        let written = fs_of(&*workspace)?.write(path, contents, mode).await?;
        journal::file_changed(&self.fleet, who, &row, FileChange::Write, path, written.bytes);
        Ok(written)
    }

    /// Deletes a file or directory. A link is deleted itself.
    #[tracing::instrument(name = "operations.files.delete", skip_all, fields(workspace.id = %id))]
    pub async fn delete(
        &self,
        who: &Identity,
        id: WorkspaceId,
        path: &WorkspacePath,
        recursive: bool,
    ) -> Result<(), Error> {
        let delete =
            |workspace: Arc<dyn Workspace>| async move { fs_of(&*workspace)?.rm(path, recursive).await };
        self.change(who, id, FileChange::Delete, path, delete).await
    }

    /// Moves or renames something inside the workspace.
    #[tracing::instrument(name = "operations.files.rename", skip_all, fields(workspace.id = %id))]
    pub async fn rename(
        &self,
        who: &Identity,
        id: WorkspaceId,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: bool,
    ) -> Result<(), Error> {
        let rename =
            |workspace: Arc<dyn Workspace>| async move { fs_of(&*workspace)?.mv(from, to, overwrite).await };
        self.change(who, id, FileChange::Move, to, rename).await
    }

    /// Makes a directory and its missing parents; one that is there already is fine.
    #[tracing::instrument(name = "operations.files.make_directory", skip_all, fields(workspace.id = %id))]
    pub async fn make_directory(
        &self,
        who: &Identity,
        id: WorkspaceId,
        path: &WorkspacePath,
    ) -> Result<(), Error> {
        let make = |workspace: Arc<dyn Workspace>| async move { fs_of(&*workspace)?.mkdir(path).await };
        self.change(who, id, FileChange::Mkdir, path, make).await
    }

    /// Carries out a change that can be repeated after an eviction, and writes it to the journal.
    async fn change<Fut: Future<Output = Result<(), warren_workspace::Error>>>(
        &self,
        who: &Identity,
        id: WorkspaceId,
        change: FileChange,
        path: &WorkspacePath,
        act: impl Fn(Arc<dyn Workspace>) -> Fut,
    ) -> Result<(), Error> {
        let row = self.fleet.workspaces.usable(who, Action::UseWorkspace, id).await?;
        self.fleet.registry.with(id, act).await?;
        journal::file_changed(&self.fleet, who, &row, change, path, 0);
        Ok(())
    }
}

async fn read_or_list(
    fs: &dyn Fs,
    path: &WorkspacePath,
    range: ByteRange,
    query: &LsQuery,
) -> Result<FileOrListing, warren_workspace::Error> {
    let is_directory = path.is_root() || fs.stat(path).await?.kind == EntryKind::Directory;
    if !is_directory {
        match fs.read(path, range).await {
            // A link to a directory inside the workspace.
            Err(error) if error.code() == ErrorCode::NotAFile => {}
            outcome => return outcome.map(FileOrListing::File),
        }
    }
    fs.ls(path, query).await.map(FileOrListing::Directory)
}

//! Where files land that come with messages (X32, X33).
//!
//! ```text
//!   land ─▶ store ─▶ store ─┬─▶ keep        all of them are there
//!                           └─▶ take_back   none of them is
//! ```
//!
//! A file appears when all of it is there, since that is how a workspace writes. What one upload has brought before it
//! failed is taken away again. Who lands must not be dropped half-way: `Context::run_detached` runs it beside the request.
//!
//! How much stands in a workspace's folder is measured when the first upload to it begins, and counted from then on by
//! all that are under way in this process; so a hundred at once do not bring more than there is room for (sec/P04).

mod room;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use warren_model::{ErrorCode, FileChange, Principal, Workspace as Row};
use warren_rules::messages::attachments::{LOOKED_AT, MAX_ATTACHMENTS, checked_type};
use warren_rules::messages::uploads::{self, NoRoom, Room};
use warren_service::{Context, Error};
use warren_workspace::fs::{ByteRange, ByteStream, EntryKind, Fs, WriteMode};
use warren_workspace::{Registry, Workspace, WorkspacePath};

use crate::access::check_usable;
use crate::replicas::Replicas;
use crate::{Journal, Use};
use room::{Accounts, UploadTally, measure, no_room};

/// A file on its way in.
pub struct IncomingFile {
    /// As `uploads::safe_name` gives it.
    pub name: String,
    /// What it is said to be; absent: what its bytes look like.
    pub media_type: Option<String>,
    pub contents: ByteStream,
}

impl IncomingFile {
    /// The name of a file, from the `Content-Disposition` that came with it, or what is wrong with it.
    pub fn name_in(disposition: &str) -> Result<String, String> {
        uploads::name_in(disposition).map_err(|problem| problem.to_string())
    }
}

impl std::fmt::Debug for IncomingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncomingFile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A file that has landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedFile {
    /// Relative to the workspace root.
    pub path: String,
    pub name: String,
    pub media_type: String,
    pub bytes: u64,
}

/// A file of the sender's workspace that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedFile {
    pub path: String,
    pub media_type: Option<String>,
}

/// What is wrong with one of several files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRefusal {
    pub at: usize,
    pub error: Error,
}

/// One upload to a workspace, under way.
#[derive(Debug)]
#[must_use = "what has landed is kept or taken back"]
pub struct Landing {
    uploads: Uploads,
    row: Row,
    workspace: Arc<dyn Workspace>,
    folder: WorkspacePath,
    names: BTreeSet<String>,
    files: Vec<LandedFile>,
    /// Those that were not there before.
    made: Vec<WorkspacePath>,
    tally: Arc<UploadTally>,
}

/// Brings files into workspaces. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Uploads {
    context: Context,
    registry: Registry,
    replicas: Replicas,
    journal: Journal,
    accounts: Arc<Accounts>,
}

impl Uploads {
    pub(crate) fn new(context: Context, registry: Registry, replicas: Replicas, journal: Journal) -> Self {
        Self { context, registry, replicas, journal, accounts: Arc::default() }
    }

    /// Begins an upload. What lands under the same name of an upload again is not brought a second time.
    #[tracing::instrument(name = "fleet.uploads.land", skip_all)]
    pub async fn land(&self, row: Row, upload: &str) -> Result<Landing, Error> {
        let workspace = self.open_for_files(&row).await?;
        let folder = WorkspacePath::parse(&format!("{}/{upload}", uploads::FOLDER))?;
        let account = self.accounts.of(row.id);
        account.in_folder.get_or_try_init(|| measure(&*workspace)).await?;
        let limits = self.context.limits();
        let room = Room {
            file_bytes: limits.max_attachment_bytes,
            upload_bytes: limits.max_attachments_bytes,
            folder_bytes: limits.max_uploads_bytes,
        };
        let tally = Arc::new(UploadTally::new(room, account));
        Ok(Landing {
            uploads: self.clone(),
            row,
            workspace,
            folder,
            names: BTreeSet::new(),
            files: Vec::new(),
            made: Vec::new(),
            tally,
        })
    }

    /// Brings files of one workspace to another. All of them are looked at before the first is brought.
    #[tracing::instrument(name = "fleet.uploads.hand_over", skip_all)]
    pub async fn hand_over(
        &self,
        from: &Row,
        to: Row,
        upload: &str,
        files: &[HandedFile],
    ) -> Result<Landing, FileRefusal> {
        let first = |error| FileRefusal { at: 0, error };
        let sender = self.open_for_files(from).await.map_err(first)?;
        let source = fs_of(&*sender).map_err(first)?;
        let mut landing = self.land(to, upload).await.map_err(first)?;
        if !landing.has_folder().await {
            for (at, file) in files.iter().enumerate() {
                self.check_file(source, file).await.map_err(|error| FileRefusal { at, error })?;
            }
        }
        for (at, file) in files.iter().enumerate() {
            if let Err(error) = landing.bring(self, source, file).await {
                landing.take_back().await;
                return Err(FileRefusal { at, error });
            }
        }
        Ok(landing)
    }

    /// Brings one more file of a workspace to what lands.
    #[tracing::instrument(name = "fleet.uploads.bring_file", skip_all)]
    pub async fn bring_file(
        &self,
        from: &Row,
        landing: &mut Landing,
        file: &HandedFile,
    ) -> Result<(), Error> {
        let sender = self.open_for_files(from).await?;
        landing.bring(self, fs_of(&*sender)?, file).await
    }

    /// A regular file of an allowed size; a link is none.
    async fn check_file(&self, source: &dyn Fs, file: &HandedFile) -> Result<WorkspacePath, Error> {
        let path = WorkspacePath::parse(&file.path)?;
        let entry = source.stat(&path).await?;
        if entry.kind != EntryKind::File {
            let detail = "only a regular file can go with a message";
            return Err(Error::with_detail(ErrorCode::NotAFile, detail));
        }
        let max = self.context.limits().max_attachment_bytes;
        if entry.bytes > max {
            return Err(no_room(NoRoom::File { max }).into());
        }
        Ok(path)
    }

    async fn open_for_files(&self, row: &Row) -> Result<Arc<dyn Workspace>, Error> {
        check_usable(row)?;
        self.replicas.reach(row).await?;
        let lease = self.registry.acquire(row.id).await?;
        Ok(Arc::clone(lease.workspace()))
    }
}

impl Landing {
    /// Takes one file in, under a name that no other of this upload has.
    pub async fn store(&mut self, file: IncomingFile) -> Result<(), Error> {
        if self.files.len() >= MAX_ATTACHMENTS {
            return Err(no_room(NoRoom::Files).into());
        }
        let name = uploads::distinct_name(&file.name, &self.names);
        let path = self.folder.join(&name);
        let (head, contents) = look(file.contents).await?;
        let media_type = checked_type(file.media_type.as_deref(), &head)
            .map_err(|problem| Error::with_detail(ErrorCode::InvalidUpload, problem.to_string()))?;
        let contents = counted(contents, Arc::clone(&self.tally));
        let fs = fs_of(&*self.workspace)?;
        let mode = WriteMode::CreateNewUpTo { bytes: self.tally.room.file_bytes };
        let bytes = match fs.write(&path, contents, mode).await {
            Ok(written) => {
                self.made.push(path.clone());
                written.bytes
            }
            // The same upload, begun before.
            Err(error) if error.code() == ErrorCode::FileExists => fs.stat(&path).await?.bytes,
            Err(error) => return Err(error.into()),
        };
        self.names.insert(name.clone());
        self.files.push(LandedFile { path: path.as_str().to_owned(), name, media_type, bytes });
        Ok(())
    }

    /// One that is here already, since the same message came before, stays as it is: the sender may have changed or
    /// deleted its own since.
    async fn bring(&mut self, uploads: &Uploads, source: &dyn Fs, file: &HandedFile) -> Result<(), Error> {
        let path = WorkspacePath::parse(&file.path)?;
        let said = path.file_name().unwrap_or_default();
        let name = uploads::safe_name(said)
            .map_err(|problem| Error::with_detail(ErrorCode::InvalidUpload, problem.to_string()))?;
        let media_type = file.media_type.clone();
        let own = Arc::clone(&self.workspace);
        let here = self.folder.join(&uploads::distinct_name(&name, &self.names));
        let contents = match fs_of(&*own)?.read(&here, ByteRange::default()).await {
            Ok(found) => found.stream,
            Err(_) => {
                let path = uploads.check_file(source, file).await?;
                source.read(&path, ByteRange::default()).await?.stream
            }
        };
        self.store(IncomingFile { name, media_type, contents }).await
    }

    /// Whether the same upload was begun before.
    async fn has_folder(&self) -> bool {
        let Ok(fs) = fs_of(&*self.workspace) else { return false };
        fs.stat(&self.folder).await.is_ok()
    }

    pub fn files(&self) -> &[LandedFile] {
        &self.files
    }

    /// Keeps all files and returns them.
    pub fn keep(self, by: &Principal) -> Vec<LandedFile> {
        let made = |file: &&LandedFile| self.made.iter().any(|path| path.as_str() == file.path);
        for file in self.files.iter().filter(made) {
            let what = Use::FileChanged {
                operation: FileChange::Upload,
                path: file.path.clone(),
                bytes: file.bytes,
            };
            self.uploads.journal.record(self.row.org_id, self.row.id, by.clone(), &what);
        }
        self.files
    }

    /// None of it stays.
    pub async fn take_back(self) {
        let Ok(fs) = fs_of(&*self.workspace) else { return };
        let mut is_clean = true;
        for path in &self.made {
            is_clean &= fs.rm(path, false).await.is_ok();
        }
        if !self.made.is_empty() {
            // Not empty: somebody else put something there, or an earlier attempt did.
            let _ = fs.rm(&self.folder, false).await;
        }
        if is_clean {
            self.tally.give_back();
        } else {
            tracing::warn!(workspace.id = %self.row.id, "files of an upload that failed could not be removed");
        }
    }
}

fn fs_of(workspace: &dyn Workspace) -> Result<&dyn Fs, Error> {
    let missing = || Error::with_detail(ErrorCode::CapabilityMissing, "the workspace has no `fs`");
    workspace.fs().ok_or_else(missing)
}

/// How a file begins, and all of it.
async fn look(contents: ByteStream) -> Result<(Vec<u8>, ByteStream), Error> {
    // A short one has ended here already, and is asked once more by whoever writes it.
    let mut contents = contents.fuse();
    let (mut head, mut pieces) = (Vec::with_capacity(LOOKED_AT), Vec::new());
    while head.len() < LOOKED_AT {
        let Some(piece) = contents.next().await else { break };
        let piece = piece?;
        head.extend(piece.iter().take(LOOKED_AT - head.len()));
        pieces.push(Ok(piece));
    }
    Ok((head, Box::pin(futures_util::stream::iter(pieces).chain(contents))))
}

/// Each piece is counted before it is written.
fn counted(contents: ByteStream, tally: Arc<UploadTally>) -> ByteStream {
    let state = (contents, 0_u64);
    Box::pin(futures_util::stream::unfold(state, move |(mut contents, of_file)| {
        let tally = Arc::clone(&tally);
        async move {
            let piece = contents.next().await?;
            let counted = piece.and_then(|piece| {
                tally.take(of_file, piece.len() as u64)?;
                Ok(piece)
            });
            let of_file = of_file + counted.as_ref().map_or(0, |piece| piece.len() as u64);
            Some((counted, (contents, of_file)))
        }
    }))
}

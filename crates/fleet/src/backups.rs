//! A backup: everything a new Warren needs, as one stream, while this one goes on.
//!
//! ```text
//!   asked ─▶ audit entry ─▶ cut: copy of the database ─▶ files, read on a thread of their own ─▶ manifest, end
//!                                                              │ bounded channel
//!                                                              ▼
//!                                                          whoever asked
//! ```
//!
//! Keys are not in it: the stream holds sealed secrets, and whoever has it cannot open them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use warren_backup::{Cut, Engine, Folder, Header, Manifest, list_parts, write_folder};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, RequestKind, Timestamp, WorkspaceId,
};
use warren_service::{Action, Actor, Context, Error, Identity, Sealer};

/// In the data folder: when the last backup was handed out whole.
pub const LAST_BACKUP: &str = "last_backup.json";
/// Copies of the database on their way. One that a crash left is deleted by the next start.
const COPY_PREFIX: &str = ".backup-";
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that wait for a slow reader.
const MAX_WAITING: usize = 8;

/// The bytes of an archive as they are made. An error in it means that it is no backup.
pub type BackupStream = std::pin::Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// What is known of the last backup that was handed out whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastBackup {
    pub at: Timestamp,
}

impl LastBackup {
    /// Absent: there was none, or the record cannot be read.
    pub fn read(data_folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(data_folder.join(LAST_BACKUP)).ok()?;
        let record: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(Self { at: record["at"].as_str()?.parse().ok()? })
    }
}

/// Makes backups, one at a time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Backups {
    context: Context,
    sealer: Sealer,
    data_folder: PathBuf,
    turn: Arc<Semaphore>,
}

impl Backups {
    pub(crate) fn new(context: Context, sealer: Sealer, data_folder: PathBuf) -> Self {
        Self { context, sealer, data_folder, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Deletes copies that a crash left behind.
    pub(crate) fn delete_leftovers(&self) {
        for entry in fs::read_dir(&self.data_folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(COPY_PREFIX) {
                // What cannot be deleted now is tried again at the next start.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Begins a backup; `files_only` leaves the database out. What can be refused is refused here, before the first byte.
    #[tracing::instrument(name = "fleet.backups.begin", skip_all)]
    pub async fn begin(
        &self,
        who: &Identity,
        version: &str,
        files_only: bool,
    ) -> Result<BackupStream, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        if self.context.store().is_shared() && !files_only {
            return Err(Error::new(ErrorCode::BackupNeedsDump));
        }
        let turn =
            Arc::clone(&self.turn).try_acquire_owned().map_err(|_| Error::new(ErrorCode::BackupRunning))?;
        let target = if files_only { "files" } else { "all" };
        let (now, actor) = (self.context.now(), Actor::of(who));
        self.context
            .write_with_retries(true, move |tx| {
                let (action, kind) = (AuditAction::BackupTaken, AuditTargetKind::Backup);
                Ok(tx.append_audit(&actor.did(now, action, kind, target, &AuditDetails::None))?)
            })
            .await?;
        let taken = self.take_cut(files_only).await?;
        let header = Header { warren: version.to_owned(), cut: taken.cut.clone() };
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let backups = self.clone();
        self.context.spawn(tracing::info_span!("fleet.backups.write", target), async move {
            let written =
                tokio::task::spawn_blocking(move || backups.write(header, &taken, &sender, turn)).await;
            if written.is_err() {
                tracing::error!("the thread that wrote a backup ended early");
            }
        });
        Ok(Box::pin(futures_util::stream::unfold(receiver, async |mut receiver| {
            let piece = receiver.recv().await?;
            Some((piece, receiver))
        })))
    }

    async fn take_cut(&self, files_only: bool) -> Result<Taken, Error> {
        let failed = |error: io::Error| {
            let code = match error.kind() {
                io::ErrorKind::StorageFull => ErrorCode::StorageFull,
                _ => ErrorCode::DataFolderUnusable,
            };
            Error::new(code).caused_by(error.to_string())
        };
        let data = self.data_folder.clone();
        let before = tokio::task::spawn_blocking(move || list_parts(&data))
            .await
            .map_err(|error| Error::new(ErrorCode::Internal).caused_by(error.to_string()))?
            .map_err(failed)?;
        let at = self.context.now();
        // After a rotation both the old and the new key open: read before the cut, it may lack the newest, never the one before.
        let key_ids = self.sealer.keys().ring().ids().iter().map(ToString::to_string).collect();
        if files_only {
            let health = self.context.store_health().await?;
            let read =
                self.context.store().read(|tx| Ok::<_, Error>((tx.newest_event_seq()?, tx.audit_head()?)));
            let (newest_event, audit_head) = read.await?;
            let engine = if self.context.store().is_shared() { Engine::Postgres } else { Engine::Sqlite };
            let cut = Cut {
                at,
                engine,
                schema_version: health.schema_version,
                newest_event,
                audit_head: audit_head.to_string(),
                key_ids,
            };
            return Ok(Taken { cut, database: None, before, living: None });
        }
        let name = format!("{COPY_PREFIX}{}.db", self.context.new_id::<RequestKind>());
        let copy = Unlinked(self.data_folder.join(name));
        // Private before anything is in it.
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy.0).map_err(failed)?;
        let copied = self.context.store().copy_to(&copy.0).await?;
        let database = File::open(&copy.0).map_err(failed)?;
        let cut = Cut {
            at,
            engine: Engine::Sqlite,
            schema_version: copied.schema_version,
            newest_event: copied.newest_event,
            audit_head: copied.audit_head.to_string(),
            key_ids,
        };
        Ok(Taken { cut, database: Some(database), before, living: Some(copied.workspaces) })
    }

    /// Blocks until all of it is taken or nobody takes it any more.
    fn write(
        &self,
        header: Header,
        taken: &Taken,
        sender: &mpsc::Sender<io::Result<Bytes>>,
        turn: OwnedSemaphorePermit,
    ) {
        let out = Pieces {
            context: self.context.clone(),
            sender: sender.clone(),
            piece: BytesMut::new(),
            bytes: 0,
        };
        let folder = Folder {
            data: &self.data_folder,
            before: &taken.before,
            database: taken.database.as_ref(),
            living: taken.living.as_ref(),
        };
        match write_folder(out, header, &folder, || self.context.now()) {
            Ok((out, manifest)) => {
                self.note_done(&manifest, out.bytes);
                drop(turn);
            }
            Err(error) => {
                tracing::warn!(%error, "a backup was given up");
                // Before whoever asked is told, so that they can ask again.
                drop(turn);
                let _ = sender.blocking_send(Err(error));
            }
        }
    }

    fn note_done(&self, manifest: &Manifest, bytes: u64) {
        tracing::info!(
            bytes,
            parts = manifest.parts.len(),
            changed = manifest.changed_count,
            left_out = manifest.left_out_count,
            "a backup was handed out"
        );
        if !manifest.has_database() {
            return;
        }
        let record = json!({ "at": manifest.cut.at, "bytes": bytes }).to_string();
        // It only serves `warren doctor`.
        let _ = fs::write(self.data_folder.join(LAST_BACKUP), record);
    }
}

/// What the rest of a backup is made from.
struct Taken {
    cut: Cut,
    database: Option<File>,
    before: BTreeSet<String>,
    living: Option<BTreeSet<WorkspaceId>>,
}

/// A file that loses its name in any case; who has it open keeps it.
struct Unlinked(PathBuf);

impl Drop for Unlinked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Hands what is written to a reader elsewhere, in pieces.
struct Pieces {
    context: Context,
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: BytesMut,
    bytes: u64,
}

impl Pieces {
    fn send(&mut self) -> io::Result<()> {
        if self.context.is_stopping() {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "Warren stops"));
        }
        let piece = self.piece.split().freeze();
        self.bytes += piece.len() as u64;
        self.sender
            .blocking_send(Ok(piece))
            .map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "nobody takes it any more"))
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() { Ok(()) } else { self.send() }
    }
}

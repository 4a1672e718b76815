//! The `fs` module of a box that shares no directory with us (W83): the same files and guarantees, through its init.
//!
//! The box resolves paths, beneath its workspace and in its kernel; we decide what an edit, a glob and a search mean, as
//! for every other provider. Contents go in pieces, so that a large file never stands in memory on either side.
//!
//! Surprise: nothing that comes back is trusted. A listing that does not go on is at its end, whatever it says.

mod search;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use rustix::io::Errno;
use tokio::sync::RwLock;
use warren_init::{
    Call, CallAnswer, Failure, FailureKind, FileAnswer, FileCall, FileChange, FileEntry, FileKind,
    MAX_PIECE_BYTES,
};
use warren_model::{ErrorCode, Timestamp};
use warren_workspace::fs::{
    ByteRange, ByteStream, Change, ChangeStream, CpOptions, Edit, Edited, Entry, EntryKind, FileContents, Fs,
    GlobQuery, GlobResult, GrepQuery, GrepResult, Listing, LsQuery, WriteMode, Written,
};
use warren_workspace::{Error, WorkspacePath};

use super::channel::{Channel, ChannelError};
use super::shell::OpenSpill;
use crate::directory::{FileLimits, errno};
use crate::process::Spill;
use crate::search::MAX_PATHS;
use crate::{cursor, edit};

/// One step on a file. A box whose disk takes longer is of no use.
const PATIENCE: Duration = Duration::from_secs(30);
/// A whole tree.
const TREE_PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
pub(crate) struct BoxFs {
    channel: Channel,
    limits: FileLimits,
    /// What a copy may take: all that the workspace's files may.
    max_copy_bytes: u64,
    /// Held while something is put in place, by an edit alone, so that it cannot lose a write that came in between. Others share
    /// it: the box waits for the disk once for all who are there.
    changes: Arc<RwLock<()>>,
}

/// A handle in the box, closed when nobody holds it any more.
#[derive(Debug)]
struct Handle {
    channel: Channel,
    number: u32,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // A box that is gone has closed it.
        let _ = self.channel.tell(Call::File(FileCall::Close { handle: self.number }));
    }
}

impl BoxFs {
    pub(crate) fn new(channel: Channel, limits: FileLimits, max_copy_bytes: u64) -> Self {
        Self { channel, limits, max_copy_bytes, changes: Arc::default() }
    }

    async fn ask(&self, call: FileCall, path: &WorkspacePath) -> Result<CallAnswer, Error> {
        self.ask_patiently(call, path, PATIENCE).await
    }

    async fn ask_patiently(
        &self,
        call: FileCall,
        path: &WorkspacePath,
        patience: Duration,
    ) -> Result<CallAnswer, Error> {
        let may_be_repeated = !changes_something(&call);
        match self.channel.call(Call::File(call), patience).await {
            Ok(CallAnswer::Failed(failure)) => Err(refusal(&failure, path)),
            Ok(answer) => Ok(answer),
            Err(ChannelError::TooLong) => {
                Err(Error::operation(ErrorCode::InvalidPath, format!("{path} is too long for the box")))
            }
            Err(error) if may_be_repeated => Err(Error::evicted(error.to_string())),
            Err(_) => {
                let detail = format!("the box ended while {path} was changed; it may have been");
                Err(Error::operation(ErrorCode::WorkspaceEvicted, detail))
            }
        }
    }

    async fn done(&self, call: FileCall, path: &WorkspacePath) -> Result<(), Error> {
        match self.ask_patiently(call, path, TREE_PATIENCE).await? {
            CallAnswer::Done => Ok(()),
            _ => Err(nonsense()),
        }
    }

    async fn open(&self, call: FileCall, path: &WorkspacePath) -> Result<(Handle, FileEntry, bool), Error> {
        match self.ask(call, path).await? {
            CallAnswer::File(FileAnswer::Opened { handle, entry, created }) => {
                Ok((Handle { channel: self.channel.clone(), number: handle }, entry, created))
            }
            _ => Err(nonsense()),
        }
    }

    async fn piece(
        &self,
        handle: &Handle,
        offset: u64,
        length: u64,
        path: &WorkspacePath,
    ) -> Result<Bytes, Error> {
        let max_bytes = u32::try_from(length.min(MAX_PIECE_BYTES as u64)).unwrap_or(u32::MAX);
        match self.ask(FileCall::Read { handle: handle.number, offset, max_bytes }, path).await? {
            // More than was asked for would be somebody else's mistake in our answer.
            CallAnswer::File(FileAnswer::Piece { bytes }) if bytes.len() as u64 <= length => Ok(bytes.into()),
            _ => Err(nonsense()),
        }
    }

    /// A file as a whole, if it is not longer than `max_bytes`.
    async fn whole(
        &self,
        call: FileCall,
        path: &WorkspacePath,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let (handle, ..) = self.open(call, path).await?;
        let mut contents = Vec::new();
        loop {
            let piece = self.piece(&handle, contents.len() as u64, MAX_PIECE_BYTES as u64, path).await?;
            if piece.is_empty() {
                return Ok(Some(contents));
            }
            contents.extend_from_slice(&piece);
            if contents.len() as u64 > max_bytes {
                return Ok(None);
            }
        }
    }

    async fn add(&self, handle: &Handle, contents: &[u8], path: &WorkspacePath) -> Result<(), Error> {
        for piece in contents.chunks(MAX_PIECE_BYTES) {
            let call = FileCall::Add { handle: handle.number, bytes: piece.to_vec() };
            match self.ask(call, path).await? {
                CallAnswer::Done => {}
                _ => return Err(nonsense()),
            }
        }
        Ok(())
    }

    async fn commit(&self, handle: &Handle, path: &WorkspacePath) -> Result<bool, Error> {
        match self.ask(FileCall::Commit { handle: handle.number }, path).await? {
            CallAnswer::File(FileAnswer::Written { created }) => Ok(created),
            _ => Err(nonsense()),
        }
    }

    /// Takes a command's whole output, in place of what the file held.
    async fn open_spill(&self, path: WorkspacePath) -> Result<Spill, Error> {
        self.write(&path, stream::empty().boxed(), WriteMode::Replace).await?;
        let (file, ..) = self.open(FileCall::OpenAppend { path: bytes_of(&path) }, &path).await?;
        let shared = Arc::new((self.clone(), file, path));
        Ok(Spill::elsewhere(Box::new(move |piece| {
            let shared = Arc::clone(&shared);
            Box::pin(async move {
                let (fs, file, path) = &*shared;
                fs.add(file, &piece, path).await
            })
        })))
    }

    pub(crate) fn spill_opener(&self) -> OpenSpill {
        let fs = self.clone();
        Arc::new(move |path| {
            let fs = fs.clone();
            Box::pin(async move { fs.open_spill(path).await })
        })
    }

    /// One page as the box gives it, and whether there is more.
    async fn page(&self, path: &WorkspacePath, call: FileCall) -> Result<(Vec<FileEntry>, bool), Error> {
        match self.ask(call, path).await? {
            CallAnswer::File(FileAnswer::Listing { entries, has_more }) => {
                let goes_on = has_more && !entries.is_empty();
                Ok((entries, goes_on))
            }
            _ => Err(nonsense()),
        }
    }
}

#[async_trait]
impl Fs for BoxFs {
    async fn read(&self, path: &WorkspacePath, range: ByteRange) -> Result<FileContents, Error> {
        let (handle, entry, _) = self.open(FileCall::Open { path: bytes_of(path) }, path).await?;
        let offset = range.offset.min(entry.bytes);
        let length = range.length.unwrap_or(u64::MAX).min(entry.bytes - offset);
        let state = (self.clone(), handle, path.clone(), offset, length);
        let pieces = stream::try_unfold(state, |(fs, handle, path, offset, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let piece = fs.piece(&handle, offset, left, &path).await?;
            // The file became shorter meanwhile: the stream ends with it.
            if piece.is_empty() {
                return Ok(None);
            }
            let count = piece.len() as u64;
            Ok(Some((piece, (fs, handle, path, offset + count, left - count))))
        });
        Ok(FileContents { entry: entry_of(&entry), offset, length, stream: pieces.boxed() })
    }

    async fn write(
        &self,
        path: &WorkspacePath,
        mut contents: ByteStream,
        mode: WriteMode,
    ) -> Result<Written, Error> {
        refuse_root_as_file(path)?;
        let (create_new, limit) = (mode.must_be_new(), mode.limit(self.limits.max_file_bytes));
        let (staged, ..) = self.open(FileCall::Stage { path: bytes_of(path), create_new }, path).await?;
        let mut bytes = 0;
        while let Some(piece) = contents.next().await {
            let piece = piece?;
            bytes += piece.len() as u64;
            if bytes > limit {
                return Err(Error::file_too_large(path, limit));
            }
            self.add(&staged, &piece, path).await?;
        }
        let _changes = self.changes.read().await;
        let created = self.commit(&staged, path).await?;
        Ok(Written { bytes, created })
    }

    async fn append(&self, path: &WorkspacePath, contents: Bytes) -> Result<Written, Error> {
        refuse_root_as_file(path)?;
        let _changes = self.changes.write().await;
        let (file, entry, created) = self.open(FileCall::OpenAppend { path: bytes_of(path) }, path).await?;
        let bytes = contents.len() as u64;
        if entry.bytes.saturating_add(bytes) > self.limits.max_file_bytes {
            return Err(Error::file_too_large(path, self.limits.max_file_bytes));
        }
        self.add(&file, &contents, path).await?;
        self.commit(&file, path).await?;
        Ok(Written { bytes, created })
    }

    async fn edit(&self, path: &WorkspacePath, change: &Edit) -> Result<Edited, Error> {
        let _changes = self.changes.write().await;
        let limit = self.limits.max_file_bytes;
        let old = self.whole(FileCall::Open { path: bytes_of(path) }, path, limit).await?;
        let old = old.ok_or_else(|| {
            let detail = format!("{path} is larger than {limit} bytes, the most that can be edited");
            Error::operation(ErrorCode::FileTooLarge, detail)
        })?;
        let (contents, replacements) = edit::apply(&old, change, limit)?;
        let stage = FileCall::Stage { path: bytes_of(path), create_new: false };
        let (staged, ..) = self.open(stage, path).await?;
        self.add(&staged, &contents, path).await?;
        self.commit(&staged, path).await?;
        Ok(Edited { replacements, bytes: contents.len() as u64 })
    }

    async fn stat(&self, path: &WorkspacePath) -> Result<Entry, Error> {
        match self.ask(FileCall::Stat { path: bytes_of(path) }, path).await? {
            CallAnswer::File(FileAnswer::Entry(entry)) => Ok(entry_of(&entry)),
            _ => Err(nonsense()),
        }
    }

    async fn ls(&self, path: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error> {
        let limit = query.limit.clamp(1, MAX_PATHS);
        let mut after = query.after.as_deref().map(cursor::decode).transpose()?;
        if after.as_ref().is_some_and(|after| !is_below(after, path)) {
            let detail = "the cursor belongs to another listing";
            return Err(Error::operation(ErrorCode::InvalidCursor, detail));
        }
        let mut entries = Vec::new();
        let next = loop {
            let left = limit - u32::try_from(entries.len()).unwrap_or(limit).min(limit);
            let (depth, from) = (query.depth, after.take());
            let call = FileCall::List { path: bytes_of(path), depth, after: from, limit: left };
            let (mut page, goes_on) = self.page(path, call).await?;
            page.truncate(left as usize);
            after = page.last().map(|entry| entry.path.clone());
            entries.extend(page.iter().map(entry_of));
            if !goes_on {
                break None;
            }
            if entries.len() >= limit as usize {
                break after.as_deref().map(cursor::encode);
            }
        };
        Ok(Listing { entries, next })
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, Error> {
        search::glob(self, query).await
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, Error> {
        search::grep(self, query).await
    }

    async fn mkdir(&self, path: &WorkspacePath) -> Result<(), Error> {
        self.done(FileCall::MakeDirectory { path: bytes_of(path) }, path).await
    }

    async fn rm(&self, path: &WorkspacePath, recursive: bool) -> Result<(), Error> {
        refuse_root(path)?;
        self.done(FileCall::Remove { path: bytes_of(path), recursive }, path).await
    }

    async fn mv(&self, from: &WorkspacePath, to: &WorkspacePath, overwrite: bool) -> Result<(), Error> {
        refuse_root(from)?;
        refuse_root(to)?;
        let _changes = self.changes.read().await;
        self.stat(from).await?;
        if from == to {
            return Ok(());
        }
        if to.is_within(from) {
            return Err(inside_itself(to, "moved"));
        }
        let call = FileCall::Rename { from: bytes_of(from), to: bytes_of(to), overwrite };
        self.done(call, to).await
    }

    async fn cp(&self, from: &WorkspacePath, to: &WorkspacePath, options: CpOptions) -> Result<(), Error> {
        refuse_root(to)?;
        let found = self.stat(from).await?;
        if to.is_within(from) {
            return Err(inside_itself(to, "copied"));
        }
        match found.kind {
            EntryKind::Directory if !options.recursive => {
                let detail = format!("{from} is a directory; copy it recursively");
                return Err(Error::operation(ErrorCode::NotAFile, detail));
            }
            EntryKind::Special => return Err(errno::operation(Errno::NXIO, from)),
            EntryKind::File if found.bytes > self.limits.max_file_bytes => {
                return Err(Error::file_too_large(to, self.limits.max_file_bytes));
            }
            EntryKind::File | EntryKind::Directory | EntryKind::Symlink => {}
        }
        let _changes = self.changes.read().await;
        let CpOptions { recursive, overwrite } = options;
        let call = FileCall::Copy {
            from: bytes_of(from),
            to: bytes_of(to),
            recursive,
            overwrite,
            max_file_bytes: self.limits.max_file_bytes,
            max_bytes: self.max_copy_bytes,
        };
        self.done(call, to).await
    }

    async fn watch(&self, path: &WorkspacePath) -> Result<ChangeStream, Error> {
        let watching = self.open(FileCall::Watch { path: bytes_of(path) }, path).await;
        let (handle, ..) = watching.map_err(|error| match error.code() {
            ErrorCode::StorageFull => Error::operation(
                ErrorCode::TooManyRequests,
                format!("{path} has more directories than can be watched at once"),
            ),
            _ => error,
        })?;
        let state = (self.channel.clone(), handle, VecDeque::new());
        Ok(stream::unfold(state, |(channel, handle, mut pending)| async move {
            loop {
                if let Some(change) = pending.pop_front() {
                    return Some((Ok(change_of(change)), (channel, handle, pending)));
                }
                let call = Call::File(FileCall::Changes { handle: handle.number });
                let mut active = channel.start_call(call).ok()?;
                let answer = active.next().await?;
                active.has_ended = true;
                let CallAnswer::File(FileAnswer::Changes(changes)) = answer else {
                    return None;
                };
                pending.extend(changes);
            }
        })
        .boxed())
    }
}

/// Whether it must not be done twice because the first answer was lost.
fn changes_something(call: &FileCall) -> bool {
    match call {
        FileCall::Add { .. }
        | FileCall::Commit { .. }
        | FileCall::Rename { .. }
        | FileCall::Copy { .. }
        | FileCall::Remove { .. } => true,
        FileCall::Stat { .. }
        | FileCall::List { .. }
        | FileCall::Open { .. }
        | FileCall::Read { .. }
        | FileCall::Stage { .. }
        | FileCall::OpenAppend { .. }
        | FileCall::Close { .. }
        | FileCall::MakeDirectory { .. }
        | FileCall::Watch { .. }
        | FileCall::Changes { .. } => false,
    }
}

fn refusal(failure: &Failure, path: &WorkspacePath) -> Error {
    match failure.kind {
        FailureKind::System if failure.errno == libc::EIO => {
            let detail = format!("the box could not use {path}; what serves its files may have been ended");
            Error::operation(ErrorCode::Internal, detail)
        }
        FailureKind::System => errno::operation(Errno::from_raw_os_error(failure.errno), path),
        FailureKind::TooMany => {
            Error::operation(ErrorCode::TooManyRequests, "the box has no file handles left; try again")
        }
        FailureKind::UnknownNumber => {
            let detail = format!("the box lost its handle of {path}; try again");
            Error::operation(ErrorCode::Internal, detail)
        }
        FailureKind::ProgramNotFound
        | FailureKind::ProgramNotExecutable
        | FailureKind::BadDirectory
        | FailureKind::Invalid
        | FailureKind::Version => nonsense(),
    }
}

fn nonsense() -> Error {
    Error::operation(ErrorCode::Internal, "the box answered something else than was asked")
}

fn refuse_root(path: &WorkspacePath) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root cannot be removed, moved or replaced";
        return Err(Error::operation(ErrorCode::RootProtected, detail));
    }
    Ok(())
}

fn refuse_root_as_file(path: &WorkspacePath) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root is a directory; name a file in it";
        return Err(Error::operation(ErrorCode::NotAFile, detail));
    }
    Ok(())
}

fn inside_itself(to: &WorkspacePath, what: &str) -> Error {
    Error::operation(ErrorCode::InvalidPath, format!("{to} lies inside what is to be {what}"))
}

fn bytes_of(path: &WorkspacePath) -> Vec<u8> {
    path.as_str().as_bytes().to_vec()
}

/// Whether a path lies in a directory.
fn is_below(path: &[u8], directory: &WorkspacePath) -> bool {
    directory.is_root()
        || path.strip_prefix(directory.as_str().as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn entry_of(entry: &FileEntry) -> Entry {
    Entry {
        is_lossy: str::from_utf8(&entry.path).is_err(),
        path: shown(&entry.path),
        kind: match entry.kind {
            FileKind::File => EntryKind::File,
            FileKind::Directory => EntryKind::Directory,
            FileKind::Symlink => EntryKind::Symlink,
            FileKind::Special => EntryKind::Special,
        },
        bytes: entry.bytes,
        modified_at: Timestamp::from_micros(entry.modified_at),
        mode: entry.mode & 0o7777,
        link_target: entry.link_target.as_deref().map(shown),
    }
}

fn change_of(change: FileChange) -> Change {
    match change {
        FileChange::Created(path) => Change::Created(shown(&path)),
        FileChange::Modified(path) => Change::Modified(shown(&path)),
        FileChange::Removed(path) => Change::Removed(shown(&path)),
        FileChange::Lagged => Change::Lagged,
    }
}

//! Bundles with the files of their workspaces (F51). The workspaces themselves are the fleet's.
//!
//! ```text
//!   export: fleet ─▶ bundle ─▶ each workspace: walk, read ─▶ within `limits.max_bundle_bytes`, or refused by its name
//!   import: paths and contents are checked ─▶ fleet: all rows or none ─▶ each workspace: write ─▶ told, one by one
//! ```
//!
//! Links and special files are never followed or opened: they are left out, and told. A file is written only where there is
//! none, so that a folder that is shared with others loses nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::Semaphore;
use warren_fleet::{Fleet, ImportReport};
use warren_model::{
    Bundle, BundleFile, BundleFiles, BundleNode, ErrorCode, FileChange, Workspace as Row, WorkspaceId,
};
use warren_service::{Action, Error, Identity};
use warren_workspace::fs::{ByteRange, EntryKind, Fs, LsQuery, WriteMode};
use warren_workspace::{Workspace, WorkspacePath};

use crate::journal;
use crate::modules::fs_of;

/// Files and directories of one bundle.
const MAX_ENTRIES: usize = 20_000;
/// Exports with files at once: each holds its bundle in memory.
const EXPORTS_AT_ONCE: usize = 2;
/// Workspaces whose files are written at once.
const IMPORTS_AT_ONCE: usize = 4;
/// Files that are named one by one, of those that could not be taken along.
const MAX_NAMED: usize = 50;
/// What JSON needs for a file beside its path and contents, at most.
const FILE_OVERHEAD: u64 = 64;

/// What to export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// With all below the workspace.
    pub is_tree: bool,
    pub has_files: bool,
}

/// What became of an import, and of the files of each workspace in it.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleReport {
    pub report: ImportReport,
    /// In the order of the report; absent where the bundle has none, or the workspace was not made.
    pub files: Vec<Option<ImportedFiles>>,
}

/// What became of the files of one workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedFiles {
    pub written: u32,
    pub bytes: u64,
    pub failed: u32,
    /// Why, for the first of those that failed.
    pub problems: Vec<String>,
    /// Those that could be run where they came from, and cannot here yet.
    pub executable: Vec<String>,
}

/// Takes workspaces with their files out of one Warren and into another. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bundles {
    fleet: Fleet,
    exports: Arc<Semaphore>,
}

impl Bundles {
    pub(crate) fn new(fleet: Fleet) -> Self {
        Self { fleet, exports: Arc::new(Semaphore::new(EXPORTS_AT_ONCE)) }
    }

    /// A workspace, and all below it where that is asked for, as the fleet exports it; with their files on request.
    #[tracing::instrument(name = "operations.bundles.export", skip_all, fields(workspace.id = %id))]
    pub async fn export(
        &self,
        who: &Identity,
        id: WorkspaceId,
        options: ExportOptions,
    ) -> Result<Bundle, Error> {
        let exported = self.fleet.bundles.export(who, id, options.is_tree).await?;
        let mut bundle = exported.bundle;
        if !options.has_files {
            return Ok(bundle);
        }
        let _permit = self.exports.acquire().await.ok();
        let mut budget =
            Budget { max: self.fleet.context.limits().max_bundle_bytes, bytes: exported.bytes, entries: 0 };
        let (mut names, mut all) = (Vec::new(), Vec::new());
        names_in_order(&bundle.root, &mut names);
        for (name, id) in names.iter().zip(exported.workspaces) {
            let (files, warnings) = self.read(who, id, name, &mut budget).await?;
            all.push(files);
            bundle.warnings.extend(warnings);
        }
        put_files(&mut bundle.root, &mut all.into_iter());
        Ok(bundle)
    }

    /// The files of one workspace, and what is to be told of those that are left out.
    async fn read(
        &self,
        who: &Identity,
        id: WorkspaceId,
        name: &str,
        budget: &mut Budget,
    ) -> Result<(BundleFiles, Vec<String>), Error> {
        let named = |error: Error| named_error(name, error);
        self.fleet.workspaces.usable(who, Action::ReadWorkspaces, id).await.map_err(named)?;
        let lease = self.fleet.registry.acquire(id).await.map_err(|error| named(error.into()))?;
        let fs = fs_of(&**lease.workspace()).map_err(|error| named(error.into()))?;
        let mut walk =
            Walk { name, fs, budget, files: BundleFiles::default(), left_out: Vec::new(), lost: 0 };
        walk.all().await.map_err(named)?;
        let Walk { mut files, left_out, lost, .. } = walk;
        files.files.sort_by(|one, other| one.path.cmp(&other.path));
        files.empty_directories.sort();
        let mut warnings = left_out;
        if lost > 0 {
            warnings.push(format!("{name}: {lost} more are left out"));
        }
        Ok((files, warnings))
    }

    /// Makes what a bundle describes: all of its workspaces or none. Then their files are written; what could not be is told,
    /// and the workspaces stay. Goes on to its end even if whoever asked hangs up.
    #[tracing::instrument(name = "operations.bundles.import", skip_all)]
    pub async fn import(
        &self,
        who: &Identity,
        mut bundle: Bundle,
        parent_id: Option<WorkspaceId>,
        provided_env: Vec<String>,
    ) -> Result<BundleReport, Error> {
        let mut contents = Vec::new();
        take_files(&mut bundle.root, &mut contents)?;
        let (bundles, who) = (self.clone(), who.clone());
        let work = async move {
            let report = bundles.fleet.bundles.import(&who, bundle, parent_id, &provided_env).await?;
            let made: Vec<_> =
                report.nodes.iter().map(|node| node.outcome.as_ref().ok().map(|row| row.id)).collect();
            let writing = made.into_iter().zip(contents).map(|(id, contents)| {
                let (bundles, who) = (bundles.clone(), who.clone());
                async move { Some(bundles.write(&who, id?, contents?).await) }
            });
            let files = stream::iter(writing).buffered(IMPORTS_AT_ONCE).collect().await;
            Ok(BundleReport { report, files })
        };
        self.fleet.context.run_detached(work).await?
    }

    async fn write(&self, who: &Identity, id: WorkspaceId, contents: Contents) -> ImportedFiles {
        let mut told = ImportedFiles::default();
        let opened = async {
            let row = self.fleet.workspaces.usable(who, Action::UseWorkspace, id).await?;
            Ok::<_, Error>((row, self.fleet.registry.acquire(id).await?))
        };
        let (row, lease) = match opened.await {
            Ok(opened) => opened,
            Err(error) => {
                let all = contents.directories.len() + contents.files.len();
                told.failed = u32::try_from(all).unwrap_or(u32::MAX);
                told.problems
                    .push(format!("none of its files could be written: {}", public_sentence(&error)));
                return told;
            }
        };
        let writer = FileWriter { bundles: self, who, row: &row, workspace: &**lease.workspace() };
        for path in contents.directories {
            writer.write(&path, None, &mut told).await;
        }
        for (path, bytes, is_executable) in contents.files {
            let is_written = writer.write(&path, Some(bytes), &mut told).await;
            if is_written && is_executable {
                told.executable.push(path.as_str().to_owned());
            }
        }
        told
    }
}

/// Writes the files of one workspace, for whoever imports it.
struct FileWriter<'a> {
    bundles: &'a Bundles,
    who: &'a Identity,
    row: &'a Row,
    workspace: &'a dyn Workspace,
}

impl FileWriter<'_> {
    /// A file, or a directory where there are no bytes. Returns whether it is there now.
    async fn write(&self, path: &WorkspacePath, bytes: Option<Vec<u8>>, told: &mut ImportedFiles) -> bool {
        match self.try_write(path, bytes).await {
            Ok((change, bytes)) => {
                journal::file_changed(&self.bundles.fleet, self.who, self.row, change, path, bytes);
                told.written += u32::from(change == FileChange::Write);
                told.bytes += bytes;
                true
            }
            Err(error) => {
                told.failed += 1;
                if told.problems.len() < MAX_NAMED {
                    told.problems.push(format!("{}: {error}", path.as_str()));
                }
                false
            }
        }
    }

    async fn try_write(
        &self,
        path: &WorkspacePath,
        bytes: Option<Vec<u8>>,
    ) -> Result<(FileChange, u64), warren_workspace::Error> {
        let fs = fs_of(self.workspace)?;
        let Some(bytes) = bytes else {
            fs.mkdir(path).await?;
            return Ok((FileChange::Mkdir, 0));
        };
        let contents = stream::once(async move { Ok(Bytes::from(bytes)) }).boxed();
        let written = fs.write(path, contents, WriteMode::CreateNew).await?;
        Ok((FileChange::Write, written.bytes))
    }
}

/// How much may still go into a bundle.
#[derive(Debug)]
struct Budget {
    max: u64,
    bytes: u64,
    entries: usize,
}

impl Budget {
    fn take(&mut self, bytes: u64) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(FILE_OVERHEAD);
        self.entries += 1;
        if self.bytes > self.max {
            let detail = format!(
                "with its files the bundle has more than {} bytes (`limits.max_bundle_bytes`)",
                self.max
            );
            return Err(Error::with_detail(ErrorCode::BundleTooLarge, detail));
        }
        if self.entries > MAX_ENTRIES {
            let detail =
                format!("with its files the bundle has more than {MAX_ENTRIES} files and directories");
            return Err(Error::with_detail(ErrorCode::BundleTooLarge, detail));
        }
        Ok(())
    }
}

/// A walk through the files of one workspace.
struct Walk<'a> {
    name: &'a str,
    fs: &'a dyn Fs,
    budget: &'a mut Budget,
    files: BundleFiles,
    /// As sentences for people.
    left_out: Vec<String>,
    /// Those beyond the ones that are named.
    lost: usize,
}

impl Walk<'_> {
    async fn all(&mut self) -> Result<(), Error> {
        let mut open = vec![WorkspacePath::root()];
        while let Some(directory) = open.pop() {
            let mut query = LsQuery::default();
            let mut is_empty = true;
            loop {
                let listing = self.fs.ls(&directory, &query).await?;
                for entry in listing.entries {
                    is_empty = false;
                    match entry.kind {
                        _ if entry.is_lossy => self.leave_out(&entry.path, "its name is not UTF-8"),
                        EntryKind::Directory => open.push(WorkspacePath::parse(&entry.path)?),
                        EntryKind::File => self.file(&entry.path, entry.mode & 0o100 != 0).await?,
                        EntryKind::Symlink => self.leave_out(&entry.path, "it is a link"),
                        EntryKind::Special => self.leave_out(&entry.path, "it is a device, fifo or socket"),
                    }
                }
                query.after = listing.next;
                if query.after.is_none() {
                    break;
                }
            }
            if is_empty && !directory.is_root() {
                self.budget.take(directory.as_str().len() as u64)?;
                self.files.empty_directories.push(directory.as_str().to_owned());
            }
        }
        Ok(())
    }

    /// What one file is in the way of is left out; what is wrong with the place fails the export.
    async fn file(&mut self, path: &str, executable: bool) -> Result<(), Error> {
        let checked = WorkspacePath::parse(path)?;
        let bytes = match self.contents(&checked).await {
            Ok(bytes) => bytes,
            Err(ReadProblem::TooLarge(error)) => return Err(error),
            Err(ReadProblem::OfFile(error)) if is_of_one_file(error.code()) => {
                self.leave_out(path, &error.to_string());
                return Ok(());
            }
            Err(ReadProblem::OfFile(error)) => return Err(error.into()),
        };
        let (text, base64) = match text_of(bytes) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(STANDARD.encode(bytes))),
        };
        let escaped = text.as_deref().map_or(0, |text| text.bytes().filter(|byte| is_escaped(*byte)).count());
        let length = text.as_ref().or(base64.as_ref()).map_or(0, String::len) + escaped;
        self.budget.take((path.len() + length) as u64)?;
        self.files.files.push(BundleFile { path: path.to_owned(), text, base64, executable });
        Ok(())
    }

    /// Never more than may still go into the bundle, however fast the file grows.
    async fn contents(&self, path: &WorkspacePath) -> Result<Vec<u8>, ReadProblem> {
        let left = self.budget.max.saturating_sub(self.budget.bytes);
        let range = ByteRange { offset: 0, length: Some(left.saturating_add(1)) };
        let mut stream = self.fs.read(path, range).await?.stream;
        let mut bytes = Vec::new();
        while let Some(piece) = stream.try_next().await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() as u64 > left {
                let mut budget = Budget { entries: 0, ..*self.budget };
                let refused = budget.take(bytes.len() as u64).err();
                let refused = refused.unwrap_or_else(|| Error::new(ErrorCode::BundleTooLarge));
                return Err(ReadProblem::TooLarge(refused));
            }
        }
        Ok(bytes)
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        if self.left_out.len() < MAX_NAMED {
            self.left_out.push(format!("{}: {path} is left out: {why}", self.name));
        } else {
            self.lost += 1;
        }
    }
}

enum ReadProblem {
    TooLarge(Error),
    OfFile(warren_workspace::Error),
}

impl From<warren_workspace::Error> for ReadProblem {
    fn from(error: warren_workspace::Error) -> Self {
        Self::OfFile(error)
    }
}

fn is_of_one_file(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::FileNotFound
            | ErrorCode::PermissionDenied
            | ErrorCode::FileTooLarge
            | ErrorCode::SpecialFile
            | ErrorCode::NotAFile
    )
}

/// Text that JSON holds without much ado; otherwise the bytes as they came.
fn text_of(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    let is_plain =
        |text: &str| text.chars().all(|one| !one.is_control() || matches!(one, '\n' | '\r' | '\t'));
    match String::from_utf8(bytes) {
        Ok(text) if is_plain(&text) => Ok(text),
        Ok(text) => Err(text.into_bytes()),
        Err(error) => Err(error.into_bytes()),
    }
}

/// Whether JSON writes two characters for it.
const fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'\t' | b'"' | b'\\')
}

/// Files that can be written: their paths lead nowhere else, and their contents are read.
#[derive(Debug)]
struct Contents {
    directories: Vec<WorkspacePath>,
    files: Vec<(WorkspacePath, Vec<u8>, bool)>,
}

impl Contents {
    fn checked(files: BundleFiles) -> Result<Self, String> {
        if files.files.len() + files.empty_directories.len() > MAX_ENTRIES {
            return Err(format!("files: at most {MAX_ENTRIES} files and directories"));
        }
        let path = |at: String, path: &str| match WorkspacePath::parse(path) {
            Ok(path) if path.is_root() => Err(format!("{at}: expected a path inside the workspace")),
            Ok(path) => Ok(path),
            Err(error) => Err(format!("{at}: {error}")),
        };
        let mut contents = Self { directories: Vec::new(), files: Vec::with_capacity(files.files.len()) };
        for (at, directory) in files.empty_directories.iter().enumerate() {
            contents.directories.push(path(format!("files.empty_directories[{at}]"), directory)?);
        }
        let mut known = BTreeSet::new();
        for (at, file) in files.files.into_iter().enumerate() {
            let path = path(format!("files.files[{at}].path"), &file.path)?;
            if !known.insert(path.clone()) {
                return Err(format!("files.files[{at}].path: it is there twice"));
            }
            let bytes = match (file.text, file.base64) {
                (Some(text), _) => text.into_bytes(),
                (None, base64) => STANDARD
                    .decode(base64.unwrap_or_default())
                    .map_err(|error| format!("files.files[{at}].base64: {error}"))?,
            };
            contents.files.push((path, bytes, file.executable));
        }
        Ok(contents)
    }
}

/// The names of a bundle's workspaces: each before those below it.
fn names_in_order(node: &BundleNode, names: &mut Vec<String>) {
    names.push(node.name.clone());
    node.children.iter().for_each(|child| names_in_order(child, names));
}

/// Gives each workspace its files, in the same order.
fn put_files(node: &mut BundleNode, files: &mut impl Iterator<Item = BundleFiles>) {
    node.files = files.next();
    node.children.iter_mut().for_each(|child| put_files(child, files));
}

/// Takes their files from all workspaces, in the same order, and reads them.
fn take_files(node: &mut BundleNode, all: &mut Vec<Option<Contents>>) -> Result<(), Error> {
    let checked = node.files.take().map(Contents::checked).transpose();
    all.push(checked.map_err(|problem| {
        Error::with_detail(ErrorCode::InvalidBundle, format!("`{}`: {problem}", node.name))
    })?);
    node.children.iter_mut().try_for_each(|child| take_files(child, all))
}

/// What a caller may know; the cause is for the log.
fn public_sentence(error: &Error) -> &str {
    error.detail.as_deref().unwrap_or(error.code.entry().sentence)
}

fn named_error(name: &str, mut error: Error) -> Error {
    error.detail = Some(format!("`{name}`: {}", public_sentence(&error)));
    error
}

//! The `fs` module of a directory: each operation on the blocking pool, beneath the root handle.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use warren_workspace::fs::{
    ByteRange, ByteStream, ChangeStream, CpOptions, Edit, Edited, Entry, FileContents, Fs, GlobQuery,
    GlobResult, GrepQuery, GrepResult, Listing, LsQuery, WriteMode, Written,
};
use warren_workspace::{Error, WorkspacePath};

use super::open_directory::OpenDirectory;
use super::{blocking, find, listing, read, tree, watch, write};

#[derive(Debug)]
pub struct DirectoryFs(Arc<OpenDirectory>);

impl DirectoryFs {
    pub const fn new(place: Arc<OpenDirectory>) -> Self {
        Self(place)
    }

    /// Runs `operation` where it may block. The place is checked first: a closed workspace serves nobody.
    async fn on_disk<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Arc<OpenDirectory>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.check_open()?;
        let place = Arc::clone(&self.0);
        blocking(move || operation(&place)).await
    }

    /// The same for what adds to the workspace.
    async fn with_space_check<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Arc<OpenDirectory>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.on_disk(move |place| {
            place.check_space()?;
            operation(place)
        })
        .await
    }
}

#[async_trait]
impl Fs for DirectoryFs {
    async fn read(&self, path: &WorkspacePath, range: ByteRange) -> Result<FileContents, Error> {
        let path = path.clone();
        self.on_disk(move |place| read::read(place, &path, range)).await
    }

    async fn write(
        &self,
        path: &WorkspacePath,
        contents: ByteStream,
        mode: WriteMode,
    ) -> Result<Written, Error> {
        self.on_disk(|place| place.check_space()).await?;
        write::write(Arc::clone(&self.0), path, contents, mode).await
    }

    async fn append(&self, path: &WorkspacePath, contents: Bytes) -> Result<Written, Error> {
        let path = path.clone();
        self.with_space_check(move |place| write::append(place, &path, &contents)).await
    }

    async fn edit(&self, path: &WorkspacePath, edit: &Edit) -> Result<Edited, Error> {
        let (path, edit) = (path.clone(), edit.clone());
        self.with_space_check(move |place| write::apply_edit(place, &path, &edit)).await
    }

    async fn stat(&self, path: &WorkspacePath) -> Result<Entry, Error> {
        let path = path.clone();
        self.on_disk(move |place| listing::stat(place, &path)).await
    }

    async fn ls(&self, path: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error> {
        let (path, query) = (path.clone(), query.clone());
        self.on_disk(move |place| listing::ls(place, &path, &query)).await
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, Error> {
        self.0.check_open()?;
        find::glob(Arc::clone(&self.0), query).await
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, Error> {
        self.0.check_open()?;
        find::grep(Arc::clone(&self.0), query).await
    }

    async fn mkdir(&self, path: &WorkspacePath) -> Result<(), Error> {
        let path = path.clone();
        self.with_space_check(move |place| tree::mkdir(place, &path)).await
    }

    async fn rm(&self, path: &WorkspacePath, recursive: bool) -> Result<(), Error> {
        let path = path.clone();
        self.on_disk(move |place| tree::rm(place, &path, recursive)).await
    }

    async fn mv(&self, from: &WorkspacePath, to: &WorkspacePath, overwrite: bool) -> Result<(), Error> {
        let (from, to) = (from.clone(), to.clone());
        self.on_disk(move |place| tree::mv(place, &from, &to, overwrite)).await
    }

    async fn cp(&self, from: &WorkspacePath, to: &WorkspacePath, options: CpOptions) -> Result<(), Error> {
        let (from, to) = (from.clone(), to.clone());
        self.with_space_check(move |place| tree::cp(place, &from, &to, options)).await
    }

    async fn watch(&self, path: &WorkspacePath) -> Result<ChangeStream, Error> {
        let path = path.clone();
        self.on_disk(move |place| watch::watch(place, &path)).await?.into_stream()
    }
}

//! Routes of files. Contents are streamed both ways.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStream};
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use serde::Serialize;

use super::{Client, Error, Frames};
use crate::{FileWatchFrame, FileWritten, Listing, MoveFile};

const ENTRY_HEADER: &str = "x-warren-entry";
const OCTET_STREAM: &str = "application/octet-stream";
/// Three keep-alives of the server missed.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

/// A part of a file. The default is all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ByteRange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

/// What is at a path.
#[derive(Debug)]
pub enum PathContents {
    File(FileBytes),
    Directory(Listing),
}

/// The bytes of a file as they come.
pub struct FileBytes {
    /// Where the server knew it beforehand.
    pub length: Option<u64>,
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
}

impl FileBytes {
    pub(super) fn of(response: reqwest::Response) -> Self {
        Self { length: response.content_length(), bytes: response.bytes_stream().boxed() }
    }
}

impl Stream for FileBytes {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.bytes.poll_next_unpin(context).map(|chunk| chunk.map(|chunk| chunk.map_err(Error::from_body)))
    }
}

impl std::fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileBytes").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Client {
    /// Opens what is at `path`: a file's bytes (all, or `range`), or the first page of a directory.
    pub async fn open_path(&self, id: &str, path: &str, range: ByteRange) -> Result<PathContents, Error> {
        let request = self.files(Method::GET, id, path).query(&range);
        let response = self.send(request).await?;
        if response.headers().get(ENTRY_HEADER).is_some_and(|kind| kind == "directory") {
            return super::read_json(response).await.map(PathContents::Directory);
        }
        Ok(PathContents::File(FileBytes::of(response)))
    }

    /// One page of a directory; `depth` 1 is what lies directly in it.
    pub async fn list_directory(
        &self,
        id: &str,
        path: &str,
        depth: u32,
        cursor: Option<&str>,
    ) -> Result<Listing, Error> {
        let mut request = self.files(Method::GET, id, path).query(&[("depth", depth)]);
        if let Some(cursor) = cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        let response = self.send(request).await?;
        let is_directory = response.headers().get(ENTRY_HEADER).is_some_and(|kind| kind == "directory");
        if is_directory {
            super::read_json(response).await
        } else {
            Err(Error::BadAnswer { detail: format!("`{path}` is a file, not a directory") })
        }
    }

    /// Changes below `path` as they happen. The first frame is `Watching`.
    pub async fn watch_files(&self, id: &str, path: &str) -> Result<Frames<FileWatchFrame>, Error> {
        let request =
            self.request(Method::GET, &["workspaces", id, "files", "watch"]).query(&[("path", path)]);
        let request = request.header(ACCEPT, "text/event-stream");
        Ok(Frames::of(self.send(request).await?, Some(SILENCE_LIMIT)))
    }

    /// Writes a file from a stream; the old contents stay until all of it has arrived.
    pub async fn put_file<S>(
        &self,
        id: &str,
        path: &str,
        length: Option<u64>,
        contents: S,
    ) -> Result<FileWritten, Error>
    where
        S: TryStream + Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        Bytes: From<S::Ok>,
    {
        let mut request = self.files(Method::PUT, id, path);
        if let Some(length) = length {
            request = request.header(CONTENT_LENGTH, length);
        }
        let request = request.header(CONTENT_TYPE, OCTET_STREAM).body(reqwest::Body::wrap_stream(contents));
        super::read_json(self.send(request).await?).await
    }

    /// Writes a file from memory. With `create_new`, only if nothing is there.
    pub async fn put_bytes(
        &self,
        id: &str,
        path: &str,
        contents: impl Into<Bytes>,
        create_new: bool,
    ) -> Result<FileWritten, Error> {
        let mut request = self.files(Method::PUT, id, path);
        if create_new {
            request = request.query(&[("create_new", true)]);
        }
        let request = request.header(CONTENT_TYPE, OCTET_STREAM).body(reqwest::Body::from(contents.into()));
        super::read_json(self.send(request).await?).await
    }

    /// Deletes a file, an empty directory, or with `recursive` a whole tree.
    pub async fn delete_path(&self, id: &str, path: &str, recursive: bool) -> Result<(), Error> {
        let mut request = self.files(Method::DELETE, id, path);
        if recursive {
            request = request.query(&[("recursive", true)]);
        }
        self.no_answer(request).await
    }

    pub async fn move_path(&self, id: &str, moved: &MoveFile) -> Result<(), Error> {
        let request = self.request(Method::POST, &["workspaces", id, "files", "move"]).json(moved);
        self.no_answer(request).await
    }

    /// Makes a directory and those above it.
    pub async fn create_directory(&self, id: &str, path: &str) -> Result<(), Error> {
        let request =
            self.request(Method::POST, &["workspaces", id, "files", "directory"]).query(&[("path", path)]);
        self.no_answer(request).await
    }

    fn files(&self, method: Method, id: &str, path: &str) -> reqwest::RequestBuilder {
        self.request(method, &["workspaces", id, "files"]).query(&[("path", path)])
    }
}

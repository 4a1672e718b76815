//! Files of this machine as streams, and downloads that are there whole or not at all.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::io::ReaderStream;
use warren_api::client::{Client, FileBytes, UploadFile};
use warren_doors::{Entropy as _, OsEntropy};
use warren_model::ErrorCode;

use crate::failure::{Failure, Outcome, Report};

const PIECE_BYTES: usize = 64 << 10;

/// Sends a file; its length is told beforehand, so that one that is too large is refused at once.
pub(crate) async fn upload(
    client: &Client,
    id: &str,
    path: &str,
    file: &Path,
) -> Outcome<warren_api::FileWritten> {
    let failed = |error: &io::Error| Report::local_file(file, error);
    let opened = tokio::fs::File::open(file).await.map_err(|error| failed(&error))?;
    let metadata = opened.metadata().await.map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(failed(&io::Error::from(io::ErrorKind::IsADirectory)).into());
    }
    // A pipe has no length to tell.
    let length = metadata.is_file().then_some(metadata.len());
    let pieces = ReaderStream::with_capacity(opened, PIECE_BYTES);
    Ok(client.put_file(id, path, length, pieces).await?)
}

/// A file to send along with a message, under its own name.
pub(crate) async fn attachment(file: &Path) -> Outcome<UploadFile> {
    let failed = |error: &io::Error| Report::local_file(file, error);
    // Looked at before it is opened: to open a pipe waits for whoever writes into it.
    let metadata = tokio::fs::metadata(file).await.map_err(|error| failed(&error))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "is a folder" } else { "is no regular file" };
        return Err(not_attachable(file, what));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.chars().any(char::is_control) {
        return Err(not_attachable(file, "has a control character in its name"));
    }
    let opened = tokio::fs::File::open(file).await.map_err(|error| failed(&error))?;
    let length = opened.metadata().await.map_err(|error| failed(&error))?.len();
    // What a log grows by meanwhile would be more than was told. A file of /proc says that it is empty and is not:
    // better refused for that than sent as nothing.
    let read = if length == 0 { u64::MAX } else { length };
    let pieces = ReaderStream::with_capacity(opened.take(read), PIECE_BYTES);
    Ok(UploadFile::new(name, length, pieces))
}

fn not_attachable(file: &Path, what: &str) -> Failure {
    Report::new(ErrorCode::LocalFileFailed)
        .because(format!("{}: it {what}", file.display()))
        .hint("Attach single files, under names that can be shown.")
        .into()
}

/// Standard input, as a file: it is read without a buffer in between, and on threads that may block.
pub(crate) fn stdin() -> Outcome<impl Stream<Item = io::Result<Bytes>> + Send + 'static> {
    let input = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Report::local_file(Path::new("standard input"), &error))?;
    let file = tokio::fs::File::from_std(std::fs::File::from(input));
    Ok(ReaderStream::with_capacity(file, PIECE_BYTES))
}

/// Writes beside the target and renames: whoever looks sees the old file or the new one.
pub(crate) async fn download(contents: FileBytes, target: &Path) -> Outcome<u64> {
    let draft = draft_beside(target);
    let written = write_draft(contents, &draft).await;
    let done = match written {
        Ok(bytes) => tokio::fs::rename(&draft, target)
            .await
            .map(|()| bytes)
            .map_err(|error| Report::local_file(target, &error).into()),
        Err(failure) => Err(failure),
    };
    if done.is_err() {
        // The failure is told; a draft that cannot be removed either adds nothing to it.
        let _ = tokio::fs::remove_file(&draft).await;
    }
    done
}

async fn write_draft(mut contents: FileBytes, draft: &Path) -> Outcome<u64> {
    let failed = |error: &io::Error| Report::local_file(draft, error);
    let mut file = tokio::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(draft)
        .await
        .map_err(|error| failed(&error))?;
    let mut bytes = 0;
    while let Some(piece) = contents.next().await {
        let piece = piece?;
        bytes += piece.len() as u64;
        file.write_all(&piece).await.map_err(|error| failed(&error))?;
    }
    file.sync_all().await.map_err(|error| failed(&error))?;
    Ok(bytes)
}

fn draft_beside(target: &Path) -> PathBuf {
    let mut random = [0; 8];
    OsEntropy.fill(&mut random);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{:016x}.part", u64::from_le_bytes(random)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    /// Reads one request, whole, answers it, and hands on its body.
    fn answer_one(listener: &std::net::TcpListener) -> String {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut seen, mut piece) = (String::new(), [0; 4096]);
        loop {
            let count = stream.read(&mut piece).unwrap();
            seen.push_str(std::str::from_utf8(&piece[..count]).unwrap());
            let Some((head, body)) = seen.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse().unwrap() {
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 22\r\n\r\n{\"parts\":[],\"bytes\":0}";
                stream.write_all(answer.as_bytes()).unwrap();
                return body.to_owned();
            }
        }
    }

    // X32: a log that grows while it is sent
    #[tokio::test]
    async fn an_attachment_is_as_long_as_it_was_when_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        std::fs::write(&path, "one\n").unwrap();
        let file = attachment(&path).await.unwrap();
        std::fs::write(&path, "one\ntwo\n").unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let peer = std::thread::spawn(move || answer_one(&listener));
        Client::new(&url, None).unwrap().upload_files("demo", vec![file]).await.unwrap();
        let body = peer.join().unwrap();
        assert!(body.contains("\r\n\r\none\n\r\n--") && body.trim_end().ends_with("--"), "{body}");
    }
}

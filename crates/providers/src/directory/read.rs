//! Reading: a range of a file, in pieces, so that memory stays flat however large the file is (sec/F09).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use warren_confined_fs::size_of;
use warren_workspace::fs::{ByteRange, FileContents};
use warren_workspace::{Error, WorkspacePath};

use super::blocking;
use super::errno;
use super::listing::entry;
use super::open_directory::OpenDirectory;

const CHUNK_BYTES: u64 = 64 << 10;

pub(super) fn read(
    place: &OpenDirectory,
    path: &WorkspacePath,
    range: ByteRange,
) -> Result<FileContents, Error> {
    let (file, stat) = place.root.file(path).map_err(|errno| place.failure(errno, path))?;
    let size = size_of(&stat);
    let offset = range.offset.min(size);
    let length = range.length.unwrap_or(u64::MAX).min(size - offset);
    let position = Position { file: Arc::new(file), path: path.clone(), offset, left: length };
    Ok(FileContents {
        entry: entry(path.as_str().as_bytes(), &stat, None),
        offset,
        length,
        stream: stream::try_unfold(position, next_piece).boxed(),
    })
}

struct Position {
    file: Arc<File>,
    path: WorkspacePath,
    offset: u64,
    left: u64,
}

async fn next_piece(mut position: Position) -> Result<Option<(Bytes, Position)>, Error> {
    if position.left == 0 {
        return Ok(None);
    }
    blocking(move || {
        let mut piece = BytesMut::zeroed(usize::try_from(position.left.min(CHUNK_BYTES)).unwrap_or(0));
        let read = loop {
            match position.file.read_at(&mut piece, position.offset) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| errno::io_operation(&error, &position.path))?,
            }
        };
        // The file became shorter meanwhile: the stream ends with it.
        if read == 0 {
            return Ok(None);
        }
        piece.truncate(read);
        position.offset += read as u64;
        position.left -= read as u64;
        Ok(Some((piece.freeze(), position)))
    })
    .await
}

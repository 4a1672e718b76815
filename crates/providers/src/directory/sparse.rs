//! Copying what a file holds and not what it seems to hold: holes stay holes (sec/B01).
//!
//! A file of many gigabytes that takes no space is made in a moment. Read and written like any other, its copy would take
//! all of them, in a folder that no limit looks at until the copy is in its place.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// How much was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    /// As the copy shows it.
    pub(super) length: u64,
    /// Without its holes.
    pub(super) data: u64,
}

/// The contents of `from` up to `length`, its size when it was opened. One that became shorter ends the copy there.
pub(super) fn copy(from: &File, into: &File, length: u64) -> io::Result<Copied> {
    let (mut at, mut data) = (0, 0);
    while at < length {
        let begin = match seek(from, SeekFrom::Data(at)) {
            Ok(begin) => begin.min(length),
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = seek(from, SeekFrom::Hole(begin)).unwrap_or(length).min(length);
        if begin >= end {
            break;
        }
        (&mut &*from).seek(io::SeekFrom::Start(begin))?;
        (&mut &*into).seek(io::SeekFrom::Start(begin))?;
        let copied = io::copy(&mut from.take(end - begin), &mut &*into)?;
        data += copied;
        at = begin + copied;
        if copied < end - begin {
            into.set_len(at)?;
            return Ok(Copied { length: at, data });
        }
    }
    into.set_len(length)?;
    Ok(Copied { length, data })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;

    // sec/B01
    #[test]
    fn holes_stay_holes_and_bytes_stay_where_they_were() {
        let (from, into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        from.write_all_at(b"begin", 0).unwrap();
        from.write_all_at(b"middle", 5_000_000).unwrap();
        from.set_len(9_000_000).unwrap();
        let copied = copy(&from, &into, 9_000_000).unwrap();
        assert_eq!((copied.length, into.metadata().unwrap().len()), (9_000_000, 9_000_000));
        let mut text = [0; 6];
        into.read_exact_at(&mut text, 5_000_000).unwrap();
        assert_eq!(&text, b"middle");
        // A file system that knows no holes calls all of it data.
        if from.metadata().unwrap().blocks() * 512 < 1 << 20 {
            assert!(copied.data < 1 << 20 && into.metadata().unwrap().blocks() * 512 < 1 << 20, "{copied:?}");
        }
    }

    // sec/B01, sec/B04
    #[test]
    fn one_that_became_shorter_or_longer_is_copied_as_far_as_it_was_and_is() {
        for (now, expected) in [(3, 3), (20, 10)] {
            let (from, into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
            from.write_all_at(&vec![1; now], 0).unwrap();
            let copied = copy(&from, &into, 10).unwrap();
            assert_eq!(into.metadata().unwrap().len(), copied.length);
            // What is past the end of a shorter one reads as a hole.
            assert!(copied.length == expected || copied.length == 10, "{copied:?}");
            assert_eq!(copied.data, expected.min(10));
        }
    }
}

//! Copying what a file holds and not what it seems to hold: holes stay holes (sec/B01).
//!
//! A file of many gigabytes that takes no space is made in a moment. Read and written like any other, its copy would take
//! all of them, in a folder that no limit looks at until the copy is in its place.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Copies the contents of `from` up to `length`, its size when it was opened, and returns the length of the copy. One that
/// became shorter meanwhile ends the copy there. `admit` is asked before each stretch of data, with its bytes.
pub(crate) fn copy<E: From<Errno>>(
    from: &File,
    into: &File,
    length: u64,
    mut admit: impl FnMut(u64) -> Result<(), E>,
) -> Result<u64, E> {
    let mut at = 0;
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
        admit(end - begin)?;
        at = begin + copy_range(from, into, begin, end - begin).map_err(errno_of)?;
        if at < end {
            into.set_len(at).map_err(errno_of)?;
            return Ok(at);
        }
    }
    into.set_len(length).map_err(errno_of)?;
    Ok(length)
}

fn copy_range(mut from: &File, mut into: &File, begin: u64, length: u64) -> io::Result<u64> {
    from.seek(io::SeekFrom::Start(begin))?;
    into.seek(io::SeekFrom::Start(begin))?;
    io::copy(&mut from.take(length), &mut into)
}

#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
fn errno_of(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;

    fn copy_counted(from: &File, into: &File, length: u64) -> (u64, u64) {
        let mut data = 0;
        let length = copy(from, into, length, |bytes| {
            data += bytes;
            Ok::<(), Errno>(())
        });
        (length.unwrap(), data)
    }

    #[test]
    fn what_is_not_admitted_is_not_written() {
        let (from, into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        from.write_all_at(b"begin", 0).unwrap();
        assert_eq!(copy(&from, &into, 5, |_| Err(Errno::DQUOT)), Err(Errno::DQUOT));
        assert_eq!(into.metadata().unwrap().len(), 0);
    }

    // sec/B01
    #[test]
    fn holes_stay_holes_and_bytes_stay_where_they_were() {
        let (from, into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        from.write_all_at(b"begin", 0).unwrap();
        from.write_all_at(b"middle", 5_000_000).unwrap();
        from.set_len(9_000_000).unwrap();
        let (length, data) = copy_counted(&from, &into, 9_000_000);
        assert_eq!((length, into.metadata().unwrap().len()), (9_000_000, 9_000_000));
        let mut text = [0; 6];
        into.read_exact_at(&mut text, 5_000_000).unwrap();
        assert_eq!(&text, b"middle");
        // A file system that knows no holes calls all of it data.
        if from.metadata().unwrap().blocks() * 512 < 1 << 20 {
            assert!(data < 1 << 20 && into.metadata().unwrap().blocks() * 512 < 1 << 20, "{data}");
        }
    }

    // sec/B01, sec/B04
    #[test]
    fn one_that_became_shorter_or_longer_is_copied_as_far_as_it_was_and_is() {
        for (now, expected) in [(3, 3), (20, 10)] {
            let (from, into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
            from.write_all_at(&vec![1; now], 0).unwrap();
            let (length, data) = copy_counted(&from, &into, 10);
            assert_eq!(into.metadata().unwrap().len(), length);
            // What is past the end of a shorter one reads as a hole.
            assert!(length == expected || length == 10, "{length}");
            assert_eq!(data, expected.min(10));
        }
    }
}

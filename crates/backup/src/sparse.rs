//! Files with holes. A file of many gigabytes that takes no space is made in a moment; written out, it would fill the disk that
//! the backup is for (sec/B01).

use std::fs::File;
use std::io;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::tar::{BLOCK, decimal, padding};

/// A file in more pieces than this is not taken.
pub(crate) const MAX_PIECES: usize = 1 << 20;
/// The longest text of a map that is read: a line for each of two numbers.
pub(crate) const MAX_MAP_BYTES: u64 = (MAX_PIECES as u64) * 42;
/// Smaller holes are written out: what they cost is less than a map.
const MIN_HOLES: u64 = 64 << 10;

/// A stretch of data in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) at: u64,
    pub(crate) length: u64,
}

/// Where the data of a file is. Absent: it has no holes that matter.
pub(crate) fn pieces_of(file: &File, length: u64) -> io::Result<Option<Vec<Piece>>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < length {
        let begin = match seek(file, SeekFrom::Data(at)) {
            Ok(begin) => begin.min(length),
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            // A file system that knows no holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let end = seek(file, SeekFrom::Hole(begin)).unwrap_or(length).min(length);
        if begin >= end {
            break;
        }
        if pieces.len() == MAX_PIECES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is in too many pieces"));
        }
        pieces.push(Piece { at: begin, length: end - begin });
        at = end;
    }
    // A hole at the end is told by a piece without length, as tar has it.
    if pieces.last().is_none_or(|last| last.at + last.length < length) {
        pieces.push(Piece { at: length, length: 0 });
    }
    let data: u64 = pieces.iter().map(|piece| piece.length).sum();
    Ok((length - data >= MIN_HOLES).then_some(pieces))
}

/// The map that stands before the data: how many pieces, then where each is and how long, one number a line.
pub(crate) fn encode_map(pieces: &[Piece]) -> Vec<u8> {
    let mut text = format!("{}\n", pieces.len());
    for piece in pieces {
        text.push_str(&format!("{}\n{}\n", piece.at, piece.length));
    }
    let mut bytes = text.into_bytes();
    bytes.resize(bytes.len() + padding(bytes.len() as u64), 0);
    bytes
}

/// Reads a map a block at a time with `block`, which has the next one. Returns the pieces and how many bytes the map takes.
pub(crate) fn decode_map<E: From<&'static str>>(
    length: u64,
    mut block: impl FnMut() -> Result<[u8; BLOCK], E>,
) -> Result<(Vec<Piece>, u64), E> {
    let (mut numbers, mut line, mut read) = (Vec::new(), Vec::new(), 0);
    let mut wanted = 1;
    while numbers.len() < wanted {
        read += BLOCK as u64;
        if read > MAX_MAP_BYTES {
            return Err("the map of a file with holes is too long".into());
        }
        for byte in block()? {
            if numbers.len() == wanted {
                // What is left of the block is padding.
                if byte != 0 {
                    return Err("the map of a file with holes is damaged".into());
                }
                continue;
            }
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            let number = decimal(&line).ok_or("the map of a file with holes is damaged")?;
            line.clear();
            if numbers.is_empty() {
                let count = usize::try_from(number).unwrap_or(usize::MAX);
                if count > MAX_PIECES {
                    return Err("a file has too many pieces".into());
                }
                wanted = 1 + 2 * count;
            }
            numbers.push(number);
        }
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let mut end = 0_u64;
    for pair in numbers[1..].chunks_exact(2) {
        let piece = Piece { at: pair[0], length: pair[1] };
        let next = piece.at.checked_add(piece.length).filter(|next| *next <= length);
        let Some(next) = next.filter(|_| piece.at >= end) else {
            return Err("the pieces of a file overlap, or reach past its end".into());
        };
        end = next;
        pieces.push(piece);
    }
    Ok((pieces, read))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    fn map_of(bytes: &[u8], length: u64) -> Result<(Vec<Piece>, u64), String> {
        let mut blocks = bytes.chunks_exact(BLOCK);
        decode_map::<Said>(length, || {
            let block = blocks.next().ok_or("the end")?;
            Ok(block.try_into().expect("a block"))
        })
        .map_err(|said| said.0.to_owned())
    }

    struct Said(&'static str);

    impl From<&'static str> for Said {
        fn from(text: &'static str) -> Self {
            Self(text)
        }
    }

    // O6
    #[test]
    fn a_map_survives_and_a_bad_one_is_refused() {
        let pieces: Vec<_> = (0..100).map(|at| Piece { at: at * 10_000, length: 5_000 }).collect();
        let map = encode_map(&pieces);
        assert_eq!(map_of(&map, 1_000_000).unwrap(), (pieces, map.len() as u64));
        assert!(map_of(&map, 900_000).is_err(), "past the end");
        let mut overlapping = encode_map(&[Piece { at: 0, length: 9 }, Piece { at: 8, length: 9 }]);
        assert!(map_of(&overlapping, 100).is_err());
        overlapping[0] = b'x';
        assert!(map_of(&overlapping, 100).is_err());
        let mut many = b"99999999\n".to_vec();
        many.resize(BLOCK, 0);
        assert!(map_of(&many, 100).is_err());
        assert_eq!(map_of(&encode_map(&[]), 100).unwrap().0, []);
    }

    // O6
    #[test]
    fn the_data_of_a_file_is_found_between_its_holes() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(b"in the middle", 32 << 20).unwrap();
        // On a file system without holes there is no map, which is as good.
        if let Some(pieces) = pieces_of(&file, 64 << 20).unwrap() {
            assert!(pieces.iter().map(|piece| piece.length).sum::<u64>() < 1 << 20);
            assert!(pieces.iter().any(|piece| (piece.at..piece.at + piece.length).contains(&(32 << 20))));
        }
    }
}

//! Reading an archive, with everything in it judged and hashed on the way.

use std::io::{self, Read};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::manifest::{Manifest, Part};
use crate::paths::Known;
use crate::sparse::{Piece, decode_map};
use crate::tar::{BLOCK, Decoded, Entry, EntryKind, MAX_PAX_BYTES, Records, decode, decode_records, padding};
use crate::write::hex;
use crate::{END, FORMAT, MANIFEST, MARK};

const PIECE_BYTES: usize = 256 << 10;
const MAX_MARK_BYTES: u64 = 4 << 10;
/// A manifest has a line or five for each workspace.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;

/// Why an archive is not taken. Nothing was changed because of it.
#[derive(Debug, thiserror::Error)]
pub enum BadArchive {
    #[error("it is no backup of a Warren")]
    NotABackup,
    #[error("it is of form {found}, and this Warren knows up to {FORMAT}")]
    Newer { found: u32 },
    #[error("it ends before its end: the backup was cut off")]
    CutOff,
    #[error("it is damaged or was made up: {0}")]
    Damaged(String),
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error("its contents cannot be written")]
    Write(#[source] io::Error),
}

impl From<&'static str> for BadArchive {
    fn from(what: &'static str) -> Self {
        Self::Damaged(what.to_owned())
    }
}

/// What is done with the contents.
pub(crate) trait Visitor {
    fn begin_part(&mut self, name: &str, root: &Entry) -> io::Result<()>;
    fn entry(&mut self, entry: &Entry) -> io::Result<()>;
    /// Bytes of the file that began last.
    fn data(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
    fn end_entry(&mut self, entry: &Entry) -> io::Result<()>;
    fn end_part(&mut self) -> io::Result<()>;
}

/// Looks through an archive from its first byte to its last and changes nothing.
pub fn verify(archive: impl Read) -> Result<Manifest, BadArchive> {
    read(archive, &mut Nothing)
}

struct Nothing;

impl Visitor for Nothing {
    fn begin_part(&mut self, _: &str, _: &Entry) -> io::Result<()> {
        Ok(())
    }

    fn entry(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }

    fn data(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn end_entry(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }

    fn end_part(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads all of it, and returns the manifest only if everything agrees with it.
pub(crate) fn read(archive: impl Read, visitor: &mut dyn Visitor) -> Result<Manifest, BadArchive> {
    let mut reader = Reader { archive, whole: Sha256::new(), part: None };
    let format = reader.mark()?;
    if format > FORMAT {
        return Err(BadArchive::Newer { found: format });
    }
    let mut known = Known::default();
    let mut parts: Vec<Part> = Vec::new();
    let manifest = loop {
        // The hash of a part begins with its first header, which is known for one only when it was read.
        let (raw, entry) = reader.header()?.ok_or(BadArchive::CutOff)?;
        if entry.path == MANIFEST.as_bytes() {
            reader.end_part(&mut parts, visitor)?;
            reader.hash(&raw);
            break reader.small_file(&entry, MAX_MANIFEST_BYTES)?;
        }
        let (name, is_first) = known.admit(&entry)?;
        if is_first {
            reader.end_part(&mut parts, visitor)?;
            reader.part = Some(OpenPart { name, entries: 0, bytes: 0, hash: Sha256::new() });
        }
        reader.hash(&raw);
        if let Some(part) = &mut reader.part {
            part.entries += 1;
            if is_first {
                visitor.begin_part(&part.name, &entry).map_err(BadArchive::Write)?;
            }
        }
        visitor.entry(&entry).map_err(BadArchive::Write)?;
        reader.contents(&entry, visitor)?;
        visitor.end_entry(&entry).map_err(BadArchive::Write)?;
    };
    let digest = hex(&reader.whole.clone().finalize());
    let (_, entry) = reader.header()?.ok_or(BadArchive::CutOff)?;
    if entry.path != END.as_bytes() || reader.small_file(&entry, 65)? != format!("{digest}\n").into_bytes() {
        return Err("its end does not vouch for it".into());
    }
    if reader.header()?.is_some() || reader.next_block()? != [0; BLOCK] || reader.is_more()? {
        return Err("something follows its end".into());
    }
    let manifest: Manifest = serde_json::from_slice(&manifest)
        .map_err(|error| BadArchive::Damaged(format!("its manifest: {error}")))?;
    match parts.iter().zip(&manifest.parts).find(|(found, told)| found != told) {
        Some((_, told)) => Err(BadArchive::Damaged(format!("`{}` is not what the manifest says", told.name))),
        None if parts.len() != manifest.parts.len() => Err("parts are missing, or are too many".into()),
        None => Ok(manifest),
    }
}

struct OpenPart {
    name: String,
    entries: u64,
    bytes: u64,
    hash: Sha256,
}

struct Reader<R> {
    archive: R,
    whole: Sha256,
    part: Option<OpenPart>,
}

impl<R: Read> Reader<R> {
    /// The form of the archive, from its first entry.
    fn mark(&mut self) -> Result<u32, BadArchive> {
        #[derive(Deserialize)]
        struct Mark {
            format: u32,
        }
        let (raw, entry) = match self.header() {
            Ok(Some(first)) => first,
            Ok(None) | Err(BadArchive::Damaged(_) | BadArchive::CutOff) => {
                return Err(BadArchive::NotABackup);
            }
            Err(error) => return Err(error),
        };
        if entry.path != MARK.as_bytes() {
            return Err(BadArchive::NotABackup);
        }
        self.hash(&raw);
        let text = self.small_file(&entry, MAX_MARK_BYTES)?;
        serde_json::from_slice(&text).map(|mark: Mark| mark.format).map_err(|_| BadArchive::NotABackup)
    }

    /// The next entry with the bytes of its headers, which are not hashed yet. `None`: a block of zeros.
    fn header(&mut self) -> Result<Option<(Vec<u8>, Entry)>, BadArchive> {
        let mut raw = Vec::new();
        let mut records: Option<Records> = None;
        loop {
            let block = self.next_block()?;
            raw.extend_from_slice(&block);
            match decode(&block, records.as_ref())? {
                Decoded::Zeros if records.is_some() => return Err("a header has no entry".into()),
                Decoded::Zeros => return Ok(None),
                Decoded::Entry(entry) => return Ok(Some((raw, entry))),
                Decoded::Pax(length) if length > MAX_PAX_BYTES => return Err("a header is too long".into()),
                Decoded::Pax(length) => {
                    let begin = raw.len();
                    for _ in 0..length.div_ceil(BLOCK as u64) {
                        let block = self.next_block()?;
                        raw.extend_from_slice(&block);
                    }
                    let end = begin + usize::try_from(length).unwrap_or(0);
                    records = Some(decode_records(&raw[begin..end])?);
                }
            }
        }
    }

    fn next_block(&mut self) -> Result<[u8; BLOCK], BadArchive> {
        let mut block = [0; BLOCK];
        fill(&mut self.archive, &mut block)?;
        Ok(block)
    }

    fn is_more(&mut self) -> Result<bool, BadArchive> {
        let mut byte = [0];
        match self.archive.read(&mut byte) {
            Ok(count) => Ok(count > 0),
            Err(error) => Err(BadArchive::Read(error)),
        }
    }

    fn hash(&mut self, bytes: &[u8]) {
        self.whole.update(bytes);
        if let Some(part) = &mut self.part {
            part.hash.update(bytes);
            part.bytes += bytes.len() as u64;
        }
    }

    /// The contents of an entry of ours.
    fn small_file(&mut self, entry: &Entry, limit: u64) -> Result<Vec<u8>, BadArchive> {
        if entry.kind != EntryKind::File || entry.sparse_length.is_some() || entry.stored_bytes > limit {
            return Err("one of its own files is not as it should be".into());
        }
        let length = usize::try_from(entry.stored_bytes).unwrap_or(usize::MAX);
        let mut contents = Vec::new();
        while contents.len() < length {
            let mut piece = vec![0; PIECE_BYTES.min(length - contents.len())];
            fill(&mut self.archive, &mut piece)?;
            contents.extend_from_slice(&piece);
        }
        let mut zeros = vec![0; padding(entry.stored_bytes)];
        fill(&mut self.archive, &mut zeros)?;
        // What stands behind the last hash is in none.
        if zeros.iter().any(|byte| *byte != 0) {
            return Err("there is something behind the end of a file".into());
        }
        // These belong to no part.
        self.whole.update(&contents);
        self.whole.update(&zeros);
        Ok(contents)
    }

    fn contents(&mut self, entry: &Entry, visitor: &mut dyn Visitor) -> Result<(), BadArchive> {
        let (pieces, map_bytes) = match entry.sparse_length {
            Some(length) => decode_map(length, || {
                let block = self.next_block()?;
                self.hash(&block);
                Ok::<_, BadArchive>(block)
            })?,
            None => (vec![Piece { at: 0, length: entry.stored_bytes }], 0),
        };
        let data: u64 = pieces.iter().map(|piece| piece.length).sum();
        if map_bytes + data != entry.stored_bytes {
            return Err("a file with holes has more or less than its map says".into());
        }
        let mut buffer = vec![0; PIECE_BYTES.min(usize::try_from(data).unwrap_or(usize::MAX))];
        for Piece { mut at, length } in pieces {
            let end = at + length;
            while at < end {
                let count = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
                fill(&mut self.archive, &mut buffer[..count])?;
                self.hash(&buffer[..count]);
                visitor.data(at, &buffer[..count]).map_err(BadArchive::Write)?;
                at += count as u64;
            }
        }
        let mut zeros = vec![0; padding(data)];
        fill(&mut self.archive, &mut zeros)?;
        self.hash(&zeros);
        Ok(())
    }

    fn end_part(&mut self, parts: &mut Vec<Part>, visitor: &mut dyn Visitor) -> Result<(), BadArchive> {
        let Some(OpenPart { name, entries, bytes, hash }) = self.part.take() else { return Ok(()) };
        parts.push(Part { name, entries, bytes, sha256: hex(&hash.finalize()) });
        visitor.end_part().map_err(BadArchive::Write)
    }
}

fn fill(archive: &mut impl Read, into: &mut [u8]) -> Result<(), BadArchive> {
    archive.read_exact(into).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => BadArchive::CutOff,
        _ => BadArchive::Read(error),
    })
}

#[cfg(test)]
mod tests;

//! Writing an archive, from its mark to its end.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use rustix::fs::Stat;
use sha2::{Digest as _, Sha256};
use warren_confined_fs::Root;
use warren_model::Timestamp;

use crate::manifest::{Cut, Manifest, Noticed, Part};
use crate::tar::{BLOCK, Entry, EntryKind, encode, padding};
use crate::tree::Tree;
use crate::{CONFIG, DATABASE, END, FORMAT, MANIFEST, MARK};

const PIECE_BYTES: usize = 256 << 10;

/// What is known before the first file is read.
#[derive(Debug, Clone)]
pub struct Header {
    /// The version of this Warren.
    pub warren: String,
    pub cut: Cut,
}

/// Writes the parts one after the other. Dropped before `finish`, it leaves what no reader takes for a backup.
pub struct Writer<W> {
    pub(crate) out: Hashed<W>,
    pub(crate) noticed: Noticed,
    header: Header,
    parts: Vec<Part>,
}

impl<W> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}

impl<W: Write> Writer<W> {
    pub fn begin(out: W, header: Header) -> io::Result<Self> {
        let out = Hashed { out, whole: Sha256::new(), part: None };
        let mut writer = Self { out, noticed: Noticed::default(), header, parts: Vec::new() };
        let mark = format!("{{\"format\":{FORMAT},\"warren\":\"{}\"}}\n", writer.header.warren);
        writer.small_file(MARK, mark.as_bytes())?;
        Ok(writer)
    }

    /// The copy of the database, which nobody changes.
    pub fn add_database(&mut self, copy: &File) -> io::Result<()> {
        self.add_single(DATABASE, copy)
    }

    pub fn add_config(&mut self, file: &File) -> io::Result<()> {
        self.add_single(CONFIG, file)
    }

    fn add_single(&mut self, name: &str, file: &File) -> io::Result<()> {
        let length = file.metadata()?.len();
        self.begin_part();
        self.entry(&Entry { stored_bytes: length, ..private_file(name) })?;
        let copied = self.copy(file, length)?;
        if copied < length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{name} became shorter")));
        }
        self.zeros(padding(length))?;
        self.end_part(name, 1);
        Ok(())
    }

    /// The files below a folder, as the part `name`. One that is not there any more is left out and told.
    pub fn add_tree(&mut self, name: &str, folder: &Path) -> io::Result<()> {
        let root = match Root::open(folder) {
            Ok(root) => root,
            Err(errno) => {
                self.noticed.left_out(name.as_bytes(), format!("it cannot be opened: {errno}"));
                return Ok(());
            }
        };
        self.begin_part();
        let entries = Tree::new(self, name).add(root.handle())?;
        self.end_part(name, entries);
        Ok(())
    }

    /// Says that something is not in the archive, and why.
    pub fn note_left_out(&mut self, path: &str, why: &str) {
        self.noticed.left_out(path.as_bytes(), why);
    }

    /// The manifest and the end. From here on the archive is a backup.
    pub fn finish(mut self, now: Timestamp) -> io::Result<(W, Manifest)> {
        let manifest = Manifest {
            format: FORMAT,
            warren: self.header.warren.clone(),
            made_by_uid: rustix::process::geteuid().as_raw(),
            cut: self.header.cut.clone(),
            ended_at: now,
            parts: std::mem::take(&mut self.parts),
            changed_count: self.noticed.changed_count,
            changed: std::mem::take(&mut self.noticed.changed),
            left_out_count: self.noticed.left_out_count,
            left_out: std::mem::take(&mut self.noticed.left_out),
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        self.small_file(MANIFEST, &text)?;
        let digest = hex(&self.out.whole.clone().finalize());
        self.small_file(END, format!("{digest}\n").as_bytes())?;
        self.zeros(2 * BLOCK)?;
        self.out.out.flush()?;
        Ok((self.out.out, manifest))
    }

    fn small_file(&mut self, name: &str, contents: &[u8]) -> io::Result<()> {
        self.entry(&Entry { stored_bytes: contents.len() as u64, ..private_file(name) })?;
        self.out.write_all(contents)?;
        self.zeros(padding(contents.len() as u64))
    }

    pub(crate) fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        self.out.write_all(&encode(entry))
    }

    pub(crate) fn zeros(&mut self, count: usize) -> io::Result<()> {
        self.out.write_all(&[0; 2 * BLOCK][..count])
    }

    /// From where the file stands, at most `length` bytes; returns how many there were.
    pub(crate) fn copy(&mut self, mut file: &File, length: u64) -> io::Result<u64> {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut copied = 0;
        while copied < length {
            let wanted = usize::try_from(length - copied).unwrap_or(usize::MAX).min(buffer.len());
            match file.read(&mut buffer[..wanted]) {
                Ok(0) => break,
                Ok(count) => {
                    self.out.write_all(&buffer[..count])?;
                    copied += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(copied)
    }

    fn begin_part(&mut self) {
        self.out.part = Some((Sha256::new(), 0));
    }

    fn end_part(&mut self, name: &str, entries: u64) {
        if let Some((hash, bytes)) = self.out.part.take() {
            self.parts.push(Part { name: name.to_owned(), entries, bytes, sha256: hex(&hash.finalize()) });
        }
    }
}

/// An entry for what `stat` says, without contents.
pub(crate) fn stated(path: &[u8], kind: EntryKind, stat: &Stat) -> Entry {
    Entry {
        path: path.to_vec(),
        kind,
        mode: stat.st_mode & 0o777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        modified: u64::try_from(stat.st_mtime).unwrap_or(0),
        stored_bytes: 0,
        sparse_length: None,
    }
}

fn private_file(name: &str) -> Entry {
    Entry {
        path: name.as_bytes().to_vec(),
        kind: EntryKind::File,
        mode: 0o600,
        uid: 0,
        gid: 0,
        modified: 0,
        stored_bytes: 0,
        sparse_length: None,
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Counts and hashes what goes through.
pub(crate) struct Hashed<W> {
    out: W,
    whole: Sha256,
    part: Option<(Sha256, u64)>,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.whole.update(bytes);
        if let Some((hash, count)) = &mut self.part {
            hash.update(bytes);
            *count += bytes.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

//! Headers of a tar file: ustar, with pax records for what does not fit. Written and read here alone, and read strictly: what
//! `encode` would not have written is refused.

use std::collections::BTreeMap;

pub(crate) const BLOCK: usize = 512;
/// The longest pax header that is read.
pub(crate) const MAX_PAX_BYTES: u64 = 64 << 10;

const NAME_BYTES: usize = 100;
const MAX_SMALL_ID: u32 = 0o777_7777;
const MAX_SMALL_SIZE: u64 = 0o777_7777_7777;
const PERMISSIONS: u32 = 0o777;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    /// With where it leads to, which is data and followed by nobody here.
    Symlink(Vec<u8>),
    /// Another name for a file of the same part, by its path in the archive.
    HardLink(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Seconds since 1970.
    pub(crate) modified: u64,
    /// The bytes that follow in the archive.
    pub(crate) stored_bytes: u64,
    /// The length of a file with holes; what is stored begins with a map of its data then.
    pub(crate) sparse_length: Option<u64>,
}

/// How many zeros follow so many bytes.
pub(crate) fn padding(bytes: u64) -> usize {
    let block = BLOCK as u64;
    usize::try_from((block - bytes % block) % block).unwrap_or(0)
}

/// The header of an entry, with its pax header in front where it needs one.
pub(crate) fn encode(entry: &Entry) -> Vec<u8> {
    let (flag, link) = match &entry.kind {
        EntryKind::File => (b'0', &[][..]),
        EntryKind::Directory => (b'5', &[][..]),
        EntryKind::Symlink(target) => (b'2', target.as_slice()),
        EntryKind::HardLink(target) => (b'1', target.as_slice()),
    };
    let mut path = entry.path.clone();
    if entry.kind == EntryKind::Directory {
        path.push(b'/');
    }
    let mut records = Vec::new();
    if let Some(length) = entry.sparse_length {
        // As GNU tar writes it in its form 1.0.
        record(&mut records, "GNU.sparse.major", b"1");
        record(&mut records, "GNU.sparse.minor", b"0");
        record(&mut records, "GNU.sparse.name", &path);
        record(&mut records, "GNU.sparse.realsize", length.to_string().as_bytes());
    } else if path.len() > NAME_BYTES {
        record(&mut records, "path", &path);
    }
    if link.len() > NAME_BYTES {
        record(&mut records, "linkpath", link);
    }
    for (key, id) in [("uid", entry.uid), ("gid", entry.gid)] {
        if id > MAX_SMALL_ID {
            record(&mut records, key, id.to_string().as_bytes());
        }
    }
    if entry.stored_bytes > MAX_SMALL_SIZE {
        record(&mut records, "size", entry.stored_bytes.to_string().as_bytes());
    }
    let mut out = Vec::with_capacity(2 * BLOCK);
    if !records.is_empty() {
        let of_records = Block { flag: b'x', name: b"pax", size: records.len() as u64, ..Block::default() };
        out.extend_from_slice(&of_records.bytes());
        let zeros = padding(records.len() as u64);
        out.extend_from_slice(&records);
        out.resize(out.len() + zeros, 0);
    }
    let of_entry = Block {
        flag,
        name: &path,
        link,
        mode: entry.mode & PERMISSIONS,
        uid: entry.uid.min(MAX_SMALL_ID),
        gid: entry.gid.min(MAX_SMALL_ID),
        size: entry.stored_bytes.min(MAX_SMALL_SIZE),
        modified: entry.modified.min(MAX_SMALL_SIZE),
    };
    out.extend_from_slice(&of_entry.bytes());
    out
}

/// `LENGTH KEY=VALUE\n`, where the length counts itself too.
fn record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

#[derive(Default)]
struct Block<'a> {
    flag: u8,
    name: &'a [u8],
    link: &'a [u8],
    mode: u32,
    uid: u32,
    gid: u32,
    size: u64,
    modified: u64,
}

impl Block<'_> {
    fn bytes(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let cut = |bytes: &[u8]| bytes[..bytes.len().min(NAME_BYTES)].to_vec();
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &cut(self.name));
        put(100, format!("{:07o}", self.mode).as_bytes());
        put(108, format!("{:07o}", self.uid).as_bytes());
        put(116, format!("{:07o}", self.gid).as_bytes());
        put(124, format!("{:011o}", self.size).as_bytes());
        put(136, format!("{:011o}", self.modified).as_bytes());
        put(148, b"        ");
        put(156, &[self.flag]);
        put(157, &cut(self.link));
        put(257, b"ustar\x0000");
        let sum = checksum(&block);
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }
}

fn checksum(block: &[u8; BLOCK]) -> u32 {
    block.iter().map(|byte| u32::from(*byte)).sum()
}

/// One header block as it was read.
pub(crate) enum Decoded {
    /// All zeros: the end of the archive.
    Zeros,
    /// Records for the entry that follows, so many bytes.
    Pax(u64),
    Entry(Entry),
}

pub(crate) type Records = BTreeMap<String, Vec<u8>>;

/// Reads a header. The error says what is wrong with it.
pub(crate) fn decode(block: &[u8; BLOCK], records: Option<&Records>) -> Result<Decoded, &'static str> {
    if block.iter().all(|byte| *byte == 0) {
        return Ok(Decoded::Zeros);
    }
    let mut blank = *block;
    blank[148..156].fill(b' ');
    // Just as it is written: the sum is in no hash.
    let sum = format!("{:06o}\0 ", checksum(&blank));
    if block[148..156] != *sum.as_bytes() || &block[257..265] != b"ustar\x0000" {
        return Err("a header is damaged");
    }
    let number = |range: std::ops::Range<usize>| octal(&block[range]).ok_or("a header has a bad number");
    let stored_bytes = number(124..136)?;
    if block[156] == b'x' {
        return match records {
            None => Ok(Decoded::Pax(stored_bytes)),
            Some(_) => Err("two headers follow each other"),
        };
    }
    let nothing = Records::new();
    let records = records.unwrap_or(&nothing);
    let text = |range: std::ops::Range<usize>| {
        let bytes = &block[range];
        bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())].to_vec()
    };
    let number_of = |key: &str, small: u64| match records.get(key) {
        Some(text) => decimal(text).ok_or("a record has a bad number"),
        None => Ok(small),
    };
    let is_sparse = records.contains_key("GNU.sparse.realsize");
    let of_path = if is_sparse { "GNU.sparse.name" } else { "path" };
    let mut path = records.get(of_path).cloned().unwrap_or_else(|| text(0..100));
    let link = records.get("linkpath").cloned().unwrap_or_else(|| text(157..257));
    let kind = match block[156] {
        b'0' => EntryKind::File,
        b'5' => EntryKind::Directory,
        b'2' => EntryKind::Symlink(link),
        b'1' => EntryKind::HardLink(link),
        _ => return Err("an entry is neither a file, a directory nor a link"),
    };
    if kind == EntryKind::Directory && path.pop() != Some(b'/') {
        return Err("the name of a directory does not end as one");
    }
    let id = |key: &str, range: std::ops::Range<usize>| {
        u32::try_from(number_of(key, number(range)?)?).map_err(|_| "an owner has a number that none has")
    };
    let entry = Entry {
        path,
        mode: u32::try_from(number(100..108)?).unwrap_or(u32::MAX) & PERMISSIONS,
        uid: id("uid", 108..116)?,
        gid: id("gid", 116..124)?,
        modified: number(136..148)?,
        stored_bytes: number_of("size", stored_bytes)?,
        sparse_length: is_sparse.then(|| number_of("GNU.sparse.realsize", 0)).transpose()?,
        kind,
    };
    if entry.kind != EntryKind::File && (entry.stored_bytes > 0 || is_sparse) {
        return Err("a directory or a link has contents");
    }
    Ok(Decoded::Entry(entry))
}

/// Reads pax records; only those that `encode` writes.
pub(crate) fn decode_records(mut bytes: &[u8]) -> Result<Records, &'static str> {
    const KNOWN: [&str; 8] = [
        "GNU.sparse.major",
        "GNU.sparse.minor",
        "GNU.sparse.name",
        "GNU.sparse.realsize",
        "path",
        "linkpath",
        "uid",
        "gid",
    ];
    let bad = "a record is damaged";
    let mut records = Records::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ').ok_or(bad)?;
        let length = decimal(&bytes[..space]).and_then(|length| usize::try_from(length).ok()).ok_or(bad)?;
        if length <= space + 1 || length > bytes.len() || bytes[length - 1] != b'\n' {
            return Err(bad);
        }
        let (record, rest) = (&bytes[space + 1..length - 1], &bytes[length..]);
        let equals = record.iter().position(|byte| *byte == b'=').ok_or(bad)?;
        let key = std::str::from_utf8(&record[..equals]).map_err(|_| bad)?;
        if !KNOWN.contains(&key) && key != "size" {
            return Err("a record is of a kind that no backup has");
        }
        if records.insert(key.to_owned(), record[equals + 1..].to_vec()).is_some() {
            return Err("a record stands there twice");
        }
        bytes = rest;
    }
    Ok(records)
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.split(|byte| matches!(byte, 0 | b' ')).next()?;
    let is_octal = !digits.is_empty() && digits.iter().all(|byte| (b'0'..=b'7').contains(byte));
    is_octal.then(|| digits.iter().fold(0, |sum, byte| sum * 8 + u64::from(byte - b'0')))
}

pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    let is_decimal = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_decimal.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(entry: &Entry) -> Entry {
        let bytes = encode(entry);
        assert_eq!(bytes.len() % BLOCK, 0);
        let (last, before) = bytes.split_last_chunk::<BLOCK>().map(|(before, last)| (last, before)).unwrap();
        let records = before.first_chunk::<BLOCK>().map(|first| {
            let Ok(Decoded::Pax(length)) = decode(first, None) else { panic!("no pax header") };
            decode_records(&before[BLOCK..BLOCK + usize::try_from(length).unwrap()]).unwrap()
        });
        match decode(last, records.as_ref()) {
            Ok(Decoded::Entry(entry)) => entry,
            _ => panic!("no entry"),
        }
    }

    // O6
    #[test]
    fn every_kind_of_entry_survives_its_header() {
        let long = [b"long/".repeat(60), vec![0xff, b'x']].concat();
        let plain = Entry {
            path: b"workspaces/a/b".to_vec(),
            kind: EntryKind::File,
            mode: 0o640,
            uid: 1_000,
            gid: 0,
            modified: 1_700_000_000,
            stored_bytes: 12,
            sparse_length: None,
        };
        let empty = Entry { stored_bytes: 0, ..plain.clone() };
        for entry in [
            plain.clone(),
            Entry { path: long.clone(), uid: 2_100_000_000, gid: 2_100_000_001, ..plain.clone() },
            Entry { stored_bytes: 1 << 40, ..plain.clone() },
            Entry { sparse_length: Some(1 << 50), ..plain },
            Entry { kind: EntryKind::Directory, path: b"x".repeat(99), ..empty.clone() },
            Entry { kind: EntryKind::Directory, path: b"x".repeat(100), ..empty.clone() },
            Entry { kind: EntryKind::Symlink(long.clone()), ..empty.clone() },
            Entry { kind: EntryKind::HardLink(b"short".to_vec()), ..empty },
        ] {
            assert_eq!(read_back(&entry), entry);
        }
    }
}

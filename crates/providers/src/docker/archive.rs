//! The few entries of a tar archive that fill volumes: directories and files, with owner and mode.
//!
//! Surprise: the users of boxes have numbers that do not fit the seven octal digits of the format, so that numbers are
//! written in its binary form where they must be, as GNU's and Go's implementations read it.

use warren_confined_fs::Owner;

const BLOCK: usize = 512;

/// One entry; its name is relative and short.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) mode: u32,
    pub(super) owner: Owner,
    /// Absent: a directory.
    pub(super) contents: Option<&'a [u8]>,
}

pub(super) fn write(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = Vec::new();
    for entry in entries {
        let contents = entry.contents.unwrap_or_default();
        archive.extend_from_slice(&header(entry, contents.len() as u64));
        archive.extend_from_slice(contents);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}

fn header(entry: &Entry<'_>, size: u64) -> [u8; BLOCK] {
    const CHECKSUM: std::ops::Range<usize> = 148..156;
    let mut header = [0; BLOCK];
    header[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
    number(&mut header[100..108], u64::from(entry.mode));
    number(&mut header[108..116], u64::from(entry.owner.uid));
    number(&mut header[116..124], u64::from(entry.owner.gid));
    number(&mut header[124..136], size);
    number(&mut header[136..148], 0);
    header[156] = if entry.contents.is_some() { b'0' } else { b'5' };
    header[257..265].copy_from_slice(b"ustar  \0");
    // It is counted as if it were spaces.
    header[CHECKSUM].fill(b' ');
    let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
    number(&mut header[CHECKSUM], sum);
    header
}

/// Octal digits and a NUL; or, where they do not suffice, a mark and the number itself.
fn number(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    let text = format!("{value:0digits$o}");
    if text.len() == digits {
        field[..digits].copy_from_slice(text.as_bytes());
        field[digits] = 0;
        return;
    }
    // Fields have 8 or 12 bytes.
    let unused = field.len() - size_of_val(&value);
    field.fill(0);
    field[unused..].copy_from_slice(&value.to_be_bytes());
    field[0] |= 0x80;
}

#[cfg(test)]
mod tests {
    use super::*;

    // W83
    #[test]
    #[expect(clippy::disallowed_methods, reason = "another implementation of the format is asked")]
    fn another_implementation_reads_what_was_written() {
        let owner = Owner { uid: 2_000_000_123, gid: 7 };
        let entries = [
            Entry { name: "place", mode: 0o700, owner, contents: None },
            Entry {
                name: "place/tool",
                mode: 0o555,
                owner: Owner { uid: 0, gid: 0 },
                contents: Some(b"contents"),
            },
        ];
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), write(&entries)).unwrap();
        let listed = std::process::Command::new("tar")
            .args(["--numeric-owner", "--full-time", "--utc", "-tvf"])
            .arg(file.path())
            .output()
            .expect("install the Debian package tar");
        let listed = String::from_utf8(listed.stdout).unwrap();
        let words: Vec<Vec<_>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0][..3], ["drwx------", "2000000123/7", "0"], "{listed}");
        assert_eq!(words[1][..3], ["-r-xr-xr-x", "0/0", "8"], "{listed}");
    }
}

//! The files that a runner proves itself with: a join token that somebody put there, and the credential that it got for it.
//!
//! Readable by their owner alone. They never stand in arguments or variables, where a list of processes would show them.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Used once.
    pub join_token: PathBuf,
    /// Of this boot.
    pub credential: PathBuf,
}

impl Credentials {
    /// Absent: no such file, or nothing in it.
    pub(crate) fn read_join_token(&self) -> Option<String> {
        read(&self.join_token)
    }

    pub(crate) fn read_credential(&self) -> Option<String> {
        read(&self.credential)
    }

    pub(crate) fn keep(&self, credential: &str) -> io::Result<()> {
        place(&self.credential, credential.as_bytes())
    }
}

fn read(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Puts a file in place that only its owner can read, and its folder if that is missing. Whoever opens it finds the old one
/// or the new one, whole.
pub fn place(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    if !folder.as_os_str().is_empty() && !folder.exists() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&staged);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged)?;
    file.write_all(contents)?;
    drop(file);
    std::fs::rename(&staged, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    // F18
    #[test]
    fn what_is_placed_is_read_by_its_owner_alone_and_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/token");
        place(&path, b"one\n").unwrap();
        place(&path, b"two\n").unwrap();
        assert_eq!(read(&path).as_deref(), Some("two"));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing staged is left");
    }

    // F18
    #[test]
    fn an_empty_file_is_no_credential() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert_eq!(read(&path), None);
        place(&path, b" \n").unwrap();
        assert_eq!(read(&path), None);
    }
}

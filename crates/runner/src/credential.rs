//! What a runner proves itself with: a join token that somebody gave it, and the credential that it got for it.
//!
//! Files are readable by their owner alone. Neither ever stands in arguments or variables, where a list of processes would
//! show them.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 4_096;

/// Where a runner has them.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Of a runner outside of boxes, which somebody may start again by hand.
    Files {
        /// Used once.
        join_token: PathBuf,
        /// Of this boot.
        credential: PathBuf,
    },
    /// Of a runner in a box: nowhere but in its memory, since the programs of its box are the same user and read its files.
    InMemory { join_token: String },
}

/// The paths, never a token.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files { join_token, credential } => f
                .debug_struct("Files")
                .field("join_token", join_token)
                .field("credential", credential)
                .finish(),
            Self::InMemory { .. } => f.debug_struct("InMemory").finish_non_exhaustive(),
        }
    }
}

impl Credentials {
    /// Absent: no such file, or nothing in it.
    pub(crate) fn read_join_token(&self) -> Option<String> {
        match self {
            Self::Files { join_token, .. } => read(join_token),
            Self::InMemory { join_token } => Some(join_token.clone()).filter(|token| !token.is_empty()),
        }
    }

    /// One that was kept by an earlier start, or put there since.
    pub(crate) fn read_credential(&self) -> Option<String> {
        match self {
            Self::Files { credential, .. } => read(credential),
            Self::InMemory { .. } => None,
        }
    }

    /// The join token is used up: nothing that looks like a secret is left lying about.
    pub(crate) fn keep(&self, credential: &str) -> io::Result<()> {
        match self {
            Self::Files { join_token, credential: path } => {
                place(path, credential.as_bytes())?;
                let _ = std::fs::remove_file(join_token);
                Ok(())
            }
            Self::InMemory { .. } => Ok(()),
        }
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

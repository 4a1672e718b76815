//! How commands on this machine find the server that runs on a data folder, without anybody copying a token.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warren_model::ErrorCode;

use crate::failure::{Outcome, Report};

pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7878";
const FILE_NAME: &str = "local_access.json";

/// Written by `warren up`, mode 0600. It stays when the server stops, so that the next one keeps the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LocalAccess {
    pub(crate) url: String,
    pub(crate) token: String,
}

impl LocalAccess {
    /// `None` when no server ran on this data folder yet.
    pub(crate) fn read(data: &Path) -> Outcome<Option<Self>> {
        let path = path_in(data);
        let text = match read_unlinked(&path) {
            Ok(text) => text,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(Report::local_file(&path, &error).into()),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Report::new(ErrorCode::LocalFileFailed)
                .because(format!("{}: {error}", path.display()))
                .hint("Delete the file and start `warren up` again; it makes a new token.")
                .into()
        })
    }

    /// Replaces the file in one step, so that a reader never sees half of it.
    pub(crate) fn write(&self, data: &Path) -> io::Result<()> {
        let path = path_in(data);
        let draft = data.join(format!("{FILE_NAME}.new"));
        // What a crash left behind may have another mode.
        if let Err(error) = fs::remove_file(&draft)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(serde_json::to_string(self).expect("two strings are JSON").as_bytes())?;
        fs::rename(&draft, &path)
    }
}

/// The address only.
impl std::fmt::Debug for LocalAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalAccess").field("url", &self.url).finish_non_exhaustive()
    }
}

pub(crate) fn path_in(data: &Path) -> PathBuf {
    data.join(FILE_NAME)
}

/// Not through a link: only the server makes this file, and makes it anew each time.
fn read_unlinked(path: &Path) -> io::Result<String> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut text = String::new();
    fs::OpenOptions::new().read(true).custom_flags(no_follow).open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    // S11
    #[test]
    fn access_is_readable_by_its_owner_only_and_replaced_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(LocalAccess::read(folder.path()).unwrap(), None);
        for token in ["first", "second"] {
            let access = LocalAccess { url: "http://127.0.0.1:1".into(), token: token.into() };
            access.write(folder.path()).unwrap();
            assert_eq!(LocalAccess::read(folder.path()).unwrap(), Some(access));
        }
        let mode = fs::metadata(path_in(folder.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    // S11
    #[test]
    fn access_is_neither_read_nor_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let kept = LocalAccess { url: "http://127.0.0.1:1".into(), token: "theirs".into() };
        kept.write(folder.path()).unwrap();
        fs::rename(path_in(folder.path()), &elsewhere).unwrap();
        for name in [FILE_NAME, "local_access.json.new"] {
            std::os::unix::fs::symlink(&elsewhere, folder.path().join(name)).unwrap();
        }
        assert!(LocalAccess::read(folder.path()).is_err());
        let own = LocalAccess { url: "http://127.0.0.1:2".into(), token: "own".into() };
        own.write(folder.path()).unwrap();
        assert_eq!(LocalAccess::read(folder.path()).unwrap(), Some(own));
        assert!(fs::read_to_string(&elsewhere).unwrap().contains("theirs"));
    }
}

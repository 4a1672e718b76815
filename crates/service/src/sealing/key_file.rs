//! Keys in a file that only its owner may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use warren_doors::Entropy;
use zeroize::Zeroizing;

use super::keys::{Key, KeyError, KeySource, Keyring};

/// A file of keys. A rotation rewrites it.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    /// A file that somebody named: it must be there.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Warren's own file: made with a new key if it is not there.
    pub fn own(path: impl Into<PathBuf>, entropy: &dyn Entropy) -> Result<Self, KeyError> {
        let file = Self::named(path);
        match fs::symlink_metadata(&file.path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                file.write(&Keyring::of(Key::new(entropy.secret())))?;
                tracing::info!(path = %file.path.display(), "made a key for secrets; back it up apart from the database");
            }
            Err(error) => return Err(file.problem("cannot be reached", &error)),
        }
        Ok(file)
    }

    fn problem(&self, what: &str, cause: &dyn std::fmt::Display) -> KeyError {
        KeyError::new(format!("{}: {what}: {cause}", self.path.display()))
    }

    /// Beside the old one, and then in its place: a crash leaves one of the two, whole.
    fn write(&self, keyring: &Keyring) -> Result<(), KeyError> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let mut draft = path.clone().into_os_string();
        draft.push(".new");
        replace(&path, Path::new(&draft), &keyring.to_text())
            .map_err(|error| self.problem("cannot be written", &error))
    }
}

fn replace(path: &Path, draft: &Path, text: &str) -> io::Result<()> {
    // What a crash left behind may have another mode.
    if let Err(error) = fs::remove_file(draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

impl KeySource for KeyFile {
    fn load(&self) -> Result<Keyring, KeyError> {
        let metadata = fs::metadata(&self.path).map_err(|error| self.problem("cannot be read", &error))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let cause = format!("its mode is {mode:o}; run `chmod 600 {}`", self.path.display());
            return Err(self.problem("others may read it", &cause));
        }
        let text = fs::read_to_string(&self.path).map_err(|error| self.problem("cannot be read", &error))?;
        Keyring::parse(&Zeroizing::new(text)).map_err(|error| self.problem("is no key file", &error))
    }

    fn replace(&self, keyring: &Keyring) -> Result<bool, KeyError> {
        self.write(keyring).map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use warren_doors::SeededEntropy;

    use super::*;

    // F32
    #[test]
    fn a_file_is_made_once_private_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        let entropy = SeededEntropy::new(1);
        let first = KeyFile::own(&path, &entropy).unwrap().load().unwrap();
        let second = KeyFile::own(&path, &entropy).unwrap().load().unwrap();
        assert_eq!(first.current().id(), second.current().id());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    // F32
    #[test]
    fn a_missing_open_or_damaged_file_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        let told = || KeyFile::named(&path).load().unwrap_err().to_string();
        assert!(told().contains("cannot be read"), "{}", told());
        KeyFile::own(&path, &SeededEntropy::new(1)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(told().contains("others may read it") && told().contains("chmod 600"), "{}", told());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "no key").unwrap();
        assert!(told().contains("expected 1") || told().contains("key 1 is not"), "{}", told());
    }

    // F32
    #[test]
    fn a_file_is_replaced_in_one_step_and_stays_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        let file = KeyFile::own(&path, &SeededEntropy::new(1)).unwrap();
        // What a crash in the middle of an earlier replacement left.
        fs::write(folder.path().join("secrets.key.new"), "half").unwrap();
        let ring = file.load().unwrap().led_by(Key::new([5; 32]));
        assert_eq!(file.replace(&ring), Ok(true));
        assert_eq!(file.load().unwrap().current().id(), Key::new([5; 32]).id());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

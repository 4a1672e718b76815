//! The embedded process 1, put where boxes can be given it.

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

static PROGRAM: &[u8] = include_bytes!(env!("WARREN_INIT_PROGRAM"));
const NAME: &str = "warren-init";

/// For boxes that share no folder with us.
pub(crate) fn contents() -> &'static [u8] {
    PROGRAM
}

/// Tells this program from that of another version. It guards against mix-ups, not against anybody.
pub(crate) fn mark() -> String {
    let hash = PROGRAM.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Writes the program to `folder` unless it is there already, and tells where. Readable and executable by all, writable
/// by nobody; a version that differs is replaced, which running boxes do not notice. Not forced to disk: half a file after
/// a power cut differs, and is replaced too.
pub(crate) fn install(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(NAME);
    if std::fs::read(&path).is_ok_and(|there| there == PROGRAM) {
        return Ok(path);
    }
    let staged = folder.join(format!("{NAME}.{}", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&staged)?;
    file.write_all(PROGRAM)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o555))?;
    // Closed for writing before anybody executes it.
    drop(file);
    std::fs::rename(&staged, &path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    // W77
    #[test]
    fn the_program_is_installed_once_and_mended_when_it_differs() {
        let folder = tempfile::tempdir().unwrap();
        let path = install(folder.path()).unwrap();
        let made = std::fs::metadata(&path).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, 0o555);
        assert_eq!(install(folder.path()).unwrap(), path);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "something else").unwrap();
        install(folder.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), PROGRAM);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing staged is left");
    }

    // W77: an image may have nothing in it, not even a loader.
    #[test]
    fn the_program_needs_no_loader() {
        const INTERPRETER: u32 = 3;
        let word = |at: usize, bytes: usize| {
            PROGRAM[at..at + bytes].iter().rev().fold(0_usize, |value, &byte| value << 8 | usize::from(byte))
        };
        let (first, size, count) = (word(32, 8), word(54, 2), word(56, 2));
        let kinds: Vec<_> = (0..count).map(|index| word(first + index * size, 4)).collect();
        assert!(count > 0 && !kinds.contains(&(INTERPRETER as usize)), "{kinds:?}");
    }
}

//! The embedded programs of a box, put where boxes can be given them: process 1, and the runner of a resident agent.

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

static INIT: &[u8] = include_bytes!(env!("WARREN_INIT_PROGRAM"));
static RUNNER: &[u8] = include_bytes!(env!("WARREN_RUNNER_PROGRAM"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// Process 1.
    Init,
    /// Stands between Warren and a resident agent.
    Runner,
}

impl Program {
    pub(crate) const ALL: [Self; 2] = [Self::Init, Self::Runner];

    /// For boxes that share no folder with us.
    pub(crate) fn contents(self) -> &'static [u8] {
        match self {
            Self::Init => INIT,
            Self::Runner => RUNNER,
        }
    }

    const fn file_name(self) -> &'static str {
        match self {
            Self::Init => "warren-init",
            Self::Runner => "warren-runner",
        }
    }
}

/// Tells these programs from those of another version. It guards against mix-ups, not against anybody.
pub(crate) fn mark() -> String {
    let bytes = Program::ALL.iter().flat_map(|program| program.contents());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Writes a program to `folder` unless it is there already, and tells where. Readable and executable by all, writable
/// by nobody; a version that differs is replaced, which running boxes do not notice. Not forced to disk: half a file after
/// a power cut differs, and is replaced too.
pub(crate) fn install(program: Program, folder: &Path) -> io::Result<PathBuf> {
    let (name, contents) = (program.file_name(), program.contents());
    let path = folder.join(name);
    if std::fs::read(&path).is_ok_and(|there| there == contents) {
        return Ok(path);
    }
    let staged = folder.join(format!("{name}.{}", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&staged)?;
    file.write_all(contents)?;
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
        let path = install(Program::Init, folder.path()).unwrap();
        let made = std::fs::metadata(&path).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, 0o555);
        assert_eq!(install(Program::Init, folder.path()).unwrap(), path);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "something else").unwrap();
        install(Program::Init, folder.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), Program::Init.contents());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing staged is left");
    }

    // W77, F18: an image may have nothing in it, not even a loader.
    #[test]
    fn the_programs_need_no_loader() {
        const INTERPRETER: u32 = 3;
        for program in Program::ALL {
            let word = |at: usize, bytes: usize| {
                let bytes = program.contents()[at..at + bytes].iter().rev();
                bytes.fold(0_usize, |value, &byte| value << 8 | usize::from(byte))
            };
            let (first, size, count) = (word(32, 8), word(54, 2), word(56, 2));
            let kinds: Vec<_> = (0..count).map(|index| word(first + index * size, 4)).collect();
            assert!(count > 0 && !kinds.contains(&(INTERPRETER as usize)), "{program:?}: {kinds:?}");
        }
    }
}

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

    /// Who may do what with its file. The runner has the user of the programs in its box, and holds what they must not
    /// have: its file can be executed and not read, for then the kernel keeps its memory and its descriptors from its own
    /// user from the first instruction on. One that asked for that itself would be open until it has asked.
    pub(crate) const fn mode(self) -> u32 {
        match self {
            Self::Init => 0o555,
            Self::Runner => 0o111,
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

/// Writes a program to `folder` unless it is there already, and tells where. Executable by all, writable by
/// nobody; a version that differs is replaced, which running boxes do not notice. Not forced to disk: half a file after
/// a power cut differs, and is replaced too.
pub(crate) fn install(program: Program, folder: &Path) -> io::Result<PathBuf> {
    let (name, contents) = (program.file_name(), program.contents());
    let path = folder.join(name);
    // Where Warren is not root it cannot read what nobody can, and writes it anew.
    let has_mode = |facts: std::fs::Metadata| facts.permissions().mode() & 0o777 == program.mode();
    if std::fs::metadata(&path).is_ok_and(has_mode)
        && std::fs::read(&path).is_ok_and(|there| there == contents)
    {
        return Ok(path);
    }
    let staged = folder.join(format!("{name}.{}", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&staged)?;
    file.write_all(contents)?;
    file.set_permissions(std::fs::Permissions::from_mode(program.mode()))?;
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

    // sec/S12: what an earlier version put there could be read
    #[test]
    fn the_runner_is_a_file_that_is_executed_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warren-runner");
        std::fs::write(&path, Program::Runner.contents()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(install(Program::Runner, folder.path()).unwrap(), path);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o111);
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

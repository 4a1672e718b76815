//! What keeps a sandbox shut on this host: found, judged, and refused if anything is missing (W72). Never a silent
//! downgrade: without a backend nothing is started.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use warren_init::{Facts, Greeting};
use warren_model::{ErrorCode, Isolation};
use warren_workspace::Error;

/// Where systems keep it. Never looked up in `PATH`: whoever sets that could put another program in its place.
pub(super) const USUAL_PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
/// The first with `--disable-userns`.
const OLDEST: Version = Version(0, 8, 0);
/// The first that does not follow links below a writable bind (CVE-2026-87766). Warren mounts nothing there.
const FIRST_WITHOUT_LINK_TROUBLE: Version = Version(0, 12, 0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32, u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A bubblewrap that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bubblewrap {
    pub path: PathBuf,
    pub version: Version,
}

impl Bubblewrap {
    /// What an operator should know about this version.
    pub fn remark(&self) -> Option<&'static str> {
        (self.version < FIRST_WITHOUT_LINK_TROUBLE).then_some(
            "before 0.12.0 it follows links below a writable mount (CVE-2026-87766); Warren mounts nothing there",
        )
    }
}

/// Finds a bubblewrap that may be trusted with the job.
pub(super) fn find(
    isolation: Isolation,
    places: &[PathBuf],
    version_of: VersionOf,
) -> Result<Bubblewrap, Error> {
    if isolation == Isolation::Seatbelt {
        return Err(unavailable(
            "isolation: `seatbelt` (macOS) is not supported yet; use `auto` or `bwrap`, on Linux",
        ));
    }
    if !cfg!(target_os = "linux") {
        return Err(unavailable("the sandbox is not supported on this system yet; it needs Linux"));
    }
    let Some((path, facts)) = places.iter().find_map(|path| Some((path, std::fs::metadata(path).ok()?)))
    else {
        return Err(unavailable("bubblewrap is not installed; install the package `bubblewrap`"));
    };
    let shown = path.display();
    if !facts.is_file() || facts.mode() & 0o111 == 0 {
        return Err(unavailable(format!("{shown} is not a program; install the package `bubblewrap` again")));
    }
    if facts.mode() & 0o022 != 0 || (facts.uid() != 0 && facts.uid() != super::warren_uid()) {
        return Err(unavailable(format!("{shown} can be changed by others than root; it is not used")));
    }
    let version = version_of(path).and_then(|text| parse_version(&text)).ok_or_else(|| {
        unavailable(format!("{shown} does not tell its version; install the package `bubblewrap`"))
    })?;
    if version < OLDEST {
        return Err(unavailable(format!("{shown} is version {version}; at least {OLDEST} is needed")));
    }
    Ok(Bubblewrap { path: path.clone(), version })
}

/// Asks a program for its version.
pub(super) type VersionOf = fn(&Path) -> Option<String>;

fn parse_version(text: &str) -> Option<Version> {
    let mut parts = text.trim().strip_prefix("bubblewrap ")?.split('.').map(|part| part.parse::<u32>().ok());
    Some(Version(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Judges what process 1 says of its own confinement. A box that is not as it should be is never given out.
pub(super) fn judge(greeting: &Greeting) -> Result<(), Error> {
    let Facts {
        seccomp_mode,
        no_new_privileges,
        effective_capabilities,
        bounding_capabilities,
        is_process_1,
        user,
        landlock_abi: _,
    } = greeting.facts;
    let breach = if !is_process_1 {
        "it has no process namespace of its own"
    } else if seccomp_mode != 2 {
        "its system calls are not filtered"
    } else if !no_new_privileges {
        "programs in it could gain privileges"
    } else if effective_capabilities != 0 || bounding_capabilities != 0 {
        "it has capabilities"
    } else if user == 0 {
        "it runs as root"
    } else {
        return Ok(());
    };
    let detail = format!("the box was refused: {breach}; `warren doctor` says more");
    Err(Error::permanent(ErrorCode::ProviderUnavailable, detail))
}

pub(super) fn unavailable(detail: impl Into<String>) -> Error {
    Error::permanent(ErrorCode::ProviderUnavailable, detail)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn sound() -> Greeting {
        let facts = Facts {
            landlock_abi: 6,
            seccomp_mode: 2,
            no_new_privileges: true,
            effective_capabilities: 0,
            bounding_capabilities: 0,
            user: 1000,
            is_process_1: true,
        };
        Greeting { version: 1, facts }
    }

    // sec/S26
    #[test]
    fn a_box_that_is_not_confined_is_refused() {
        type Break = fn(&mut Facts);
        judge(&sound()).unwrap();
        let broken: [(&str, Break); 6] = [
            ("namespace", |facts| facts.is_process_1 = false),
            ("filtered", |facts| facts.seccomp_mode = 0),
            ("privileges", |facts| facts.no_new_privileges = false),
            ("capabilities", |facts| facts.effective_capabilities = 1),
            ("capabilities", |facts| facts.bounding_capabilities = 1 << 21),
            ("root", |facts| facts.user = 0),
        ];
        for (told, break_it) in broken {
            let mut greeting = sound();
            break_it(&mut greeting.facts);
            let error = judge(&greeting).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
            assert!(error.to_string().contains(told), "{error}");
        }
    }

    // sec/S26, W72
    #[test]
    fn a_bubblewrap_that_cannot_be_trusted_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bwrap");
        let places = [path.clone()];
        let told = |isolation, version_of: VersionOf| {
            let error = find(isolation, &places, version_of).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
            error.to_string()
        };
        let good: VersionOf = |_| Some("bubblewrap 0.11.1\n".into());
        assert!(told(Isolation::Auto, good).contains("install the package `bubblewrap`"));
        std::fs::write(&path, "").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(told(Isolation::Auto, good).contains("not a program"));
        mode(0o777);
        assert!(told(Isolation::Bwrap, good).contains("changed by others"));
        mode(0o755);
        assert!(told(Isolation::Auto, |_| None).contains("version"));
        assert!(told(Isolation::Auto, |_| Some("bubblewrap 0.7.9".into())).contains("at least 0.8.0"));
        assert!(told(Isolation::Seatbelt, good).contains("seatbelt"));
        let found = find(Isolation::Auto, &places, good).unwrap();
        assert!(found.remark().is_some());
        assert_eq!(found.version.to_string(), "0.11.1");
    }
}

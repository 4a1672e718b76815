//! Programs that providers use: found and judged by the provider itself, so that what is told here is what is used.

use warren_providers::SandboxSettings;
use warren_providers::sandbox::find_bubblewrap;

use super::Check;

pub(super) fn bubblewrap(settings: &SandboxSettings) -> Check {
    let check = |finding: String| {
        Check::ok("host", "bubblewrap", finding).effect("Isolates the boxes of the `sandbox` provider.")
    };
    match find_bubblewrap(settings) {
        Ok(found) => {
            let check = check(format!("bubblewrap {} ({})", found.version, found.path.display()));
            match found.remark() {
                Some(remark) => check.warn(format!("{remark}. Update it nevertheless.")),
                None => check,
            }
        }
        Err(error) => check(error.to_string()).warn("Install it: `apt-get install bubblewrap`."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::State;
    use super::*;

    fn at(path: std::path::PathBuf) -> SandboxSettings {
        SandboxSettings { bubblewrap: vec![path], ..SandboxSettings::default() }
    }

    // O1
    #[test]
    fn an_old_bubblewrap_is_told_with_what_it_means() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bwrap");
        for (version, expected, told) in [
            ("0.12.0", State::Ok, ""),
            ("0.11.0", State::Warn, "CVE-2026-87766"),
            ("0.7.0", State::Warn, "apt-get install bubblewrap"),
        ] {
            std::fs::write(&path, format!("#!/bin/sh\necho bubblewrap {version}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let check = bubblewrap(&at(path.clone()));
            assert_eq!(check.state, expected, "{check:?}");
            assert!(check.remedy.unwrap_or_default().contains(told), "{version}");
            assert!(check.finding.contains(version), "{}", check.finding);
        }
    }

    // O1
    #[test]
    fn a_missing_program_is_a_warning_with_the_package_to_install() {
        let check = bubblewrap(&at("/nonexistent/bwrap".into()));
        assert_eq!(check.state, State::Warn);
        assert!(check.remedy.unwrap().contains("apt-get install bubblewrap"));
    }
}

//! Programs that providers use.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use warren_doors::Environment;

use super::Check;

const PATIENCE: Duration = Duration::from_secs(2);
/// The first version without CVE-2026-87766.
const FIXED_BUBBLEWRAP: (u32, u32) = (0, 12);

pub(super) async fn bubblewrap(environment: &Environment) -> Check {
    let check = |finding: String| {
        Check::ok("host", "bubblewrap", finding).effect("Isolates the boxes of the `sandbox` provider.")
    };
    let Some(path) = find("bwrap", environment) else {
        return check("not found".into()).warn("Install it: `apt-get install bubblewrap`.");
    };
    match version_line(&path).await {
        Some(line) => judge(check(format!("{line} ({})", path.display())), &line),
        None => check(format!("{} does not tell its version", path.display()))
            .warn("Install it anew: `apt-get install --reinstall bubblewrap`."),
    }
}

fn judge(check: Check, line: &str) -> Check {
    match parse_version(line) {
        Some(version) if version >= FIXED_BUBBLEWRAP => check,
        Some(_) => check.warn(
            "Before 0.12.0 it follows links when it makes mount points (CVE-2026-87766). Warren makes none below a \
             folder that an agent can write to; update it nevertheless.",
        ),
        None => check.warn("The version could not be read; 0.12.0 or later is needed."),
    }
}

fn parse_version(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.split_whitespace().last()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Only absolute folders: a relative one means whatever the current folder is.
fn find(name: &str, environment: &Environment) -> Option<PathBuf> {
    let folders = environment.get("PATH").unwrap_or("/usr/bin:/bin").split(':');
    folders.filter(|folder| folder.starts_with('/')).map(|folder| PathBuf::from(folder).join(name)).find(
        |path| {
            std::fs::metadata(path)
                .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        },
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "asks a program of the host for its version; no workspace is involved"
)]
async fn version_line(path: &std::path::Path) -> Option<String> {
    let output = tokio::process::Command::new(path)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, output).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    // O1
    #[test]
    fn an_old_bubblewrap_is_told_with_what_it_means() {
        let judged = |line: &str| judge(Check::ok("host", "bubblewrap", line), line);
        assert_eq!(judged("bubblewrap 0.12.0").state, State::Ok);
        assert_eq!(judged("bubblewrap 1.0.0").state, State::Ok);
        let old = judged("bubblewrap 0.8.0");
        assert_eq!(old.state, State::Warn);
        assert!(old.remedy.unwrap().contains("CVE-2026-87766"));
        assert_eq!(judged("bubblewrap").state, State::Warn);
    }

    // O1
    #[tokio::test]
    async fn a_missing_program_is_a_warning_with_the_package_to_install() {
        let nowhere: Environment = [("PATH", "/nonexistent:relative")].into_iter().collect();
        let check = bubblewrap(&nowhere).await;
        assert_eq!(check.state, State::Warn);
        assert!(check.remedy.unwrap().contains("apt-get install bubblewrap"));
    }
}

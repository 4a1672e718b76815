//! The sandbox of macOS as text: a profile for `sandbox-exec -p`, delivered inline, so that no file of it can be
//! changed between writing and reading.
//!
//! What is not allowed is denied. Programs may read the system, read and write the workspace and the box's own
//! temporary folder, start further programs (which inherit the profile), and nothing else: no network, no signals to
//! processes outside, no other user's files.

use warren_model::{Mount, MountMode};

/// What the system itself needs to be read for programs to run.
const SYSTEM: [&str; 8] = [
    "/System",
    "/usr",
    "/bin",
    "/sbin",
    "/Library/Developer",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/etc/ssl",
];

/// The profile of one box. All paths are absolute and canonical.
pub fn profile(workspace: &str, temporary: &str, mounts: &[Mount]) -> String {
    let mut lines = vec![
        "(version 1)".to_owned(),
        "(deny default)".to_owned(),
        "(deny network*)".to_owned(),
        "(allow process-fork)".to_owned(),
        "(allow process-exec)".to_owned(),
        "(allow signal (target same-sandbox))".to_owned(),
        "(allow process-info* (target same-sandbox))".to_owned(),
        "(allow sysctl-read)".to_owned(),
        "(allow file-read-metadata (literal \"/\"))".to_owned(),
        "(allow file-ioctl (regex #\"^/dev/tty\"))".to_owned(),
        "(allow file-read* file-write-data (literal \"/dev/null\") (literal \"/dev/zero\"))".to_owned(),
        "(allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\"))".to_owned(),
    ];
    for folder in SYSTEM {
        lines.push(format!("(allow file-read* (subpath {}))", quoted(folder)));
    }
    for folder in [workspace, temporary] {
        lines.push(format!("(allow file-read* file-write* (subpath {}))", quoted(folder)));
    }
    for mount in mounts {
        let operations = match mount.mode {
            MountMode::Ro => "file-read*",
            MountMode::Rw => "file-read* file-write*",
        };
        lines.push(format!("(allow {operations} (subpath {}))", quoted(&mount.source)));
    }
    // Said last, so that no mount allows it.
    lines.push("(deny file-write-setugid)".to_owned());
    lines.join("\n") + "\n"
}

/// The whole command: the profile is an argument, not a file.
pub fn command_line(profile: &str, program: &[&str]) -> Vec<String> {
    let begin = ["/usr/bin/sandbox-exec", "-p", profile, "--"];
    begin.iter().chain(program).map(|&word| word.to_owned()).collect()
}

/// A string of the profile's language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    // W72
    #[test]
    fn the_profile_denies_what_it_does_not_name() {
        let mounts = [
            Mount { source: "/data/in".into(), target: "/in".into(), mode: MountMode::Ro },
            Mount { source: "/data/out".into(), target: "/out".into(), mode: MountMode::Rw },
        ];
        let text = profile("/boxes/w", "/boxes/t", &mounts);
        assert!(text.starts_with("(version 1)\n(deny default)\n(deny network*)\n"));
        let writable: Vec<_> = text.lines().filter(|line| line.contains("file-write*")).collect();
        assert_eq!(
            writable,
            [
                "(allow file-read* file-write* (subpath \"/boxes/w\"))",
                "(allow file-read* file-write* (subpath \"/boxes/t\"))",
                "(allow file-read* file-write* (subpath \"/data/out\"))",
            ]
        );
        assert!(text.contains("(allow file-read* (subpath \"/data/in\"))"));
        assert!(!text.contains("/Users") && !text.contains("allow network") && !text.contains("mach-lookup"));
        assert!(text.matches('(').count() == text.matches(')').count());
    }

    #[test]
    fn a_path_cannot_end_its_string() {
        let text = profile("/a\"))(allow default)((\"", "/t\\", &[]);
        assert!(!text.lines().any(|line| line.starts_with("(allow default)")));
        assert!(text.contains("\\\"))(allow default)((\\\""), "{text}");
        assert!(text.contains("\"/t\\\\\""));
    }

    #[test]
    fn the_profile_is_delivered_inline() {
        let line = command_line("(version 1)", &["/bin/sh", "-c", "true"]);
        assert_eq!(line, ["/usr/bin/sandbox-exec", "-p", "(version 1)", "--", "/bin/sh", "-c", "true"]);
    }
}

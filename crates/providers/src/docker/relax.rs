//! The knobs that make a container weaker than the hardened one: checked, and each one named (W74).

use std::collections::BTreeSet;

use warren_model::{DockerRelaxations, Mount, TmpfsMount, Ulimit};

/// What a container may be given back: what the daemon gives every container by itself. Anything beyond would let a
/// program out of its box.
const CAPABILITIES: [&str; 14] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
const ULIMITS: [&str; 12] = [
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nofile",
    "nproc",
    "rtprio",
    "sigpending",
    "stack",
];
const MAX_ENTRIES: usize = 32;
/// What a box has of its own and nothing may cover.
const RESERVED: [&str; 6] = ["/workspace", "/.warren", "/proc", "/sys", "/dev", "/tmp"];
/// The largest user number that no tool takes for a negative one.
const MAX_USER: u32 = i32::MAX as u32;

/// The knobs that are turned, by name, for the log and for `describe()`.
pub(super) fn named(relax: &DockerRelaxations) -> Vec<String> {
    let mut named = Vec::new();
    let mut list = |name: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            named.push(format!("{name}: {}", entries.join(", ")));
        }
    };
    list("cap_add", relax.cap_add.iter().map(|name| plain_capability(name)).collect());
    list(
        "ulimits",
        relax.ulimits.iter().map(|one| format!("{}={}:{}", one.name, one.soft, one.hard)).collect(),
    );
    list("tmpfs", relax.tmpfs.iter().map(|one| format!("{} ({} MB)", one.target, one.size_mb)).collect());
    list("memory_swap_mb", relax.memory_swap_mb.iter().map(u32::to_string).collect());
    list("user", relax.user.iter().cloned().collect());
    named
}

/// The first knob that cannot be turned that way, as a sentence that names it.
pub(super) fn problem(relax: &DockerRelaxations, memory_mb: u32, mounts: &[Mount]) -> Option<String> {
    capability_problem(&relax.cap_add)
        .or_else(|| ulimit_problem(&relax.ulimits))
        .or_else(|| tmpfs_problem(&relax.tmpfs, mounts))
        .or_else(|| {
            let is_less = relax.memory_swap_mb.is_some_and(|swap| swap < memory_mb);
            is_less.then(|| {
                "relax.memory_swap_mb: is memory and swap together, so expected at least limits.memory_mb"
                    .into()
            })
        })
        .or_else(|| {
            let is_wrong = relax.user.as_deref().is_some_and(|user| parse_user(user).is_none());
            is_wrong.then(|| "relax.user: expected `uid` or `uid:gid`, both numbers".into())
        })
}

/// As the daemon spells it.
pub(super) fn plain_capability(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    upper.strip_prefix("CAP_").unwrap_or(&upper).to_owned()
}

/// Without a group the number stands for both: the daemon would take root's group instead.
pub(super) fn parse_user(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number <= MAX_USER)
    };
    match text.split_once(':') {
        Some((user, group)) => Some((number(user)?, number(group)?)),
        None => number(text).map(|both| (both, both)),
    }
}

fn capability_problem(names: &[String]) -> Option<String> {
    let mut seen = BTreeSet::new();
    names.iter().enumerate().find_map(|(index, name)| {
        let plain = plain_capability(name);
        if !CAPABILITIES.contains(&plain.as_str()) {
            return Some(format!("relax.cap_add[{index}]: expected one of {}", CAPABILITIES.join(", ")));
        }
        (!seen.insert(plain)).then(|| format!("relax.cap_add[{index}]: is there twice"))
    })
}

fn ulimit_problem(ulimits: &[Ulimit]) -> Option<String> {
    let mut seen = BTreeSet::new();
    ulimits.iter().enumerate().find_map(|(index, one)| {
        if !ULIMITS.contains(&one.name.as_str()) {
            return Some(format!("relax.ulimits[{index}].name: expected one of {}", ULIMITS.join(", ")));
        }
        if one.soft < 0 || one.hard < one.soft {
            return Some(format!("relax.ulimits[{index}]: expected 0 ≤ soft ≤ hard"));
        }
        (!seen.insert(&one.name)).then(|| format!("relax.ulimits[{index}]: is there twice"))
    })
}

fn tmpfs_problem(tmpfs: &[TmpfsMount], mounts: &[Mount]) -> Option<String> {
    if tmpfs.len() > MAX_ENTRIES {
        return Some(format!("relax.tmpfs: at most {MAX_ENTRIES} are taken"));
    }
    tmpfs.iter().enumerate().find_map(|(index, one)| {
        let problem = |text: &str| Some(format!("relax.tmpfs[{index}].{text}"));
        if !is_plain_path(&one.target) {
            return problem(
                "target: expected an absolute path of plain characters, without `.`, `..` or `//`",
            );
        }
        if RESERVED.iter().any(|reserved| overlap(&one.target, reserved)) {
            return problem("target: is reserved in a box");
        }
        let others =
            tmpfs[..index].iter().map(|other| &other.target).chain(mounts.iter().map(|mount| &mount.target));
        if others.into_iter().any(|other| overlap(&one.target, other)) {
            return problem("target: overlaps with another mount");
        }
        if one.size_mb == 0 {
            return problem("size_mb: expected at least 1");
        }
        None
    })
}

/// The daemon reads a colon, a comma or an equals sign as an option.
fn is_plain_path(path: &str) -> bool {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.chars().all(is_taken);
    path.len() <= 4_000 && path.strip_prefix('/').is_some_and(|names| names.split('/').all(is_name))
}

fn overlap(one: &str, other: &str) -> bool {
    let is_below = |path: &str, root: &str| std::path::Path::new(path).starts_with(root);
    is_below(one, other) || is_below(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_of(change: impl FnOnce(&mut DockerRelaxations)) -> String {
        let mut relax = DockerRelaxations::default();
        change(&mut relax);
        problem(&relax, 512, &[]).unwrap_or_default()
    }

    // W74
    #[test]
    fn a_knob_that_cannot_be_turned_that_way_is_named() {
        for name in ["SYS_ADMIN", "ALL", "all", "", "CAP_", "SYS_PTRACE", "CHOWN ", "BPF"] {
            assert!(
                problem_of(|relax| relax.cap_add = vec![name.into()]).starts_with("relax.cap_add[0]"),
                "{name}"
            );
        }
        let twice = vec!["chown".into(), "CAP_CHOWN".into()];
        assert!(problem_of(|relax| relax.cap_add = twice).starts_with("relax.cap_add[1]"));
        for (name, soft, hard) in [("as=1", 1, 1), ("nofile", -1, 1), ("nofile", 2, 1), ("", 0, 0)] {
            let limit = Ulimit { name: name.into(), soft, hard };
            assert!(
                problem_of(|relax| relax.ulimits = vec![limit]).starts_with("relax.ulimits[0]"),
                "{name}"
            );
        }
        for target in [
            "",
            "relative",
            "/",
            "/tmp",
            "/workspace/x",
            "/proc",
            "/dev/shm",
            "/a/../b",
            "/a:exec",
            "/a,suid",
        ] {
            let mount = TmpfsMount { target: target.into(), size_mb: 1 };
            assert!(
                problem_of(|relax| relax.tmpfs = vec![mount]).starts_with("relax.tmpfs[0].target"),
                "{target}"
            );
        }
        let nothing = TmpfsMount { target: "/cache".into(), size_mb: 0 };
        assert!(problem_of(|relax| relax.tmpfs = vec![nothing]).starts_with("relax.tmpfs[0].size_mb"));
        assert!(problem_of(|relax| relax.memory_swap_mb = Some(511)).starts_with("relax.memory_swap_mb"));
        for user in ["", "root", "1:", ":1", "-1", "+1", "1:2:3", "4294967295", " 1", "1;id"] {
            assert!(problem_of(|relax| relax.user = Some(user.into())).starts_with("relax.user"), "{user}");
        }
    }

    // W74
    #[test]
    fn every_knob_that_is_turned_is_named_and_none_otherwise() {
        assert!(named(&DockerRelaxations::default()).is_empty());
        let relax = DockerRelaxations {
            cap_add: vec!["cap_chown".into()],
            ulimits: vec![Ulimit { name: "nofile".into(), soft: 1, hard: 2 }],
            tmpfs: vec![TmpfsMount { target: "/cache".into(), size_mb: 8 }],
            memory_swap_mb: Some(1_024),
            user: Some("0".into()),
        };
        assert_eq!(problem(&relax, 512, &[]), None);
        assert_eq!(
            named(&relax),
            [
                "cap_add: CHOWN",
                "ulimits: nofile=1:2",
                "tmpfs: /cache (8 MB)",
                "memory_swap_mb: 1024",
                "user: 0"
            ]
        );
        assert_eq!(parse_user("7"), Some((7, 7)));
    }
}

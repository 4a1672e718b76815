//! The kernel and what it offers.

use std::fs;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use warren_doors::{Clock as _, SystemClock};
use warren_model::Timestamp;

use super::Check;

const AREA: &str = "host";
/// `openat2` came with it.
const OLDEST_KERNEL: (u32, u32) = (5, 6);
/// The kernel version that brought each Landlock ABI.
const LANDLOCK_ABIS: [((u32, u32), u32); 6] =
    [((5, 13), 1), ((5, 19), 2), ((6, 2), 3), ((6, 7), 4), ((6, 10), 5), ((6, 12), 6)];
/// A clock before this has not been set.
const PLAUSIBLE_SINCE: &str = "2026-01-01T00:00:00Z";

pub(super) fn checks() -> Vec<Check> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let version = kernel_version(&release);
    vec![
        kernel(&release, version),
        path_safety(),
        user_namespaces(),
        control_groups(),
        box_user(rustix::process::geteuid().is_root()),
        seccomp(),
        landlock(version),
        clock(SystemClock.now()),
    ]
}

fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn kernel(release: &str, version: Option<(u32, u32)>) -> Check {
    let check = Check::ok(AREA, "kernel", format!("Linux {release}"));
    match version {
        Some(version) if version >= OLDEST_KERNEL => check,
        Some(_) => check.fail("Warren needs Linux 5.6 or later."),
        None => check.warn("The version could not be read; Warren needs Linux 5.6 or later."),
    }
}

/// Tries it: seccomp filters of containers often answer ENOSYS on kernels that have it.
fn path_safety() -> Check {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let outcome = openat2(CWD, "/", flags, Mode::empty(), ResolveFlags::IN_ROOT);
    let check = |finding: String| {
        Check::ok(AREA, "openat2", finding)
            .effect("Paths of local workspaces are resolved by the kernel, beneath the workspace's root.")
    };
    match outcome {
        Ok(_) => check("works".into()),
        Err(Errno::NOSYS) => check("not available".into())
            .fail("Run on Linux 5.6 or later, outside of a container whose filter forbids openat2."),
        Err(error) => check(format!("{error}")).fail("Allow openat2 in this container's seccomp filter."),
    }
}

fn user_namespaces() -> Check {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let check = |finding: &str| {
        Check::ok(AREA, "user namespaces", finding)
            .effect("The provider `sandbox` makes its boxes with them, and starts nothing without.")
    };
    if number("/proc/sys/user/max_user_namespaces") == Some(0) {
        return check("forbidden: user.max_user_namespaces is 0")
            .warn("Run `sysctl user.max_user_namespaces=15000` as root.");
    }
    if number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        return check("forbidden to plain users: kernel.unprivileged_userns_clone is 0")
            .warn("Run `sysctl kernel.unprivileged_userns_clone=1` as root.");
    }
    if number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        return check("restricted by AppArmor").warn(
            "Run `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root, or give bwrap a profile.",
        );
    }
    if fs::exists("/proc/self/ns/user").unwrap_or(false) {
        check("available")
    } else {
        check("not in this kernel").warn("Use a kernel with CONFIG_USER_NS.")
    }
}

fn control_groups() -> Check {
    let effect = "Limit memory, processors and processes of boxes, in version 1 or 2; without them single processes are limited.";
    let check = |finding: String| Check::ok(AREA, "cgroups", finding).effect(effect);
    match fs::read_to_string("/sys/fs/cgroup/cgroup.controllers") {
        Ok(controllers) => check(format!("version 2 ({})", controllers.trim())),
        Err(_) if fs::exists("/sys/fs/cgroup/memory").unwrap_or(false) => check("version 1".into()),
        Err(_) => check("not mounted".into()).warn("Mount cgroup2 on /sys/fs/cgroup."),
    }
}

/// What a box can take from others where it has no user of its own.
fn box_user(is_root: bool) -> Check {
    let effect = "Who boxes of the provider `sandbox` run as.";
    let check = |finding: &str| Check::ok(AREA, "users of boxes", finding).effect(effect);
    if is_root {
        return check("each has one of its own");
    }
    check("Warren's own, since it is not root").warn(
        "Boxes share Warren's inotify instances (`sysctl fs.inotify.max_user_instances`), and without a control group that was \
         given to Warren (`systemd-run --user --scope --property=Delegate=yes warren up`) memory in files (memfd) is not \
         limited. Run Warren as root, or use the provider `docker`, where that matters.",
    )
}

fn seccomp() -> Check {
    let effect = "Filters the system calls of boxes.";
    let check = |finding: &str| Check::ok(AREA, "seccomp", finding).effect(effect);
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    if actions.contains("errno") {
        check("filters are available")
    } else {
        check("not available").warn("Use a kernel with CONFIG_SECCOMP_FILTER.")
    }
}

/// The ABI is told by the kernel's version: asking the kernel itself takes a system call that no safe library of
/// ours makes.
fn landlock(version: Option<(u32, u32)>) -> Check {
    let effect = "A second wall around files, within what the kernel lets a plain user build.";
    let check = |finding: String| Check::ok(AREA, "landlock", finding).effect(effect);
    let abi = version.and_then(landlock_abi);
    let modules = fs::read_to_string("/sys/kernel/security/lsm").ok();
    match (modules, abi) {
        (Some(modules), Some(abi)) if modules.split(',').any(|name| name.trim() == "landlock") => {
            check(format!("active, ABI {abi} or later"))
        }
        (Some(modules), _) => check(format!("not active (active: {})", modules.trim()))
            .warn("Boot with `lsm=landlock,…`, on Linux 5.13 or later."),
        (None, Some(abi)) => {
            check(format!("unknown: /sys/kernel/security is not mounted (the kernel has ABI {abi})"))
                .warn("Mount securityfs to find out: `mount -t securityfs none /sys/kernel/security`.")
        }
        (None, None) => check("not in this kernel".into()).warn("Use Linux 5.13 or later."),
    }
}

fn landlock_abi(version: (u32, u32)) -> Option<u32> {
    LANDLOCK_ABIS.iter().rev().find(|(since, _)| version >= *since).map(|(_, abi)| *abi)
}

fn clock(now: Timestamp) -> Check {
    let check =
        Check::ok(AREA, "clock", now.to_string()).effect("Leases, expiries and the order of ids rest on it.");
    let plausible_since: Timestamp = PLAUSIBLE_SINCE.parse().expect("a constant that is a time");
    if now < plausible_since {
        check.fail("Set the clock, for example with `timedatectl set-ntp true`.")
    } else {
        check
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    // O1
    #[test]
    fn kernel_versions_are_read_however_distributions_decorate_them() {
        assert_eq!(kernel_version("6.18.44-fc-v445"), Some((6, 18)));
        assert_eq!(kernel_version("5.10.0-28-amd64"), Some((5, 10)));
        assert_eq!(kernel_version("odd"), None);
        assert_eq!(kernel("5.4.0", Some((5, 4))).state, State::Fail);
        assert_eq!(kernel("5.6.0", Some((5, 6))).state, State::Ok);
    }

    // O1, sec/S15
    #[test]
    fn a_plain_user_is_told_what_boxes_share_with_warren() {
        assert_eq!(box_user(true).state, State::Ok);
        let plain = box_user(false);
        assert_eq!(plain.state, State::Warn);
        let told = format!("{plain:?}");
        assert!(told.contains("inotify") && told.contains("memfd"), "{told}");
    }

    // O1
    #[test]
    fn landlock_s_abi_follows_the_kernel() {
        assert_eq!(landlock_abi((5, 12)), None);
        assert_eq!(landlock_abi((5, 13)), Some(1));
        assert_eq!(landlock_abi((6, 1)), Some(2));
        assert_eq!(landlock_abi((7, 0)), Some(6));
    }

    // O1
    #[test]
    fn a_clock_that_was_never_set_fails() {
        assert_eq!(clock(Timestamp::from_micros(0)).state, State::Fail);
        assert_eq!(clock("2026-11-15T00:00:00Z".parse().unwrap()).state, State::Ok);
    }
}

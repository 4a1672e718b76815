//! Who a program in a box is, and whether it can become somebody else.

use std::os::unix::fs::PermissionsExt;

use super::case::Case;
use super::in_each_box;
use super::oracles::BoxProcesses;
use super::outside::{as_user, probe_says, program, require_root, says};
use super::probe::{self, is_refused, results};

in_each_box!(
    a_box_has_no_privileges_and_a_user_of_its_own,
    the_settings_of_the_host_cannot_be_written,
    a_program_with_a_bit_or_a_capability_gains_nothing_by_it,
);

const NO_CAPABILITIES: &str = "0000000000000000";

// sec/S01
async fn a_box_has_no_privileges_and_a_user_of_its_own(case: Case) {
    let (one, other) = (case.open().await, case.open().await);
    for boxed in [&one, &other] {
        let facts = results(&boxed.probe(&["identity"]).await);
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(facts[set], NO_CAPABILITIES, "{set}");
        }
        assert_eq!((facts["NoNewPrivs"].as_str(), facts["Seccomp"].as_str()), ("1", "2"));
        assert_ne!(facts["user"], "0");
        // As the host sees its processes: a map of a user namespace within another tells only part of the way.
        let processes = BoxProcesses::of(boxed).await;
        for process in processes.alive() {
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
            let expected = boxed.outer_user().to_string();
            assert!(users.split_whitespace().all(|user| user == expected), "{users}");
        }
        if rustix::process::geteuid().is_root() {
            assert!(boxed.outer_user() >= 100_000, "{}", boxed.outer_user());
        }
    }
    if rustix::process::geteuid().is_root() {
        assert_ne!(one.outer_user(), other.outer_user());
    }
}

// control: sec/S01
#[test]
fn outside_of_a_box_a_program_has_the_privileges_of_its_user() {
    let facts = results(&probe_says(&["identity"]));
    assert_ne!(facts["CapBnd"], NO_CAPABILITIES);
    assert_eq!((facts["NoNewPrivs"].as_str(), facts["Seccomp"].as_str()), ("0", "0"));
}

const SETTINGS: [&str; 4] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/swappiness",
];
/// Some are not on every kernel; one that is not there cannot be written either.
const SWITCHES: [&str; 6] = [
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/vm/drop_caches",
    "/sys/kernel/uevent_helper",
];

// sec/S02
async fn the_settings_of_the_host_cannot_be_written(case: Case) {
    let boxed = case.open().await;
    let all = [&["open"][..], &SETTINGS, &SWITCHES].concat();
    for (path, result) in results(&boxed.probe(&all).await) {
        assert!(is_refused(&result) || result == "ENOENT", "{path}: {result}");
    }
    // By a shell too, with the value that is there.
    for path in SETTINGS {
        let said =
            boxed.says(&format!("cat {path} > /tmp/same; cat /tmp/same > {path} && echo written")).await;
        assert!(!said.contains("written"), "{path}: {said}");
    }
}

// control: sec/S02
#[test]
fn outside_of_a_box_root_may_write_the_settings() {
    let opened = results(&probe_says(&[&["open"][..], &SETTINGS].concat()));
    assert!(opened.values().all(|result| result == "ok"), "{opened:?}");
    let path = SETTINGS[0];
    std::fs::write(path, std::fs::read_to_string(path).unwrap()).unwrap();
}

/// A capability of a file: version 2, effective, CAP_SYS_ADMIN.
fn capability() -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&[1, 0, 0, 2, 0, 0, 0x20, 0]);
    bytes
}

fn plant(folder: &std::path::Path) {
    require_root("makes a program that becomes root");
    for (name, mode) in [("suid", 0o6755), ("capable", 0o755)] {
        let path = folder.join(name);
        std::fs::copy(probe::path(), &path).unwrap();
        std::os::unix::fs::chown(&path, Some(0), Some(0)).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let name = "security.capability";
    rustix::fs::setxattr(folder.join("capable"), name, &capability(), rustix::fs::XattrFlags::empty())
        .unwrap();
}

// sec/S21
async fn a_program_with_a_bit_or_a_capability_gains_nothing_by_it(case: Case) {
    let boxed = case.open().await;
    plant(&boxed.root);
    let plain = results(&boxed.probe(&["identity"]).await);
    for name in ["suid", "capable"] {
        let said = boxed.says(&format!("./{name} identity")).await;
        // The kernel may also refuse to start what would need more than it can have.
        if said.contains("not permitted") {
            continue;
        }
        let facts = results(&said);
        assert_eq!(facts["effective_user"], plain["user"], "{name}");
        assert_eq!(
            (facts["CapEff"].as_str(), facts["CapPrm"].as_str()),
            (NO_CAPABILITIES, NO_CAPABILITIES),
            "{name}"
        );
    }
    // A program of the box's own cannot be given a bit that another user of the host would run.
    let said = boxed.says("cp /probe mine; chmod 6755 mine; chown 0:0 mine; ls -ln mine").await;
    let facts = std::fs::metadata(boxed.root.join("mine")).unwrap();
    assert_ne!(std::os::unix::fs::MetadataExt::uid(&facts), 0, "{said}");
}

// control: sec/S21
#[test]
fn outside_of_a_box_the_bit_and_the_capability_work() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    plant(folder.path());
    let suid = results(&says(as_user(100_123, folder.path().join("suid")).arg("identity")));
    assert_eq!(suid["effective_user"], "0");
    let capable = results(&says(as_user(100_123, folder.path().join("capable")).arg("identity")));
    assert_ne!(capable["CapEff"], NO_CAPABILITIES);
    // And what a box has besides: no new privileges.
    let mut held = program("setpriv");
    held.args(["--reuid", "100123", "--clear-groups", "--no-new-privs", "--"])
        .arg(folder.path().join("suid"));
    assert_eq!(results(&says(held.arg("identity")))["effective_user"], "100123");
}

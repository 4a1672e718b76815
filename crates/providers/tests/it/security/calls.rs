//! System calls: what the filters of both providers let through.

use warren_workspace::shell::{Command, Poll, ProcessState, PtySize, Start};

use super::case::{Boxed, Case};
use super::in_each_box;
use super::outside::{probe_says, program, says};
use super::probe::{self, is_refused, results};
use crate::docker::daemon;

in_each_box!(
    of_52_dangerous_calls_none_is_answered,
    calls_by_the_doors_of_other_architectures_are_refused,
    no_namespace_can_be_made_or_joined,
    sockets_that_ignore_the_network_namespace_are_refused,
    nothing_can_be_typed_into_a_terminal,
);

/// What a box may still do of the 52. A change of this list is a change of the wall.
const GOLDEN: [&str; 0] = [];

// sec/S03
async fn of_52_dangerous_calls_none_is_answered(case: Case) {
    let boxed = case.open().await;
    let results = results(&boxed.probe(&["primitives"]).await);
    assert_eq!(results.len(), 52, "{results:?}");
    let allowed: Vec<_> = results.iter().filter(|(_, result)| !is_refused(result)).collect();
    let names: Vec<_> = allowed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, GOLDEN, "{allowed:?}");
}

// control: sec/S03
#[test]
fn outside_of_a_box_most_of_the_dangerous_calls_are_answered() {
    let of_root = results(&probe_says(&["primitives"]));
    let allowed = |results: &std::collections::BTreeMap<String, String>| {
        results.values().filter(|result| !is_refused(result)).count()
    };
    assert!(allowed(&of_root) >= 40, "{of_root:?}");
    // A container without our profile, and bubblewrap without our filters, answer more than ours do.
    let mount = format!("{}:/probe:ro", probe::path().display());
    let plain =
        ["run", "--rm", "--network", "none", "--volume", &mount, daemon::IMAGE, "/probe", "primitives"];
    let of_container = results(&daemon::docker_says(daemon::shared(), &plain));
    assert!(allowed(&of_container) >= 5, "{of_container:?}");
    let of_bubblewrap = results(&says(
        program("bwrap").args(["--unshare-all", "--dev-bind", "/", "/"]).arg(probe::path()).arg("primitives"),
    ));
    assert!(allowed(&of_bubblewrap) >= 10, "{of_bubblewrap:?}");
}

// sec/S08
async fn calls_by_the_doors_of_other_architectures_are_refused(case: Case) {
    let boxed = case.open().await;
    for (door, result) in results(&boxed.probe(&["foreign"]).await) {
        assert!(result == "ENOSYS" || result == "EPERM" || result.starts_with("signal"), "{door}: {result}");
    }
}

// control: sec/S08
#[test]
fn outside_of_a_box_a_door_of_another_architecture_is_open() {
    let doors = results(&probe_says(&["foreign"]));
    // x32 is off in most kernels; 32-bit calls are on in nearly all for this architecture.
    if cfg!(target_arch = "x86_64") {
        assert_eq!(doors["int80"], "ok", "{doors:?}");
    }
    assert!(doors.contains_key("x32"));
}

// sec/S09
async fn no_namespace_can_be_made_or_joined(case: Case) {
    let boxed = case.open().await;
    let results = results(&boxed.probe(&["namespaces"]).await);
    assert!(results.len() > 40, "{results:?}");
    for (name, result) in results {
        assert!(is_refused(&result), "{name}: {result}");
    }
}

// control: sec/S09
#[test]
fn outside_of_a_box_namespaces_can_be_made_and_joined() {
    let results = results(&probe_says(&["namespaces"]));
    for name in
        ["unshare_user", "unshare_net", "clone_pid", "clone3_mount", "clone_high_uts", "setns_self_net"]
    {
        assert_eq!(results[name], "ok", "{name}");
    }
}

// sec/S10
async fn sockets_that_ignore_the_network_namespace_are_refused(case: Case) {
    let boxed = case.open().await;
    for (family, result) in results(&boxed.probe(&["sockets"]).await) {
        assert!(matches!(result.as_str(), "EPERM" | "EAFNOSUPPORT"), "{family}: {result}");
    }
}

// control: sec/S10
#[test]
fn outside_of_a_box_such_sockets_can_be_made() {
    let results = results(&probe_says(&["sockets"]));
    for family in ["netlink", "packet", "netlink_high"] {
        assert_eq!(results[family], "ok", "{family}");
    }
}

// sec/S07
async fn nothing_can_be_typed_into_a_terminal(case: Case) {
    let boxed = case.open().await;
    let shown = on_a_terminal(&boxed, "/probe terminal").await;
    let results = results(&shown.replace('\r', ""));
    assert_eq!(results["is_terminal"], "ok", "{shown}");
    for name in ["sti", "sti_high", "sti_all_high", "linux", "linux_high", "linux_all_high"] {
        assert!(
            matches!(results[name].as_str(), "EPERM" | "ENOTTY" | "error 5"),
            "{name}: {}",
            results[name]
        );
    }
    // What was typed would be shown.
    assert!(!shown.contains('Z'), "{shown}");
    // The terminal that the tests themselves run in, if any, is not even there.
    assert!(is_refused(&results_of_open(&boxed).await), "a controlling terminal of the host");
}

async fn results_of_open(boxed: &Boxed) -> String {
    // ENXIO: the session has no terminal, which is as good as refused.
    let result = results(&boxed.probe(&["open", "/dev/tty"]).await).remove("/dev/tty").unwrap();
    if result == "error 6" || result == "ENOENT" { "EPERM".into() } else { result }
}

async fn on_a_terminal(boxed: &Boxed, script: &str) -> String {
    let pty = Some(PtySize { rows: 24, columns: 200 });
    let started = boxed.shell().start(Start { command: Command::script(script), pty }).await.unwrap();
    let mut shown = Vec::new();
    loop {
        let poll = Poll { offset: shown.len() as u64, max_bytes: 65_536, wait_ms: 5_000 };
        let polled = boxed.shell().poll(started.id, poll).await.unwrap();
        shown.extend_from_slice(&polled.bytes);
        if polled.state != ProcessState::Running && polled.bytes.is_empty() {
            return String::from_utf8_lossy(&shown).into_owned();
        }
    }
}

// control: sec/S07
#[test]
fn outside_of_a_box_the_owner_of_a_terminal_can_type_into_it() {
    // `script` gives it a terminal; root may type whatever the kernel's setting is.
    let shown = says(
        program("script")
            .args(["--quiet", "--return", "--command"])
            .arg(format!("{} terminal", probe::path().display()))
            .arg("/dev/null"),
    );
    // What was typed is shown.
    assert!(shown.contains('Z'), "{shown}");
    let results = results(&shown.replace(['\r', 'Z'], ""));
    assert_eq!((results["sti"].as_str(), results["sti_high"].as_str()), ("ok", "ok"), "{shown}");
}

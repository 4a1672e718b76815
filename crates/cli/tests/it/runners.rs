//! Agents that Warren runs, and `warren runner` for those it does not, as a person meets them.

use std::process::Stdio;

use crate::warren::{Machine, wait_until};

const PARROT: &str = "read -r text; echo \"You said: $text\"";

fn say(machine: &Machine, workspace: &str, text: &str) -> String {
    machine.run(&["task", "send", workspace, text]).expect_ok().text()
}

// F4, F18
#[test]
fn a_resident_agent_answers_and_answers_again_after_the_server_was_killed() {
    let machine = Machine::new();
    let server = machine.start();
    let made = ["ws", "create", "parrot", "--provider", "sandbox", "--runtime", "resident", "--"];
    machine.run(&[&made[..], &["/bin/sh", "-c", PARROT]].concat()).expect_ok();
    let shown = machine.run(&["ws", "show", "parrot", "--json"]).expect_ok().json();
    assert_eq!(shown["workspace"]["status"].as_str().or(shown["status"].as_str()), Some("online"), "{shown}");
    assert_eq!(say(&machine, "parrot", "hello"), "You said: hello\n");
    server.kill();
    let server = machine.start();
    // As soon as the lease of the dead one has run out.
    assert_eq!(say(&machine, "parrot", "again"), "You said: again\n");
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    let _server = machine.start();
    assert_eq!(say(&machine, "parrot", "once more"), "You said: once more\n");
}

// F18
#[test]
fn a_program_outside_of_a_box_answers_through_a_runner_of_its_own() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "away", "--provider", "memory", "--runtime", "external"]).expect_ok();
    let join = ["token", "create", "boot", "--kind", "join", "--workspace", "away", "--json"];
    let join = machine.run(&join).expect_ok().json();
    let folder = machine.path().join("credentials");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("join-token"), join["secret"].as_str().unwrap()).unwrap();
    let run = ["runner", "--credentials", folder.to_str().unwrap(), "--", "/bin/sh", "-c", PARROT];
    let mut runner = machine.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(say(&machine, "away", "hello"), "You said: hello\n");
    let words = std::fs::read(format!("/proc/{}/cmdline", runner.id())).unwrap();
    assert!(!String::from_utf8_lossy(&words).contains("wrn_"));
    runner.kill().unwrap();
    runner.wait().unwrap();
    // Its join token is used up; what it was exchanged for is good still.
    let mut runner = machine.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(say(&machine, "away", "again"), "You said: again\n");
    let id = i32::try_from(runner.id()).unwrap();
    let id = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let mut ended = None;
    wait_until("it ends when it is asked to", || {
        ended = runner.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}

// F18
#[test]
fn a_runner_without_a_credential_says_how_to_get_one() {
    let machine = Machine::new();
    let _server = machine.start();
    let ended = machine.run(&["--json", "runner", "--credentials", "nowhere", "--", "true"]);
    let error = ended.expect_error(4, "unauthenticated");
    assert!(error["hint"].as_str().unwrap().contains("--kind join"), "{error}");
}

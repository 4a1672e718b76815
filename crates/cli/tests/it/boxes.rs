//! Workspaces behind the kernel, as a person meets them.

use crate::warren::{Machine, Server, wait_until};

/// The bubblewraps of a server, by their process ids.
fn boxes_of(server: u32) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((before, after)) = stat.rsplit_once(')') else { continue };
        let parent = after.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        if before.ends_with("(bwrap") && parent == Some(server) {
            found.push(before.split(' ').next().unwrap().parse().unwrap());
        }
    }
    found
}

fn kill(process: i32) {
    let process = rustix::process::Pid::from_raw(process).unwrap();
    let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
}

fn is_there(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after)| !after.starts_with(" Z"))
}

fn sandbox(machine: &Machine) -> Server {
    let server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "sandbox"]).expect_ok();
    server
}

// W72, W13
#[test]
fn a_box_killed_from_outside_is_replaced_and_its_files_are_there() {
    let machine = Machine::new();
    let server = sandbox(&machine);
    machine.run(&["ws", "exec", "demo", "--shell", "echo kept > note"]).expect_ok();
    let first = boxes_of(server.process_id());
    assert_eq!(first.len(), 1, "one box for one workspace");
    first.iter().copied().for_each(kill);
    wait_until("the box is gone", || first.iter().all(|&process| !is_there(process)));
    let after = machine.run(&["ws", "exec", "demo", "--", "cat", "note"]).expect_ok();
    assert_eq!(after.text(), "kept\n");
    let second = boxes_of(server.process_id());
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
}

// W16, sec/S17
#[test]
fn a_killed_server_takes_its_boxes_along_and_the_next_goes_on_with_their_files() {
    let machine = Machine::new();
    let server = sandbox(&machine);
    machine.run(&["ws", "exec", "demo", "--shell", "echo kept > note"]).expect_ok();
    let boxes = boxes_of(server.process_id());
    assert_eq!(boxes.len(), 1);
    server.kill();
    wait_until("no box is left", || boxes.iter().all(|&process| !is_there(process)));
    let server = machine.start();
    assert_eq!(machine.run(&["ws", "exec", "demo", "--", "cat", "note"]).expect_ok().text(), "kept\n");
    server.signal(rustix::process::Signal::TERM);
    let boxes = boxes_of(server.process_id());
    assert_eq!(server.wait(), Some(0));
    wait_until("no box is left", || boxes.iter().all(|&process| !is_there(process)));
}

// W72
#[test]
fn what_a_box_is_shut_with_is_shown_and_bad_limits_are_refused() {
    let machine = Machine::new();
    let _server = sandbox(&machine);
    machine.run(&["ws", "exec", "demo", "--", "true"]).expect_ok();
    let shown = machine.run(&["ws", "show", "demo", "--json"]).expect_ok().text();
    for told in ["enforced_by", "outer_user", "landlock_abi", "\"network\":\"none\""] {
        assert!(shown.replace(": ", ":").contains(told), "{told}: {shown}");
    }
    let bad =
        ["ws", "create", "bad", "--provider", "sandbox", "--provider-config", r#"{"limits":{"pids":0}}"#];
    machine.run(&[&bad[..], &["--json"]].concat()).expect_error(1, "invalid_config");
}

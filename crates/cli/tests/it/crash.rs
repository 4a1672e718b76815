use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::warren::Machine;

// O2
#[test]
fn kill_9_in_the_middle_loses_nothing_that_was_acknowledged() {
    let machine = Machine::new();
    let server = machine.start();
    let token = server.token().to_owned();
    let made = machine.run(&["ws", "create", "demo", "--json"]).expect_ok().json();
    let id = made["id"].as_str().unwrap().to_owned();
    let contents = vec![7; 300_000];
    machine.run_with_input(&["ws", "files", "put", "demo", "kept.bin"], &contents).expect_ok();
    let before = machine.run(&["events", "--json"]).expect_ok().text();
    let mut running = machine
        .command(&["ws", "exec", "demo", "--json", "--shell", "echo begun > begun; sleep 5"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command is under way once its file is there.
    while machine.run(&["ws", "files", "cat", "demo", "begun"]).code != Some(0) {}

    server.kill();
    assert_eq!(running.wait().unwrap().code(), Some(125), "the caller is told that it does not know the end");
    let mut told = String::new();
    BufReader::new(running.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("server_unreachable"), "{told}");

    let server = machine.start();
    assert_eq!(server.token(), token, "whoever holds the local token goes on");
    let shown = machine.run(&["ws", "show", &id, "--json"]).expect_ok().json();
    assert_eq!(shown["name"], "demo");
    assert_eq!(machine.run(&["ws", "files", "cat", "demo", "kept.bin"]).expect_ok().stdout, contents);
    let after = machine.run(&["events", "--json"]).expect_ok().text();
    assert!(after.starts_with(&before), "the log goes on where it was:\n{before}\n{after}");
}

// W16
#[test]
fn processes_that_a_killed_server_left_are_ended_by_the_next_start() {
    let machine = Machine::new();
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    // One stays in its group, one hides in a session of its own; both would beat for ever.
    let beat = "while :; do date +%s%N > $0.beat; sleep 0.02; done";
    let script = format!("sh -c '{beat}' one & setsid sh -c '{beat}' two & wait");
    let mut running = machine.command(&["ws", "exec", "demo", "--shell", &script]).spawn().unwrap();
    let last_beat = |name: &str| machine.run(&["ws", "files", "cat", "demo", &format!("{name}.beat")]).stdout;
    while last_beat("one").is_empty() || last_beat("two").is_empty() {}
    server.kill();
    running.wait().unwrap();
    let _server = machine.start();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let have_stopped = || {
        let before = (last_beat("one"), last_beat("two"));
        machine.run(&["ws", "exec", "demo", "--", "sleep", "0.3"]).expect_ok();
        before == (last_beat("one"), last_beat("two"))
    };
    while !have_stopped() {
        assert!(std::time::Instant::now() < deadline, "they still beat");
    }
}

// S44
#[test]
fn following_events_goes_on_across_a_restart_without_a_gap() {
    let machine = Machine::new();
    let server = machine.start();
    let address = server.address().to_owned();
    let mut child = machine
        .command(&["events", "--follow", "--after", "0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seqs = Vec::new();
    let mut read_until = |kind: &str, times: usize| {
        let mut seen = 0;
        while seen < times {
            let event: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            seqs.push(event["seq"].as_u64().unwrap());
            seen += usize::from(event["kind"] == kind);
        }
    };
    read_until("server.process.started", 1);
    server.kill();
    let _server = machine.start_on(&address);
    read_until("server.process.started", 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let expected: Vec<u64> = (1..=seqs.len() as u64).collect();
    assert_eq!(seqs, expected);
}

//! `warren ws start`, `ps`, `logs` and `kill`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::json;

use crate::pty::Pty;
use crate::warren::{Machine, ended, wait_until};

// S10, W20
#[test]
fn changes_of_files_are_printed_as_they_happen() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "memory"]).expect_ok();
    let mut watching = machine.command(&["ws", "files", "watch", "demo"]);
    let mut watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    BufReader::new(watching.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.starts_with("Watching."), "{told}");
    machine.run(&["ws", "files", "mkdir", "demo", "notes"]).expect_ok();
    let mut line = String::new();
    BufReader::new(watching.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "created notes\n");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

// S10, F30
#[test]
fn a_token_needs_nothing_but_a_name() {
    let machine = Machine::new();
    let _server = machine.start();
    let made = machine.run(&["token", "create", "ci", "--json"]).expect_ok().json();
    let secret = made["secret"].as_str().unwrap();
    machine.run(&["ws", "create", "demo", "--provider", "memory", "--token", secret]).expect_ok();
    let listed = machine.run(&["ws", "ls", "--json", "--token", secret]).expect_ok().json();
    assert_eq!(listed[0]["name"], "demo", "{listed}");
}

// S10, W30
#[test]
fn a_process_is_started_listed_read_and_ended() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let started = machine.run(&[
        "ws",
        "start",
        "demo",
        "--env",
        "A=1",
        "--shell",
        "echo out $A; echo err >&2; sleep 600",
    ]);
    assert_eq!(started.expect_ok().text(), "1\n");
    let process =
        machine.run(&["ws", "start", "demo", "--json", "--", "printf", "a\\377b"]).expect_ok().json();
    assert_eq!((&process["id"], &process["program"]), (&json!(2), &json!("printf")));
    let listed = machine.run(&["ws", "ps", "demo"]).expect_ok().text();
    assert!(listed.contains("echo out $A; echo err >&2; sleep 600"), "{listed}");
    let text = || machine.run(&["ws", "logs", "demo", "1"]).expect_ok().text();
    wait_until("the output", || text() == "out 1\nerr\n");
    assert_eq!(machine.run(&["ws", "logs", "demo", "2", "--follow"]).expect_ok().stdout, b"a\xffb");
    assert_eq!(machine.run(&["ws", "logs", "demo", "1", "--from", "4"]).expect_ok().text(), "1\nerr\n");

    let table = machine.run(&["ws", "ps", "demo"]).expect_ok().text();
    assert!(
        table.starts_with("PROCESS ") && table.contains("running") && table.contains("exited 0"),
        "{table}"
    );
    machine.run(&["ws", "kill", "demo", "1"]).expect_ok();
    let state = || machine.run(&["ws", "ps", "demo", "--json"]).expect_ok().json()[0].clone();
    wait_until("the end", || state()["state"] == "exited");
    assert_eq!(state()["signal"], 15);
    machine.run(&["ws", "kill", "demo", "9", "--json"]).expect_error(3, "process_not_found");
    machine.run(&["ws", "logs", "demo", "9", "--json"]).expect_error(3, "process_not_found");
    machine.run(&["ws", "start", "demo", "--json", "--", "no-such"]).expect_error(1, "program_not_found");
    machine.run(&["ws", "start", "demo", "--json"]).expect_error(2, "invalid_usage");
}

// S11, W30
#[test]
fn logs_are_followed_until_the_process_ends_and_are_json_when_asked() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    machine
        .run(&["ws", "start", "demo", "--shell", "echo one; while [ ! -e go ]; do sleep 0.02; done; exit 4"])
        .expect_ok();
    let mut child =
        machine.command(&["ws", "logs", "demo", "1", "-f", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<serde_json::Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next(), json!({ "type": "output", "base64": "b25lCg==", "offset": 0 }));
    machine.run_with_input(&["ws", "files", "put", "demo", "go"], b"").expect_ok();
    assert_eq!(next(), json!({ "type": "exited", "exit_code": 4, "signal": null, "timed_out": false }));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let kept = machine.run(&["ws", "logs", "demo", "1", "--json"]).expect_ok().json();
    assert_eq!((&kept["output"], &kept["next_offset"]), (&json!("one\n"), &json!(4)));
}

// sec/T08, S11
#[test]
fn what_a_program_prints_drives_a_terminal_only_when_asked_to() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let attack = r"printf 'a\033]52;c;aGk=\007\033]0;t\007\033]8;;http://x\007b\rc\bd\033P$qm\033\\e\n'";
    machine.run(&["ws", "start", "demo", "--shell", attack]).expect_ok();
    let exact = b"a\x1b]52;c;aGk=\x07\x1b]0;t\x07\x1b]8;;http://x\x07b\rc\x08d\x1bP$qm\x1b\\e\n";
    wait_until("the output", || machine.run(&["ws", "logs", "demo", "1"]).expect_ok().stdout == exact);
    let mut shown = Pty::spawn(&machine.command(&["ws", "logs", "demo", "1"]), 24, 200);
    assert_eq!(shown.wait(), Some(0));
    assert!(shown.screen().contains("a\\u{1b}]52;c;aGk=\\u{7}"), "{:?}", shown.screen());
    assert!(!shown.screen().contains(['\u{1b}', '\u{7}', '\u{8}']), "{:?}", shown.screen());
    let mut raw = Pty::spawn(&machine.command(&["ws", "logs", "demo", "1", "--raw"]), 24, 200);
    assert_eq!(raw.wait(), Some(0));
    assert!(raw.screen().contains("\u{1b}]52;c;aGk=\u{7}"), "the control: {:?}", raw.screen());
}

// S21: a server that hands out the same cursor for ever
#[test]
fn a_cursor_that_comes_back_ends_the_listing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4_096];
            let _ = stream.read(&mut head).unwrap();
            let body = r#"{"items":[],"next_cursor":"again"}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let machine = Machine::new();
    for list in [&["ws", "ls"][..], &["token", "ls"]] {
        let arguments = [list, &["--json", "--url", &url]].concat();
        let mut command = machine.command(&arguments);
        command.env("WARREN_TOKEN", "wrn_admin_x");
        ended(command).expect_error(1, "unexpected_answer");
    }
}

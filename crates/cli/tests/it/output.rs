use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::warren::{Machine, NOWHERE};

fn help_of(arguments: &[&str]) -> String {
    Machine::new().run(&[arguments, &["--help"]].concat()).expect_ok().text()
}

// S10
#[test]
fn help_is_as_it_was_read_over() {
    insta::assert_snapshot!("help", help_of(&[]));
    insta::assert_snapshot!("help_up", help_of(&["up"]));
    insta::assert_snapshot!("help_ws", help_of(&["ws"]));
    insta::assert_snapshot!("help_ws_create", help_of(&["ws", "create"]));
    insta::assert_snapshot!("help_ws_exec", help_of(&["ws", "exec"]));
    insta::assert_snapshot!("help_ws_shell", help_of(&["ws", "shell"]));
}

// S11
#[test]
fn every_listing_is_json_when_asked_and_a_table_when_not() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--json"]).expect_ok().json();
    for arguments in [
        &["ws", "ls"][..],
        &["ws", "show", "demo"],
        &["ws", "files", "ls", "demo"],
        &["ws", "ps", "demo"],
        &["token", "ls"],
        &["token", "link"],
        &["config", "show"],
        &["config", "check"],
        &["doctor"],
        &["version"],
    ] {
        machine.run(&[arguments, &["--json"]].concat()).expect_ok().json();
        let text = machine.run(arguments).expect_ok();
        assert!(serde_json::from_slice::<serde_json::Value>(&text.stdout).is_err(), "{arguments:?}");
    }
    let table = machine.run(&["ws", "ls"]).expect_ok().text();
    assert!(table.starts_with("NAME ") && table.contains("demo") && table.contains("online"), "{table}");
}

// S11: a heading above nothing looks like a fault
#[test]
fn an_empty_listing_says_so_and_prints_no_heading() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "memory"]).expect_ok();
    for arguments in [
        &["webhook", "ls"][..],
        &["webhook", "doors", "demo"],
        &["chat", "ls", "demo"],
        &["task", "ls", "demo"],
        &["queue", "ls", "demo"],
        &["schedule", "ls"],
        &["memory", "ls", "demo"],
        &["approval", "ls"],
        &["template", "ls"],
        &["secret", "ls"],
        &["agent", "ls"],
        &["session", "ls"],
    ] {
        let listed = machine.run(arguments).expect_ok();
        assert!(listed.stdout.is_empty() && listed.stderr.ends_with(".\n"), "{arguments:?}: {listed:?}");
    }
}

// S11
#[test]
fn an_error_is_what_failed_why_and_what_to_try() {
    let machine = Machine::new();
    let ended = machine.run(&["ws", "ls", "--url", NOWHERE]);
    assert_eq!(ended.code, Some(6));
    assert!(ended.stdout.is_empty());
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines[0], "error[server_unreachable]: The server does not answer.");
    assert!(lines[1].starts_with(&format!("  the server at {NOWHERE}/")), "{lines:?}");
    assert!(lines.last().unwrap().starts_with("hint: Start it with `warren up`"), "{lines:?}");
}

// S11
#[test]
fn a_wrong_command_line_exits_with_2_also_as_json() {
    let machine = Machine::new();
    let ended = machine.run(&["ws", "fly"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("unrecognized subcommand 'fly'"), "{ended:?}");
    machine.run(&["ws", "exec", "demo", "--json"]).expect_error(2, "invalid_usage");
    let passed_on = machine.run(&["ws", "exec", "demo", "--fly", "--", "tool", "--json"]);
    assert!(passed_on.stderr.starts_with("error: "), "the command's own flags are not ours: {passed_on:?}");
}

// S11
#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut child = machine
        .command(&["ws", "exec", "demo", "--", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "y\n");
    drop(stdout);
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!((child.wait().unwrap().code(), told.as_str()), (Some(0), ""));
}

// S10
#[test]
fn completions_are_printed_for_each_shell() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = machine.run(&["completions", shell]).expect_ok().text();
        assert!(script.contains("warren") && script.contains("events"), "{shell}");
    }
}

// S11
#[test]
fn a_name_with_escape_sequences_cannot_drive_the_terminal() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    machine.run_with_input(&["ws", "files", "put", "demo", "a\u{1b}[2Jb"], b"").expect_ok();
    let listed = machine.run(&["ws", "files", "ls", "demo"]).expect_ok().text();
    assert!(listed.contains("a\\u{1b}[2Jb") && !listed.contains('\u{1b}'), "{listed:?}");
    let name = "b\u{9b}2J\u{7f}\u{202e}c";
    machine.run_with_input(&["ws", "files", "put", "demo", name], b"").expect_ok();
    let listed = machine.run(&["ws", "files", "ls", "demo", "--json"]).expect_ok();
    assert_eq!(listed.json()[1]["path"], name, "a program reads what it always read");
    let missing = machine.run(&["ws", "files", "cat", "demo", &format!("{name}d"), "--json"]);
    missing.expect_error(3, "file_not_found");
    for text in [listed.text(), missing.stderr] {
        let is_plain =
            |character: char| character == '\n' || !character.is_control() && character != '\u{202e}';
        assert!(text.chars().all(is_plain), "{text:?}");
    }
}

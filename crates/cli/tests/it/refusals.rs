use std::net::TcpListener;

use crate::warren::{Machine, ended};

const UP: [&str; 4] = ["up", "--json", "--listen", "127.0.0.1:0"];

// S10
#[test]
fn a_second_server_on_the_same_data_folder_is_refused_and_the_first_goes_on() {
    let machine = Machine::new();
    let server = machine.start();
    let error = machine.run(&UP).expect_error(1, "data_folder_in_use");
    let cause = error["causes"][0].as_str().unwrap();
    assert!(cause.contains("by process "), "{cause}");
    machine.run(&["ws", "ls"]).expect_ok();
    assert_eq!(machine.run(&["ws", "ls", "--url", server.url()]).code, Some(0));
}

// S10
#[test]
fn a_port_in_use_is_refused_and_leaves_no_trace_in_the_log() {
    let machine = Machine::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = machine.run(&["up", "--json", "--listen", &address]).expect_error(1, "address_in_use");
    assert!(error["causes"][0].as_str().unwrap().contains(&address), "{error}");
    drop(taken);
    let _server = machine.start();
    let events = machine.run(&["events", "--json"]).expect_ok().text();
    assert_eq!(events.matches("server.process.started").count(), 1, "{events}");
}

// S10
#[test]
fn a_data_folder_that_cannot_be_used_is_refused() {
    let machine = Machine::new();
    let file = machine.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let below = file.join("data");
    for path in [file.to_str().unwrap(), below.to_str().unwrap(), "/proc/warren"] {
        let error = machine.run(&[&UP[..], &["--data", path]].concat());
        let error = error.expect_error(1, "data_folder_unusable");
        assert!(error["causes"][0].as_str().unwrap().contains(path), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

// S11
#[test]
fn a_wrong_token_and_no_server_are_told_apart() {
    let machine = Machine::new();
    let server = machine.start();
    machine.run(&["ws", "ls", "--json", "--token", "guess"]).expect_error(4, "unauthenticated");
    let stranger = Machine::new();
    let mut without_token = stranger.command(&["ws", "ls", "--json"]);
    without_token.env("WARREN_URL", server.url());
    ended(without_token).expect_error(4, "unauthenticated");
    let url = server.url().to_owned();
    server.kill();
    machine.run(&["ws", "ls", "--json"]).expect_error(6, "server_unreachable");
    machine.run(&["ws", "ls", "--json", "--url", &url]).expect_error(6, "server_unreachable");
    machine.run(&["ws", "ls", "--json", "--url", "not an address"]).expect_error(2, "invalid_usage");
    let refused = machine.run(&["ws", "ls", "--json", "--url", "http://me:hunter2@host"]);
    refused.expect_error(2, "invalid_usage");
    assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
}

// S11
#[test]
fn an_unknown_workspace_is_told_with_what_to_try() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "twin", "--provider", "memory"]).expect_ok();
    let error = machine.run(&["ws", "show", "twni", "--json"]).expect_error(3, "workspace_not_found");
    assert!(error["hint"].as_str().unwrap().contains("`twin`"), "{error}");
    let unknown = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e";
    machine.run(&["ws", "show", unknown, "--json"]).expect_error(3, "workspace_not_found");
    machine.run(&["ws", "rm", "twin", "twni", "--json"]).expect_error(3, "workspace_not_found");
    let left = machine.run(&["ws", "ls", "--json"]).expect_ok().json();
    assert_eq!(left.as_array().unwrap().len(), 1, "nothing was removed");
}

// S11
#[test]
fn what_a_server_refuses_is_told_with_its_code_and_detail() {
    let machine = Machine::new();
    let _server = machine.start();
    let error = machine.run(&["ws", "create", "x", "--provider", "floppy", "--json"]);
    assert_eq!(error.code, Some(1), "{error:?}");
    assert!(error.stderr.contains("floppy"), "{error:?}");
    machine.run(&["ws", "create", "", "--json"]).expect_error(1, "invalid_request");
    machine.run(&["ws", "create", "x", "--provider-config", "[]", "--json"]).expect_error(2, "invalid_usage");
    machine.run(&["ws", "create", "x", "--capability", "fly", "--json"]).expect_error(2, "invalid_usage");
    machine.run(&["ws", "create", "demo"]).expect_ok();
    machine
        .run(&["ws", "files", "cat", "demo", "../../etc/passwd", "--json"])
        .expect_error(4, "path_escapes");
    machine.run(&["ws", "cp", "a", "b", "--json"]).expect_error(2, "invalid_usage");
}

// X15, S11: `..` names nothing, least of all the whole queue
#[test]
fn dots_and_line_breaks_are_no_names_of_anything() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "memory", "--runtime", "external"]).expect_ok();
    machine.run(&["task", "send", "demo", "keep me", "--no-wait"]).expect_ok();
    for arguments in [
        &["queue", "rm", "demo", ".."][..],
        &["queue", "show", "demo", "."],
        &["task", "cancel", "demo", ""],
        &["memory", "set", "demo", "a\nb", "value"],
        &["memory", "rm", "demo", ".."],
        &["task", "send", "demo", "x", "--no-wait", "--key", "a\r\nX-Injected: 1"],
    ] {
        machine.run(&[arguments, &["--json"]].concat()).expect_error(2, "invalid_usage");
    }
    let waiting = machine.run(&["queue", "ls", "demo", "--json"]).expect_ok().json();
    assert_eq!(waiting.as_array().unwrap().len(), 1, "{waiting}");
    let id = waiting[0]["id"].as_str().unwrap();
    machine.run(&["queue", "rm", "demo", id]).expect_ok();
    let twice = machine.run(&["queue", "rm", "demo", id, "--json"]).expect_error(5, "task_not_cancelable");
    assert_eq!(twice["causes"][0], "the message has ended");
    assert_eq!(machine.run(&["memory", "ls", "demo", "--json"]).expect_ok().json(), serde_json::json!([]));
}

// S11
#[test]
fn a_command_line_that_lacks_something_is_told_what_it_lacks() {
    let machine = Machine::new();
    for (arguments, lacking) in [
        (&["chat"][..], &["<WORKSPACE>"][..]),
        (&["queue", "show", "demo"], &["<ID>"]),
        (&["schedule", "add", "demo", "name", "prompt"], &["--cron <CRON>", "--every <TIME>"]),
        (&["schedule", "next"], &["--cron <CRON>", "--every <TIME>"]),
        (&["queue", "ls", "demo", "--state", "lost"], &["queued, claimed, ended"]),
    ] {
        let error = machine.run(&[arguments, &["--json"]].concat()).expect_error(2, "invalid_usage");
        let cause = error["causes"][0].as_str().unwrap();
        assert!(lacking.iter().all(|one| cause.contains(one)), "{arguments:?}: {cause}");
    }
    let both = ["schedule", "next", "--cron", "0 9 * * *", "--every", "60", "--json"];
    machine.run(&both).expect_error(2, "invalid_usage");
}

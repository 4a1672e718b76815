use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::warren::{Machine, ended};

/// Every byte, so that nothing that is not UTF-8 gets lost; more than one chunk of a stream.
fn all_bytes() -> Vec<u8> {
    (0..200_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

// S10, S11
#[test]
fn a_newcomer_makes_a_workspace_and_works_in_it_without_copying_a_token() {
    let machine = Machine::new();
    let server = machine.start();
    assert!(
        server.ready["link"].as_str().unwrap().starts_with(&format!("{}/#sign-in=wrn_login_", server.url()))
    );

    let made = machine.run(&["ws", "create", "demo", "--json"]).expect_ok().json();
    let id = made["id"].as_str().unwrap().to_owned();
    let listed = machine.run(&["ws", "ls", "--json"]).expect_ok().json();
    assert_eq!(listed[0]["id"], id.as_str());
    assert_eq!(listed[0]["status"], "online");

    machine.run_with_input(&["ws", "files", "put", "demo", "notes/a.txt"], b"hello\n").expect_ok();
    assert_eq!(machine.run(&["ws", "files", "cat", "demo", "notes/a.txt"]).expect_ok().stdout, b"hello\n");

    let ran = machine.run(&["ws", "exec", "demo", "--", "sh", "-c", "cat notes/a.txt; echo oh >&2; exit 7"]);
    assert_eq!((ran.code, ran.text().as_str(), ran.stderr.as_str()), (Some(7), "hello\n", "oh\n"));

    let events = machine.run(&["events", "--json", "--workspace", "demo"]).expect_ok().text();
    for kind in ["workspace.lifecycle.created", "workspace.file.changed", "workspace.command.finished"] {
        assert!(events.contains(kind), "{kind}: {events}");
    }

    machine.run(&["ws", "rm", "demo"]).expect_ok();
    assert_eq!(machine.run(&["ws", "ls", "--json"]).expect_ok().json(), serde_json::json!([]));
    let all = machine.run(&["ws", "ls", "--all", "--json"]).expect_ok().json();
    assert_eq!(all[0]["status"], "removed");
}

// S10
#[test]
fn files_and_trees_come_back_from_a_workspace_as_they_went_in() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "one"]).expect_ok();
    machine.run(&["ws", "create", "two", "--provider", "memory"]).expect_ok();
    let tree = machine.path().join("tree");
    std::fs::create_dir_all(tree.join("deep/er")).unwrap();
    std::fs::write(tree.join("bytes.bin"), all_bytes()).unwrap();
    std::fs::write(tree.join("deep/er/empty"), b"").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();

    machine.run(&["ws", "cp", "tree/bytes.bin", "one:"]).expect_ok();
    machine.run(&["ws", "cp", "one:bytes.bin", "back.bin"]).expect_ok();
    assert_eq!(std::fs::read(machine.path().join("back.bin")).unwrap(), all_bytes());

    let copied = machine.run(&["ws", "cp", "-r", "tree", "one:", "--json"]).expect_ok();
    assert_eq!(copied.json()["left_out"], serde_json::json!(["link"]));
    machine.run(&["ws", "cp", "-r", "one:tree", "two:"]).expect_ok();
    machine.run(&["ws", "cp", "-r", "two:tree", "again"]).expect_ok();
    assert_eq!(std::fs::read(machine.path().join("again/bytes.bin")).unwrap(), all_bytes());
    assert_eq!(std::fs::read(machine.path().join("again/deep/er/empty")).unwrap(), b"");
    let names: Vec<_> = std::fs::read_dir(machine.path().join("again"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "no draft and no link: {names:?}");

    let refused = machine.run(&["ws", "cp", "one:tree", "x", "--json"]);
    refused.expect_error(5, "not_a_file");
    let missing = machine.run(&["ws", "cp", "one:none", "x", "--json"]);
    missing.expect_error(3, "file_not_found");
    assert!(!machine.path().join("x").exists());
}

// S10
#[test]
fn files_are_listed_moved_and_deleted() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    machine.run(&["ws", "files", "mkdir", "demo", "a/b"]).expect_ok();
    machine.run_with_input(&["ws", "files", "put", "demo", "a/f"], b"0123456789").expect_ok();
    machine.run(&["ws", "files", "mv", "demo", "a/f", "a/b/g"]).expect_ok();
    let part =
        machine.run(&["ws", "files", "cat", "demo", "a/b/g", "--offset", "2", "--length", "3"]).expect_ok();
    assert_eq!(part.stdout, b"234");
    let listed =
        machine.run(&["ws", "files", "ls", "demo", "a", "--depth", "2", "--json"]).expect_ok().json();
    let paths: Vec<&str> =
        listed.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a/b", "a/b/g"]);
    machine.run(&["ws", "files", "rm", "demo", "a", "--json"]).expect_error(5, "directory_not_empty");
    machine.run(&["ws", "files", "rm", "-r", "demo", "a"]).expect_ok();
    machine.run(&["ws", "files", "cat", "demo", "a/b/g", "--json"]).expect_error(3, "file_not_found");
}

// S11
#[test]
fn a_command_s_end_is_passed_on_whatever_it_was() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let exec = |arguments: &[&str]| machine.run(&[&["ws", "exec", "demo"], arguments].concat());
    assert_eq!(exec(&["--", "true"]).code, Some(0));
    assert_eq!(exec(&["--shell", "exit 3"]).code, Some(3));
    assert_eq!(exec(&["--shell", "kill -TERM $$"]).code, Some(128 + 15));
    assert_eq!(exec(&["--timeout", "100ms", "--", "sleep", "60"]).code, Some(124));
    assert_eq!(exec(&["--", "no-such-program"]).code, Some(127));
    assert_eq!(machine.run(&["ws", "exec", "nobody", "--", "true"]).code, Some(125));
    assert_eq!(exec(&["--cwd", "sub", "--", "pwd"]).code, Some(125), "the directory does not exist");

    let told = exec(&["--env", "NAME=a b", "--shell", "printf %s \"$NAME\""]).expect_ok();
    assert_eq!(told.stdout, b"a b");
    let echoed = machine.run_with_input(&["ws", "exec", "demo", "-i", "--", "cat"], b"in\n").expect_ok();
    assert_eq!(echoed.stdout, b"in\n");
    let document = exec(&["--json", "--shell", "echo out; exit 9"]);
    assert_eq!((document.code, document.json()["stdout"].as_str()), (Some(9), Some("out\n")));
}

// S10
#[test]
fn events_are_followed_as_they_happen() {
    let machine = Machine::new();
    let _server = machine.start();
    let mut child = machine
        .command(&["events", "--follow", "--after", "0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next_seq = 1;
    let mut wait_for = |kind: &str| loop {
        let event: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(event["seq"], next_seq, "no gap and nothing twice");
        next_seq += 1;
        if event["kind"] == kind {
            break;
        }
    };
    wait_for("server.process.started");
    machine.run(&["ws", "create", "demo"]).expect_ok();
    wait_for("workspace.lifecycle.created");
    machine.run(&["ws", "rm", "demo"]).expect_ok();
    wait_for("workspace.lifecycle.removed");
    child.kill().unwrap();
    child.wait().unwrap();
}

// S10
#[test]
fn a_workspace_is_paused_and_resumed() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let paused = machine.run(&["ws", "pause", "demo", "--json"]).expect_ok().json();
    assert_eq!(paused["desired"], "paused");
    machine.run(&["ws", "exec", "demo", "--json", "--", "true"]).expect_error(125, "workspace_not_ready");
    let resumed = machine.run(&["ws", "resume", "demo", "--json"]).expect_ok().json();
    assert_eq!(resumed["desired"], "running");
    let shown = machine.run(&["ws", "show", "demo", "--json"]).expect_ok().json();
    assert_eq!(shown["health"]["workspace_id"], shown["id"]);
}

// S11
#[test]
fn a_server_elsewhere_is_reached_by_its_address_and_a_token() {
    let (here, there) = (Machine::new(), Machine::new());
    let server = there.start();
    let created =
        there.run(&["token", "create", "ci", "--scope", "workspaces:read", "--expires-in", "1h", "--json"]);
    let created = created.expect_ok().json();
    let remote = |arguments: &[&str]| {
        let mut command = here.command(arguments);
        command.env("WARREN_URL", server.url()).env("WARREN_TOKEN", created["secret"].as_str().unwrap());
        ended(command)
    };
    assert_eq!(remote(&["ws", "ls", "--json"]).expect_ok().json(), serde_json::json!([]));
    remote(&["ws", "create", "demo", "--json"]).expect_error(4, "forbidden");

    let listed = there.run(&["token", "ls", "--json"]).expect_ok().json();
    assert!(listed.as_array().unwrap().iter().any(|token| token["name"] == "ci"), "{listed}");
    there.run(&["token", "revoke", created["token"]["id"].as_str().unwrap()]).expect_ok();
    remote(&["ws", "ls", "--json"]).expect_error(4, "token_expired");
}

// S11
#[test]
fn the_local_operator_s_token_is_not_sent_to_another_server() {
    let machine = Machine::new();
    let _server = machine.start();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stranger = format!("http://{}", listener.local_addr().unwrap());
    let watching = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let head = BufReader::new(&stream).lines().map(Result::unwrap).take_while(|line| !line.is_empty());
        head.collect::<Vec<_>>().join("\n").to_lowercase()
    });
    let ended = machine.run(&["ws", "ls", "--url", &stranger, "--json"]);
    assert_eq!(ended.code, Some(6));
    let head = watching.join().unwrap();
    assert!(head.starts_with("get /api/v1/workspaces") && !head.contains("authorization"), "{head}");
}

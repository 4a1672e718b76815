//! What somebody types who has never used Warren, and what they are told.

use std::process::Stdio;

use crate::pty::Pty;
use crate::warren::{Machine, wait_until};

// S11, W72: nobody gets a place without isolation who did not name it.
#[test]
fn a_workspace_is_a_sandbox_unless_another_provider_is_named_and_local_is_warned_of() {
    let machine = Machine::new();
    let _server = machine.start();
    let made = machine.run(&["ws", "create", "demo"]).expect_ok();
    assert_eq!((made.text().as_str(), made.stderr.as_str()), ("demo\n", ""));
    let shown = machine.run(&["ws", "show", "demo", "--json"]).expect_ok().json();
    assert_eq!((&shown["provider"]["kind"], &shown["tier"]), (&"sandbox".into(), &"basic".into()), "{shown}");
    let knobs = ["ws", "create", "careful", "--allow-run", "ls", "--json"];
    assert_eq!(machine.run(&knobs).expect_ok().json()["provider"]["kind"], "sandbox");

    let local = machine.run(&["ws", "create", "open", "--provider", "local"]).expect_ok();
    assert!(local.stderr.contains("warning: `local` is no box"), "{local:?}");
    let help = machine.run(&["ws", "create", "--help"]).expect_ok().text();
    for kind in ["sandbox", "docker", "local", "memory"] {
        assert!(help.contains(&format!("`{kind}`")), "{kind}: {help}");
    }
}

// F3, S11
#[test]
fn a_second_workspace_of_a_name_is_refused_with_what_to_do() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "memory"]).expect_ok();
    let again = machine.run(&["ws", "create", "demo", "--provider", "memory", "--json"]);
    let error = again.expect_error(5, "workspace_exists");
    assert!(error["hint"].as_str().unwrap().contains("warren ws rm NAME"), "{error}");
    machine.run(&["ws", "create", "other", "--provider", "memory"]).expect_ok();
    machine.run(&["ws", "set", "other", "--name", "demo", "--json"]).expect_error(5, "workspace_exists");
    assert_eq!(machine.run(&["ws", "rm", "demo", "--yes"]).expect_ok().text(), "demo  removed\n");
    assert_eq!(machine.run(&["ws", "set", "other", "--name", "demo"]).expect_ok().text(), "demo  online\n");
}

// S10, S11
#[test]
fn commands_are_found_as_people_type_them() {
    let machine = Machine::new();
    let _server = machine.start();
    for words in [&["help"][..], &["ws", "help"], &["help", "ws"]] {
        assert!(machine.run(words).expect_ok().text().contains("Usage: warren"), "{words:?}");
    }
    machine.run(&["ws", "create", "demo"]).expect_ok();
    for words in [&["ls"][..], &["list"], &["ps"], &["ws", "list"]] {
        let table = machine.run(words).expect_ok().text();
        assert!(table.starts_with("NAME ") && table.contains("demo"), "{words:?}: {table}");
    }
    // What follows the program is the program's own.
    for words in [
        &["exec", "demo", "echo", "-n", "--json"][..],
        &["ws", "exec", "demo", "echo", "-n", "--json"],
        &["ws", "run", "demo", "--", "echo", "-n", "--json"],
    ] {
        assert_eq!(machine.run(words).expect_ok().text(), "--json", "{words:?}");
    }
    assert_eq!(machine.run(&["exec", "demo", "sh", "-c", "exit 7"]).code, Some(7));
    assert_eq!(machine.run(&["ws", "start", "demo", "echo", "hello"]).expect_ok().text(), "1\n");
    wait_until("the output", || machine.run(&["logs", "demo", "1"]).expect_ok().text() == "hello\n");
    machine.run(&["rm", "demo", "--yes"]).expect_ok();
}

// S11
#[test]
fn a_word_of_other_command_lines_is_answered_with_what_it_is_called_here() {
    let machine = Machine::new();
    for (words, told) in [
        (&["login"][..], "warren token link"),
        (&["status"], "warren doctor"),
        (&["stop"], "Ctrl-C"),
        (&["delete", "demo"], "warren ws rm"),
        (&["ws", "destroy", "demo"], "warren ws rm"),
    ] {
        let ended = machine.run(words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("hint: ") && ended.stderr.contains(told), "{ended:?}");
        let error = machine.run(&[words, &["--json"]].concat()).expect_error(2, "invalid_usage");
        assert!(error["hint"].as_str().unwrap().contains(told), "{error}");
    }
}

// F3, S11
#[test]
fn a_workspace_is_changed_at_the_command_line() {
    let machine = Machine::new();
    let _server = machine.start();
    for name in ["lead", "worker"] {
        machine.run(&["ws", "create", name, "--provider", "memory"]).expect_ok();
    }
    let set = ["ws", "set", "worker", "--role", "tester", "--parent", "lead", "--hibernate-after", "1h"];
    machine.run(&[&set[..], &["--max-tasks", "3"]].concat()).expect_ok();
    let show = || machine.run(&["ws", "show", "worker", "--json"]).expect_ok().json();
    let shown = show();
    assert_eq!(
        (&shown["role"], &shown["hibernate_after_seconds"]),
        (&"tester".into(), &3600.into()),
        "{shown}"
    );
    assert_eq!(shown["max_concurrent_tasks"], 3);
    assert!(shown["parent_id"].is_string(), "{shown}");
    let text = machine.run(&["ws", "show", "worker"]).expect_ok().text();
    assert!(text.lines().any(|line| line.starts_with("parent ") && line.ends_with(" lead")), "{text}");
    let back = ["ws", "set", "worker", "--role", "", "--parent", "", "--hibernate-after", "never"];
    machine.run(&back).expect_ok();
    let shown = show();
    assert!(shown["role"].is_null() && shown["parent_id"].is_null(), "{shown}");
    assert!(shown["hibernate_after_seconds"].is_null(), "{shown}");
    machine.run(&["ws", "set", "worker", "--json"]).expect_error(2, "invalid_usage");
}

// S11, X40
#[test]
fn times_are_typed_and_read_in_the_same_units_and_tables_name_workspaces() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "away", "--provider", "memory", "--runtime", "external"]).expect_ok();
    let add = ["schedule", "add", "away", "pulse", "Go on.", "--every", "1h", "--jitter", "5m"];
    let told = machine.run(&add).expect_ok().text();
    assert!(told.starts_with("pulse  20") && told.ends_with("Z\n") && !told.contains('T'), "{told}");
    let table = machine.run(&["schedule", "ls"]).expect_ok().text();
    let row = table.lines().nth(1).unwrap();
    assert!(row.starts_with("pulse") && row.contains(" away ") && row.contains(" every 1h "), "{table}");
    machine.run(&["schedule", "next", "--every", "1w", "--json"]).expect_error(2, "invalid_usage");
    let events = machine.run(&["events"]).expect_ok().text();
    let created = events.lines().find(|line| line.contains("workspace.lifecycle.created")).unwrap();
    assert!(created.contains("  away  ") && !created.contains("T1"), "{created}");
}

// S11
#[test]
fn statuses_have_colours_where_somebody_looks() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "memory"]).expect_ok();
    let painted = machine.run(&["--color", "always", "ls"]).expect_ok().text();
    assert!(painted.contains("\u{1b}[32monline\u{1b}[0m"), "{painted:?}");
    assert!(!machine.run(&["ls"]).expect_ok().text().contains('\u{1b}'), "a program gets none");
}

// S1, S11: what the banner says leads to the server that said it.
#[test]
fn the_next_steps_of_a_server_on_another_folder_reach_that_server() {
    let machine = Machine::new();
    let folder = machine.path().join("else where");
    let server = machine.start_for_people(&["--data", folder.to_str().unwrap()]);
    let line =
        server.banner.lines().find(|line| line.contains("export WARREN_DATA=")).unwrap().trim().to_owned();
    let exported = line.strip_prefix("export WARREN_DATA='").unwrap().strip_suffix('\'').unwrap().to_owned();
    let mut create = machine.command(&["ws", "create", "demo", "--provider", "memory"]);
    create.env("WARREN_DATA", exported);
    crate::warren::ended(create).expect_ok();
    drop(server);
    let usual = machine.start_for_people(&[]);
    assert!(!usual.banner.contains("WARREN_DATA"), "{}", usual.banner);
}

// S11, W30: the answer comes when its event can be read.
#[test]
fn the_event_of_a_command_can_be_read_as_soon_as_it_has_answered() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    for number in 1..=20 {
        machine.run(&["exec", "demo", "true"]).expect_ok();
        let events = machine.run(&["events", "--json", "--workspace", "demo"]).expect_ok().text();
        let finished = events.lines().filter(|line| line.contains("workspace.command.finished")).count();
        assert_eq!(finished, number);
    }
}

// S11, W30
#[test]
fn a_terminal_that_does_not_end_when_it_is_asked_to_is_told_of() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    // As an interactive shell does.
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
    machine.run(&["ws", "start", "demo", "--pty", "--shell", stubborn]).expect_ok();
    wait_until("the trap", || machine.run(&["logs", "demo", "1"]).expect_ok().text().contains("ready"));
    let asked = machine.run(&["ws", "kill", "demo", "1"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("Still running: 1") && asked.stderr.contains("--signal kill"), "{asked:?}");
    let killed = machine.run(&["ws", "kill", "demo", "1", "--signal", "kill", "--json"]).expect_ok();
    assert_eq!(killed.json()["running"], serde_json::json!([]));
    // The real thing.
    let mut terminal = Pty::spawn(&machine.command(&["shell", "demo"]), 24, 80);
    terminal.see("$ ");
    let told = machine.run(&["ws", "kill", "demo", "2"]);
    let is_gone = machine.run(&["ws", "ps", "demo", "--json"]).expect_ok().json()[1]["state"] == "exited";
    assert_eq!(told.code == Some(0), is_gone, "it ends, or it is said that it did not: {told:?}");
}

// F18: the runner fetches its own token and says when it is there.
#[test]
fn a_runner_for_a_named_workspace_needs_no_token_of_its_own_and_says_that_it_is_connected() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "away", "--provider", "memory", "--runtime", "external"]).expect_ok();
    let log = machine.path().join("runner.log");
    let file = std::fs::File::create(&log).unwrap();
    let run = ["runner", "--workspace", "away", "--", "/bin/cat"];
    let mut runner = machine.command(&run).stdout(Stdio::null()).stderr(file).spawn().unwrap();
    wait_until("a word", || std::fs::read_to_string(&log).unwrap().starts_with("Connected; waiting"));
    assert_eq!(machine.run(&["task", "send", "away", "hello"]).expect_ok().text(), "hello\n");
    runner.kill().unwrap();
    runner.wait().unwrap();
}

// X20
#[test]
fn work_is_handed_to_a_peer_at_the_command_line() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "lead", "--provider", "memory"]).expect_ok();
    let worker = ["ws", "create", "worker", "--runtime", "resident", "--parent", "lead", "--", "/bin/cat"];
    machine.run(&worker).expect_ok();
    let peers = machine.run(&["peers", "lead"]).expect_ok().text();
    assert!(peers.starts_with("NAME ") && peers.contains("worker"), "{peers}");
    let sent = machine.run(&["delegation", "send", "lead", "worker", "count to three"]).expect_ok();
    assert_eq!(sent.text(), "count to three\n");
    let listed = machine.run(&["delegation", "ls", "lead"]).expect_ok().text();
    assert!(listed.contains("completed") && listed.contains(" worker "), "{listed}");
}

// S10
#[test]
fn a_workspace_that_waits_for_an_agent_says_how_one_comes() {
    let machine = Machine::new();
    let _server = machine.start();
    for (runtime, told) in
        [("resident", "warren ws set waits-resident -- PROGRAM"), ("external", "warren runner --workspace")]
    {
        let name = format!("waits-{runtime}");
        let made = machine.run(&["ws", "create", &name, "--runtime", runtime]).expect_ok();
        assert!(made.stderr.contains("fails in 10 minutes") && made.stderr.contains(told), "{made:?}");
    }
}

// F3, S10
#[test]
fn what_a_workspace_is_given_is_changed_at_the_command_line() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--memory-mb", "200", "--prompt", "system=Be kind."]).expect_ok();
    machine.run(&["exec", "demo", "sh", "-c", "echo kept > kept.txt"]).expect_ok();
    let show = || machine.run(&["ws", "show", "demo", "--json"]).expect_ok().json();
    assert_eq!(show()["provider"]["limits"]["memory_mb"], 200);
    let set = ["ws", "set", "demo", "--memory-mb", "128", "--pids", "64", "--max-file-mb", "2"];
    machine.run(&[&set[..], &["--prompt", "system=Be terse."]].concat()).expect_ok();
    let shown = show();
    let limits = &shown["provider"]["limits"];
    assert_eq!(
        (&limits["memory_mb"], &limits["pids"], &limits["disk_mb"]),
        (&128.into(), &64.into(), &10_240.into())
    );
    assert_eq!(shown["agent"]["prompts"]["system"], "Be terse.");
    // Whoever uses it next finds it with the new limits, and with its files.
    wait_until("it is there again", || show()["status"] == "online");
    assert_eq!(machine.run(&["exec", "demo", "cat", "kept.txt"]).expect_ok().text(), "kept\n");
    assert_eq!(show()["health"]["registry"]["limits"]["max_file_mb"], 2, "{}", show());
    machine.run(&["ws", "set", "demo", "--tier", "huge", "--json"]).expect_error(2, "invalid_usage");
    machine.run(&["ws", "set", "demo", "--memory-mb", "1", "--json"]).expect_error(1, "invalid_config");
}

// X3, S10
#[test]
fn whom_a_workspace_may_talk_to_is_said_at_the_command_line() {
    let machine = Machine::new();
    let _server = machine.start();
    for name in ["lead", "worker", "other"] {
        machine.run(&["ws", "create", name, "--provider", "memory"]).expect_ok();
    }
    let peers = || machine.run(&["peers", "lead"]).expect_ok().text();
    assert!(peers().contains("worker") && peers().contains("other"));
    let policy =
        machine.run(&["peers", "lead", "--circle", "nobody", "--allow", "worker"]).expect_ok().text();
    assert!(policy.contains("nobody") && policy.contains("worker"), "{policy}");
    assert!(peers().contains("worker") && !peers().contains("other"));
    machine.run(&["peers", "lead", "--circle", "family", "--deny", "worker"]).expect_ok();
    assert!(!peers().contains("worker") && peers().contains("other"), "the new word counts");
    machine.run(&["peers", "lead", "--forget", "worker"]).expect_ok();
    let policy = machine.run(&["peers", "lead", "--policy", "--json"]).expect_ok().json();
    assert_eq!(policy, serde_json::json!({ "circle": "family" }));
}

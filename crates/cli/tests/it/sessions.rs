//! `warren run`, `warren agent` and `warren session`, as somebody meets them in the first five minutes: on the scripted
//! model, in a sandbox.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::pty::Pty;
use crate::warren::{Ended, Machine, NOWHERE, Server, wait_until};

/// What the guided agent says when the deletion was approved.
const GONE: &str = "`hello.txt` is gone, because you said yes.";
/// And when it was not.
const STAYS: &str = "All right, `hello.txt` stays where it is.";
const PROMPT: &str = "leave it waiting > ";
/// The exit code of a session that waits for somebody.
const WAITING: i32 = 7;

/// Lines of JSON.
fn lines(ended: &Ended) -> Vec<Value> {
    ended.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The only approval that a session waits for.
fn approval_of(machine: &Machine, session: &str) -> String {
    let shown = machine.run(&["session", "show", session, "--json"]).expect_ok().json();
    assert_eq!(shown["pending"]["approvals"].as_array().unwrap().len(), 1, "{shown}");
    shown["pending"]["approvals"][0]["id"].as_str().unwrap().to_owned()
}

// S12, A1
#[test]
fn an_agent_file_is_written_checked_and_run_without_a_key() {
    let machine = Machine::new();
    let written = machine.run(&["agent", "init", "helper.yaml"]).expect_ok();
    assert_eq!(written.text(), "helper.yaml\n");
    let checked = machine.run(&["agent", "check", "helper.yaml"]).expect_ok();
    assert_eq!(
        (checked.text().as_str(), checked.stderr.as_str()),
        ("It is valid: `helper` on scripted/tour.\n", "")
    );
    let refused = machine.run(&["agent", "init", "helper.yaml", "--json"]);
    let error = refused.expect_error(1, "local_file_failed");
    assert!(error["hint"].as_str().unwrap().contains("--force"), "{error}");
    machine.run(&["agent", "init", "helper.yaml", "--force"]).expect_ok();

    let _server = machine.start();
    let ran = machine
        .run(&["run", "Show me around.", "--agent", "helper.yaml", "--session", "first", "--yes"])
        .expect_ok();
    let said = ran.text();
    assert!(said.starts_with("Welcome!") && said.contains(GONE), "{said}");
    assert!(!said.contains('→') && said.ends_with('\n'), "standard output is what the model says: {said}");
    for told in [
        "(sandbox) is ready.",
        "→ workspace_write_file hello.txt\n✓ workspace_write_file hello.txt",
        "→ workspace_run cat hello.txt\nHello from your first agent.\n✓ workspace_run cat hello.txt\n",
        "✓ approved: workspace_rm hello.txt\n",
        "● completed · 4 steps · ",
        "warren ws rm run-",
        "--session first",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\u{1b}'), "no colours outside of a terminal");

    let listed = machine.run(&["session", "ls"]).expect_ok().text();
    assert!(listed.contains("first") && listed.contains("completed"), "{listed}");
    let steps = machine.run(&["session", "steps", "first", "--json"]).expect_ok().json();
    assert_eq!(steps.as_array().unwrap().len(), 4, "{steps}");
    assert_eq!(steps[2]["calls"][0]["decision"]["note"], "approved with --yes");
    let shown = machine.run(&["session", "context", "first", "1"]).expect_ok().json();
    assert!(shown["system"].as_str().unwrap().contains("You work with the files"), "{shown}");

    let more = machine.run(&["run", "And now?", "--session", "first"]).expect_ok();
    assert!(more.text().starts_with("The tour is over"), "the same session goes on: {more:?}");
}

// S12: the shortest way
#[test]
fn a_run_without_anything_shows_the_guided_agent_and_takes_its_workspace_along() {
    let machine = Machine::new();
    let _server = machine.start();
    let ran = machine.run(&["run", "--yes", "--rm"]).expect_ok();
    assert!(ran.text().contains(GONE) && ran.stderr.contains("is removed."), "{ran:?}");
    assert_eq!(machine.run(&["ws", "ls", "--json"]).expect_ok().json(), json!([]));
    let agents = machine.run(&["agent", "ls", "--json"]).expect_ok().json();
    assert_eq!(agents[0]["name"], "warren-tour", "{agents}");
}

// S12, A30: nobody to ask is no reason to hang
#[test]
fn without_a_terminal_a_run_says_what_it_waits_for_and_the_commands_it_names_go_on() {
    let machine = Machine::new();
    let _server = machine.start();
    let ran = machine.run(&["run", "--session", "w", "Show me around."]);
    assert_eq!(ran.code, Some(WAITING), "{ran:?}");
    let approval = approval_of(&machine, "w");
    let command = format!("warren session approve w {approval}");
    assert!(
        ran.stderr.contains(&format!(
            "Waits for an approval: workspace_rm hello.txt (it deletes files)\n  {command}\n"
        )),
        "{ran:?}"
    );
    let shown = machine.run(&["session", "show", "w"]).expect_ok().text();
    assert!(shown.contains("suspended (approval)") && shown.contains(&command), "{shown}");
    // As it is told, word by word.
    let follow = ran.stderr.lines().find(|line| line.contains("warren session follow w --after ")).unwrap();
    let follow: Vec<&str> = follow.split('`').nth(1).unwrap().split(' ').skip(1).collect();
    let approve: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(machine.run(&approve).expect_ok().text().ends_with("approved\n"));
    let followed = machine.run(&follow).expect_ok();
    assert!(followed.text().contains(GONE), "{followed:?}");
    assert!(
        followed.stderr.starts_with("✓ workspace_rm hello.txt\n"),
        "a call is known that began before: {followed:?}"
    );
    machine.run(&[&approve[..], &["--json"]].concat()).expect_error(5, "approval_over");
    machine.run(&["session", "resume", "w"]).expect_ok();
}

// S12, A30
#[test]
fn a_denial_and_changed_arguments_reach_the_agent() {
    let machine = Machine::new();
    let _server = machine.start();
    assert_eq!(machine.run(&["run", "hi", "--session", "no"]).code, Some(WAITING));
    machine.run(&["session", "deny", "no", "--reason", "I need it"]).expect_ok();
    let ended = machine.run(&["session", "follow", "no", "--after", "0"]).expect_ok();
    assert!(ended.text().contains(STAYS) && ended.stderr.contains("(denied)"), "{ended:?}");
    assert!(ended.stderr.contains("I need it"), "{ended:?}");

    assert_eq!(machine.run(&["run", "hi", "--session", "edit"]).code, Some(WAITING));
    let workspace =
        machine.run(&["session", "show", "edit", "--json"]).expect_ok().json()["workspace_id"].clone();
    machine
        .run(&["session", "approve", "edit", "--arguments", "[]", "--json"])
        .expect_error(2, "invalid_usage");
    machine.run(&["session", "approve", "edit", "--arguments", r#"{"path":"other.txt"}"#]).expect_ok();
    let ended = machine.run(&["session", "follow", "edit", "--after", "0"]).expect_ok();
    assert!(
        ended.stderr.contains("changed to: workspace_rm other.txt\n✗ workspace_rm other.txt (failed)"),
        "{ended:?}"
    );
    let kept = machine.run(&["ws", "files", "cat", workspace.as_str().unwrap(), "hello.txt"]).expect_ok();
    assert_eq!(kept.text(), "Hello from your first agent.\n", "the changed arguments were used");
    let call = machine.run(&["session", "steps", "edit", "--json"]).expect_ok().json()[2]["calls"][0].clone();
    assert_eq!(
        (&call["proposed"]["path"], &call["arguments"]["path"]),
        (&json!("hello.txt"), &json!("other.txt"))
    );
}

// S12, A60
#[test]
fn for_programs_a_run_is_its_stream_a_line_for_each_entry_and_how_it_ended() {
    let machine = Machine::new();
    let _server = machine.start();
    let waiting = machine.run(&["run", "--json", "hi", "--session", "j"]);
    assert_eq!(waiting.code, Some(WAITING), "{waiting:?}");
    let first = lines(&waiting);
    let last = first.last().unwrap();
    assert_eq!((&last["type"], &last["exit_code"]), (&json!("ended"), &json!(WAITING)));
    assert!(
        last["waits_for"][0]["commands"][0].as_str().unwrap().starts_with("warren session approve j "),
        "{last}"
    );
    let after = last["session"]["latest_sequence"].to_string();
    let rest = machine.run(&["session", "follow", "j", "--after", &after, "--yes", "--json"]).expect_ok();
    let rest = lines(&rest);
    assert_eq!(rest.last().unwrap()["session"]["status"], "completed");
    let sequences: Vec<u64> = [&first[..first.len() - 1], &rest[..rest.len() - 1]]
        .concat()
        .iter()
        .map(|entry| entry["sequence"].as_u64().unwrap())
        .collect();
    assert!(sequences.is_sorted_by(|one, next| one < next), "nothing twice: {sequences:?}");
    assert_eq!(sequences[0], 1);
}

// S12, A30
#[test]
fn in_a_terminal_the_person_is_asked_and_typed_answers_count() {
    let machine = Machine::new();
    let _server = machine.start();
    let mut pty = Pty::spawn(&machine.command(&["run", "--session", "t", "hi"]), 40, 120);
    pty.see(PROMPT);
    assert!(pty.screen().contains("May it? workspace_rm hello.txt  (it deletes files)"), "{}", pty.screen());
    pty.type_in("what\r");
    pty.see("Type y, a, n, e or q.");
    pty.type_in("e {\"path\":\r");
    pty.see("That is no JSON");
    pty.type_in("y\r");
    pty.see(GONE);
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
    let told = pty.screen();
    assert!(told.contains("completed · 4 steps") && told.contains("\u{1b}[2m"), "{told}");
}

// S12, A23: "always" makes a rule for the session, which can be revoked
#[test]
fn always_is_asked_once_a_session_and_can_be_revoked() {
    let machine = Machine::new();
    let script = r#"
turns:
  - calls: [{ tool: workspace_ls, arguments: { path: "" } }]
  - calls: [{ tool: workspace_ls, arguments: { path: "" } }]
  - text: "looked twice"
  - calls: [{ tool: workspace_ls, arguments: { path: "" } }]
  - text: "looked again"
"#;
    let _server = start_with_scripts(&machine, &[("twice", script)]);
    let agent = "name: careful\nmodel: scripted/twice\npolicies: [{ tool: workspace_ls, decision: ask }]\n";
    let file = machine.path().join("careful.yaml");
    std::fs::write(&file, agent).unwrap();
    let file = file.display().to_string();
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    let run = ["run", "look", "--agent", &file, "--workspace", "here", "--session", "s"];
    let mut pty = Pty::spawn(&machine.command(&run), 40, 120);
    pty.see(PROMPT);
    pty.type_in("a\r");
    pty.see("looked twice");
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
    assert_eq!(pty.screen().matches("May it?").count(), 1, "{}", pty.screen());

    let rules = machine.run(&["session", "rules"]).expect_ok();
    assert!(rules.text().contains("workspace_ls") && rules.text().contains("session "), "{rules:?}");
    let rules = machine.run(&["session", "rules", "--json"]).expect_ok();
    let id = serde_json::from_str::<Value>(&rules.text()).unwrap()[0]["id"].as_str().unwrap().to_owned();
    machine.run(&["session", "rules", "--revoke", &id]).expect_ok();
    let asked = machine.run(&["session", "send", "s", "once more"]);
    assert!(asked.code.is_some(), "{asked:?}");
    let waits = machine.run(&["session", "follow", "s"]);
    assert_eq!(waits.code, Some(WAITING), "it is asked again: {waits:?}");
    machine.run(&["session", "approve", "s", "--remember", "workspace"]).expect_ok();
    let done = machine.run(&["session", "follow", "s", "--after", "0"]).expect_ok();
    assert!(done.text().contains("looked again"), "{done:?}");
}

// S12: what was typed before the question is no answer to it
#[test]
fn an_answer_typed_ahead_approves_nothing() {
    let machine = Machine::new();
    let _server = machine.start();
    let mut pty = Pty::spawn(&machine.command(&["run", "--session", "ahead", "hi"]), 40, 120);
    pty.type_in("y\ry\r");
    pty.see(PROMPT);
    let approved = pty.sees_within(std::time::Duration::from_millis(700), |screen| screen.contains(GONE));
    assert!(!approved, "{}", pty.screen());
    pty.type_in("q\r");
    assert_eq!(pty.wait(), Some(WAITING), "{}", pty.screen());
    assert!(pty.screen().contains("warren session approve ahead "), "{}", pty.screen());
}

// S12, A32
#[test]
fn ctrl_c_interrupts_so_that_the_session_can_be_resumed() {
    let machine = Machine::new();
    let _server = machine.start();
    let mut pty = Pty::spawn(&machine.command(&["run", "--session", "stop", "hi"]), 40, 120);
    pty.see(PROMPT);
    pty.type_in("\u{3}");
    pty.see("warren session resume stop");
    assert_eq!(pty.wait(), Some(130), "{}", pty.screen());
    let shown = machine.run(&["session", "show", "stop", "--json"]).expect_ok().json();
    assert_eq!(shown["status"], "interrupted", "{shown}");
    let mut pty = Pty::spawn(&machine.command(&["session", "resume", "stop"]), 40, 120);
    pty.see(PROMPT);
    pty.type_in("n\r");
    pty.see("Why?");
    pty.type_in("because\r");
    pty.see(STAYS);
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
}

// S12: the answer of another person ends the question
#[test]
fn a_question_that_is_decided_elsewhere_is_taken_back() {
    let machine = Machine::new();
    let _server = machine.start();
    let mut pty = Pty::spawn(&machine.command(&["run", "--session", "two", "hi"]), 40, 120);
    pty.see(PROMPT);
    machine.run(&["session", "approve", "two"]).expect_ok();
    pty.see("It was decided elsewhere.");
    pty.see(GONE);
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
}

// S12, A60, A2: a server that dies while a person thinks
#[test]
fn a_run_outlives_its_server_and_shows_nothing_twice() {
    let machine = Machine::new();
    let server = machine.start();
    let mut pty = Pty::spawn(&machine.command(&["run", "--session", "k", "hi"]), 60, 120);
    pty.see(PROMPT);
    server.kill();
    pty.see("The connection broke off; trying for 60 s");
    let _server = machine.start();
    pty.see("Connected again, without a gap.");
    pty.type_in("y\r");
    pty.see(GONE);
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
    for once in ["Welcome!", "→ workspace_run cat", "\u{1b}[0m workspace_rm hello.txt", GONE] {
        assert_eq!(pty.screen().matches(once).count(), 1, "{once}: {}", pty.screen());
    }
}

// S12: no server at all
#[test]
fn a_run_gives_up_after_the_time_it_told_and_the_session_is_there() {
    let machine = Machine::new();
    let server = machine.start();
    let mut pty =
        Pty::spawn(&machine.command(&["run", "--session", "g", "hi", "--reconnect", "1s"]), 60, 120);
    pty.see(PROMPT);
    server.kill();
    pty.see("error[server_unreachable]");
    assert_eq!(pty.wait(), Some(6), "{}", pty.screen());
    assert!(pty.screen().contains("warren session resume g"), "{}", pty.screen());
    let _server = machine.start();
    machine.run(&["session", "resume", "g", "--yes"]).expect_ok();
}

// S12
#[test]
fn an_answer_that_nobody_waits_for_is_told_so() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["run", "hi", "--session", "q", "--model", "scripted/hello", "--rm"]).expect_ok();
    let error = machine.run(&["session", "answer", "q", "blue", "--json"]).expect_error(5, "not_pending");
    assert!(error["hint"].as_str().unwrap().contains("warren session show q"), "{error}");
    let error = machine.run(&["session", "approve", "q", "--json"]).expect_error(5, "not_pending");
    assert!(error["causes"][0].as_str().unwrap().contains("waits for no approval"), "{error}");
}

// A70, A6, A32, A34
#[test]
fn sessions_are_branched_rewound_upgraded_and_stopped() {
    let machine = Machine::new();
    let _server = machine.start();
    assert_eq!(machine.run(&["run", "hi", "--session", "one"]).code, Some(WAITING));
    let error =
        machine.run(&["session", "interrupt", "one", "--run", "9", "--json"]).expect_error(5, "stale_run");
    assert!(error["hint"].as_str().unwrap().contains("warren session show"), "{error}");
    let sent = machine.run(&["session", "send", "one", "later", "--json"]).expect_ok().json();
    assert_eq!(sent["state"], "queued");
    let shown = machine.run(&["session", "show", "one"]).expect_ok().text();
    assert!(shown.contains("message waits") && shown.contains("later"), "{shown}");
    let dropped = machine.run(&["session", "cancel", "one", sent["id"].as_str().unwrap()]).expect_ok().text();
    assert!(dropped.contains("dropped: cancelled"), "{dropped}");
    machine
        .run(&["session", "send", "one", "x", "--mode", "reject", "--json"])
        .expect_error(5, "session_busy");
    let stopped = machine.run(&["session", "interrupt", "one"]).expect_ok();
    assert_eq!(stopped.text(), "one  interrupted\n", "{stopped:?}");
    assert!(stopped.stderr.contains("warren session resume one"), "{stopped:?}");
    let resumed = machine.run(&["session", "resume", "one", "--no-wait"]).expect_ok().text();
    assert!(resumed.starts_with("one  "), "{resumed}");
    wait_until("it waits again", || {
        machine.run(&["session", "show", "one"]).text().contains("suspended (approval)")
    });
    machine.run(&["session", "abort", "one"]).expect_ok();
    assert_eq!(machine.run(&["session", "follow", "one"]).code, Some(1), "it failed");

    let branched =
        machine.run(&["session", "branch", "one", "--step", "1", "--name", "other", "--json"]).expect_ok();
    assert_eq!(branched.json()["branched_from"]["step"], 1);
    assert_eq!(machine.run(&["run", "go on", "--session", "other"]).code, Some(WAITING), "from the file on");
    machine.run(&["session", "rewind", "other", "99", "--json"]).expect_error(3, "step_not_found");
    machine.run(&["session", "abort", "other"]).expect_ok();
    machine.run(&["session", "rewind", "other", "0"]).expect_ok();
    let upgraded = machine.run(&["session", "upgrade", "other"]).expect_ok();
    assert!(upgraded.stderr.contains("latest version"), "{upgraded:?}");
}

// S12: the agent that is stored is not changed by trying another model
#[test]
fn another_model_is_tried_beside_the_agent_that_is_stored() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["agent", "init", "helper.yaml"]).expect_ok();
    let stored = machine.run(&["agent", "put", "helper.yaml", "--json"]).expect_ok().json();
    let hash = stored["hash"].as_str().unwrap();
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    let run = ["run", "repeat me", "--agent", "helper", "--model", "scripted/echo", "--workspace", "here"];
    let ran = machine.run(&run).expect_ok();
    assert_eq!(ran.text(), "repeat me\n");
    assert!(ran.stderr.contains("kept as `helper.scripted-echo`"), "{ran:?}");
    let shown =
        machine.run(&["agent", "show", "helper", "--version", &hash[..12], "--json"]).expect_ok().json();
    assert_eq!((&shown["hash"], &shown["definition"]["model"]), (&json!(hash), &json!("scripted/tour")));
    let from_input =
        machine.run_with_input(&["run", "-", "--model", "scripted/echo", "--workspace", "here"], b"typed in");
    assert_eq!(from_input.expect_ok().text(), "typed in\n");
    let no_key = machine.run(&["run", "hi", "--model", "anthropic/claude-sonnet-4-5", "--workspace", "here"]);
    assert_eq!(no_key.code, Some(1), "{no_key:?}");
    assert!(no_key.stderr.contains("failed: there is no key for anthropic"), "{no_key:?}");
}

// S12: bad input
#[test]
fn what_is_wrong_with_a_run_is_told_with_its_place_and_leaves_nothing_behind() {
    let machine = Machine::new();
    std::fs::write(machine.path().join("bad.yaml"), "name: bad\nmodle: scripted/tour\n").unwrap();
    std::fs::write(
        machine.path().join("deep.yaml"),
        "name: a\nmodel: scripted/tour\nlimits:\n  run: { stepz: 1 }\n",
    )
    .unwrap();
    std::fs::write(machine.path().join("torn.yaml"), "name: [\n").unwrap();
    for (file, code, place) in [
        ("bad.yaml", "invalid_agent", "bad.yaml: modle: unknown field `modle`"),
        ("deep.yaml", "invalid_agent", "deep.yaml: limits.run.stepz: unknown field `stepz`"),
        ("torn.yaml", "invalid_yaml", "torn.yaml: "),
    ] {
        for command in
            [vec!["agent", "check", file], vec!["run", "hi", "--agent", file], vec!["agent", "put", file]]
        {
            let error = machine.run(&[&command[..], &["--json"]].concat()).expect_error(1, code);
            let cause = error["causes"][0].as_str().unwrap();
            assert!(cause.starts_with(place), "{cause}");
        }
    }
    let no_server = machine.run(&["run", "--json", "--url", NOWHERE]).expect_error(6, "server_unreachable");
    assert!(no_server["hint"].as_str().unwrap().contains("warren up"), "{no_server}");

    let _server = machine.start();
    let run = |arguments: &[&str]| machine.run(&[&["run", "hi", "--json"], arguments].concat());
    run(&["--agent", "missing.yaml"]).expect_error(1, "local_file_failed");
    machine.run(&["agent", "init", "helper.yaml"]).expect_ok();
    machine.run(&["agent", "put", "helper.yaml"]).expect_ok();
    let unknown = run(&["--agent", "helpr"]).expect_error(3, "agent_not_found");
    assert!(unknown["hint"].as_str().unwrap().contains("Did you mean `helper`?"), "{unknown}");
    run(&["--workspace", "nowhere"]).expect_error(3, "workspace_not_found");
    run(&["--model", "tour"]).expect_error(2, "invalid_usage");
    run(&["--session", "a b"]).expect_error(2, "invalid_usage");
    run(&["--session", "a\u{1b}[31m"]).expect_error(2, "invalid_usage");
    run(&["--provider", "balloon"]).expect_error(1, "invalid_config");
    machine.run(&["run", "--agent", "helper", "--json"]).expect_error(2, "invalid_usage");
    machine.run(&["run", " ", "--json"]).expect_error(2, "invalid_usage");
    assert_eq!(machine.run(&["ws", "ls", "--json"]).expect_ok().json(), json!([]), "nothing is left behind");
    assert_eq!(machine.run(&["agent", "ls", "--json"]).expect_ok().json()[0]["name"], "helper");

    for command in ["show", "follow", "resume", "interrupt", "approve", "steps", "upgrade"] {
        let error =
            machine.run(&["session", command, "nobody", "--json"]).expect_error(3, "session_not_found");
        assert!(error["hint"].as_str().unwrap().contains("warren session ls"), "{error}");
    }
    for name in ["a\nb", "a\u{1b}[2J", ".."] {
        machine.run(&["session", "show", name, "--json"]).expect_error(2, "invalid_usage");
        machine.run(&["agent", "show", name, "--json"]).expect_error(2, "invalid_usage");
    }
    machine.run(&["session", "ls", "--status", "asleep", "--json"]).expect_error(2, "invalid_usage");
}

// S12: a workspace without a box is made only by its name, and said to be none
#[test]
fn a_workspace_without_a_box_is_asked_for_by_its_name_and_warned_of() {
    let machine = Machine::new();
    let _server = machine.start();
    let ran = machine.run(&["run", "hi", "--provider", "local", "--yes"]);
    assert!(ran.stderr.contains("Careful: a `local` workspace is no box."), "{ran:?}");
    let memory = machine.run(&["run", "hi", "--provider", "memory", "--yes"]).expect_ok();
    assert!(!memory.stderr.contains("Careful") && memory.text().contains("runs no commands"), "{memory:?}");
}

// S12: nobody reads on
#[test]
fn a_reader_that_is_gone_ends_a_run_quietly() {
    let machine = Machine::new();
    let _server = machine.start();
    let mut child = machine
        .command(&["run", "--yes", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// Starts a server with scripts of the test's own: `NAME.yaml` is the model `scripted/NAME`.
fn start_with_scripts(machine: &Machine, scripts: &[(&str, &str)]) -> Server {
    let folder = machine.path().join("scripts");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, script) in scripts {
        std::fs::write(folder.join(format!("{name}.yaml")), script).unwrap();
    }
    let config = format!("[models]\nscripts_folder = \"{}\"\n", folder.display());
    std::fs::create_dir_all(machine.data()).unwrap();
    std::fs::write(machine.data().join("warren.toml"), config).unwrap();
    machine.start()
}

// S12, A33: a question to the user, at the terminal and by a command
#[test]
fn a_question_of_the_agent_is_answered_by_its_number_or_with_words() {
    let machine = Machine::new();
    let script = r#"
turns:
  - when: { not_called: ask_user }
    calls: [{ tool: ask_user, arguments: { question: "Which colour?", choices: [red, blue] } }]
  - when: { result_of: ask_user }
    text: "{last_result} it is"
"#;
    let _server = start_with_scripts(&machine, &[("ask", script)]);
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    let run =
        |session| ["run", "paint", "--model", "scripted/ask", "--workspace", "here", "--session", session];
    let mut pty = Pty::spawn(&machine.command(&run("typed")), 40, 120);
    pty.see("Which colour?");
    pty.see("Ctrl-D: later) > ");
    pty.type_in("2\r");
    pty.see("blue it is");
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
    let mut pty = Pty::spawn(&machine.command(&run("later")), 40, 120);
    pty.see("Ctrl-D: later) > ");
    pty.type_in("\u{4}");
    assert_eq!(pty.wait(), Some(WAITING), "{}", pty.screen());

    // `--yes` approves; it does not know what somebody would answer.
    let waiting = machine.run(&[&run("told")[..], &["--yes"]].concat());
    assert_eq!(waiting.code, Some(WAITING), "{waiting:?}");
    assert!(waiting.stderr.contains("Waits for an answer: Which colour?"), "{waiting:?}");
    assert!(waiting.stderr.contains("warren session answer told TEXT --call call_1_0"), "{waiting:?}");
    machine.run(&["session", "answer", "told", "sea green"]).expect_ok();
    let ended = machine.run(&["session", "follow", "told", "--after", "0"]).expect_ok();
    assert_eq!(ended.text(), "sea green it is\n");
    let again = machine.run(&["session", "answer", "told", "red", "--json"]).expect_error(5, "not_pending");
    assert!(again["hint"].as_str().unwrap().contains("warren session show told"), "{again}");
}

// S12, A31: a tool of the caller
#[test]
fn a_tool_of_the_caller_is_told_of_and_its_result_handed_in() {
    let machine = Machine::new();
    let script = r#"
turns:
  - when: { not_called: weather }
    calls: [{ tool: weather, arguments: { city: Bern } }]
  - when: { result_of: weather, result_failed: true }
    text: "No weather: {last_result}"
  - when: { result_of: weather }
    text: "It is {last_result}"
"#;
    let _server = start_with_scripts(&machine, &[("sky", script)]);
    let agent =
        "model: scripted/sky\ntools:\n  client: [{ name: weather, description: Tells the weather }]\n";
    std::fs::write(machine.path().join("sky.yaml"), agent).unwrap();
    machine.run(&["agent", "put", "sky.yaml", "--json"]).expect_error(1, "invalid_agent");
    machine.run(&["agent", "put", "sky.yaml", "--name", "sky"]).expect_ok();
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    for (session, answer, said) in [
        ("good", ["--output", "\"sunny\""], "It is sunny\n"),
        ("bad", ["--error", "no signal"], "No weather: no signal\n"),
    ] {
        let run = ["run", "hi", "--agent", "sky", "--workspace", "here", "--session", session, "--yes"];
        let waiting = machine.run(&run);
        assert_eq!(waiting.code, Some(WAITING), "{waiting:?}");
        assert!(
            waiting.stderr.contains(r#"a tool that its caller runs: weather {"city":"Bern"}"#),
            "{waiting:?}"
        );
        machine.run(&[&["session", "answer", session][..], &answer].concat()).expect_ok();
        let ended = machine.run(&["session", "follow", session, "--after", "0"]).expect_ok();
        assert_eq!(ended.text(), said);
    }
    let mut pty =
        Pty::spawn(&machine.command(&["run", "hi", "--agent", "sky", "--workspace", "here"]), 40, 120);
    pty.see("waits for its caller");
    assert_eq!(pty.wait(), Some(WAITING), "{}", pty.screen());
}

// S12, A14: what is used up is told, and a person allows more
#[test]
fn a_run_that_used_up_its_limits_goes_on_with_others() {
    let machine = Machine::new();
    let _server = machine.start();
    let agent = "name: short\nmodel: scripted/tour\nlimits: { run: { steps: 2 } }\n";
    std::fs::write(machine.path().join("short.yaml"), agent).unwrap();
    let ran = machine.run(&["run", "hi", "--agent", "short.yaml", "--session", "b"]);
    assert_eq!(ran.code, Some(WAITING), "{ran:?}");
    assert!(ran.stderr.contains("warren session resume b --steps COUNT"), "{ran:?}");
    assert!(machine.run(&["session", "ls"]).expect_ok().text().contains("suspended (budget)"));
    let resumed = machine.run(&["session", "resume", "b", "--steps", "10"]).expect_ok();
    assert!(resumed.text().contains(GONE), "{resumed:?}");
}

// S12, A32: Ctrl-C while the model speaks
#[test]
fn ctrl_c_stops_a_run_in_the_middle_and_it_can_be_resumed() {
    let machine = Machine::new();
    let slow = "turns:\n  - text: \"Once upon a time there was a very long story.\"\n    delay_ms: 1000\n";
    let _server = start_with_scripts(&machine, &[("slow", slow)]);
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    let run = ["run", "tell", "--model", "scripted/slow", "--workspace", "here", "--session", "story"];
    let mut pty = Pty::spawn(&machine.command(&run), 40, 120);
    pty.see("Once");
    pty.type_in("\u{3}");
    pty.see("warren session resume story");
    assert_eq!(pty.wait(), Some(130), "{}", pty.screen());
    let mut pty = Pty::spawn(&machine.command(&["session", "resume", "story"]), 40, 120);
    pty.see("long story.");
    assert_eq!(pty.wait(), Some(0), "{}", pty.screen());
}

// S12, A31: bad input
#[test]
fn a_blank_message_is_refused_with_a_hint() {
    let machine = Machine::new();
    let _server = start_with_scripts(&machine, &[("ok", "otherwise: { text: ok }")]);
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    let run = ["run", "hi", "--model", "scripted/ok", "--workspace", "here", "--session", "talk"];
    machine.run(&run).expect_ok();
    for text in ["", "  "] {
        machine.run(&["session", "send", "talk", text, "--json"]).expect_error(1, "blank_message");
        let told = machine.run(&["session", "send", "talk", text]);
        assert!(told.stderr.contains("warren session send NAME TEXT"), "{told:?}");
    }
    assert_eq!(machine.run(&["session", "show", "talk", "--json"]).expect_ok().json()["run"], 1);
}

// S12, A60: the server dies while the model speaks
#[test]
fn a_run_that_is_cut_in_mid_sentence_says_what_does_not_count_and_goes_on() {
    let machine = Machine::new();
    let slow = "turns:\n  - text: \"Once upon a time there was a very long story.\"\n    delay_ms: 300\n";
    let server = start_with_scripts(&machine, &[("slow", slow)]);
    machine.run(&["ws", "create", "here", "--provider", "memory"]).expect_ok();
    let run = ["run", "tell", "--model", "scripted/slow", "--workspace", "here", "--json"];
    let mut child = machine.command(&run).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut seen: Vec<Value> = Vec::new();
    while seen.last().is_none_or(|entry| entry["type"] != "text_delta") {
        seen.push(lines.next().unwrap());
    }
    server.kill();
    let _server = machine.start();
    seen.extend(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{seen:?}");
    let (last, entries) = seen.split_last().unwrap();
    assert_eq!(last["session"]["status"], "completed");
    let numbers: Vec<u64> = entries.iter().map(|entry| entry["sequence"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "no gap and nothing twice");
    let reset = entries.iter().rposition(|entry| entry["type"] == "step_reset").unwrap();
    let counted: String = entries[reset..]
        .iter()
        .filter(|entry| entry["type"] == "text_delta")
        .filter_map(|entry| entry["text"].as_str())
        .collect();
    assert_eq!(counted, "Once upon a time there was a very long story.");
}

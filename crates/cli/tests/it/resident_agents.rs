//! Real agents that speak the Agent Client Protocol, with a scripted model and no key: they answer, and ask before they act
//! through Warren's inbox.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::warren::{Ended, Machine, ended};

/// What the scripted model does for each of them: one command by the tool that the agent offers, then what it said.
const SCRIPT: &str = r#"
turns:
  - when: { user_contains: "please run it", offered: exec_command }
    text: "I run it."
    calls:
      - tool: exec_command
        arguments: { cmd: "echo made > made.txt; echo was-run", sandbox_permissions: require_escalated, justification: "Make a file?" }
  - when: { user_contains: "please run it", offered: shell }
    text: "I run it."
    calls: [{ tool: shell, arguments: { command: "echo made > made.txt; echo was-run" } }]
  - when: { user_contains: "please run it", offered: Bash }
    text: "I run it."
    calls: [{ tool: Bash, arguments: { command: "echo made > made.txt; echo was-run", description: "make a file" } }]
  - when: { user_contains: "please run it", offered: run_shell_command }
    text: "I run it."
    calls: [{ tool: run_shell_command, arguments: { command: "echo made > made.txt; echo was-run", description: "make a file", is_background: false } }]
  - when: { user_contains: "please run it", offered: bash }
    text: "I run it."
    calls: [{ tool: bash, arguments: { command: "echo made > made.txt; echo was-run", description: "make a file" } }]
  - when: { result_of: exec_command }
    text: "It said: {last_result}"
  - when: { result_of: shell }
    text: "It said: {last_result}"
  - when: { result_of: Bash }
    text: "It said: {last_result}"
  - when: { result_of: run_shell_command }
    text: "It said: {last_result}"
  - when: { result_of: bash }
    text: "It said: {last_result}"
otherwise: { text: "You said: {last_user}" }
"#;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn model_server(machine: &Machine) -> (Running, String) {
    std::fs::write(machine.path().join("script.yaml"), SCRIPT).unwrap();
    let mut command = machine.command(&["model-server", "--script", "script.yaml", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    (Running(child), told["url"].as_str().unwrap().to_owned())
}

/// Sends a message without waiting here; what came of it is read later.
fn send(machine: &Machine, text: &str) -> std::thread::JoinHandle<Ended> {
    let command = machine.command(&["task", "send", "agent", text]);
    std::thread::spawn(move || ended(command))
}

fn pending(machine: &Machine) -> Vec<Value> {
    let told = machine.run(&["approval", "ls", "--json"]).expect_ok().json();
    told.as_array().or(told["items"].as_array()).unwrap().clone()
}

/// One agent: it answers, and what it wants to do is decided in the inbox, once no and once yes.
fn try_agent(name: &str) {
    let machine = Machine::new();
    let _server = machine.start();
    let (_model, url) = model_server(&machine);
    machine.run(&["ws", "create", "agent", "--provider", "memory", "--runtime", "external"]).expect_ok();
    let folder = machine.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/residents.sh");
    let home = machine.path().join("agent-home");
    let words = ["runner", "--workspace", "agent", "--adapter", "acp", "--"];
    let agent = [script.to_str().unwrap(), "agent", name, &url, home.to_str().unwrap()];
    let log = machine.path().join("runner.log");
    let mut command = machine.command(&[&words[..], &agent].concat());
    command.current_dir(&folder).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    for variable in ["CARGO_TARGET_DIR", "npm_config_cache"] {
        if let Some((_, value)) = std::env::vars_os().find(|(known, _)| known == variable) {
            command.env(variable, value);
        }
    }
    let _runner = Running(command.spawn().unwrap());

    let said = send(&machine, "hello there").join().unwrap();
    assert!(said.code == Some(0) && said.text().contains("You said: "), "{name}: {said:?}\n{}", read(&log));

    for (decision, is_made) in [("deny", false), ("approve", true)] {
        let answer = send(&machine, "please run it");
        let mut asked = Vec::new();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while asked.is_empty() && !answer.is_finished() {
            asked = pending(&machine);
            assert!(std::time::Instant::now() < deadline, "{name}: nobody asked\n{}", read(&log));
        }
        if asked.is_empty() {
            panic!("{name} did not ask: {:?}", answer.join().unwrap());
        }
        let shown = asked[0]["context"]["call"].to_string();
        assert!(shown.contains("echo made > made.txt"), "{name}: what is shown is what runs: {}", asked[0]);
        assert!(!folder.join("made.txt").exists(), "{name}: not before somebody said so");
        machine.run(&["approval", decision, asked[0]["id"].as_str().unwrap()]).expect_ok();
        let answer = answer.join().unwrap();
        assert_eq!(folder.join("made.txt").exists(), is_made, "{name}: {decision}: {answer:?}");
        if is_made {
            assert!(answer.text().contains("was-run"), "{name}: {answer:?}");
        }
    }
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

// A80, X51
#[test]
fn goose_answers_and_asks_through_the_inbox() {
    try_agent("goose");
}

// A80, A82, X51
#[test]
fn codex_answers_and_asks_through_the_inbox() {
    try_agent("codex");
}

// A80, X51: in `make test-residents`, which names them
#[test]
fn those_that_are_named_answer_and_ask_through_the_inbox() {
    let named = std::env::vars_os().find(|(name, _)| name == "WARREN_TEST_RESIDENTS");
    let named = named.map(|(_, names)| names.into_string().unwrap()).unwrap_or_default();
    let names: Vec<&str> = named.split_whitespace().collect();
    if names.is_empty() {
        println!("none is named: see make test-residents");
    }
    names.into_iter().for_each(try_agent);
}

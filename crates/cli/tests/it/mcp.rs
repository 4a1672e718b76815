//! `warren mcp` as a desktop agent starts it: messages by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::warren::{Machine, wait_until};

/// A running `warren mcp`; it is killed when the test ends.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Bridge {
    fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let mut command = machine.command(&[&["mcp"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), output, child }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn begin(&mut self) -> Value {
        let client_info = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info });
        let began = self.ask(0, "initialize", &params);
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        began
    }

    /// Closes the input and answers with how it ended.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn workspace(machine: &Machine) {
    let policy = r#"{"run":{"mode":"argv","allow_unrestrained":["sh"]}}"#;
    let create = ["ws", "create", "desk", "--provider", "local", "--provider-config", policy];
    machine.run(&create).expect_ok();
}

// S30, W64
#[test]
fn a_desktop_agent_gets_the_workspaces_tools_and_files() {
    let machine = Machine::new();
    let _server = machine.start();
    workspace(&machine);
    let mut bridge = Bridge::start(&machine, &["--workspace", "desk"]);
    let began = bridge.begin();
    assert_eq!(began["result"]["protocolVersion"], "2025-11-25", "{began}");
    assert_eq!(began["result"]["serverInfo"]["name"], "warren");
    let listed = bridge.ask(1, "tools/list", &json!({}));
    assert!(listed["result"]["tools"].to_string().contains("workspace_write_file"), "{listed}");
    let written = json!({ "path": "a.txt", "content": "hello" });
    bridge.ask(2, "tools/call", &json!({ "name": "workspace_write_file", "arguments": written }));
    let files = bridge.ask(3, "resources/list", &json!({}));
    let uri = files["result"]["resources"][0]["uri"].clone();
    let read = bridge.ask(4, "resources/read", &json!({ "uri": uri }));
    assert_eq!(read["result"]["contents"][0]["text"], "hello", "{read}");
    assert_eq!(machine.run(&["ws", "files", "cat", "desk", "a.txt"]).expect_ok().text(), "hello");
    assert_eq!(bridge.end(), Some(0));
}

// S30: the current revision, in which every message stands alone
#[test]
fn the_platforms_tools_are_there_without_a_workspace() {
    let machine = Machine::new();
    let _server = machine.start();
    workspace(&machine);
    let mut bridge = Bridge::start(&machine, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = bridge.ask(1, "server/discover", &json!({ "_meta": meta }));
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let call = json!({ "name": "list_workspaces", "arguments": {}, "_meta": meta });
    let listed = bridge.ask(2, "tools/call", &call);
    assert_eq!(listed["result"]["structuredContent"]["items"][0]["name"], "desk", "{listed}");
    assert_eq!(bridge.end(), Some(0));
}

// S30: progress comes through, and cancelling kills the command, as hanging up does
#[test]
fn a_long_call_tells_of_its_progress_and_can_be_cancelled() {
    let machine = Machine::new();
    let _server = machine.start();
    workspace(&machine);
    let mut bridge = Bridge::start(&machine, &["--workspace", "desk"]);
    bridge.begin();
    let script = "echo $$ > pid.new; mv pid.new pid; exec sleep 600";
    let call = json!({
        "name": "workspace_run",
        "arguments": { "argv": ["sh", "-c", script] },
        "_meta": { "progressToken": 7 },
    });
    bridge.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }));
    let progress = bridge.hear();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], 7);
    let pid = machine.run(&["ws", "files", "cat", "desk", "pid"]).expect_ok().text().trim().to_owned();
    let folder = std::path::Path::new("/proc").join(pid);
    assert!(folder.exists());
    // Other calls are answered meanwhile.
    bridge.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
    let mut answer = bridge.hear();
    while answer["method"] == "notifications/progress" {
        answer = bridge.hear();
    }
    assert_eq!((&answer["id"], &answer["result"]), (&json!(2), &json!({})), "{answer}");
    let params = json!({ "requestId": 1, "reason": "enough" });
    bridge.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    wait_until("the end of the command", || !folder.exists());
    assert_eq!(bridge.end(), Some(0));
}

// S30, F30
#[test]
fn what_does_not_get_through_is_answered_in_the_agents_own_language() {
    let machine = Machine::new();
    let server = machine.start();
    workspace(&machine);
    machine.run(&["--json", "mcp", "--workspace", "nowhere"]).expect_error(3, "workspace_not_found");
    let mut bridge = Bridge::start(&machine, &["--url", server.url(), "--token", "garbage"]);
    let refused = bridge.ask(1, "tools/list", &json!({}));
    assert_eq!(refused["error"]["data"]["code"], "unauthenticated", "{refused}");
    writeln!(bridge.input.as_mut().unwrap(), "not json").unwrap();
    let refused = bridge.hear();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(null), &json!(-32_700)), "{refused}");
    drop(server);
    let refused = bridge.ask(2, "tools/list", &json!({}));
    assert_eq!(refused["error"]["data"]["code"], "server_unreachable", "{refused}");
    assert_eq!(bridge.end(), Some(0));
}

// S30: for scripts
#[test]
fn what_was_asked_before_the_input_ended_is_still_answered() {
    let machine = Machine::new();
    let _server = machine.start();
    let lines = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    let answered = machine.run_with_input(&["mcp"], lines.as_bytes()).expect_ok().json();
    assert!(answered["result"]["tools"].to_string().contains("list_workspaces"), "{answered}");
}

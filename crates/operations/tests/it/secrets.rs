//! Secrets in what is done in a workspace: they are there as variables, and in nothing that is shown or kept.

use serde_json::{Value, json};
use warren_operations::ToolOutcome;
use warren_testkit::eventually;
use warren_workspace::shell::{Command, PtySize, Start};

use crate::Desk;

const SECRET: &str = "hunter2-hunter2";

async fn allowing(program: &str) -> Desk {
    Desk::with(json!({ "kind": "local", "run": { "allow_unrestrained": [program] } })).await
}

/// Waits until a file holds this. Scripts put it there in one step: a file that is read while it is written has no whole
/// answer.
async fn holds(desk: &Desk, text: &str) {
    let file = desk.bed.place(desk.id).join("out");
    eventually(text, async || std::fs::read_to_string(&file).is_ok_and(|found| found == text)).await;
}

fn script(name: &str) -> String {
    format!("printf '{name} %s' \"$API_KEY\" > new && mv new out")
}

// F32
#[tokio::test]
async fn background_processes_terminals_and_tools_get_them_too() {
    let desk = allowing("sh").await;
    desk.set_secret("API_KEY", SECRET).await;
    let (operations, who, id) = (&desk.operations, &desk.who, desk.id);
    for (name, pty) in [("process", None), ("pty", Some(PtySize { rows: 24, columns: 80 }))] {
        let start = Start { command: Command::script(script(name)), pty };
        operations.processes.start(who, id, start).await.unwrap();
        holds(&desk, &format!("{name} {SECRET}")).await;
    }
    for tool in ["workspace_run", "workspace_run_background"] {
        let arguments = json!({ "argv": ["sh", "-c", script(tool)] });
        let outcome = operations.tools.call(who, id, tool, arguments).await.unwrap();
        assert!(matches!(outcome, ToolOutcome::Answered(_)), "{outcome:?}");
        holds(&desk, &format!("{tool} {SECRET}")).await;
    }
}

// F32: a variable that is a secret is not the model's to set
#[tokio::test]
async fn a_model_cannot_put_something_else_in_a_secrets_place() {
    let desk = allowing("printenv").await;
    desk.set_secret("API_BASE_URL", "https://api.example.com").await;
    let call = async |env: Value| {
        let arguments = json!({ "argv": ["printenv"], "env": env });
        desk.operations.tools.call(&desk.who, desk.id, "workspace_run", arguments).await.unwrap()
    };
    let outcome = call(json!({ "API_BASE_URL": "https://evil.example.com" })).await;
    let ToolOutcome::Refused(refusal) = outcome else { panic!("{outcome:?}") };
    assert_eq!(refusal.kind, "variable");
    assert!(refusal.sentence.contains("API_BASE_URL"), "{refusal:?}");
    assert!(matches!(call(json!({ "OTHER": "x" })).await, ToolOutcome::Answered(_)));
}

// sec/T10: events hold names of programs, and a program's name may be anything
#[tokio::test]
async fn what_a_command_leaves_in_the_event_log_holds_no_secret() {
    let desk = Desk::local().await;
    desk.set_secret("API_KEY", SECRET).await;
    for text in ["echo \"$API_KEY\"", "exec \"$API_KEY\""] {
        let command = Command::script(text);
        let result = desk.operations.commands.run(&desk.who, desk.id, command).await.unwrap();
        assert!(!String::from_utf8_lossy(&result.stdout.bytes).contains(SECRET));
        assert!(!String::from_utf8_lossy(&result.stderr.bytes).contains(SECRET));
    }
    let finished = "workspace.command.finished";
    eventually("both are written", async || desk.written(finished).await.len() == 2).await;
    let told = format!("{:?}", desk.bed.all_events().await);
    assert!(!told.contains(SECRET), "{told}");
}

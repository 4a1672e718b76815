use serde_json::{Value, json};
use warren_model::{Capability, ErrorCode};
use warren_operations::ToolOutcome;

use crate::Desk;

async fn allowing(programs: &[&str]) -> Desk {
    Desk::with(json!({ "kind": "local", "run": { "mode": "argv", "allow_unrestrained": programs } })).await
}

async fn answered(desk: &Desk, name: &str, arguments: Value) -> Value {
    match desk.operations.tools.call(&desk.who, desk.id, name, arguments).await.unwrap() {
        ToolOutcome::Answered(answer) => answer,
        ToolOutcome::Refused(refusal) => panic!("{refusal:?}"),
    }
}

// W60
#[tokio::test]
async fn the_catalog_follows_the_capabilities() {
    let desk = Desk::with(json!({ "kind": "memory" })).await;
    let catalog = desk.operations.tools.catalog(&desk.who, desk.id).await.unwrap();
    assert!(catalog.capabilities.contains(Capability::Fs));
    assert!(catalog.tools.iter().any(|tool| tool.name == "workspace_read_file"));
    assert!(!catalog.tools.iter().any(|tool| tool.name == "workspace_run"));
}

// W64, F40: the same events as when a person does it
#[tokio::test]
async fn what_a_tool_did_is_written_down_without_contents_or_arguments() {
    let desk = allowing(&["sh", "ls"]).await;
    answered(&desk, "workspace_write_file", json!({ "path": "a.txt", "content": "canary" })).await;
    answered(&desk, "workspace_mv", json!({ "from": "a.txt", "to": "b.txt" })).await;
    answered(&desk, "workspace_run", json!({ "argv": ["ls", "canary-argument"] })).await;
    answered(&desk, "workspace_run_background", json!({ "argv": ["ls"] })).await;
    let files = desk.journal("workspace.file.changed").await;
    assert_eq!(files[0], json!({ "operation": "write", "path": "a.txt", "bytes": 6 }));
    assert_eq!(files[1], json!({ "operation": "move", "path": "b.txt", "bytes": 0 }));
    let started = desk.journal("workspace.process.started").await;
    assert_eq!(started, [json!({ "process": 1, "program": "ls", "has_pty": false })]);
    let ended = loop {
        let ended = desk.journal("workspace.command.finished").await;
        if ended.len() == 2 {
            break ended;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let of_process: Vec<_> = ended.iter().map(|event| &event["process"]).collect();
    assert!(of_process.contains(&&json!(null)) && of_process.contains(&&json!(1)), "{ended:?}");
    assert!(!format!("{files:?}{started:?}{ended:?}").contains("canary"));
}

// W61, W62: a refusal is no error, opens nothing and leaves no command behind
#[tokio::test]
async fn a_refusal_says_what_is_allowed_and_runs_nothing() {
    let desk = allowing(&["ls"]).await;
    let arguments = json!({ "argv": ["curl", "x"] });
    let outcome = desk.operations.tools.call(&desk.agent().await, desk.id, "workspace_run", arguments).await;
    let Ok(ToolOutcome::Refused(refusal)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(refusal.kind, "program_not_allowed");
    assert_eq!(refusal.sentence, "`curl` is not on the allowlist");
    assert_eq!(refusal.allowed, "`argv` with one of these programs: ls");
    answered(&desk, "workspace_run", json!({ "argv": ["ls"] })).await;
    let written = desk.journal("workspace.command.finished").await;
    assert_eq!((written.len(), &written[0]["program"]), (1, &json!("ls")));
}

// W64
#[tokio::test]
async fn bad_arguments_and_unknown_tools_are_told() {
    let desk = Desk::with(json!({ "kind": "memory" })).await;
    let call = async |name: &str, arguments| {
        desk.operations.tools.call(&desk.who, desk.id, name, arguments).await.unwrap_err()
    };
    assert_eq!(call("workspace_nothing", json!({})).await.code, ErrorCode::ToolNotFound);
    let bad = call("workspace_ls", json!({ "depth": "deep" })).await;
    assert_eq!(bad.code, ErrorCode::InvalidRequest);
    assert!(bad.detail.is_some_and(|detail| detail.starts_with("depth:")));
}

// W61
#[tokio::test]
async fn without_an_allowlist_local_runs_nothing_for_a_model() {
    let desk = Desk::local().await;
    let arguments = json!({ "argv": ["echo", "hi"] });
    let outcome = desk.operations.tools.call(&desk.who, desk.id, "workspace_run", arguments).await;
    assert!(matches!(outcome, Ok(ToolOutcome::Refused(_))), "{outcome:?}");
}

// W62: refusals reach the event log, rolled up
#[tokio::test]
async fn refusals_are_recorded_without_flooding_the_log() {
    let desk = Desk::local().await;
    for _ in 0..20 {
        let arguments = json!({ "argv": ["curl"] });
        desk.operations.tools.call(&desk.who, desk.id, "workspace_run", arguments).await.unwrap();
    }
    // A stop writes what is not told yet.
    let desk = desk.restart().await;
    let refused = desk.written("workspace.tool.refused").await;
    let counts: Vec<u64> = refused.iter().map(|data| data["count"].as_u64().unwrap()).collect();
    assert!((1..=3).contains(&counts.len()), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), 20, "no refusal is lost: {counts:?}");
}

// W64
#[tokio::test]
async fn files_written_by_a_tool_are_the_workspaces_files() {
    let desk = allowing(&[]).await;
    answered(&desk, "workspace_write_file", json!({ "path": "a.txt", "content": "hello\n" })).await;
    let place = desk.bed.place(desk.id);
    assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "hello\n");
    let read = answered(&desk, "workspace_read_file", json!({ "path": "a.txt" })).await;
    assert!(read.to_string().contains("hello"), "{read}");
}

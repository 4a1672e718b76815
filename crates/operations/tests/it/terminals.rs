use serde_json::json;
use warren_model::ErrorCode;
use warren_operations::{Terminal, TerminalRequest};
use warren_workspace::WorkspacePath;
use warren_workspace::shell::{ProcessState, PtySize, Shell as _};

use crate::Desk;

async fn open(desk: &Desk, request: TerminalRequest, ends_with_connection: bool) -> Terminal {
    let access = desk.operations.terminals.admit(&desk.who, desk.id).await.unwrap();
    access.open(request, ends_with_connection).await.unwrap()
}

fn shell() -> TerminalRequest {
    TerminalRequest::Start { command: None, cwd: WorkspacePath::root(), size: None }
}

// W30: nobody knows its number, so nobody could ever end it
#[tokio::test]
async fn a_terminal_that_nobody_was_connected_to_ends_its_process() {
    let desk = Desk::local().await;
    let terminal = open(&desk, shell(), false).await;
    assert_eq!(terminal.process().state, ProcessState::Running);
    drop(terminal);
    assert_eq!(desk.journal("workspace.command.finished").await[0]["signal"], 9);
}

// W30
#[tokio::test]
async fn a_process_outlives_its_terminal_and_is_attached_to_again() {
    let desk = Desk::local().await;
    let mut terminal = open(&desk, shell(), false).await;
    terminal.connected();
    let process = terminal.process().id;
    drop(terminal);
    let size = Some(PtySize { rows: 50, columns: 120 });
    let again = open(&desk, TerminalRequest::Attach { process, offset: 0, size }, true).await;
    assert_eq!(again.process().id, process);
    assert!(again.shell().unwrap().list().await.unwrap().iter().any(|listed| listed.id == process));
    drop(again);
    let ended = desk.journal("workspace.command.finished").await;
    assert_eq!((&ended[0]["process"], &ended[0]["signal"]), (&json!(1), &json!(9)));
}

// F30
#[tokio::test]
async fn an_agent_gets_no_terminal() {
    let desk = Desk::local().await;
    let refused = desk.operations.terminals.admit(&desk.agent().await, desk.id).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
}

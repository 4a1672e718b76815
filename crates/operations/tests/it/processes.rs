use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use warren_model::{ErrorCode, Scope};
use warren_operations::ProcessEvent;
use warren_workspace::shell::{Command, Poll, ProcessId, ProcessState, Signal, Start};

use crate::{Desk, PATIENCE};

const FIRST: ProcessId = ProcessId(1);

async fn start(desk: &Desk, script: &str) {
    let start = Start { command: Command::script(script), pty: None };
    desk.operations.processes.start(&desk.who, desk.id, start).await.unwrap();
}

// F40, W30: both ends of a background process are in the log, without its arguments
#[tokio::test]
async fn a_process_is_written_down_when_it_starts_and_when_it_ends() {
    let desk = Desk::local().await;
    let command = Command::argv(["sh", "-c", "exit 6", "canary-argument"]);
    desk.operations.processes.start(&desk.who, desk.id, Start { command, pty: None }).await.unwrap();
    let ended = desk.journal("workspace.command.finished").await;
    assert_eq!(ended.len(), 1);
    assert_eq!((&ended[0]["exit_code"], &ended[0]["process"]), (&json!(6), &json!(1)));
    assert_eq!(ended[0]["abandoned"], false);
    let started = desk.journal("workspace.process.started").await;
    assert_eq!(started[0], json!({ "process": 1, "program": "sh", "has_pty": false }));
    assert!(!format!("{started:?}{ended:?}").contains("canary"));
}

// W30
#[tokio::test]
async fn a_process_is_fed_read_from_any_offset_and_listed() {
    let desk = Desk::local().await;
    let processes = &desk.operations.processes;
    start(&desk, "read line; echo got $line").await;
    let input = Bytes::from_static(b"bread\n");
    processes.write_input(&desk.who, desk.id, FIRST, input, false).await.unwrap();
    let poll = Poll { offset: 4, max_bytes: 100, wait_ms: 10_000 };
    let polled = processes.output(&desk.who, desk.id, FIRST, poll).await.unwrap();
    assert_eq!((&polled.bytes[..], polled.next_offset), (&b"bread\n"[..], 10));
    let listed = processes.list(&desk.who, desk.id).await.unwrap();
    assert_eq!(listed.iter().map(|process| process.id).collect::<Vec<_>>(), [FIRST]);
    let missing = processes.get(&desk.who, desk.id, ProcessId(9)).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::ProcessNotFound);
}

// S10: what a process was started with is told to who may read its output, without secrets
#[tokio::test]
async fn the_command_line_of_a_process_is_told_with_its_secrets_masked() {
    let desk = Desk::local().await;
    desk.set_secret("SONG", "moonlight-sonata").await;
    let processes = &desk.operations.processes;
    let command = Command::argv(["sh", "-c", "sleep 60", "play moonlight-sonata"]);
    processes.start(&desk.who, desk.id, Start { command, pty: None }).await.unwrap();
    let listed = processes.list(&desk.who, desk.id).await.unwrap();
    let lines = processes.command_lines(&desk.who, desk.id, &listed).await.unwrap();
    let line = &lines[&FIRST];
    assert!(line.starts_with("sh -c 'sleep 60' 'play ") && !line.contains("moonlight"), "{line}");
    let reader = desk.user([Scope::WorkspacesRead].into_iter().collect()).await;
    assert_eq!(processes.list(&reader, desk.id).await.unwrap().len(), 1);
    assert!(processes.command_lines(&reader, desk.id, &listed).await.unwrap().is_empty());
}

// W30: a reader gets everything once, and then the end
#[tokio::test]
async fn a_process_is_followed_to_its_end() {
    let desk = Desk::local().await;
    start(&desk, "echo one; sleep 0.1; echo two; exit 4").await;
    let follow = desk.operations.processes.follow(&desk.who, desk.id, FIRST, 0, CancellationToken::new());
    let events: Vec<_> = follow.await.unwrap().collect().await;
    let mut text = Vec::new();
    for (event, _) in &events {
        if let ProcessEvent::Output { bytes, .. } = event {
            text.extend_from_slice(bytes);
        }
    }
    assert_eq!(text, b"one\ntwo\n");
    let exited = ProcessEvent::Exited { exit_code: Some(4), signal: None, timed_out: false };
    assert_eq!(events.last(), Some(&(exited, 8)));
}

// sec/U05, F8
#[tokio::test]
async fn a_reader_is_told_why_it_must_stop() {
    let desk = Desk::local().await;
    start(&desk, "echo one; sleep 600").await;
    let stop = CancellationToken::new();
    let follow = desk.operations.processes.follow(&desk.who, desk.id, FIRST, 0, stop.clone());
    let mut events = follow.await.unwrap();
    assert!(matches!(events.next().await, Some((ProcessEvent::Output { .. }, 4))));
    stop.cancel();
    let rest: Vec<_> = tokio::time::timeout(PATIENCE, events.collect()).await.expect("it ends");
    assert_eq!(rest, [(ProcessEvent::Closing(ErrorCode::ShuttingDown), 4)]);
}

// F30, W61: what an agent's own token may do
#[tokio::test]
async fn an_agent_reads_and_ends_processes_and_starts_or_feeds_none() {
    let desk = Desk::local().await;
    let (processes, agent) = (&desk.operations.processes, desk.agent().await);
    start(&desk, "echo out; sleep 600").await;
    let poll = Poll { offset: 0, max_bytes: 100, wait_ms: 10_000 };
    assert_eq!(&processes.output(&agent, desk.id, FIRST, poll).await.unwrap().bytes[..], b"out\n");
    let another = Start { command: Command::argv(["true"]), pty: None };
    let refused = processes.start(&agent, desk.id, another).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
    let fed = processes.write_input(&agent, desk.id, FIRST, Bytes::from_static(b"x"), false).await;
    assert_eq!(fed.unwrap_err().code, ErrorCode::Forbidden);
    processes.signal(&agent, desk.id, FIRST, Signal::Kill).await.unwrap();
    let ended = desk.journal("workspace.command.finished").await;
    assert_eq!(ended[0]["signal"], 9);
    let state = processes.get(&agent, desk.id, FIRST).await.unwrap().state;
    assert_eq!(state, ProcessState::Exited { exit_code: None, signal: Some(9), timed_out: false });
}

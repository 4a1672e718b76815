use futures_util::StreamExt as _;
use serde_json::json;
use warren_model::{ErrorCode, Scope};
use warren_operations::CommandEvent;
use warren_testkit::eventually;
use warren_workspace::shell::Command;

use crate::{Desk, PATIENCE};

// W30, F40: the journal names the program, never its arguments
#[tokio::test]
async fn a_command_runs_to_its_end_and_is_written_down_without_its_arguments() {
    let desk = Desk::local().await;
    let command = Command::argv(["sh", "-c", "echo out; exit 7", "canary-argument"]);
    let result = desk.operations.commands.run(&desk.who, desk.id, command).await.unwrap();
    assert_eq!((result.exit_code, &result.stdout.bytes[..]), (Some(7), &b"out\n"[..]));
    let written = desk.journal("workspace.command.finished").await;
    assert_eq!(written.len(), 1);
    assert_eq!((&written[0]["program"], &written[0]["exit_code"]), (&json!("sh"), &json!(7)));
    assert_eq!(written[0]["abandoned"], false);
    assert!(!written[0].to_string().contains("canary"));
}

// F40, W32: whoever hangs up ends the command, and leaves an event
#[tokio::test]
async fn a_command_whose_caller_is_gone_is_ended_and_written_as_abandoned() {
    let desk = Desk::local().await;
    let (operations, who, id) = (desk.operations.clone(), desk.who.clone(), desk.id);
    let command = Command::script("touch under-way; sleep 600");
    let running = tokio::spawn(async move { operations.commands.run(&who, id, command).await });
    desk.file("under-way").await;
    running.abort();
    let written = desk.journal("workspace.command.finished").await;
    assert_eq!((&written[0]["abandoned"], &written[0]["program"]), (&json!(true), &json!("/bin/sh")));
}

// F40, W32
#[tokio::test]
async fn a_stream_that_is_dropped_ends_its_command_and_is_written_as_abandoned() {
    let desk = Desk::local().await;
    let command = Command::script("echo first; sleep 600");
    let mut stream = desk.operations.commands.stream(&desk.who, desk.id, command).await.unwrap();
    let first = stream.next().await;
    assert!(matches!(&first, Some(CommandEvent::Stdout(bytes)) if &bytes[..] == b"first\n"), "{first:?}");
    assert!(desk.written("workspace.command.finished").await.is_empty());
    drop(stream);
    assert_eq!(desk.journal("workspace.command.finished").await[0]["abandoned"], true);
}

// W30, F40
#[tokio::test]
async fn a_stream_ends_with_the_result_which_is_written_once() {
    let desk = Desk::local().await;
    let command = Command::script("echo out; echo err >&2; exit 3");
    let stream = desk.operations.commands.stream(&desk.who, desk.id, command).await.unwrap();
    let events: Vec<_> = stream.collect().await;
    let last = events.last();
    assert!(matches!(last, Some(CommandEvent::Finished(result)) if result.exit_code == Some(3)), "{last:?}");
    let written = desk.journal("workspace.command.finished").await;
    assert_eq!((written.len(), &written[0]["exit_code"]), (1, &json!(3)));
}

// sec/U05
#[tokio::test]
async fn a_stream_ends_soon_after_its_token_is_revoked() {
    let desk = Desk::local().await;
    let who = desk.user([Scope::WorkspacesRead, Scope::WorkspacesUse].into_iter().collect()).await;
    let command = Command::script("while :; do echo tick; sleep 0.05; done");
    let stream = desk.operations.commands.stream(&who, desk.id, command).await.unwrap();
    desk.bed.fleet.tokens.revoke(&desk.who, who.token.id, warren_fleet::Made::Ends).await.unwrap();
    let events: Vec<_> = tokio::time::timeout(PATIENCE, stream.collect()).await.expect("it ends");
    let last = events.last();
    assert!(
        matches!(last, Some(CommandEvent::Failed(error)) if error.code == ErrorCode::TokenExpired),
        "{last:?}"
    );
    assert_eq!(desk.journal("workspace.command.finished").await[0]["abandoned"], true);
}

// F30, W61: an agent runs commands by its tools, under the policy, and in no other way
#[tokio::test]
async fn an_agent_runs_no_command_but_by_its_tools() {
    let desk = Desk::local().await;
    let agent = desk.agent().await;
    let refused = desk.operations.commands.run(&agent, desk.id, Command::argv(["true"])).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
}

// W30: what could not be started was never a command
#[tokio::test]
async fn a_command_that_cannot_start_leaves_no_event() {
    let desk = Desk::local().await;
    let command = Command::argv(["no-such-program-here"]);
    let refused = desk.operations.commands.run(&desk.who, desk.id, command).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ProgramNotFound);
    desk.operations.commands.run(&desk.who, desk.id, Command::argv(["true"])).await.unwrap();
    let written = desk.journal("workspace.command.finished").await;
    assert_eq!((written.len(), &written[0]["program"]), (1, &json!("true")));
}

// W32
#[tokio::test]
async fn a_timeout_ends_the_command_and_says_so() {
    let desk = Desk::local().await;
    let command = Command { timeout_ms: Some(100), ..Command::script("sleep 600") };
    let result = desk.operations.commands.run(&desk.who, desk.id, command).await.unwrap();
    assert!(result.timed_out);
}

// F8, W16
#[tokio::test]
async fn removing_a_workspace_ends_the_commands_in_it() {
    let desk = Desk::local().await;
    let (operations, who, id) = (desk.operations.clone(), desk.who.clone(), desk.id);
    let command = Command::script("echo $$ > pid; sleep 600 & wait");
    let running = tokio::spawn(async move { operations.commands.run(&who, id, command).await });
    let number = || std::fs::read_to_string(desk.bed.place(id).join("pid")).unwrap_or_default();
    eventually("it is under way", async || number().ends_with('\n')).await;
    let process = std::path::Path::new("/proc").join(number().trim());
    desk.bed.remove(id).await;
    let ended = tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert_eq!(ended.unwrap_err().code, ErrorCode::WorkspaceNotReady);
    assert!(!process.exists(), "it still runs");
}

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use warren_doors::Environment;
use warren_testkit::Warren;

use crate::local;

async fn exec(warren: &Warren, id: warren_model::WorkspaceId, body: Value) -> warren_testkit::Answer {
    warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await
}

// W30
#[tokio::test]
async fn a_command_answers_with_its_output_and_exit_code() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let result = exec(&warren, id, json!({ "command": "echo out; echo err >&2; exit 7" })).await.json();
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("out\n"), &json!("err\n")));
    assert_eq!((&result["exit_code"], &result["signal"]), (&json!(7), &json!(null)));
    let result = exec(&warren, id, json!({ "argv": ["cat"], "stdin": "hello" })).await.json();
    assert_eq!(result["stdout"], "hello");
    let result = exec(&warren, id, json!({ "argv": ["sh", "-c", "kill -9 $$"] })).await.json();
    assert_eq!((&result["exit_code"], &result["signal"]), (&json!(null), &json!(9)));
    let result = exec(&warren, id, json!({ "command": "printf '\\377\\376'" })).await.json();
    assert_eq!(result["stdout_base64"], "//4=", "exact bytes are there: {result}");
}

// W33
#[tokio::test]
async fn the_hosts_environment_stays_outside() {
    let environment: Environment = [("SECRET", "canary-value"), ("LANG_OF_HOST", "fr")].into_iter().collect();
    let warren = Warren::builder().environment(environment).start().await;
    let id = warren.workspace(json!({ "kind": "local", "pass_env": ["LANG_OF_HOST"] })).await;
    let body = json!({ "argv": ["env"], "env": { "MINE": "yes" } });
    let shown = exec(&warren, id, body).await.json()["stdout"].as_str().unwrap().to_owned();
    assert!(!shown.contains("canary-value") && !shown.contains("CARGO"), "{shown}");
    assert!(shown.contains("LANG_OF_HOST=fr") && shown.contains("MINE=yes"), "{shown}");
}

// W30, sec/T09
#[tokio::test]
async fn commands_that_cannot_be_are_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let cases = [
        (json!({}), "invalid_command"),
        (json!({ "argv": ["true"], "command": "true" }), "invalid_command"),
        (json!({ "argv": [] }), "invalid_command"),
        (json!({ "argv": ["a\u{0}b"] }), "invalid_command"),
        (json!({ "argv": ["x".repeat(200_000)] }), "invalid_command"),
        (json!({ "argv": ["no-such-program-here"] }), "program_not_found"),
        (json!({ "argv": ["true"], "cwd": "missing" }), "file_not_found"),
        (json!({ "argv": ["true"], "cwd": "../.." }), "path_escapes"),
        (json!({ "argv": ["true"], "colour": 1 }), "invalid_request"),
    ];
    for (body, code) in cases {
        let answer = exec(&warren, id, body.clone()).await;
        assert_eq!(answer.code(), code, "{}", answer.text());
        assert!(answer.status < 500);
    }
}

// W30: the streaming form over SSE
#[tokio::test]
async fn output_is_streamed_as_it_comes() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let call = warren.call("POST", &format!("/api/v1/workspaces/{id}/exec")).token(&warren.token);
    let call = call.header("accept", "text/event-stream");
    // The command waits for a file that is only written once its first line was seen.
    let script = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second; exit 3";
    let mut stream = call.json(&json!({ "command": script })).open().await.bytes_stream();
    let mut text = String::new();
    while !text.contains("Zmlyc3QK") {
        text.push_str(&String::from_utf8_lossy(&stream.next().await.expect("more").unwrap()));
    }
    assert!(!text.contains("finished"));
    warren.put(&format!("/api/v1/workspaces/{id}/files?path=go"), "").await;
    while let Some(piece) = stream.next().await {
        text.push_str(&String::from_utf8_lossy(&piece.unwrap()));
    }
    assert!(text.contains("c2Vjb25kCg=="), "{text}");
    assert!(text.contains(r#""exit_code":3"#) && text.contains(r#""type":"finished""#), "{text}");
}

// W32, spec/README rule 8
#[tokio::test]
async fn a_client_that_hangs_up_ends_its_command() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let call = warren.call("POST", &format!("/api/v1/workspaces/{id}/exec")).token(&warren.token);
    let call = call.header("accept", "text/event-stream");
    let body = json!({ "command": BOTH_KINDS_OF_CHILDREN });
    let stream = call.json(&body).open().await.bytes_stream();
    let commands = started_commands(&workspace_folder(warren.folder(), id)).await;
    drop(stream);
    for _ in 0..400 {
        if running(&commands).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still running after the client left: {:?}", running(&commands));
}

/// A command that never ends, with a child in its group and one in a session of its own. Each writes its process id.
pub(crate) const BOTH_KINDS_OF_CHILDREN: &str = "sh -c 'echo $$ > one.new; mv one.new one.pid; exec sleep 7101' & \
     setsid sh -c 'echo $$ > two.new; mv two.new two.pid; exec sleep 7101' & wait";

pub(crate) fn workspace_folder(
    warren: &std::path::Path,
    id: warren_model::WorkspaceId,
) -> std::path::PathBuf {
    warren.join("workspaces").join(id.to_string())
}

/// The process ids of both children, once both sleep.
pub(crate) async fn started_commands(folder: &std::path::Path) -> Vec<u32> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
    loop {
        let found: Vec<u32> = ["one.pid", "two.pid"].into_iter().filter_map(read).collect();
        if found.len() == 2 && running(&found) == found {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Those of `commands` that the kernel still has. A command that merely does nothing counts: on a machine that is stalled
/// everything does nothing for a while.
pub(crate) fn running(commands: &[u32]) -> Vec<u32> {
    let is_running = |id: &u32| {
        std::fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|text| text == "sleep\u{0}7101\u{0}")
    };
    commands.iter().copied().filter(is_running).collect()
}

/// A request with a command that never ends, which is under way on return, and the command's processes.
async fn start_endless_command(
    warren: &Warren,
    id: warren_model::WorkspaceId,
) -> (tokio::task::JoinHandle<warren_testkit::Answer>, Vec<u32>) {
    let call = warren.call("POST", &format!("/api/v1/workspaces/{id}/exec")).token(&warren.token);
    let request = tokio::spawn(call.json(&json!({ "command": BOTH_KINDS_OF_CHILDREN })).send());
    (request, started_commands(&workspace_folder(warren.folder(), id)).await)
}

// W16, O4
#[tokio::test]
async fn a_stopped_server_leaves_no_command_running() {
    let limits = warren_model::Limits { shutdown_timeout_ms: 200, ..Default::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let id = warren.workspace(local()).await;
    let (request, commands) = start_endless_command(&warren, id).await;
    let _folder = warren.stop().await;
    assert_eq!(running(&commands), [0u32; 0], "they still run");
    request.abort();
}

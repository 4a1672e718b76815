//! `warren chat`, with an agent that comes and asks for its messages and repeats them.

use serde_json::json;
use warren_api::client::{Client, Error};
use warren_api::{
    AnswerMessage, AnswerOutcome, ClaimMessage, CreateToken, CreateWorkspace, MessagePart, MintableKind,
    RegisterRuntime, Runtime, TaskMessage,
};

use crate::warren::{Machine, Server};

/// Makes a workspace and answers its messages until the server is gone.
async fn echo(server: &Server) -> impl Future<Output = ()> + use<> {
    let client = Client::new(server.url(), Some(server.token())).unwrap();
    let wish = CreateWorkspace {
        runtime: Some(Runtime::External),
        ..CreateWorkspace::new("echo".to_owned(), json!({ "kind": "local" }))
    };
    let workspace = client.create_workspace(&wish).await.unwrap().id;
    let join = CreateToken {
        kind: MintableKind::Join,
        name: "boot".into(),
        scopes: None,
        workspace_id: Some(workspace.clone()),
        expires_in_seconds: None,
    };
    let join = client.create_token(&join).await.unwrap().secret;
    let agent = Client::new(server.url(), Some(&join)).unwrap();
    let credential = agent.register(&RegisterRuntime::default()).await.unwrap().token;
    let agent = Client::new(server.url(), Some(&credential)).unwrap();
    async move {
        loop {
            let claim = ClaimMessage { wait_ms: 1_000, lease_ms: None };
            let claimed = match agent.claim_message(&workspace, &claim).await {
                Ok(claim) => claim.claimed,
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => return,
                Err(other) => panic!("{other}"),
            };
            let Some(message) = claimed else { continue };
            let said = message.message.parts[0].text.clone().unwrap_or_default();
            let failed = said == "fail";
            let said = TaskMessage {
                parts: vec![MessagePart::text(format!("echo: {said}"))],
                ..TaskMessage::default()
            };
            let answer = AnswerMessage {
                attempt: message.attempt,
                outcome: if failed { AnswerOutcome::Failed } else { AnswerOutcome::Answered },
                state: None,
                message: Some(said),
                artifacts: Vec::new(),
                retry_after_ms: None,
            };
            let _ = agent.answer_message(&workspace, &message.queue_id, &answer).await;
        }
    }
}

// X30, X35
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_talks_with_an_agent_from_the_command_line() {
    let machine = Machine::new();
    let server = machine.start();
    let agent = tokio::spawn(echo(&server).await);
    let once = machine.run(&["chat", "echo", "hello there"]).expect_ok();
    assert_eq!(once.text(), "echo: hello there\n");
    let lines = machine.run_with_input(&["chat", "echo"], b"one\n\ntwo\n").expect_ok();
    assert_eq!(lines.text(), "echo: one\necho: two\n", "one line after the other, in one conversation");
    let listed = machine.run(&["chat", "ls", "echo", "--json"]).expect_ok().json();
    let found: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["title"].as_str().unwrap(), &one["messages"]))
        .collect();
    assert_eq!(found, [("one", &json!(4)), ("hello there", &json!(2))]);
    let id = listed[1]["id"].as_str().unwrap();
    let more = machine.run(&["chat", "echo", "again", "--conversation", id, "--json"]).expect_ok().json();
    assert_eq!((&more["conversation_id"], &more["author"]["kind"]), (&json!(id), &json!("workspace")));
    let last = machine.run(&["chat", "echo", "more", "--conversation", "last", "--json"]).expect_ok().json();
    assert_eq!(last["conversation_id"], json!(id), "where something was said last");
    let shown = machine.run(&["chat", "show", "echo", id]).expect_ok().text();
    assert!(shown.contains("hello there\n") && shown.contains("echo: again\n"), "{shown}");
    let failed = machine.run(&["chat", "echo", "fail", "--conversation", id]);
    assert_eq!(
        failed.text(),
        "echo: fail\n",
        "what the agent said is told, and the exit says that it failed"
    );
    let found = machine.run(&["chat", "search", "echo", "hel", "the", "--json"]).expect_ok().json();
    assert_eq!(found.as_array().unwrap().len(), 2);
    machine.run(&["chat", "rm", "echo", id]).expect_ok();
    machine.run(&["chat", "show", "echo", id, "--json"]).expect_error(3, "conversation_not_found");
    server.kill();
    agent.await.unwrap();
}

// S11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_and_its_message_are_told_in_words_and_whole_as_json() {
    let machine = Machine::new();
    let server = machine.start();
    let agent = tokio::spawn(echo(&server).await);
    machine.run(&["task", "send", "echo", "hello there"]).expect_ok();
    let of = |listing: &[&str]| machine.run(listing).expect_ok().json()[0]["id"].as_str().unwrap().to_owned();
    let task = of(&["task", "ls", "echo", "--json"]);
    let message = of(&["queue", "ls", "echo", "--state", "ended", "--json"]);
    for (show, expected) in [
        (["task", "show", "echo", &task], ["state    completed", "user     hello there"]),
        (["queue", "show", "echo", &message], ["end         answered", "message     hello there"]),
    ] {
        let text = machine.run(&show).expect_ok().text();
        assert!(expected.iter().all(|line| text.contains(line)), "{text}");
        let json = machine.run(&[&show[..], &["--json"]].concat()).expect_ok().json();
        assert_eq!(json["id"], show[3]);
    }
    server.kill();
    agent.await.unwrap();
}

// X32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_go_along_with_a_message_from_the_command_line() {
    let machine = Machine::new();
    let server = machine.start();
    let agent = tokio::spawn(echo(&server).await);
    let picture = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; 300_000]].concat();
    std::fs::write(machine.path().join("größe.txt"), "hello file").unwrap();
    std::fs::write(machine.path().join("picture.png"), &picture).unwrap();
    let attach = ["chat", "echo", "look", "--attach", "größe.txt", "--attach", "picture.png"];
    assert_eq!(machine.run(&attach).expect_ok().text(), "echo: look\n");
    let id = machine.run(&["chat", "ls", "echo", "--json"]).expect_ok().json()[0]["id"].clone();
    let shown = machine.run(&["chat", "show", "echo", id.as_str().unwrap(), "--json"]).expect_ok().json();
    let parts = &shown[0]["parts"];
    assert_eq!((&parts[1]["filename"], &parts[1]["media_type"]), (&json!("größe.txt"), &json!("text/plain")));
    assert_eq!(
        (&parts[2]["filename"], &parts[2]["media_type"]),
        (&json!("picture.png"), &json!("image/png"))
    );
    let path = parts[2]["url"].as_str().unwrap().strip_prefix("workspace:").unwrap().to_owned();
    machine.run(&["ws", "cp", &format!("echo:{path}"), "back.png"]).expect_ok();
    assert_eq!(std::fs::read(machine.path().join("back.png")).unwrap(), picture);
    machine.run(&["chat", "echo", "x", "--attach", "nowhere", "--json"]).expect_error(1, "local_file_failed");
    let after = machine.run(&["chat", "ls", "echo", "--json"]).expect_ok().json();
    assert_eq!(after.as_array().unwrap().len(), 1, "nothing is said without its files");
    server.kill();
    agent.await.unwrap();
}

// X30, X5: a first message that is refused leaves no conversation without a word in it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_begins_with_a_message_that_was_taken() {
    let machine = Machine::new();
    let server = machine.start();
    let agent = tokio::spawn(echo(&server).await);
    for blank in ["", " \n"] {
        let refused = machine.run(&["chat", "echo", blank, "--json"]);
        refused.expect_error(1, "invalid_message");
        assert_eq!(refused.stderr.lines().count(), 1, "nothing to go on with: {refused:?}");
        machine.run(&["task", "send", "echo", blank, "--json"]).expect_error(1, "invalid_message");
    }
    let long = vec![b'a'; (1 << 20) + 1];
    machine.run_with_input(&["chat", "echo", "--json"], &long).expect_error(1, "payload_too_large");
    assert_eq!(machine.run(&["chat", "ls", "echo", "--json"]).expect_ok().json(), json!([]));
    server.kill();
    agent.await.unwrap();
}

// X30, S11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_lines_one_that_failed_is_told_by_the_exit_code() {
    let machine = Machine::new();
    let server = machine.start();
    let agent = tokio::spawn(echo(&server).await);
    let ended = machine.run_with_input(&["chat", "echo"], b"fail\nfine\n");
    assert_eq!((ended.code, ended.text().as_str()), (Some(1), "echo: fail\necho: fine\n"));
    let bytes = machine.run_with_input(&["chat", "echo", "--json"], b"\xff\xfe\n");
    let error = bytes.expect_error(1, "local_file_failed");
    assert!(error["hint"].as_str().unwrap().contains("--attach"), "{error}");
    server.kill();
    agent.await.unwrap();
}

// X32
#[test]
fn what_cannot_be_attached_is_named_with_its_reason_and_nobody_waits_for_a_pipe() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "memory"]).expect_ok();
    let at = |name: &str| machine.path().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
    std::fs::write(at("two\nlines.txt"), "x").unwrap();
    for (file, reason) in [
        ("folder", "it is a folder"),
        ("pipe", "it is no regular file"),
        ("two\nlines.txt", "it has a control character in its name"),
        ("nowhere", "No such file or directory"),
    ] {
        let error = machine.run(&["chat", "demo", "x", "--attach", file, "--json"]);
        let error = error.expect_error(1, "local_file_failed");
        assert!(error["causes"][0].as_str().unwrap().contains(reason), "{error}");
    }
    assert_eq!(machine.run(&["chat", "ls", "demo", "--json"]).expect_ok().json(), json!([]));
}

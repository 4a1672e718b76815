use serde_json::{Value, json};

use super::agent::{Stage, send, unique};
use crate::fleet::{create, register};

// X1
#[tokio::test]
async fn a_message_is_answered_when_its_task_has_ended() {
    let stage = Stage::set().await;
    let task = stage.task("hello").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["status"]["message"]["parts"], json!([{ "text": "done" }]));
    assert_eq!(task["status"]["message"]["taskId"], task["id"]);
    assert_eq!(task["artifacts"][0]["parts"], json!([{ "text": "echo: hello" }]));
    assert_eq!(task["history"][0]["parts"], json!([{ "text": "hello" }]));
    let asked = stage.result("GetTask", &json!({ "id": task["id"] })).await;
    assert_eq!(asked, task, "it is a row, and stays what it was");
    let none = stage.result("GetTask", &json!({ "id": task["id"], "historyLength": 0 })).await;
    assert_eq!(none.get("history"), None);
}

// X1: the HTTP+JSON binding gives the same answers.
#[tokio::test]
async fn both_bindings_answer_alike() {
    let stage = Stage::set().await;
    let sent = stage.post("/message:send", &send("hello")).await;
    assert_eq!((sent.status, sent.header("content-type")), (200, Some("application/a2a+json")));
    let task = sent.json()["task"].clone();
    let id = task["id"].as_str().unwrap();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(stage.get(&format!("/tasks/{id}")).await.json(), task);
    assert_eq!(stage.result("GetTask", &json!({ "id": id })).await, task);
    let listed = stage.get("/tasks?pageSize=1&includeArtifacts=true").await.json();
    assert_eq!(listed, stage.result("ListTasks", &json!({ "pageSize": 1, "includeArtifacts": true })).await);
    assert_eq!(listed["tasks"], json!([task]));
    let call = json!({ "jsonrpc": "2.0", "id": "a", "method": "GetTask", "params": { "id": id } });
    let with_slash = stage.post("/", &call);
    assert_eq!(with_slash.await.json(), json!({ "jsonrpc": "2.0", "id": "a", "result": task }));
}

// X1
#[tokio::test]
async fn an_agent_that_keeps_no_task_answers_with_its_message() {
    let stage = Stage::set().await;
    let answer = stage.result("SendMessage", &send("message hi there")).await;
    assert_eq!(answer["message"]["parts"], json!([{ "text": "hi there" }]));
    assert_eq!(answer["message"]["role"], "ROLE_AGENT");
    assert_eq!(answer.get("task"), None);
    let rest = stage.post("/message:send", &send("message again")).await.json();
    assert_eq!(rest["message"]["parts"], json!([{ "text": "again" }]));
}

// X1
#[tokio::test]
async fn who_does_not_want_to_wait_gets_the_task_at_once() {
    let stage = Stage::set().await;
    let task = stage.begin("wait gate").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
    stage.agent.open("gate");
    let ended = wait_for(&stage, &task["id"], "TASK_STATE_COMPLETED").await;
    assert_eq!(ended["artifacts"][0]["parts"], json!([{ "text": "before " }, { "text": "after" }]));
}

// X1
#[tokio::test]
async fn a_question_is_answered_within_the_same_task() {
    let stage = Stage::set().await;
    let asked = stage.task("ask me").await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let mut reply = send("the left one");
    reply["message"]["taskId"] = asked["id"].clone();
    reply["message"]["contextId"] = asked["contextId"].clone();
    let ended = stage.result("SendMessage", &reply).await["task"].clone();
    assert_eq!((&ended["id"], &ended["status"]["state"]), (&asked["id"], &json!("TASK_STATE_COMPLETED")));
    let said: Vec<_> =
        ended["history"].as_array().unwrap().iter().map(|one| &one["parts"][0]["text"]).collect();
    assert_eq!(said, [&json!("ask me"), &json!("which one?"), &json!("the left one")]);
    let turns = stage.agent.turns();
    assert_eq!(turns[1].remote_id, Some(format!("far-{}", turns[0].task_id)), "the agent's own name for it");
    // It has ended, and takes no more.
    reply["message"]["messageId"] = json!(unique("m"));
    let (_, code, _) = stage.error("SendMessage", &reply).await;
    assert_eq!(code, -32004);
    // And a message of another context is not this task's.
    let open = stage.task("ask again").await;
    let mut stray = send("here");
    stray["message"]["taskId"] = open["id"].clone();
    stray["message"]["contextId"] = json!("elsewhere");
    assert_eq!(stage.error("SendMessage", &stray).await.1, -32602);
}

// X16
#[tokio::test]
async fn the_same_message_again_is_the_same_task() {
    let stage = Stage::set().await;
    let message = send("hello");
    let first = stage.result("SendMessage", &message).await;
    let again = stage.result("SendMessage", &message).await;
    assert_eq!(first["task"]["id"], again["task"]["id"]);
    assert_eq!(stage.agent.turns().len(), 1);
}

// X1, X22
#[tokio::test]
async fn a_cancelled_task_is_cancelled_at_the_agent_too() {
    let stage = Stage::set().await;
    let task = stage.begin("wait for-ever").await;
    wait_for_remote(&stage).await;
    let id = task["id"].as_str().unwrap();
    // Some clients name the type of a body that they do not send.
    let call =
        stage.warren.call("POST", &stage.path(&format!("/tasks/{id}:cancel"))).token(&stage.warren.token);
    let call = call.header("a2a-version", "1.0").header("content-type", "application/a2a+json");
    let cancelled = call.send().await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    assert_eq!(cancelled.json()["status"]["state"], "TASK_STATE_CANCELED");
    let reached = stage.agent.cancelled();
    assert!(!reached.is_empty() && reached.iter().all(|one| *one == format!("far-{id}")), "{reached:?}");
    let (_, code, _) = stage.error("CancelTask", &json!({ "id": id })).await;
    assert_eq!(code, -32002, "once");
    let rest = stage.post(&format!("/tasks/{id}:cancel"), &json!({})).await;
    assert_eq!(rest.json()["error"]["details"][0]["reason"], "TASK_NOT_CANCELABLE");
}

// X1
#[tokio::test]
async fn tasks_are_listed_in_pages_and_by_context_and_state() {
    let stage = Stage::set().await;
    let mut ids = Vec::new();
    for at in 0..3 {
        let mut message = send(&format!("hello {at}"));
        message["message"]["contextId"] = json!(if at < 2 { "one" } else { "two" });
        ids.push(stage.result("SendMessage", &message).await["task"]["id"].clone());
    }
    stage.task("ask").await;
    let first = stage.result("ListTasks", &json!({ "pageSize": 3 })).await;
    assert_eq!((first["tasks"].as_array().unwrap().len(), &first["totalSize"]), (3, &json!(4)));
    assert_eq!(first["tasks"][0].get("artifacts"), None, "only if they are wanted");
    let next =
        stage.result("ListTasks", &json!({ "pageSize": 3, "pageToken": first["nextPageToken"] })).await;
    assert_eq!((&next["tasks"][0]["id"], &next["nextPageToken"]), (&ids[0], &json!("")));
    let one = stage.result("ListTasks", &json!({ "contextId": "one" })).await;
    assert_eq!(one["totalSize"], 2);
    let waiting = stage.result("ListTasks", &json!({ "status": "TASK_STATE_INPUT_REQUIRED" })).await;
    assert_eq!((&waiting["totalSize"], &waiting["pageSize"]), (&json!(1), &json!(50)));
    let later = stage.result("ListTasks", &json!({ "statusTimestampAfter": "2999-01-01T00:00:00Z" })).await;
    assert_eq!(later["totalSize"], 0);
}

// X1
#[tokio::test]
async fn tasks_are_listed_by_their_last_change_and_named_to_the_agent_by_its_own_names() {
    let stage = Stage::set().await;
    let asked = stage.task("ask me").await;
    let (one, two) = (stage.task("one").await, stage.task("two").await);
    let list = async |token: &Value| {
        let page = stage.result("ListTasks", &json!({ "pageSize": 2, "pageToken": token })).await;
        let ids: Vec<Value> =
            page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
        (ids, page["nextPageToken"].clone())
    };
    assert_eq!(list(&json!("")).await.0, [two["id"].clone(), one["id"].clone()]);
    let mut reply = send("the left one");
    reply["message"]["taskId"] = asked["id"].clone();
    reply["message"]["referenceTaskIds"] = json!([one["id"], "of another world"]);
    stage.result("SendMessage", &reply).await;
    let (first, token) = list(&json!("")).await;
    assert_eq!(first, [asked["id"].clone(), two["id"].clone()], "the oldest has changed last");
    assert_eq!(list(&token).await, (vec![one["id"].clone()], json!("")));
    let heard = stage.agent.turns().pop().unwrap().message.reference_task_ids;
    assert_eq!(heard, [format!("far-{}", one["id"].as_str().unwrap()), "of another world".to_owned()]);
    for token in ["nonsense", "1.", "x.y"] {
        let (_, code, _) = stage.error("ListTasks", &json!({ "pageToken": token })).await;
        assert_eq!(code, -32602, "{token}");
    }
}

// X4
#[tokio::test]
async fn the_agent_learns_who_wrote_and_nobody_can_pretend() {
    let stage = Stage::set().await;
    let mut forged = send("hello");
    forged["message"]["metadata"] = json!({ "warren/author": { "kind": "user" }, "mine": 1 });
    forged["metadata"] = json!({ "trace": "t", "warren.request": 1 });
    stage.result("SendMessage", &forged).await;
    let turn = &stage.agent.turns()[0];
    assert_eq!(turn.author.kind.as_str(), "user");
    let metadata = Value::Object(turn.message.metadata.clone());
    assert_eq!(metadata, json!({ "mine": 1, "warren.request": { "metadata": { "trace": "t" } } }));

    let body = json!({
        "name": "peer", "provider": { "kind": "local" }, "runtime": "external", "parent_id": stage.id.to_string(),
    });
    let peer = create(&stage.warren, &body).await;
    stage.warren.wait_for_status(peer, warren_model::Status::AwaitingAgent).await;
    let secret = register(&stage.warren, peer).await;
    let call =
        stage.warren.call("POST", &stage.path("/message:send")).token(&secret).header("a2a-version", "1.0");
    let sent = call.json(&send("from a peer")).send().await;
    assert_eq!(sent.status, 200, "{}", sent.text());
    let author = &stage.agent.turns()[1].author;
    assert_eq!((author.kind.as_str(), author.id.as_str()), ("workspace", peer.to_string().as_str()));
}

// X11, and "401 from a runtime"
#[tokio::test]
async fn an_agent_that_does_not_let_warren_in_fails_the_task_with_a_reason() {
    let stage = Stage::set().await;
    let task = stage.task("refuse").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    let words = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("credential"), "{words}");
}

// X12
#[tokio::test]
async fn a_busy_agent_with_its_own_session_says_when_to_come_back() {
    let stage = Stage::set().await;
    let join = crate::fleet::join_token(&stage.warren, stage.id).await;
    let body = json!({
        "agent_card": super::agent::card(), "heartbeat": { "runtime_metadata": { "capabilities": { "session": true } } },
    });
    let answer = crate::fleet::try_register(&stage.warren, &join, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    stage.begin("wait gate").await;
    let busy = stage.rpc("SendMessage", &send("me too")).await;
    assert_eq!(busy.status, 503, "{}", busy.text());
    assert!(busy.header("retry-after").is_some());
    let info = &busy.json()["error"]["data"][0];
    assert_eq!(
        (&info["reason"], &info["metadata"]["nativeSession"]),
        (&json!("RUNTIME_BUSY"), &json!("true"))
    );
    let rest = stage.post("/message:send", &send("and me")).await;
    assert_eq!((rest.status, rest.json()["error"]["status"].clone()), (503, json!("UNAVAILABLE")));
    assert!(rest.header("retry-after").is_some());
    stage.agent.open("gate");
}

// X1, F30: tasks of other workspaces do not exist here.
#[tokio::test]
async fn a_task_is_found_only_where_it_belongs() {
    let stage = Stage::set().await;
    let task = stage.task("hello").await;
    let other = Stage::agent_in(&stage.warren).await;
    let id = task["id"].as_str().unwrap();
    let call = |path: String| {
        stage.warren.call("GET", &path).token(&stage.warren.token).header("a2a-version", "1.0")
    };
    let elsewhere = call(format!("/a2a/{other}/tasks/{id}")).send().await;
    assert_eq!(
        (elsewhere.status, elsewhere.json()["error"]["details"][0]["reason"].clone()),
        (404, json!("TASK_NOT_FOUND"))
    );
    for id in ["01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e", "nonsense", "..%2F..", &id.to_uppercase()] {
        let none = call(format!("/a2a/{}/tasks/{id}", stage.id)).send().await;
        assert_eq!(none.json()["error"]["details"][0]["reason"], "TASK_NOT_FOUND", "{id}");
    }
}

// X1: "survives restarts of both sides".
#[tokio::test]
async fn a_task_is_still_there_after_a_restart() {
    let stage = Stage::set().await;
    let task = stage.task("ask me").await;
    let path = stage.path(&format!("/tasks/{}", task["id"].as_str().unwrap()));
    let warren = stage.warren.restart().await;
    let token = &warren.token;
    let asked = warren.call("GET", &path).token(token).header("a2a-version", "1.0").send().await;
    assert_eq!(asked.json(), task);
}

pub(super) async fn wait_for(stage: &Stage, id: &Value, state: &str) -> Value {
    for _ in 0..400 {
        let task = stage.result("GetTask", &json!({ "id": id })).await;
        if task["status"]["state"] == state {
            return task;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the task did not become {state}");
}

/// Until the agent has said what it calls the task.
async fn wait_for_remote(stage: &Stage) {
    let workspace_id = stage.id;
    for _ in 0..400 {
        let query = warren_store::TaskQuery::of(workspace_id, 1);
        let page = stage.warren.store.read(move |tx| tx.tasks(&query)).await;
        let page: Result<_, warren_store::Error> = page;
        if page.unwrap().rows[0].remote_id.is_some() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the agent's name for the task was not kept");
}

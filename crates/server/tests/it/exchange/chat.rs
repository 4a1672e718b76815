use std::sync::Arc;

use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Act, Answer, Warren};

use super::{agent, said, task_in, with_agent};
use crate::fleet::{create, events, eventually, reporting};
use crate::memory;

pub(super) async fn begin(warren: &Warren, id: WorkspaceId) -> String {
    let answer = warren.post(&format!("/api/v1/workspaces/{id}/conversations"), &json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

pub(super) fn at(id: WorkspaceId, conversation: &str) -> String {
    format!("/api/v1/workspaces/{id}/conversations/{conversation}")
}

async fn post(warren: &Warren, id: WorkspaceId, conversation: &str, text: &str) -> Answer {
    let mut body = said(text);
    body["wait_ms"] = json!(10_000);
    warren.post(&format!("{}/messages", at(id, conversation)), &body).await
}

/// All messages, by pages of two.
pub(super) async fn read(warren: &Warren, id: WorkspaceId, conversation: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = warren.get(&format!("{}/messages?limit=2{cursor}", at(id, conversation))).await.json();
        all.extend(page["items"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// Who said what.
fn lines(messages: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages.iter().map(|one| (text(&one["author"]["kind"]), text(&one["parts"][0]["text"]))).collect()
}

fn line(kind: &str, text: &str) -> (String, String) {
    (kind.to_owned(), text.to_owned())
}

/// The ids of the messages of a conversation, as the log told them.
async fn told_ids(warren: &Warren, id: WorkspaceId, conversation: &str) -> Vec<Value> {
    let posted = events(warren, Some(id)).await.into_iter().filter(|event| {
        event["kind"] == "chat.message.posted" && event["data"]["conversation_id"] == conversation
    });
    posted.map(|event| event["data"].clone()).collect()
}

// X30, X4
#[tokio::test]
async fn what_is_shown_live_is_what_a_reload_shows() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let chat = begin(&warren, id).await;
    for text in ["one", "two", "three"] {
        let posted = post(&warren, id, &chat, text).await;
        assert_eq!(posted.status, 200, "{}", posted.text());
        let posted = posted.json();
        assert_eq!(posted["answer"]["parts"][0]["text"], format!("echo: {text}"));
        assert_eq!(posted["message"]["task_id"], posted["answer"]["task_id"]);
    }
    assert_eq!(peer.seen()[0].context_id, chat, "the work runs in the conversation's context");
    let shown = read(&warren, id, &chat).await;
    let expected = ["one", "two", "three"]
        .iter()
        .flat_map(|text| [line("user", text), line("workspace", &format!("echo: {text}"))]);
    assert_eq!(lines(&shown), expected.collect::<Vec<_>>());
    let told = told_ids(&warren, id, &chat).await;
    let ids = |rows: &[Value], name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(
        ids(&told, "message_id"),
        ids(&shown, "id"),
        "the events name the same messages in the same order"
    );
    assert!(!json!(told).to_string().contains("echo"), "an event never says what was said: {told:?}");
    let warren = warren.restart().await;
    assert_eq!(read(&warren, id, &chat).await, shown, "nothing is lost, doubled or changed");
    let newest = warren.get(&format!("{}/messages?order=newest&limit=1", at(id, &chat))).await.json();
    assert_eq!(newest["items"][0], shown[5]);
    let behind = format!("{}/messages?cursor={}", at(id, &chat), shown[3]["id"].as_str().unwrap());
    assert_eq!(warren.get(&behind).await.json()["items"], json!(shown[4..]), "what comes after a known id");
    assert_eq!(warren.get(&at(id, &chat)).await.json()["messages"], 6);
}

// X30
#[tokio::test]
async fn conversations_are_listed_named_and_deleted() {
    let (warren, _) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let list = format!("/api/v1/workspaces/{id}/conversations");
    let (old, young) = (begin(&warren, id).await, begin(&warren, id).await);
    let page = warren.get(&format!("{list}?limit=1")).await.json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let next = page["next_cursor"].as_str().unwrap();
    let rest = warren.get(&format!("{list}?limit=1&cursor={next}")).await.json();
    let mut ids = [page["items"][0]["id"].clone(), rest["items"][0]["id"].clone()];
    ids.sort_by_key(ToString::to_string);
    let mut made = [json!(old), json!(young)];
    made.sort_by_key(ToString::to_string);
    assert_eq!(ids, made);
    let named = warren.patch(&at(id, &old), &json!({ "title": "Report" })).await;
    assert_eq!(
        (named.status, &named.json()["title"], &named.json()["version"]),
        (200, &json!("Report"), &json!(2))
    );
    assert_eq!(
        warren.patch(&at(id, &old), &json!({})).await.json()["title"],
        "Report",
        "absent means unchanged"
    );
    let bad = warren.patch(&at(id, &old), &json!({ "title": "two\nlines" })).await;
    assert_eq!((bad.status, bad.code().as_str()), (400, "invalid_request"));
    post(&warren, id, &old, "hello").await;
    let other = create(&warren, &json!({ "name": "other", "provider": memory() })).await;
    for path in [at(other, &old), at(id, "nonsense")] {
        let hidden = warren.get(&path).await;
        assert_eq!((hidden.status, hidden.code().as_str()), (404, "conversation_not_found"), "{path}");
    }
    assert_eq!(warren.delete(&at(id, &old)).await.status, 204);
    assert_eq!(warren.get(&format!("{}/messages", at(id, &old))).await.code(), "conversation_not_found");
    assert_eq!(post(&warren, id, &old, "too late").await.code(), "conversation_not_found");
    let kinds: Vec<_> = events(&warren, Some(id)).await.iter().map(|event| event["kind"].clone()).collect();
    for kind in ["chat.conversation.created", "chat.conversation.changed", "chat.conversation.removed"] {
        assert!(kinds.contains(&json!(kind)), "{kind}");
    }
}

// X35
#[tokio::test]
async fn conversations_are_searched_by_words_within_a_workspace() {
    let (warren, _) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let (other, _) = agent(&warren, json!({ "name": "other" })).await;
    let (chat, elsewhere) = (begin(&warren, id).await, begin(&warren, other).await);
    post(&warren, id, &chat, "The quarterly report, please").await;
    post(&warren, id, &chat, "something else").await;
    post(&warren, other, &elsewhere, "another report").await;
    let find = async |q: &str| {
        let answer = warren.get(&format!("/api/v1/workspaces/{id}/search?q={q}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        lines(answer.json()["items"].as_array().unwrap())
            .into_iter()
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
    };
    let both = ["echo: The quarterly report, please", "The quarterly report, please"];
    assert_eq!(find("REPORT").await, both, "the youngest first, and of this workspace");
    assert_eq!(find("report%20quart").await, both);
    assert_eq!(find("echo%20report").await, both[..1]);
    assert_eq!(find("repor*%22%20OR%20x").await, Vec::<String>::new(), "words, no language");
    for bad in ["", "%20%2A", &"a%20".repeat(17)] {
        let refused = warren.get(&format!("/api/v1/workspaces/{id}/search?q={bad}")).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_request"), "{bad}");
    }
}

async fn notify(warren: &Warren, id: WorkspaceId, secret: &str, body: &Value) -> Answer {
    let path = format!("/api/v1/workspaces/{id}/notify");
    warren.call("POST", &path).token(secret).json(body).send().await
}

// X31, X4
#[tokio::test]
async fn an_agent_tells_people_with_files_and_is_seen_as_an_agent() {
    let warren = Warren::start().await;
    let (id, secret) = reporting(&warren).await;
    let file = |path: &str| format!("/api/v1/workspaces/{id}/files?path={path}");
    assert_eq!(
        warren.call("PUT", &file("out/plan.txt")).token(&warren.token).body("the plan").send().await.status,
        201
    );
    let body =
        json!({ "text": "done", "attachments": [{ "path": "out/plan.txt", "media_type": "text/markdown" }] });
    let told = notify(&warren, id, &secret, &body).await;
    assert_eq!(told.status, 201, "{}", told.text());
    let message = told.json();
    assert_eq!((&message["author"]["kind"], &message["role"]), (&json!("workspace"), &json!("agent")));
    assert_eq!(
        message["parts"][1],
        json!({ "url": "workspace:out/plan.txt", "media_type": "text/markdown", "filename": "plan.txt" })
    );
    let chat = message["conversation_id"].as_str().unwrap();
    assert_eq!(
        read(&warren, id, chat).await,
        std::slice::from_ref(&message),
        "what was told is what is read"
    );
    assert_eq!(told_ids(&warren, id, chat).await[0]["message_id"], message["id"]);
    let again = notify(&warren, id, &secret, &json!({ "text": "more", "conversation_id": chat })).await;
    assert_eq!(again.json()["conversation_id"], chat);
    // A person does not speak in an agent's name.
    let person = warren.post(&format!("/api/v1/workspaces/{id}/notify"), &json!({ "text": "hi" })).await;
    assert_eq!((person.status, person.code().as_str()), (403, "forbidden"));
    // What was sent is fetched as an attachment and never shown by a browser (sec/P02).
    let fetched = warren.get(&file("out/plan.txt")).await;
    assert!(fetched.header("content-disposition").unwrap().starts_with("attachment;"));
    assert_eq!(fetched.header("x-content-type-options").unwrap(), "nosniff");
}

// X31, X16
#[tokio::test]
async fn the_same_notice_again_stands_once_even_when_its_file_is_gone() {
    let clock = crate::fleet::clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    let path = format!("/api/v1/workspaces/{id}/notify");
    let file = format!("/api/v1/workspaces/{id}/files?path=plan.txt");
    let written = warren.call("PUT", &file).token(&warren.token).body("the plan").send().await;
    assert_eq!(written.status, 201);
    let tell = async |key: Option<&str>, body: Value| {
        let call = warren.call("POST", &path).token(&secret).json(&body);
        key.into_iter().fold(call, |call, key| call.header("idempotency-key", key)).send().await
    };
    let body = json!({ "text": "done", "attachments": [{ "path": "plan.txt" }] });
    let twins = tokio::join!(tell(Some("k"), body.clone()), tell(Some("k"), body.clone()));
    let mut statuses = [twins.0.status, twins.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201], "of two at once one tells");
    assert_eq!(twins.0.json(), twins.1.json());
    let removed = warren.call("DELETE", &file).token(&warren.token).send().await;
    assert!(matches!(removed.status, 200 | 204), "{}", removed.text());
    let again = tell(Some("k"), body.clone()).await;
    assert_eq!((again.status, again.json()), (200, twins.0.json()));
    let other = tell(Some("k"), json!({ "text": "else" })).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    // The sender's own id does the same, also for those who cannot send a header.
    let named = json!({ "text": "done", "message_id": "m-1" });
    let (first, second) = (tell(None, named.clone()).await, tell(None, named).await);
    assert_eq!((first.status, second.status, first.json()), (201, 200, second.json()));
    let plain = json!({ "text": "done" });
    assert_ne!(tell(None, plain.clone()).await.json()["id"], tell(None, plain).await.json()["id"]);
    let chat = first.json()["conversation_id"].as_str().unwrap().to_owned();
    assert_eq!(read(&warren, id, &chat).await.len(), 4);
    // What somebody removed is not brought back by a retry, and after the window the key is free.
    let gone = format!("/api/v1/workspaces/{id}/conversations/{chat}");
    assert_eq!(warren.call("DELETE", &gone).token(&warren.token).send().await.status, 204);
    assert_eq!(tell(None, json!({ "text": "done", "message_id": "m-1" })).await.status, 404);
    clock.advance_ms(24 * 3_600_000 + 1);
    assert_eq!(tell(None, json!({ "text": "done", "message_id": "m-1" })).await.status, 201);
}

// X31
#[tokio::test]
async fn a_notice_that_says_nothing_is_not_told() {
    let warren = Warren::builder().start().await;
    let (id, secret) = reporting(&warren).await;
    for (body, status, code, field) in [
        (json!({ "text": "" }), 422, "invalid_message", "text: "),
        (json!({ "text": " \n" }), 422, "invalid_message", "text: "),
        (json!({ "text": "a", "message_id": "a\r\nb" }), 400, "invalid_request", "message_id: "),
        (json!({ "text": "a", "message_id": "" }), 400, "invalid_request", "message_id: "),
    ] {
        let refused = notify(&warren, id, &secret, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{body}");
        assert!(refused.json()["detail"].as_str().unwrap().starts_with(field), "{}", refused.text());
    }
    let listed = warren.get(&format!("/api/v1/workspaces/{id}/conversations")).await;
    assert_eq!(listed.json()["items"], json!([]), "nothing was told");
}

// X31
#[tokio::test]
async fn a_file_that_cannot_go_is_named_and_nothing_is_told() {
    let limits = warren_model::Limits {
        max_attachment_bytes: 100,
        max_attachments_bytes: 150,
        ..warren_model::Limits::default()
    };
    let warren = Warren::builder().limits(limits).start().await;
    let (id, secret) = reporting(&warren).await;
    for (path, bytes) in [("small", 90), ("large", 101), ("dir/inner", 1)] {
        let path = format!("/api/v1/workspaces/{id}/files?path={path}");
        assert_eq!(
            warren.call("PUT", &path).token(&warren.token).body("x".repeat(bytes)).send().await.status,
            201
        );
    }
    let cases = [
        (json!({ "path": "missing" }), 404, "file_not_found"),
        (json!({ "path": "../../etc/passwd" }), 403, "path_escapes"),
        (json!({ "path": "dir" }), 409, "not_a_file"),
        (json!({ "path": "large" }), 413, "payload_too_large"),
        (json!({ "path": "small" }), 413, "payload_too_large"),
        (json!({ "path": "dir/inner", "media_type": "image/png" }), 422, "invalid_message"),
    ];
    for (second, status, code) in cases {
        let body = json!({ "text": "look", "attachments": [{ "path": "small" }, second] });
        let refused = notify(&warren, id, &secret, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{}", refused.text());
        assert!(
            refused.json()["detail"].as_str().unwrap().starts_with("attachment[1]: "),
            "{}",
            refused.text()
        );
    }
    let list = warren.get(&format!("/api/v1/workspaces/{id}/conversations")).await.json();
    assert_eq!(list["items"], json!([]), "nothing was told");
}

// X34
#[tokio::test]
async fn the_feed_shows_the_last_lines_of_work_with_repeats_folded() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let (other, _) = agent(&warren, json!({ "name": "other" })).await;
    peer.next([Act::Work("reading the plan\nand more".into()), Act::Hold, Act::Say("done".into())]);
    let accepted = super::say(&warren, id, "go").await;
    let feed = async || warren.get(&format!("/api/v1/workspaces/{id}/feed")).await.json()["lines"].clone();
    let shows = async |text: &str| feed().await.as_array().unwrap().iter().any(|line| line["text"] == text);
    eventually("its progress", async || shows("reading the plan").await).await;
    peer.let_go();
    task_in(&warren, &accepted, "completed").await;
    super::say(&warren, other, "elsewhere").await;
    for _ in 0..3 {
        let path = format!("/api/v1/workspaces/{id}/files?path=same.txt");
        warren.call("PUT", &path).token(&warren.token).body("x").send().await;
    }
    eventually("folded", async || {
        feed()
            .await
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line["text"] == "write same.txt" && line["count"] == 3)
    })
    .await;
    let lines = feed().await;
    let texts: Vec<_> = lines.as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts[texts.len() - 4..],
        ["a message came", "reading the plan", "the work is completed", "write same.txt"]
    );
    assert!(texts.len() <= 20);
}

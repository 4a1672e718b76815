//! What agents answer, on its way to those who asked: whose files they are shown (X33), what stays of copies, and that no
//! secret of the workspace goes along (F32).

use serde_json::{Value, json};
use warren_model::{Status, WorkspaceId};
use warren_testkit::{Answer, Warren};

use super::uploads::{landed, read};
use crate::fleet::{create, events, register, reporting};
use crate::local;

/// A runtime of a workspace, which takes its own messages.
struct Runtime<'a> {
    warren: &'a Warren,
    id: WorkspaceId,
    token: String,
}

impl<'a> Runtime<'a> {
    /// One, and another beneath it.
    async fn pair(warren: &'a Warren) -> [Self; 2] {
        let (id, token) = reporting(warren).await;
        let lead = Self { warren, id, token };
        let body = json!({
            "name": "helper", "provider": local(), "runtime": "external", "parent_id": id.to_string(),
        });
        let id = create(warren, &body).await;
        warren.wait_for_status(id, Status::AwaitingAgent).await;
        let token = register(warren, id).await;
        [lead, Self { warren, id, token }]
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let call = self.warren.call("POST", path).token(&self.token).header("a2a-version", "1.0");
        call.json(body).send().await
    }

    async fn get(&self, path: &str) -> Value {
        self.warren.call("GET", path).token(&self.token).send().await.json()
    }

    /// Says something to another one.
    async fn say(&self, to: &Self, message: &Value) -> Value {
        let sent = self
            .post(&format!("/api/v1/workspaces/{}/messages", to.id), &json!({ "message": message }))
            .await;
        assert!(matches!(sent.status, 200 | 202), "{}", sent.text());
        sent.json()
    }

    async fn claim(&self) -> Value {
        let claimed = self.post(&format!("/api/v1/workspaces/{}/queue/claim", self.id), &json!({})).await;
        claimed.json()["claimed"].clone()
    }

    /// `progress` or `answer` about what was claimed.
    async fn tell(&self, claimed: &Value, what: &str, mut body: Value) -> Answer {
        body["attempt"] = claimed["attempt"].clone();
        let queue_id = claimed["queue_id"].as_str().unwrap();
        self.post(&format!("/api/v1/workspaces/{}/queue/{queue_id}/{what}", self.id), &body).await
    }

    /// A stream of A2A about work of another one, as it is said to the end.
    async fn stream(&self, of: &Self, method: &str, params: &Value) -> reqwest::Response {
        let body = json!({ "jsonrpc": "2.0", "id": "1", "method": method, "params": params });
        let call = self.warren.call("POST", &format!("/a2a/{}", of.id)).token(&self.token);
        let response = call.header("a2a-version", "1.0").json(&body).open().await;
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{:?}", response.status());
        response
    }

    async fn ask(&self, of: &Self, method: &str, params: &Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": "1", "method": method, "params": params });
        self.post(&format!("/a2a/{}", of.id), &body).await.json()
    }
}

fn answered(parts: &Value) -> Value {
    json!({ "outcome": "answered", "message": { "parts": parts } })
}

fn artifact(id: &str, parts: &Value) -> Value {
    json!({ "artifact": { "id": id, "parts": parts } })
}

/// The addresses of files in a text, each once.
fn addresses(text: &str) -> Vec<String> {
    let mut found: Vec<String> =
        text.split('"').filter(|piece| piece.starts_with("workspace:")).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

// X33, X1
#[tokio::test]
async fn lists_and_streams_tell_a_peer_of_the_same_copies_as_the_task_itself() {
    let warren = Warren::start().await;
    let [lead, helper] = Runtime::pair(&warren).await;
    for name in ["draft.md", "report.md"] {
        let path = format!("/api/v1/workspaces/{}/files?path=out/{name}", helper.id);
        assert_eq!(warren.put(&path, "# done").await.status, 201);
    }
    let message = json!({ "messageId": "m-1", "role": "ROLE_USER", "parts": [{ "text": "report" }] });
    let sent = lead.stream(&helper, "SendStreamingMessage", &json!({ "message": message })).await;
    let claimed = helper.claim().await;
    let task_id = claimed["task"]["id"].as_str().unwrap_or_else(|| panic!("{claimed}")).to_owned();
    let subscribed = lead.stream(&helper, "SubscribeToTask", &json!({ "id": task_id })).await;
    let draft = json!({ "artifacts": [artifact("a", &json!([{ "url": "workspace:out/draft.md" }]))] });
    let told = helper.tell(&claimed, "progress", draft).await;
    assert_eq!(told.status, 200, "{}", told.text());
    let report = answered(&json!([{ "url": "workspace:out/report.md" }]));
    assert_eq!(helper.tell(&claimed, "answer", report).await.status, 200);

    let path = format!("/api/v1/workspaces/{}/tasks", helper.id);
    let copies = addresses(&lead.get(&format!("{path}/{task_id}")).await.to_string());
    assert_eq!(copies.len(), 2, "{copies:?}");
    for copy in &copies {
        assert_eq!(read(&warren, lead.id, &json!(copy)).await, b"# done");
    }
    let repeat = json!({ "id": "m-1", "parts": [{ "text": "report" }] });
    let repeated = lead.say(&helper, &repeat).await;
    assert_eq!(repeated["is_repeat"], true, "{repeated}");
    let seen = [
        ("stream", sent.text().await.unwrap()),
        ("subscription", subscribed.text().await.unwrap()),
        ("list", lead.get(&path).await.to_string()),
        ("wait", lead.get(&format!("{path}/{task_id}?wait_ms=1")).await.to_string()),
        ("A2A list", lead.ask(&helper, "ListTasks", &json!({ "includeArtifacts": true })).await.to_string()),
        ("A2A task", lead.ask(&helper, "GetTask", &json!({ "id": task_id })).await.to_string()),
        ("repeat", repeated.to_string()),
    ];
    for (what, text) in seen {
        assert_eq!(addresses(&text), copies, "{what}: {text}");
    }
    // Those who use the workspace that answered see where they lie there.
    let own = warren.get(&format!("{path}/{task_id}")).await.text();
    assert!(own.contains("workspace:out/report.md") && own.contains("workspace:out/draft.md"), "{own}");
}

// X33, X15
#[tokio::test]
async fn of_answers_that_do_not_count_no_copies_are_left() {
    let warren = Warren::start().await;
    let [lead, helper] = Runtime::pair(&warren).await;
    let file = |name: &str| json!({ "raw": "aGk=", "filename": name, "media_type": "text/plain" });
    lead.say(&helper, &json!({ "parts": [{ "text": "go" }] })).await;
    let claimed = helper.claim().await;
    // More than a task may hold: nothing of it is kept, so that neither are its files.
    let some = |turn: u32| {
        let one = |n: u32| artifact(&format!("{turn}-{n}"), &json!([{ "text": "x" }]));
        let mut some: Vec<Value> = (0..100).map(one).collect();
        some[0] = artifact(&format!("{turn}-0"), &json!([file(&format!("of-{turn}.txt"))]));
        json!({ "artifacts": some })
    };
    for turn in 0..2 {
        let told = helper.tell(&claimed, "progress", some(turn)).await;
        assert_eq!(told.status, 200, "{}", told.text());
    }
    let kept = landed(&warren, lead.id).await;
    assert_eq!(kept.len(), 2, "what counts stays");
    let refused = helper.tell(&claimed, "progress", some(2)).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "payload_too_large"));
    assert_eq!(landed(&warren, lead.id).await, kept);

    // Many end it at once, and one of them does.
    let answers = (0..8).map(|n| {
        let parts = json!([{ "text": n.to_string() }, file(&format!("last-{n}.txt"))]);
        helper.tell(&claimed, "answer", answered(&parts))
    });
    let answers = futures_util::future::join_all(answers).await;
    let counted: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(counted.len(), 1);
    let lost = answers.iter().filter(|answer| answer.status == 409).count();
    assert_eq!(lost, 7, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
    let after = landed(&warren, lead.id).await;
    let new: Vec<&String> = after.keys().filter(|path| !kept.contains_key(*path)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    let number = counted[0].json()["status_message"]["parts"][0]["text"].as_str().unwrap().to_owned();
    assert!(new[0].ends_with(&format!("last-{number}.txt")), "{new:?}");
    // And one that comes late brings nothing.
    assert_eq!(helper.tell(&claimed, "answer", answered(&json!([file("late.txt")]))).await.status, 409);
    assert_eq!(landed(&warren, lead.id).await, after);
}

// X33, X15
#[tokio::test]
async fn the_same_words_told_twice_share_no_copy_that_one_of_them_could_take_away() {
    let warren = Warren::start().await;
    let [lead, helper] = Runtime::pair(&warren).await;
    lead.say(&helper, &json!({ "parts": [{ "text": "go" }] })).await;
    let claimed = helper.claim().await;
    let own = format!("/api/v1/workspaces/{}/files?path=out/report.md", helper.id);
    let report = json!([{ "url": "workspace:out/report.md" }]);
    for text in ["# first", "# second"] {
        warren.put(&own, text).await;
        let progress = json!({ "artifacts": [artifact(text, &report)] });
        assert_eq!(helper.tell(&claimed, "progress", progress).await.status, 200);
    }
    let task_id = claimed["task"]["id"].as_str().unwrap();
    let task = format!("/api/v1/workspaces/{}/tasks/{task_id}", helper.id);
    let mut contents = Vec::new();
    for copy in addresses(&lead.get(&task).await.to_string()) {
        contents.push(read(&warren, lead.id, &json!(copy)).await);
    }
    contents.sort();
    assert_eq!(contents, [b"# first".to_vec(), b"# second".to_vec()], "each as it was when it was told of");

    // And where one of many equal ones counts, its copy is there, and no other is left.
    let answers = (0..8).map(|_| helper.tell(&claimed, "answer", answered(&report)));
    let answers = futures_util::future::join_all(answers).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    let named = addresses(&lead.get(&task).await.to_string());
    let there = landed(&warren, lead.id).await.into_keys().map(|path| format!("workspace:{path}"));
    assert_eq!((named.len(), named), (3, there.collect::<Vec<_>>()));
}

const SECRET: &str = "s3cr3t-canary-of-the-workspace";

// F32: sec/T10
#[tokio::test]
async fn a_secret_that_an_agent_answers_with_is_masked_wherever_it_is_shown() {
    use base64::Engine as _;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let warren = Warren::start().await;
    let [lead, helper] = Runtime::pair(&warren).await;
    let set = warren.call("PUT", &format!("/api/v1/workspaces/{}/secrets/CANARY", helper.id));
    assert_eq!(set.token(&warren.token).json(&json!({ "value": SECRET })).send().await.status, 201);
    let begun = warren.post(&format!("/api/v1/workspaces/{}/conversations", helper.id), &json!({})).await;
    let talk =
        format!("/api/v1/workspaces/{}/conversations/{}", helper.id, begun.json()["id"].as_str().unwrap());
    let asked = json!({ "message": { "parts": [{ "text": "what is it?" }] } });
    let posted = warren.post(&format!("{talk}/messages"), &asked).await;
    assert!(matches!(posted.status, 200 | 202), "{}", posted.text());
    let words = json!([
        { "text": format!("it is {SECRET}.") },
        { "data": { "deep": [SECRET], SECRET: 1 } },
        { "raw": base64(&format!("KEY={SECRET}")), "filename": "env.txt" },
    ]);
    let speak = async |of: &Runtime<'_>| {
        let claimed = of.claim().await;
        let progress = json!({
            "message": { "parts": [{ "text": format!("found {SECRET}") }] },
            "artifacts": [{ "artifact": { "id": "a", "name": SECRET, "parts": words } }],
        });
        assert_eq!(of.tell(&claimed, "progress", progress).await.status, 200);
        let told = of.tell(&claimed, "answer", answered(&words)).await;
        assert_eq!(told.status, 200, "{}", told.text());
        told.text()
    };
    let own = speak(&helper).await;
    let notice = json!({ "text": format!("by the way: {SECRET}") });
    let noticed = helper.post(&format!("/api/v1/workspaces/{}/notify", helper.id), &notice).await;
    assert_eq!(noticed.status, 201, "{}", noticed.text());

    let chat = warren.get(&format!("{talk}/messages")).await.text();
    let tasks = warren.get(&format!("/api/v1/workspaces/{}/tasks", helper.id)).await.text();
    let log = json!(events(&warren, Some(helper.id)).await).to_string();
    let leaked = base64(&format!("KEY={SECRET}"));
    for text in [&own, &chat, &tasks, &log] {
        assert!(!text.contains(SECRET) && !text.contains(&leaked), "{text}");
    }
    let stars = "*".repeat(SECRET.len());
    for said in [format!("it is {stars}."), base64(&format!("KEY={stars}")), format!("by the way: {stars}")] {
        assert!(chat.contains(&said), "{said}: {chat}");
    }
    // Nor is it on disk.
    for file in ["warren.db", "warren.db-wal"] {
        let bytes = std::fs::read(warren.folder().join(file)).unwrap_or_default();
        for leak in [SECRET.as_bytes(), leaked.as_bytes()] {
            assert!(!bytes.windows(leak.len()).any(|window| window == leak), "{file}");
        }
    }

    // It is nothing to others: the same words of another workspace are words.
    warren.post(&format!("/api/v1/workspaces/{}/messages", lead.id), &asked).await;
    assert!(speak(&lead).await.contains(SECRET), "the control");
}

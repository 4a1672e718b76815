use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use http::StatusCode;
use serde_json::{Value, json};
use warren_outbound::OutboundPolicy;
use warren_testkit::Warren;

use super::agent::{Stage, send};

/// A receiver on this machine that keeps what it is told, and refuses as often as it is told to.
#[derive(Default)]
struct Kept {
    calls: Vec<(http::HeaderMap, Value)>,
    refusals: u32,
}

struct Receiver {
    url: String,
    kept: Arc<Mutex<Kept>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    async fn start(refusals: u32) -> Self {
        let kept = Arc::new(Mutex::new(Kept { refusals, ..Kept::default() }));
        let router = Router::new().fallback(receive).with_state(Arc::clone(&kept));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, kept, task }
    }

    /// Waits until it was told that the task is in this state; answers with the headers of that call.
    async fn told(&self, state: &str) -> http::HeaderMap {
        for _ in 0..800 {
            let found = self.kept.lock().unwrap().calls.iter().find_map(|(headers, body)| {
                (body["task"]["status"]["state"] == state).then(|| headers.clone())
            });
            if let Some(headers) = found {
                return headers;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("nobody told that the task is {state}");
    }
}

async fn receive(State(kept): State<Arc<Mutex<Kept>>>, request: Request) -> StatusCode {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let mut kept = kept.lock().unwrap();
    if kept.refusals > 0 {
        kept.refusals -= 1;
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    kept.calls.push((parts.headers, serde_json::from_slice(&body).unwrap()));
    StatusCode::NO_CONTENT
}

async fn stage() -> Stage {
    Stage::with(Warren::builder().outbound(OutboundPolicy::default().with_loopback())).await
}

fn config(url: &str) -> Value {
    json!({ "url": url, "token": "t0ken", "authentication": { "scheme": "Bearer", "credentials": "cr3dential" } })
}

// X1
#[tokio::test]
async fn who_does_not_listen_is_told_at_their_own_address() {
    let (stage, receiver) = (stage().await, Receiver::start(0).await);
    let mut params = send("wait gate");
    params["configuration"] =
        json!({ "returnImmediately": true, "taskPushNotificationConfig": config(&receiver.url) });
    stage.result("SendMessage", &params).await;
    stage.agent.open("gate");
    let headers = receiver.told("TASK_STATE_COMPLETED").await;
    assert_eq!(headers["x-a2a-notification-token"], "t0ken");
    assert_eq!(headers["authorization"], "Bearer cr3dential");
    assert_eq!(headers["content-type"], "application/a2a+json");
    let last = receiver.kept.lock().unwrap().calls.last().unwrap().1.clone();
    assert_eq!(last["task"]["artifacts"][0]["parts"][1]["text"], "after");
}

// X1
#[tokio::test]
async fn a_receiver_that_is_away_is_called_again() {
    let (stage, receiver) = (stage().await, Receiver::start(1).await);
    let asked = stage.task("ask me").await;
    let mut wanted = config(&receiver.url);
    wanted["taskId"] = asked["id"].clone();
    stage.result("CreateTaskPushNotificationConfig", &wanted).await;
    let mut reply = send("the left one");
    reply["message"]["taskId"] = asked["id"].clone();
    stage.result("SendMessage", &reply).await;
    receiver.told("TASK_STATE_COMPLETED").await;
}

// X1, sec/U08
#[tokio::test]
async fn credentials_outlive_two_rotations_of_the_key() {
    let (stage, receiver) = (stage().await, Receiver::start(0).await);
    let asked = stage.task("ask me").await;
    let mut wanted = config(&receiver.url);
    wanted["taskId"] = asked["id"].clone();
    stage.result("CreateTaskPushNotificationConfig", &wanted).await;
    for _ in 0..2 {
        let rotated = stage.warren.post("/api/v1/secrets/rotate-key", &json!({})).await.json();
        assert_eq!((&rotated["resealed"], &rotated["unreadable"]), (&json!(1), &json!(0)), "{rotated}");
    }
    let mut reply = send("the left one");
    reply["message"]["taskId"] = asked["id"].clone();
    stage.result("SendMessage", &reply).await;
    let headers = receiver.told("TASK_STATE_COMPLETED").await;
    assert_eq!(headers["x-a2a-notification-token"], "t0ken");
    assert_eq!(headers["authorization"], "Bearer cr3dential");
}

// X1: accepted before a crash, told after it.
#[tokio::test]
async fn what_is_owed_is_told_after_a_restart() {
    let (mut stage, receiver) = (stage().await, Receiver::start(1).await);
    let asked = stage.task("ask me").await;
    let mut wanted = config(&receiver.url);
    wanted["taskId"] = asked["id"].clone();
    stage.result("CreateTaskPushNotificationConfig", &wanted).await;
    let mut reply = send("the left one");
    reply["message"]["taskId"] = asked["id"].clone();
    stage.result("SendMessage", &reply).await;
    stage.warren = stage.warren.restart().await;
    receiver.told("TASK_STATE_COMPLETED").await;
}

// X1, on both bindings; sec/U02: what is secret goes in and does not come out.
#[tokio::test]
async fn configs_are_set_read_listed_and_deleted() {
    let stage = stage().await;
    let id = stage.task("ask me").await["id"].clone();
    let mut wanted = config("http://127.0.0.1:9/hook");
    wanted["taskId"] = id.clone();
    wanted["id"] = json!("mine");
    let made = stage.result("CreateTaskPushNotificationConfig", &wanted).await;
    let shown = json!({
        "id": "mine", "taskId": id, "url": "http://127.0.0.1:9/hook", "authentication": { "scheme": "Bearer" },
    });
    assert_eq!(made, shown);
    let path = format!("/tasks/{}/pushNotificationConfigs", id.as_str().unwrap());
    let second = stage.post(&path, &json!({ "url": "http://127.0.0.1:9/other" })).await;
    assert_eq!(second.status, 200, "{}", second.text());
    let other = second.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(stage.get(&format!("{path}/mine")).await.json(), shown);
    assert_eq!(
        stage.result("GetTaskPushNotificationConfig", &json!({ "taskId": id, "id": "mine" })).await,
        shown
    );
    let listed = stage.get(&path).await.json();
    assert_eq!(listed["configs"].as_array().unwrap().len(), 2);
    assert_eq!(listed, stage.result("ListTaskPushNotificationConfigs", &json!({ "taskId": id })).await);
    let gone =
        stage.warren.call("DELETE", &stage.path(&format!("{path}/{other}"))).token(&stage.warren.token);
    assert_eq!(gone.header("a2a-version", "1.0").send().await.status, 200);
    assert_eq!(
        stage.result("DeleteTaskPushNotificationConfig", &json!({ "taskId": id, "id": "mine" })).await,
        Value::Null
    );
    assert_eq!(stage.get(&path).await.json(), json!({ "configs": [] }));
    assert_eq!(
        stage.error("GetTaskPushNotificationConfig", &json!({ "taskId": id, "id": "mine" })).await.1,
        -32001
    );
    for file in std::fs::read_dir(stage.warren.folder()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
            assert!(!has(b"cr3dential") && !has(b"t0ken"), "{}", path.display());
        }
    }
}

// sec/A05: "push-notification webhook internal: refused at save and at send".
#[tokio::test]
async fn an_address_that_may_not_be_called_is_refused_and_nothing_is_left_behind() {
    let stage = Stage::set().await;
    let asked = stage.task("ask me").await;
    for url in [
        "http://127.0.0.1/",
        "http://169.254.169.254/",
        "http://[::1]/",
        "http://10.0.0.1/x",
        "file:///etc/passwd",
        "x",
        "",
    ] {
        let mut wanted = config(url);
        wanted["taskId"] = asked["id"].clone();
        let refused = stage.rpc("CreateTaskPushNotificationConfig", &wanted).await.json();
        assert!(refused["error"]["code"].is_i64(), "{url}: {refused}");
        let mut params = send("hello");
        params["configuration"] = json!({ "taskPushNotificationConfig": config(url) });
        assert!(stage.rpc("SendMessage", &params).await.json()["error"]["code"].is_i64(), "{url}");
    }
    for (field, value) in [
        ("token", json!("a\r\nX-Injected: 1")),
        ("authentication", json!({ "scheme": "Bearer x", "credentials": "y" })),
        ("authentication", json!({ "scheme": "Bearer", "credentials": "a\nb" })),
        ("id", json!("a\u{0}b")),
        ("id", json!("x".repeat(129))),
    ] {
        let mut wanted = config("https://hooks.example/x");
        wanted["taskId"] = asked["id"].clone();
        wanted[field] = value.clone();
        assert_eq!(
            stage.error("CreateTaskPushNotificationConfig", &wanted).await.1,
            -32602,
            "{field} {value}"
        );
    }
    let path = format!("/tasks/{}/pushNotificationConfigs", asked["id"].as_str().unwrap());
    assert_eq!(stage.get(&path).await.json(), json!({ "configs": [] }));
    assert_eq!(stage.agent.turns().len(), 1, "the messages were not sent on");
}

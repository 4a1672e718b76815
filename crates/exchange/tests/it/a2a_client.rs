//! Speaking A2A with agents that behave as a test says, over real sockets.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use warren_doors::SystemClock;
use warren_exchange::{
    AgentAddress, AgentRuntime as _, AgentUpdate, ByA2a, DeliveryAttempt, Outcome, UpdateSink,
};
use warren_model::{
    DeliveryId, DeliveryReason, Message, Part, Principal, Role, Runtime, TaskId, TaskState, TaskUpdate,
    UserId, WorkspaceId,
};
use warren_outbound::{Connector, OutboundPolicy};
use warren_testkit::{ExchangeBed, ExchangeOptions};

use crate::peer::open;

/// One answer of the agent.
enum Reply {
    Json(u16, Value),
    Busy(u32),
    /// Events, and the end.
    Events(Vec<Value>),
    /// Events, and then the connection is cut.
    Cut(Vec<Value>),
}

#[derive(Default)]
struct Script {
    replies: Mutex<HashMap<&'static str, VecDeque<Reply>>>,
    asked: Mutex<Vec<(String, Value)>>,
}

/// An agent that answers each operation as it was told; it speaks both bindings.
struct Agent {
    url: String,
    script: Arc<Script>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Agent {
    async fn start() -> Self {
        let script = Arc::new(Script::default());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&script));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/agent", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, script, task }
    }

    fn then(self, operation: &'static str, reply: Reply) -> Self {
        self.script.replies.lock().unwrap().entry(operation).or_default().push_back(reply);
        self
    }

    /// What was asked, in order.
    fn asked(&self) -> Vec<String> {
        self.script.asked.lock().unwrap().iter().map(|(operation, _)| operation.clone()).collect()
    }

    fn bodies(&self) -> Vec<Value> {
        self.script.asked.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    fn address(&self, binding: &str, streams: bool) -> AgentAddress {
        let interface = json!({ "url": self.url, "protocolBinding": binding, "protocolVersion": "1.0" });
        let card = json!({ "capabilities": { "streaming": streams }, "supportedInterfaces": [interface] });
        AgentAddress {
            is_hosted: false,
            workspace_id: WorkspaceId::from_bytes([1; 16]),
            runtime: Runtime::External,
            card: Some(card),
        }
    }

    async fn deliver(&self, binding: &str, streams: bool) -> (Outcome, Vec<AgentUpdate>) {
        deliver(open(), &self.address(binding, streams)).await
    }
}

async fn answer(State(script): State<Arc<Script>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    assert_eq!(parts.headers["a2a-version"], "1.0");
    // X2: everything that reaches an agent is signed.
    assert!(parts.headers.contains_key("signature") && parts.headers.contains_key("warren-author"));
    let operation = match (parts.method.as_str(), parts.uri.path()) {
        (_, "/agent") => body["method"].as_str().unwrap().to_owned(),
        (_, "/agent/message:send") => "SendMessage".to_owned(),
        (_, "/agent/message:stream") => "SendStreamingMessage".to_owned(),
        ("GET", "/agent/tasks/far") => "GetTask".to_owned(),
        ("GET", "/agent/tasks/far:subscribe") => "SubscribeToTask".to_owned(),
        ("POST", "/agent/tasks/far:cancel") => "CancelTask".to_owned(),
        ("GET", "/agent/extendedAgentCard") => "GetExtendedAgentCard".to_owned(),
        other => panic!("{other:?}"),
    };
    script.asked.lock().unwrap().push((operation.clone(), body.clone()));
    let reply = script.replies.lock().unwrap().get_mut(operation.as_str()).and_then(VecDeque::pop_front);
    let reply = reply.unwrap_or_else(|| panic!("nothing is left to answer {operation} with"));
    write(reply, parts.uri.path() == "/agent")
}

fn write(reply: Reply, is_rpc: bool) -> Response {
    let wrap = move |value: Value| {
        let has_error = value.get("error").is_some();
        match (is_rpc, has_error) {
            (true, false) => json!({ "jsonrpc": "2.0", "id": "1", "result": value }),
            _ => value,
        }
    };
    let stream_of = move |events: Vec<Value>, is_cut: bool| {
        let mut pieces: Vec<Result<Bytes, std::io::Error>> = events
            .into_iter()
            .map(|event| Ok(format!(": ping\n\ndata: {}\n\n", wrap(event)).into()))
            .collect();
        if is_cut {
            pieces.push(Err(std::io::Error::other("cut")));
        }
        // The server sends what it has when it has to wait: each piece is on its way before the next, or the cut.
        let paced = stream::iter(pieces).then(|piece| async {
            tokio::task::yield_now().await;
            piece
        });
        ([("content-type", "text/event-stream")], Body::from_stream(paced)).into_response()
    };
    match reply {
        Reply::Json(status, value) => {
            let status = http::StatusCode::from_u16(status).unwrap();
            (status, axum::Json(wrap(value))).into_response()
        }
        Reply::Busy(seconds) => {
            (http::StatusCode::SERVICE_UNAVAILABLE, [("retry-after", seconds.to_string())]).into_response()
        }
        Reply::Events(events) => stream_of(events, false),
        Reply::Cut(events) => stream_of(events, true),
    }
}

/// The implementation, and the exchange whose keys it signs with.
async fn by_a2a(connector: Connector) -> (ExchangeBed, ByA2a) {
    let outbound = OutboundPolicy::default().with_loopback();
    let bed = ExchangeBed::on_sqlite(ExchangeOptions { outbound, ..ExchangeOptions::real_time() }).await;
    let signer = bed.exchange.signer.clone();
    let agents = ByA2a::new(connector, Arc::new(SystemClock), signer);
    (bed, agents)
}

fn attempt() -> DeliveryAttempt {
    DeliveryAttempt {
        delivery_id: DeliveryId::from_bytes([1; 16]),
        attempt: 1,
        task_id: TaskId::from_bytes([2; 16]),
        context_id: "c1".to_owned(),
        remote_id: None,
        resumes: false,
        author: Principal::user(UserId::OPERATOR),
        message: Message::new("m1", Role::User, vec![Part::text("hello")]),
        deadline_at: None,
    }
}

async fn deliver(connector: Connector, agent: &AgentAddress) -> (Outcome, Vec<AgentUpdate>) {
    deliver_attempt(connector, agent, &attempt()).await
}

async fn deliver_attempt(
    connector: Connector,
    agent: &AgentAddress,
    attempt: &DeliveryAttempt,
) -> (Outcome, Vec<AgentUpdate>) {
    let (_bed, agents) = by_a2a(connector).await;
    let (sender, mut receiver) = mpsc::channel(64);
    let outcome = agents.deliver(agent, attempt, &UpdateSink::new(sender)).await;
    let mut told = Vec::new();
    while let Ok(one) = receiver.try_recv() {
        told.push(one);
    }
    (outcome, told)
}

fn task(state: &str) -> Value {
    json!({ "id": "far", "contextId": "c1", "status": { "state": state } })
}

fn status(state: &str) -> Value {
    json!({ "statusUpdate": { "taskId": "far", "contextId": "c1", "status": { "state": state } } })
}

fn piece(text: &str, append: bool) -> Value {
    json!({ "artifactUpdate": {
        "taskId": "far", "contextId": "c1", "append": append,
        "artifact": { "artifactId": "a", "parts": [{ "text": text }] },
    } })
}

fn states(told: &[AgentUpdate]) -> Vec<TaskState> {
    let state = |one: &AgentUpdate| match one {
        AgentUpdate::Task(TaskUpdate::Status { state, .. }) => Some(*state),
        _ => None,
    };
    told.iter().filter_map(state).collect()
}

const BINDINGS: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

// X1, X11
#[tokio::test]
async fn what_an_agent_streams_is_told_as_it_comes() {
    for binding in BINDINGS {
        let events = vec![
            json!({ "task": task("TASK_STATE_SUBMITTED") }),
            status("TASK_STATE_WORKING"),
            piece("one", false),
            piece("two", true),
            status("TASK_STATE_COMPLETED"),
        ];
        let agent = Agent::start().await.then("SendStreamingMessage", Reply::Events(events));
        let (outcome, told) = agent.deliver(binding, true).await;
        assert_eq!(outcome, Outcome::Answered, "{binding}");
        assert_eq!(told[0], AgentUpdate::RemoteId("far".to_owned()));
        assert_eq!(states(&told), [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
        assert_eq!(told.len(), 6, "{told:?}");
        assert_eq!(agent.asked(), ["SendStreamingMessage"]);
    }
}

// X1
#[tokio::test]
async fn an_agent_that_keeps_no_task_answers_with_a_message() {
    let message =
        json!({ "message": { "messageId": "r1", "role": "ROLE_AGENT", "parts": [{ "text": "hi" }] } });
    for binding in BINDINGS {
        for (operation, streams) in [("SendMessage", false), ("SendStreamingMessage", true)] {
            // An agent may answer a request for a stream with one whole answer.
            let agent = Agent::start().await.then(operation, Reply::Json(200, message.clone()));
            let (outcome, told) = agent.deliver(binding, streams).await;
            assert_eq!(outcome, Outcome::Answered);
            let [AgentUpdate::Task(TaskUpdate::Message(said))] = &told[..] else { panic!("{told:?}") };
            assert_eq!((said.id.as_str(), said.text().as_str()), ("r1", "hi"));
        }
    }
}

// X1
#[tokio::test]
async fn an_agent_that_does_not_stream_is_asked_until_it_has_ended_or_waits() {
    for binding in BINDINGS {
        let agent = Agent::start()
            .await
            .then("SendMessage", Reply::Json(200, json!({ "task": task("TASK_STATE_SUBMITTED") })))
            .then("GetTask", Reply::Json(200, task("TASK_STATE_WORKING")))
            .then("GetTask", Reply::Json(200, task("TASK_STATE_WORKING")))
            .then("GetTask", Reply::Json(200, task("TASK_STATE_INPUT_REQUIRED")));
        let (outcome, told) = agent.deliver(binding, false).await;
        assert_eq!(outcome, Outcome::Answered);
        let expected = [TaskState::Submitted, TaskState::Working, TaskState::InputRequired];
        assert_eq!(states(&told), expected, "asking again is no news");
        assert_eq!(agent.asked(), ["SendMessage", "GetTask", "GetTask", "GetTask"]);
    }
}

// X11
#[tokio::test]
async fn a_stream_that_is_cut_after_the_agent_took_the_message_is_taken_up_again() {
    for binding in BINDINGS {
        let agent = Agent::start()
            .await
            .then(
                "SendStreamingMessage",
                Reply::Cut(vec![json!({ "task": task("TASK_STATE_WORKING") }), piece("one", false)]),
            )
            .then("GetTask", Reply::Busy(1))
            .then("GetTask", Reply::Json(200, task("TASK_STATE_WORKING")))
            .then(
                "SubscribeToTask",
                Reply::Events(vec![
                    json!({ "task": task("TASK_STATE_WORKING") }),
                    status("TASK_STATE_COMPLETED"),
                ]),
            );
        let (outcome, told) = agent.deliver(binding, true).await;
        assert_eq!(outcome, Outcome::Answered);
        assert_eq!(states(&told), [TaskState::Working, TaskState::Completed]);
        assert_eq!(agent.asked(), ["SendStreamingMessage", "GetTask", "GetTask", "SubscribeToTask"]);
    }
}

// X11, X15: after a restart of Warren in the middle of a delivery.
#[tokio::test]
async fn work_that_the_agent_has_already_is_followed_and_not_sent_again() {
    for binding in BINDINGS {
        let agent = Agent::start()
            .await
            .then("GetTask", Reply::Json(200, task("TASK_STATE_WORKING")))
            .then("SubscribeToTask", Reply::Events(vec![status("TASK_STATE_COMPLETED")]));
        let resumed = DeliveryAttempt { remote_id: Some("far".to_owned()), resumes: true, ..attempt() };
        let (outcome, told) = deliver_attempt(open(), &agent.address(binding, true), &resumed).await;
        assert_eq!(outcome, Outcome::Answered);
        assert_eq!(states(&told), [TaskState::Working, TaskState::Completed]);
        assert_eq!(agent.asked(), ["GetTask", "SubscribeToTask"]);
    }
}

// X11
#[tokio::test]
async fn cut_before_the_agent_named_its_task_nobody_knows_and_nothing_is_sent_twice() {
    let agent = Agent::start().await.then("SendStreamingMessage", Reply::Cut(Vec::new()));
    let (outcome, told) = agent.deliver("JSONRPC", true).await;
    assert_eq!((outcome, told), (Outcome::Unknown, Vec::new()));
    assert_eq!(agent.asked(), ["SendStreamingMessage"]);
    let silent = Agent::start().await.then("SendStreamingMessage", Reply::Events(Vec::new()));
    assert_eq!(silent.deliver("JSONRPC", true).await.0, Outcome::Unknown, "a stream that says nothing");
}

// X11, and "401 from a runtime"
#[tokio::test]
async fn outcomes_are_told_apart() {
    let rpc = |code: i64| json!({ "error": { "code": code, "message": "no" } });
    let cases = [
        (Reply::Busy(7), Outcome::Busy { retry_after_ms: Some(7_000) }),
        (Reply::Json(401, json!({})), Outcome::Failed { reason: DeliveryReason::Unauthorized }),
        (Reply::Json(403, json!({})), Outcome::Failed { reason: DeliveryReason::Forbidden }),
        (Reply::Json(200, rpc(-32602)), Outcome::Failed { reason: DeliveryReason::MessageRefused }),
        (Reply::Json(200, rpc(-32009)), Outcome::Failed { reason: DeliveryReason::VersionNotSupported }),
        (Reply::Json(500, json!("oh")), Outcome::Failed { reason: DeliveryReason::AgentError }),
        (Reply::Json(504, json!({})), Outcome::Unknown),
        (
            Reply::Json(200, json!({ "task": { "id": 5 } })),
            Outcome::Failed { reason: DeliveryReason::BadAnswer },
        ),
        (Reply::Json(301, json!({})), Outcome::Failed { reason: DeliveryReason::BadAnswer }),
    ];
    for (at, (reply, expected)) in cases.into_iter().enumerate() {
        let agent = Agent::start().await.then("SendMessage", reply);
        assert_eq!(agent.deliver("JSONRPC", false).await.0, expected, "case {at}");
        assert_eq!(agent.asked().len(), 1);
    }
    let gone = Agent::start().await;
    let address = gone.address("JSONRPC", true);
    drop(gone);
    tokio::task::yield_now().await;
    let (outcome, _) = deliver(open(), &address).await;
    assert_eq!(outcome, Outcome::Busy { retry_after_ms: None }, "nobody takes the connection");
}

// X6, sec/A05
#[tokio::test]
async fn an_agent_at_an_address_that_may_not_be_called_is_not_called() {
    let agent = Agent::start().await;
    let closed = Connector::with_system_names(OutboundPolicy::default());
    let (outcome, _) = deliver(closed, &agent.address("JSONRPC", true)).await;
    assert_eq!(outcome, Outcome::Failed { reason: DeliveryReason::CallRefused });
    assert_eq!(agent.asked(), Vec::<String>::new());
}

// sec/A06
#[tokio::test]
async fn an_event_beyond_all_measure_is_not_taken() {
    let huge = json!({ "artifactUpdate": {
        "taskId": "far", "contextId": "c1",
        "artifact": { "artifactId": "a", "parts": [{ "text": "x".repeat(9 << 20) }] },
    } });
    let agent = Agent::start().await.then("SendStreamingMessage", Reply::Events(vec![huge]));
    assert_eq!(agent.deliver("JSONRPC", true).await.0, Outcome::Failed { reason: DeliveryReason::BadAnswer });
}

// X22
#[tokio::test]
async fn a_cancellation_reaches_the_agent_under_its_own_name_for_the_task() {
    for binding in BINDINGS {
        let agent =
            Agent::start().await.then("CancelTask", Reply::Json(200, task("TASK_STATE_CANCELED"))).then(
                "CancelTask",
                Reply::Json(
                    200,
                    json!({ "error": { "code": -32002, "details": [{ "reason": "TASK_NOT_CANCELABLE" }] } }),
                ),
            );
        let (_bed, agents) = by_a2a(open()).await;
        let address = agent.address(binding, true);
        assert_eq!(agents.cancel(&address, "far").await, Outcome::Answered);
        assert_eq!(
            agents.cancel(&address, "far").await,
            Outcome::Failed { reason: DeliveryReason::NotCancelable }
        );
        let body = &agent.bodies()[0];
        let id = if binding == "JSONRPC" { &body["params"]["id"] } else { &body["id"] };
        assert_eq!(id, "far");
    }
}

// X1, X2: what an agent shows to those it knows
#[tokio::test]
async fn the_extended_card_of_an_agent_is_asked_for_where_it_says_that_it_has_one() {
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let told = json!({ "name": "agent", "skills": [{ "id": "more", "name": "more" }] });
        let agent = Agent::start().await.then("GetExtendedAgentCard", Reply::Json(200, told.clone()));
        let (_bed, agents) = by_a2a(open()).await;
        let plain = agent.address(binding, false);
        assert_eq!(agents.extended_card(&plain).await, Ok(None), "{binding}: it says nothing of one");
        assert!(agent.asked().is_empty());
        let mut known = plain;
        known.card.as_mut().unwrap()["capabilities"]["extendedAgentCard"] = json!(true);
        assert!(agents.has_extended_card(&known));
        assert_eq!(agents.extended_card(&known).await, Ok(Some(told)), "{binding}");
    }
}

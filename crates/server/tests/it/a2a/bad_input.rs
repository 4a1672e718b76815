use serde_json::{Value, json};
use warren_exchange::Config;
use warren_testkit::{Answer, Warren};

use super::agent::{Stage, send, unique};

async fn raw(stage: &Stage, content_type: &str, version: Option<&str>, body: &str) -> Answer {
    let call = stage.warren.call("POST", &stage.path("")).token(&stage.warren.token);
    let call = call.header("content-type", content_type);
    let call = if let Some(version) = version { call.header("a2a-version", version) } else { call };
    call.body(body.to_owned()).send().await
}

fn code(answer: &Answer) -> i64 {
    let json = answer.json();
    json["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {json}"))
}

fn reason(answer: &Answer) -> String {
    let json = answer.json();
    json["error"]["details"][0]["reason"].as_str().unwrap_or_else(|| panic!("no reason: {json}")).to_owned()
}

// X1
#[tokio::test]
async fn what_is_no_json_rpc_is_told_so() {
    let stage = Stage::set().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&str, i64, Value); 13] = [
        ("{", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\"} x", -32700, Value::Null),
        (&deep, -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("5", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}]"#, -32600, Value::Null),
        (r#"{"id":1,"method":"GetTask"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","method":"GetTask"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"a","method":"GetTask","params":[1]}"#, -32602, json!("a")),
    ];
    for (body, expected, id) in cases {
        let answer = raw(&stage, "application/json", Some("1.0"), body).await;
        let shown = warren_model::truncate_utf8(body, 80);
        assert_eq!((answer.status, code(&answer)), (200, expected), "{shown}");
        assert_eq!((&answer.json()["id"], &answer.json()["jsonrpc"]), (&id, &json!("2.0")), "{shown}");
    }
}

// X1
#[tokio::test]
async fn unknown_methods_are_not_found() {
    let stage = Stage::set().await;
    for method in ["message/send", "sendMessage", "Sendmessage", "tasks/get", "", "GetTask "] {
        assert_eq!(stage.error(method, &json!({})).await.1, -32601, "{method}");
    }
    let wrong = stage.warren.call("PUT", &stage.path("")).token(&stage.warren.token).send().await;
    assert_eq!(wrong.status, 405);
    let nowhere = stage.get("/nowhere").await;
    assert_eq!(
        (nowhere.status, nowhere.code()),
        (404, "route_not_found".to_owned()),
        "and no page for people"
    );
    let action = stage.post("/tasks/x:explode", &json!({})).await;
    assert_eq!(action.status, 405);
}

// X1: "unsupported version", on both bindings.
#[tokio::test]
async fn a_version_that_is_not_spoken_is_refused_on_both_bindings() {
    let stage = Stage::set().await;
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": { "id": "x" } }).to_string();
    for version in [None, Some(""), Some("0.3"), Some("2.0"), Some("nonsense"), Some("1.x")] {
        let answer = raw(&stage, "application/json", version, &body).await;
        assert_eq!((code(&answer), &answer.json()["id"]), (-32009, &json!(7)), "{version:?}");
        for (method, path) in
            [("GET", "/tasks/x"), ("GET", "/tasks"), ("POST", "/message:send"), ("POST", "/message:stream")]
        {
            let call = stage.warren.call(method, &stage.path(path)).token(&stage.warren.token);
            let call = if let Some(version) = version { call.header("a2a-version", version) } else { call };
            let answer = call.json(&send("hello")).send().await;
            assert_eq!(
                (answer.status, reason(&answer)),
                (400, "VERSION_NOT_SUPPORTED".to_owned()),
                "{version:?} {path}"
            );
        }
    }
    for version in ["1.0", "1.3", "1"] {
        assert_eq!(code(&raw(&stage, "application/json", Some(version), &body).await), -32001, "{version}");
    }
    let by_query = stage
        .warren
        .call("GET", &stage.path("/tasks?A2A-Version=1.0"))
        .token(&stage.warren.token)
        .send()
        .await;
    assert_eq!(by_query.status, 200, "for clients that cannot set a header");
    assert_eq!(stage.agent.turns().len(), 0, "nothing was sent on");
}

// X1: "empty parts", and all that a message must have.
#[tokio::test]
async fn what_is_no_message_is_refused_on_both_bindings_and_nothing_is_sent_on() {
    let stage = Stage::set().await;
    let with = |field: &str, value: Value| {
        let mut request = send("x");
        request["message"][field] = value;
        request
    };
    let long = "x".repeat(129);
    let cases = [
        json!({}),
        json!({ "message": {} }),
        json!({ "message": "hello" }),
        with("parts", json!([])),
        with("parts", json!([{}])),
        with("parts", json!([{ "text": "" }])),
        with("parts", json!([{ "text": "a", "data": 1 }])),
        with("parts", json!([{ "raw": "not base64!" }])),
        with("parts", json!([{ "raw": "AA==", "filename": "a\r\nX-Injected: 1" }])),
        with("parts", json!(vec![json!({ "text": "" }); 101])),
        with("role", json!("ROLE_AGENT")),
        with("role", json!("somebody")),
        with("messageId", json!("")),
        with("messageId", json!(long)),
        with("messageId", json!("a\r\nX-Injected: 1")),
        with("contextId", json!("a\u{0}b")),
        with("contextId", json!(long)),
        {
            let mut one = send("x");
            one["configuration"] = json!({ "historyLength": -1 });
            one
        },
        {
            let mut one = send("x");
            one["configuration"] = json!({ "historyLength": "many" });
            one
        },
    ];
    for request in cases {
        let shown = warren_model::truncate_utf8(&request.to_string(), 120).to_owned();
        assert_eq!(stage.error("SendMessage", &request).await.1, -32602, "{shown}");
        assert_eq!(stage.error("SendStreamingMessage", &request).await.1, -32602, "{shown}");
        for path in ["/message:send", "/message:stream"] {
            let answer = stage.post(path, &request).await;
            assert_eq!((answer.status, reason(&answer)), (400, "INVALID_PARAMS".to_owned()), "{shown}");
        }
    }
    let unknown = with("taskId", json!("01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e"));
    assert_eq!(stage.error("SendMessage", &unknown).await.1, -32001);
    assert_eq!(stage.error("SendMessage", &with("taskId", json!("x"))).await.1, -32001);
    assert_eq!(stage.agent.turns().len(), 0);
    let listed = stage.result("ListTasks", &json!({})).await;
    assert_eq!(listed["totalSize"], 0, "nothing was kept");
}

// X1
#[tokio::test]
async fn other_requests_are_checked_as_strictly() {
    let stage = Stage::set().await;
    for (method, params, expected) in [
        ("GetTask", json!({}), -32602),
        ("GetTask", json!({ "id": 5 }), -32602),
        ("GetTask", json!({ "id": "x" }), -32001),
        ("CancelTask", json!({}), -32602),
        ("CancelTask", json!({ "id": "x" }), -32001),
        ("SubscribeToTask", json!({}), -32602),
        ("SubscribeToTask", json!({ "id": "x" }), -32001),
        ("ListTasks", json!({ "pageSize": 0 }), -32602),
        ("ListTasks", json!({ "pageSize": 101 }), -32602),
        ("ListTasks", json!({ "pageToken": "nonsense" }), -32602),
        ("ListTasks", json!({ "status": "done" }), -32602),
        ("ListTasks", json!({ "statusTimestampAfter": "yesterday" }), -32602),
        ("ListTasks", json!({ "historyLength": -1 }), -32602),
        ("CreateTaskPushNotificationConfig", json!({}), -32602),
        ("GetTaskPushNotificationConfig", json!({ "taskId": "x", "id": "y" }), -32001),
        ("GetExtendedAgentCard", json!({}), -32004),
    ] {
        assert_eq!(stage.error(method, &params).await.1, expected, "{method} {params}");
    }
    assert_eq!(reason(&stage.get("/extendedAgentCard").await), "UNSUPPORTED_OPERATION");
    assert_eq!(reason(&stage.get("/tasks?pageSize=many").await), "INVALID_PARAMS");
}

// X1, sec/W02: no form of another site can send these.
#[tokio::test]
async fn only_json_is_taken() {
    let stage = Stage::set().await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x" } }).to_string();
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let answer = raw(&stage, content_type, Some("1.0"), &body).await;
        assert_eq!(code(&answer), -32005, "{content_type}");
        let call = stage.warren.call("POST", &stage.path("/message:send")).token(&stage.warren.token);
        let call = call.header("a2a-version", "1.0").header("content-type", content_type);
        let answer = call.body(send("hello").to_string()).send().await;
        let expected = (400, "CONTENT_TYPE_NOT_SUPPORTED".to_owned());
        assert_eq!((answer.status, reason(&answer)), expected, "{content_type}");
    }
    assert_eq!(stage.agent.turns().len(), 0, "nothing was sent on");
    for content_type in ["application/json", "application/json; charset=utf-8", "application/a2a+json"] {
        assert_eq!(code(&raw(&stage, content_type, Some("1.0"), &body).await), -32001, "{content_type}");
    }
}

// X5: "sizes one over each limit (413)", all parts counted, nothing cut.
#[tokio::test]
async fn one_byte_too_many_is_answered_with_413_and_not_cut() {
    let terms = Config { max_message_bytes: 100, ..Config::default() };
    let stage = Stage::with(Warren::builder().exchange_config(terms)).await;
    let parts = |last: usize| {
        let mut request = send("x");
        request["message"]["messageId"] = json!(unique("m"));
        request["message"]["parts"] = json!([{ "text": "a".repeat(50) }, { "text": "b".repeat(last) }]);
        request
    };
    let fits = stage.result("SendMessage", &parts(50)).await["task"].clone();
    assert_eq!(fits["history"][0]["parts"][1]["text"], json!("b".repeat(50)), "to the last byte");
    let rpc = stage.rpc("SendMessage", &parts(51)).await;
    assert_eq!(
        (rpc.status, rpc.json()["error"]["data"][0]["reason"].clone()),
        (413, json!("PAYLOAD_TOO_LARGE"))
    );
    let rest = stage.post("/message:send", &parts(51)).await;
    assert_eq!((rest.status, reason(&rest)), (413, "PAYLOAD_TOO_LARGE".to_owned()));
    let stream = stage.post("/message:stream", &parts(51)).await;
    assert_eq!(stream.status, 413);
    assert_eq!(stage.agent.turns().len(), 1);
    // And the request as a whole.
    let huge = "x".repeat(3 << 20);
    let answer = raw(&stage, "application/json", Some("1.0"), &format!("{{\"x\":\"{huge}\"}}")).await;
    assert_eq!((answer.status, code(&answer)), (413, -32000));
    let answer = stage.post("/message:send", &json!({ "x": huge })).await;
    assert_eq!((answer.status, reason(&answer)), (413, "PAYLOAD_TOO_LARGE".to_owned()));
}

// F30: who may not speak with it learns nothing by A2A either.
#[tokio::test]
async fn without_a_token_there_is_no_agent() {
    let stage = Stage::set().await;
    for (method, path) in
        [("POST", ""), ("POST", "/message:send"), ("GET", "/tasks"), ("GET", "/.well-known/agent-card.json")]
    {
        let answer = stage
            .warren
            .call(method, &stage.path(path))
            .header("a2a-version", "1.0")
            .json(&json!({}))
            .send()
            .await;
        assert_eq!((answer.status, answer.code()), (401, "unauthenticated".to_owned()), "{method} {path}");
        let token = &stage.warren.token;
        for id in ["01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e", "nonsense"] {
            let call = stage.warren.call(method, &format!("/a2a/{id}{path}")).token(token);
            let answer = call.header("a2a-version", "1.0").json(&json!({})).send().await;
            assert_eq!(
                (answer.status, answer.code()),
                (404, "workspace_not_found".to_owned()),
                "{method} {id} {path}"
            );
        }
    }
}

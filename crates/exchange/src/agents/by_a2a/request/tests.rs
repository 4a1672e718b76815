use warren_model::{DeliveryId, DeliveryReason, Message, Part, Principal, PrincipalKind, Role, TaskId};

use super::*;
use crate::a2a::Task;

fn attempt(remote_id: Option<&str>) -> DeliveryAttempt {
    let mut message = Message::new("m1", Role::User, vec![Part::text("hello")]);
    message.metadata.insert("mine".to_owned(), json!(1));
    let beside = json!({ "metadata": { "trace": "t" }, "acceptedOutputModes": ["text/plain"] });
    message.metadata.insert(REQUEST.to_owned(), beside);
    DeliveryAttempt {
        delivery_id: DeliveryId::from_bytes([1; 16]),
        attempt: 1,
        task_id: TaskId::from_bytes([2; 16]),
        context_id: "c1".to_owned(),
        remote_id: remote_id.map(str::to_owned),
        resumes: false,
        author: Principal { kind: PrincipalKind::Schedule, id: "nightly".to_owned() },
        message,
        deadline_at: None,
    }
}

fn interface(binding: Binding, tenant: Option<&str>) -> Interface {
    Interface {
        url: "https://agent.example/a2a".to_owned(),
        binding,
        tenant: tenant.map(str::to_owned),
        streams: false,
        has_extended_card: false,
    }
}

fn body_of(call: &Call) -> Value {
    serde_json::from_slice(&call.body).unwrap()
}

// X4
#[test]
fn the_agent_learns_who_wrote_and_nothing_of_our_own_notes() {
    let attempt = attempt(None);
    let call = outgoing(&interface(Binding::JsonRpc, None), &Asked::Send { attempt: &attempt });
    let body = body_of(&call);
    assert_eq!((call.method.as_str(), call.url.as_str()), ("POST", "https://agent.example/a2a"));
    assert_eq!(body["method"], "SendMessage");
    assert_eq!(
        body["params"],
        json!({
            "message": {
                "messageId": "m1", "contextId": "c1", "role": "ROLE_USER", "parts": [{ "text": "hello" }],
                "metadata": { "mine": 1, "warren/author": { "kind": "schedule", "id": "nightly" } },
            },
            "configuration": { "acceptedOutputModes": ["text/plain"], "returnImmediately": true },
            "metadata": { "trace": "t" },
        })
    );
    assert!(call.headers.contains(&("a2a-version".to_owned(), "1.0".to_owned())));
}

// X1
#[test]
fn a_next_message_names_the_agents_own_task() {
    let attempt = attempt(Some("far"));
    let call = outgoing(&interface(Binding::JsonRpc, Some("blue")), &Asked::Stream { attempt: &attempt });
    let params = &body_of(&call)["params"];
    assert_eq!((&params["message"]["taskId"], &params["tenant"]), (&json!("far"), &json!("blue")));
    assert_eq!(params["message"].get("contextId"), None);
}

// X1, sec/A07
#[test]
fn an_agents_id_stays_one_segment_of_the_path() {
    let rest = interface(Binding::HttpJson, Some("a b"));
    let call = outgoing(&rest, &Asked::Get { remote_id: "../x?y#z" });
    assert_eq!(call.url, "https://agent.example/a2a/a%20b/tasks/..%2Fx%3Fy%23z?historyLength=0");
    assert_eq!(call.method, Method::GET);
    let call = outgoing(&rest, &Asked::Cancel { remote_id: "t" });
    assert_eq!(
        (call.method.as_str(), call.url.as_str()),
        ("POST", "https://agent.example/a2a/a%20b/tasks/t:cancel")
    );
    assert!(call.headers.contains(&("content-type".to_owned(), MEDIA_TYPE.to_owned())));
}

// X11
#[test]
fn complaints_are_understood_in_both_spellings() {
    let read = |binding, status: u16, body: Value| {
        read_result::<Task>(binding, StatusCode::from_u16(status).unwrap(), body).unwrap_err()
    };
    let rpc = |code: i64| json!({ "jsonrpc": "2.0", "id": "1", "error": { "code": code, "message": "no" } });
    let detailed = |reason: &str| json!({ "error": { "code": 400, "details": [{ "reason": reason }] } });
    let cases = [
        (read(Binding::JsonRpc, 200, rpc(-32001)), Trouble::Refused(DeliveryReason::TaskUnknown)),
        (read(Binding::JsonRpc, 200, rpc(-32002)), Trouble::Refused(DeliveryReason::NotCancelable)),
        (read(Binding::JsonRpc, 200, rpc(-32602)), Trouble::Refused(DeliveryReason::MessageRefused)),
        (read(Binding::JsonRpc, 200, rpc(-32603)), Trouble::Refused(DeliveryReason::AgentError)),
        (read(Binding::JsonRpc, 200, rpc(-1)), Trouble::Refused(DeliveryReason::AgentError)),
        (
            read(Binding::HttpJson, 404, detailed("TASK_NOT_FOUND")),
            Trouble::Refused(DeliveryReason::TaskUnknown),
        ),
        (read(Binding::HttpJson, 400, detailed("AGENT_BUSY")), Trouble::Busy { retry_after_ms: None }),
        (
            read(Binding::HttpJson, 422, json!({ "detail": "what?" })),
            Trouble::Refused(DeliveryReason::MessageRefused),
        ),
        (read(Binding::HttpJson, 500, json!("oh")), Trouble::Refused(DeliveryReason::AgentError)),
        (read(Binding::JsonRpc, 200, json!({ "jsonrpc": "2.0" })), Trouble::BadAnswer),
        (read(Binding::JsonRpc, 200, json!({ "result": { "id": 5 } })), Trouble::BadAnswer),
        (read(Binding::HttpJson, 200, json!([])), Trouble::BadAnswer),
    ];
    for (at, (seen, expected)) in cases.into_iter().enumerate() {
        assert_eq!(seen, expected, "case {at}");
    }
}

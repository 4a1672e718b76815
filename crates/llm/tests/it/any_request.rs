//! Whatever is stored can be sent to any model: random conversations, on every wire, to a server that refuses as the real
//! ones do (A8). And whatever comes back, nothing panics.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_llm::{ModelClient as _, Models};
use warren_model::session::{
    Block, CallOutcome, ClosedCall, ModelOrigin, ModelRequest, Opaque, ToolOffer, ToolResult, Turn,
};
use warren_model::{Content, Part};

use crate::support::{ScriptedServer, WIRES, connector, model_of, options, providers, quick};

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("a b".to_owned()),
        "[a-z:./ü\\u{0}-\\u{1f}]{0,12}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({ "a": [1, { "b": null }] })),
        words().prop_map(Value::String),
        Just(Value::Null),
        Just(json!([1, 2])),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        words().prop_map(Content::Text),
        Just(Content::Raw("aGVsbG8=".to_owned())),
        Just(Content::Raw(String::new())),
        Just(Content::Url("https://example.test/x".to_owned())),
        words().prop_map(|words| Content::Url(format!("workspace:{words}"))),
        value().prop_map(Content::Data),
    ];
    let media_type = prop_oneof![
        Just(None),
        Just(Some("image/png".to_owned())),
        Just(Some("application/pdf".to_owned())),
        Just(Some("text/plain".to_owned())),
    ];
    (content, media_type).prop_map(|(content, media_type)| Part {
        content,
        media_type,
        filename: None,
        metadata: Map::new(),
    })
}

fn outcome() -> impl Strategy<Value = CallOutcome> {
    prop_oneof![
        value().prop_map(|value| CallOutcome::Done { result: ToolResult::new(value) }),
        value().prop_map(|value| CallOutcome::Failed { result: ToolResult::new(value) }),
        words().prop_map(|reason| CallOutcome::Denied { reason }),
        words().prop_map(|evidence| CallOutcome::Unknown { evidence }),
    ]
}

fn foreign() -> Opaque {
    let origin = ModelOrigin { model: "elsewhere/x".parse().unwrap(), account: "other".to_owned() };
    Opaque { origin, data: json!({ "type": "thinking", "thinking": "secret", "signature": "foreign" }) }
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        words().prop_map(|text| Block::Text { text }),
        words().prop_map(|text| Block::Reasoning { text, opaque: Some(foreign()) }),
        words().prop_map(|text| Block::Reasoning { text, opaque: None }),
        Just(Block::Other { opaque: foreign() }),
        // Also one that is not there, and one twice.
        (0_u32..4).prop_map(|index| Block::Call { index }),
    ]
}

fn call() -> impl Strategy<Value = ClosedCall> {
    let id = prop_oneof![Just("same".to_owned()), words(), "[a-z:.]{60,90}"];
    (id, words(), value(), outcome()).prop_map(|(id, tool, arguments, outcome)| ClosedCall {
        id,
        tool,
        arguments,
        outcome,
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        vec(part(), 0..3).prop_map(Turn::User),
        (vec(block(), 0..5), vec(call(), 0..4)).prop_map(|(blocks, calls)| Turn::Assistant {
            origin: None,
            blocks,
            calls
        }),
    ]
}

fn request() -> impl Strategy<Value = ModelRequest> {
    let effort = prop_oneof![Just(None), Just(Some("high".to_owned()))];
    let max = prop_oneof![Just(None), Just(Some(1_u32)), Just(Some(5_000))];
    (vec(turn(), 0..8), words(), any::<bool>(), effort, max).prop_map(
        |(turns, system, has_tools, effort, max_output_tokens)| ModelRequest {
            model: "x/y".parse().unwrap(),
            system,
            turns: turns.into_iter().map(Into::into).collect(),
            tools: if has_tools {
                vec![ToolOffer {
                    name: "t".to_owned(),
                    description: String::new(),
                    input_schema: json!({ "type": "object" }),
                }]
                .into()
            } else {
                Default::default()
            },
            max_output_tokens,
            effort,
            output_schema: None,
            extra: Map::new(),
        },
    )
}

// A8, A13
#[test]
fn any_conversation_can_be_sent_on_any_wire() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(ScriptedServer::start("otherwise: { text: fine }"));
    let mut runner = TestRunner::new(Config { cases: 500, ..Config::default() });
    let outcome = runner.run(&request(), |mut request| {
        for wire in WIRES {
            for model in [model_of(wire), "claude-sonnet-4-5", "gpt-4.1"] {
                request.model = format!("{wire}/{model}").parse().unwrap();
                let answer = runtime.block_on(server.ask(&request));
                prop_assert!(answer.is_ok(), "{wire}/{model}: {answer:?}");
            }
        }
        Ok(())
    });
    outcome.unwrap();
    let journal = runtime.block_on(server.journal());
    assert!(journal.iter().all(|entry| !entry["body"].to_string().contains("foreign")));
    assert!(journal.iter().all(|entry| takes_turns(&entry["body"]["messages"])));
}

/// No message of the user beside another one.
fn takes_turns(messages: &Value) -> bool {
    let Some(messages) = messages.as_array() else { return true };
    messages.windows(2).all(|pair| pair[0]["role"] != "user" || pair[1]["role"] != "user")
}

/// Events as the wires have them, in any order, with anything in them.
fn event() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.reasoning_summary_text.delta",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "new.event",
    ]);
    let piece = prop::sample::select(vec![
        json!({ "type": "text", "text": "x" }),
        json!({ "type": "tool_use", "id": "a", "name": "b", "input": {} }),
        json!({ "type": "thinking", "thinking": "", "signature": "" }),
        json!({ "type": "function_call", "call_id": "a", "name": "b", "arguments": "{" }),
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "x" }] }),
        json!({ "type": "reasoning", "encrypted_content": "x" }),
        json!({ "type": "server_tool_use", "input": 7 }),
        json!("text"),
        json!([]),
        Value::Null,
    ]);
    let delta = prop::sample::select(vec![
        json!({ "type": "text_delta", "text": "x" }),
        json!({ "type": "input_json_delta", "partial_json": "{\"a\"" }),
        json!({ "type": "thinking_delta", "thinking": "x" }),
        json!({ "type": "signature_delta", "signature": "x" }),
        json!({ "stop_reason": "end_turn" }),
        json!({ "content": "x", "reasoning_content": "y", "tool_calls": [{ "index": 0, "function": { "arguments": "1" } }] }),
        json!({ "tool_calls": [{ "id": "a", "function": { "name": "b" } }, 7, {}] }),
        json!("x"),
        Value::Null,
    ]);
    let known = (kind, 0_u64..3, piece, delta, any::<bool>()).prop_map(|(kind, index, piece, delta, ends)| {
        let reason = if ends { json!("stop") } else { Value::Null };
        json!({
            "type": kind, "index": index, "output_index": index, "content_block": piece, "item": piece,
            "delta": delta, "sequence_number": index, "response": { "id": "r", "usage": { "input_tokens": -1 } },
            "usage": { "output_tokens": u64::MAX }, "choices": [{ "delta": delta, "finish_reason": reason }],
        })
        .to_string()
    });
    prop_oneof![8 => known, 1 => Just("[DONE]".to_owned()), 1 => ".{0,20}"]
}

// A11: bad input
#[test]
fn whatever_a_server_streams_nothing_panics() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (url, say) = runtime.block_on(parrot());
    let models = Models::new(connector(), providers(&url, &url)).with_timers(quick());
    let mut runner = TestRunner::new(Config { cases: 300, ..Config::default() });
    let outcome = runner.run(&(vec(event(), 0..20), any::<bool>()), |(events, is_raw)| {
        let framed = events.iter().map(|event| format!("data: {event}\n\n"));
        let body: String = if is_raw { events.concat() } else { framed.collect() };
        *say.lock().unwrap() = body;
        for wire in WIRES {
            let request = crate::support::request(wire, model_of(wire), "x");
            // An answer or an error; what counts is that one of them comes.
            let _ = runtime.block_on(async { models.start(&request, options()).await?.answer().await });
        }
        Ok(())
    });
    outcome.unwrap();
}

/// Answers every request with the same stream.
async fn parrot() -> (String, std::sync::Arc<std::sync::Mutex<String>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let said = std::sync::Arc::clone(&body);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let body = said.lock().unwrap().clone();
            tokio::spawn(async move {
                let mut buffer = vec![0_u8; 64 << 10];
                let _ = stream.read(&mut buffer).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (url, body)
}

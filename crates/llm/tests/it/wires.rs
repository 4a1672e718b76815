//! Our client with our server, on every wire.

use serde_json::json;
use warren_llm::{AnswerEvent, CallOptions, ModelClient as _, Script};
use warren_model::session::{Block, StopReason, TokenUsage, Turn};
use warren_model::{Content, Part};

use crate::support::{ScriptedServer, WIRES, go_on, model_of, options, request};

const WEATHER: &str = r#"
turns:
  - when: { result_of: get_weather, result_contains: snow }
    text: "It snows in Oslo, and in Bergen too."
    usage: { input_tokens: 90, cached_input_tokens: 40, output_tokens: 12 }
  - when: { user_contains: weather }
    reasoning: "I should look it up."
    text: "Let me see."
    calls:
      - { tool: get_weather, arguments: { city: Oslo } }
      - { tool: get_weather, arguments: { city: Bergen } }
    usage: { input_tokens: 50, output_tokens: 20, reasoning_tokens: 5 }
    chunk_characters: 4
otherwise: { text: "?" }
"#;

// A10
#[tokio::test]
async fn every_wire_streams_text_reasoning_calls_and_usage_and_takes_results_back() {
    let server = ScriptedServer::start(WEATHER).await;
    for wire in WIRES {
        let mut request = request(wire, model_of(wire), "How is the weather?");
        let mut stream = server.models.start(&request, options()).await.unwrap();
        let (mut text, mut reasoning, mut arguments, mut begun) =
            (String::new(), String::new(), String::new(), Vec::new());
        let answer = loop {
            match stream.next().await.unwrap().unwrap() {
                AnswerEvent::Text { delta, .. } => text.push_str(&delta),
                AnswerEvent::Reasoning { delta, .. } => reasoning.push_str(&delta),
                AnswerEvent::CallBegun { call_id, tool, .. } => begun.push((call_id, tool)),
                AnswerEvent::CallArguments { delta, .. } => arguments.push_str(&delta),
                AnswerEvent::Resumable(_) => panic!("nothing to take up: {wire}"),
                AnswerEvent::Done(answer) => break answer,
            }
        };
        assert_eq!(stream.next().await.unwrap(), None);
        assert_eq!(text, "Let me see.", "{wire}");
        assert_eq!(reasoning, "I should look it up.", "{wire}");
        assert_eq!(arguments, r#"{"city":"Oslo"}{"city":"Bergen"}"#, "{wire}");
        assert_eq!(begun.len(), 2, "{wire}");
        assert_eq!(answer.calls[1].arguments, Ok(json!({ "city": "Bergen" })), "{wire}");
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{wire}");
        assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (50, 20), "{wire}");
        assert!(matches!(answer.blocks.last(), Some(Block::Call { index: 1 })), "{wire}");

        go_on(&mut request, &answer, "snow");
        let last = server.ask(&request).await.unwrap_or_else(|error| panic!("{wire}: {error:?}"));
        assert_eq!(last.text(), "It snows in Oslo, and in Bergen too.", "{wire}");
        assert_eq!(last.stop_reason, StopReason::EndTurn, "{wire}");
        let expected = TokenUsage {
            input_tokens: 90,
            cached_input_tokens: 40,
            output_tokens: 12,
            ..TokenUsage::default()
        };
        assert_eq!(last.usage, expected, "{wire}");
    }
}

// A13
#[tokio::test]
async fn reasoning_goes_back_byte_for_byte_to_its_own_model_and_to_no_other() {
    let server = ScriptedServer::start(WEATHER).await;
    for wire in ["messages", "responses"] {
        let mut request = request(wire, model_of(wire), "weather?");
        let answer = server.ask(&request).await.unwrap();
        go_on(&mut request, &answer, "snow");
        let Some(Block::Reasoning { opaque: Some(opaque), .. }) = answer.blocks.first() else {
            panic!("no reasoning: {:?}", answer.blocks)
        };
        let sent = |journal: Vec<serde_json::Value>| journal.last().unwrap()["body"].to_string();
        // The server checks that what comes back is what it gave.
        server.ask(&request).await.unwrap();
        assert!(sent(server.journal().await).contains(&opaque.data.to_string()), "{wire}");
        // Another key is another account, another model another origin: the request still is a good one.
        for (model, provider) in [("claude-other-9", wire), (model_of(wire), "chat"), ("gpt-5-mini", wire)] {
            let mut other = request.clone();
            other.model = format!("{provider}/{model}").parse().unwrap();
            server.ask(&other).await.unwrap();
            let body = sent(server.journal().await);
            assert!(
                !body.contains("sig_") && !body.contains("enc_") && !body.contains("look it up"),
                "{body}"
            );
        }
    }
}

// A10
#[tokio::test]
async fn the_tour_works_over_every_wire() {
    let server = ScriptedServer::with(Script::built_in("tour").unwrap()).await;
    for wire in WIRES {
        let mut request = request(wire, model_of(wire), "show me");
        request.tools = ["workspace_write_file", "workspace_run", "workspace_rm"]
            .map(|name| warren_model::session::ToolOffer {
                name: name.to_owned(),
                description: String::new(),
                input_schema: json!({ "type": "object" }),
            })
            .into();
        let mut called = Vec::new();
        for _ in 0..4 {
            let answer = server.ask(&request).await.unwrap();
            called.extend(answer.calls.iter().map(|call| call.tool.clone()));
            go_on(&mut request, &answer, "done");
        }
        assert_eq!(called, ["workspace_write_file", "workspace_run", "workspace_rm"], "{wire}");
    }
}

// A12
#[tokio::test]
async fn an_answer_that_was_cut_is_taken_up_again_where_the_provider_can() {
    let script = "turns: [{ text: 'A long answer, in many small pieces, with an end.', chunk_characters: 3, \
                  fault: { kind: cut, after_chunks: 5 } }]";
    let server = ScriptedServer::start(script).await;
    let request = request("background", "gpt-5.1", "hello");
    let mut stream = server.models.start(&request, options()).await.unwrap();
    let Some(AnswerEvent::Resumable(token)) = stream.next().await.unwrap() else { panic!("no token first") };
    let mut text = String::new();
    let answer = loop {
        match stream.next().await.unwrap().unwrap() {
            AnswerEvent::Text { delta, .. } => text.push_str(&delta),
            AnswerEvent::Done(answer) => break answer,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(text, "A long answer, in many small pieces, with an end.");
    assert_eq!(answer.text(), text);
    assert_eq!(answer.resume_token.as_ref().unwrap()["response_id"], token["response_id"]);
    // One question, and one time it was taken up.
    let journal = server.journal().await;
    let methods: Vec<_> = journal.iter().map(|entry| entry["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["POST", "GET"]);
    // Another process has the token alone.
    let resumed = CallOptions { resume: Some(token), ..options() };
    let again = server.models.start(&request, resumed).await.unwrap().answer().await.unwrap();
    assert_eq!(again.text(), text);
    assert_eq!(server.journal().await.len(), 3);
}

// A10
#[tokio::test]
async fn what_a_model_refuses_is_not_sent_and_told() {
    let server = ScriptedServer::start("otherwise: { text: fine }").await;
    for (wire, model, name) in [
        ("messages", "claude-opus-4-6", "temperature"),
        ("responses", "gpt-5.1", "temperature"),
        ("chat", "o3", "top_p"),
        ("chat", "gpt-4.1", "effort"),
    ] {
        let mut request = request(wire, model, "hi");
        if name == "effort" {
            request.effort = Some("high".to_owned());
        } else {
            request.extra.insert(name.to_owned(), json!(0.5));
        }
        let answer = server.ask(&request).await.unwrap();
        assert!(answer.notes.iter().any(|note| note.contains(name)), "{wire}: {:?}", answer.notes);
    }
    // The older version takes it.
    let mut request = request("messages-2023", "claude-opus-4-6", "hi");
    request.extra.insert("temperature".to_owned(), json!(0.5));
    assert!(server.ask(&request).await.unwrap().notes.is_empty());
}

// A10
#[tokio::test]
async fn images_files_effort_and_schemas_are_sent_as_each_wire_has_them() {
    let server = ScriptedServer::start("otherwise: { text: '{}' }").await;
    let part = |content, media_type: &str| Part {
        media_type: Some(media_type.to_owned()),
        filename: Some("it".to_owned()),
        ..Part { content, ..Part::text("") }
    };
    for (wire, expected) in [
        ("messages", ["\"image\"", "\"document\"", "output_config", "json_schema"]),
        ("responses", ["input_image", "input_file", "\"effort\"", "json_schema"]),
        ("chat", ["image_url", "file_data", "reasoning_effort", "json_schema"]),
    ] {
        let mut request = request(wire, model_of(wire), "look");
        request.effort = Some("low".to_owned());
        request.output_schema = Some(json!({ "type": "object" }));
        let parts = vec![
            part(Content::Raw("iVBORw0KGgo=".to_owned()), "image/png"),
            part(Content::Raw("JVBERi0=".to_owned()), "application/pdf"),
            part(Content::Url("https://example.test/a.png".to_owned()), "image/png"),
            part(Content::Url("workspace:notes.txt".to_owned()), "text/plain"),
        ];
        request.turns.push(Turn::User(parts).into());
        let answer = server.ask(&request).await.unwrap();
        assert_eq!(answer.notes, [""; 0], "{wire}");
        let body = server.journal().await.last().unwrap()["body"].to_string();
        for words in expected {
            assert!(body.contains(words), "{wire} {words}: {body}");
        }
    }
}

// A10
#[tokio::test]
async fn the_prompt_is_marked_for_the_cache_at_most_four_times() {
    let server = ScriptedServer::start(WEATHER).await;
    let mut request = request("messages", "claude-opus-4-6", "weather?");
    for _ in 0..3 {
        let answer = server.ask(&request).await.unwrap();
        go_on(&mut request, &answer, "rain");
        request.turns.push(Turn::User(vec![Part::text("weather?")]).into());
    }
    let body = server.journal().await.last().unwrap()["body"].to_string();
    assert_eq!(body.matches("cache_control").count(), 4, "{body}");
}

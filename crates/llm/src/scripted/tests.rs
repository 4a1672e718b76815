use serde_json::json;
use warren_model::Part;
use warren_model::session::{
    Block, CallOutcome, ClosedCall, ModelRequest, StopReason, ToolOffer, ToolResult, Turn,
};

use super::*;
use crate::{Advice, AnswerEvent, CallOptions, ModelAnswer, ModelClient as _, ModelError, Timers};

fn request(tools: &[&str]) -> ModelRequest {
    let offer = |name: &&str| ToolOffer {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
    };
    ModelRequest {
        model: "scripted/tour".parse().unwrap(),
        system: String::new(),
        turns: vec![Turn::User(vec![Part::text("Show me around")]).into()],
        tools: tools.iter().map(offer).collect(),
        max_output_tokens: None,
        effort: None,
        output_schema: None,
        extra: serde_json::Map::new(),
    }
}

async fn ask(model: &ScriptedModel, request: &ModelRequest) -> Result<ModelAnswer, ModelError> {
    model.start(request, CallOptions::default()).await?.answer().await
}

/// The conversation one step on: every call closed with what `outcome` says.
fn go_on(request: &mut ModelRequest, answer: &ModelAnswer, outcome: impl Fn(&str) -> CallOutcome) {
    let calls = answer.calls.iter().map(|call| ClosedCall {
        id: call.id.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone().unwrap(),
        outcome: outcome(&call.tool),
    });
    let turn = Turn::Assistant {
        origin: Some(answer.origin.clone()),
        blocks: answer.blocks.clone(),
        calls: calls.collect(),
    };
    request.turns.push(turn.into());
}

fn done(_: &str) -> CallOutcome {
    CallOutcome::Done { result: ToolResult::text("fine") }
}

// A10
#[test]
fn every_built_in_script_can_be_read() {
    for name in BUILT_IN {
        assert!(Script::built_in(name).is_some(), "{name}");
    }
    assert!(Script::built_in("other").is_none());
}

// A10, S2
#[tokio::test(start_paused = true)]
async fn the_tour_writes_runs_asks_and_finishes_in_any_session() {
    let model = ScriptedModel::new(Script::built_in("tour").unwrap());
    for denies in [false, true] {
        let mut request = request(&["workspace_write_file", "workspace_run", "workspace_rm"]);
        let mut called = Vec::new();
        let last = loop {
            let answer = ask(&model, &request).await.unwrap();
            if answer.calls.is_empty() {
                break answer;
            }
            assert_eq!(answer.stop_reason, StopReason::ToolUse);
            called.extend(answer.calls.iter().map(|call| call.tool.clone()));
            go_on(&mut request, &answer, |tool| match tool {
                "workspace_rm" if denies => CallOutcome::Denied { reason: "keep it".to_owned() },
                tool => done(tool),
            });
        };
        assert_eq!(called, ["workspace_write_file", "workspace_run", "workspace_rm"]);
        let expected = if denies { "stays where it is" } else { "is gone" };
        assert!(last.text().contains(expected), "{}", last.text());
        go_on(&mut request, &last, done);
        request.turns.push(Turn::User(vec![Part::text("again")]).into());
        assert!(ask(&model, &request).await.unwrap().text().contains("tour is over"));
    }
}

// A10
#[tokio::test]
async fn the_same_request_gets_the_same_answer_and_ids_differ_between_steps() {
    let script = "otherwise: { text: hm, calls: [{ tool: t }] }";
    let model = ScriptedModel::new(Script::read(script).unwrap());
    let mut request = request(&["t"]);
    let first = ask(&model, &request).await.unwrap();
    assert_eq!(first, ask(&model, &request).await.unwrap());
    assert_eq!(first.blocks, [Block::Text { text: "hm".to_owned() }, Block::Call { index: 0 }]);
    go_on(&mut request, &first, done);
    let second = ask(&model, &request).await.unwrap();
    assert_ne!(first.calls[0].id, second.calls[0].id);
}

// A10
#[tokio::test]
async fn echo_says_what_it_was_told_in_pieces() {
    let model = ScriptedModel::new(Script::built_in("echo").unwrap());
    let mut request = request(&[]);
    let said = "ü{last_user}".repeat(20);
    request.turns = vec![Turn::User(vec![Part::text(said.clone())]).into()];
    let mut stream = model.start(&request, CallOptions::default()).await.unwrap();
    let mut pieces = Vec::new();
    while let Some(event) = stream.next().await.unwrap() {
        if let AnswerEvent::Text { block: 0, delta } = event {
            pieces.push(delta);
        }
    }
    assert!(pieces.len() > 3);
    assert_eq!(pieces.concat(), said);
}

// A11
#[tokio::test(start_paused = true)]
async fn faults_come_as_often_as_they_say_and_then_the_answer() {
    for (fault, expected) in [
        ("{ kind: status, status: 429, retry_after_ms: 5, times: 2 }", "429"),
        ("{ kind: error, after_chunks: 1, times: 2 }", "overloaded_error"),
        ("{ kind: cut, after_chunks: 1, times: 2 }", "cut off"),
        ("{ kind: truncated, times: 2 }", "cut off"),
        ("{ kind: garbage, times: 2 }", "could not be read"),
        ("{ kind: pings, times: 2 }", "silent"),
        ("{ kind: silence, after_chunks: 1, times: 2 }", "silent"),
        ("{ kind: never, times: 2 }", "did not begin"),
    ] {
        let script = format!("turns: [{{ text: 'It worked after all, at last.', fault: {fault} }}]");
        let model = ScriptedModel::new(Script::read(&script).unwrap()).with_timers(Timers::default());
        for _ in 0..2 {
            let error = ask(&model, &request(&[])).await.unwrap_err();
            assert!(matches!(error.advice, Advice::Retry { .. }), "{error:?}");
            assert!(error.sentence.contains(expected), "{}", error.sentence);
        }
        assert_eq!(ask(&model, &request(&[])).await.unwrap().text(), "It worked after all, at last.");
    }
}

// A10: bad input
#[tokio::test]
async fn arguments_that_are_no_json_are_handed_on_as_they_are() {
    let script = "otherwise: { calls: [{ tool: t, raw_arguments: '{\"a\": ' }] }";
    let model = ScriptedModel::new(Script::read(script).unwrap());
    let answer = ask(&model, &request(&["t"])).await.unwrap();
    assert_eq!(answer.calls[0].arguments, Err("{\"a\": ".to_owned()));
}

// A10: bad input
#[test]
fn what_is_wrong_with_a_script_is_told_with_its_place() {
    for (text, expected) in [
        ("turnz: []", "turnz"),
        ("{}", "no turn"),
        ("turns: [{ delay_ms: 1 }]", "turns[0]"),
        ("turns: [{ text: x, when: { user_contain: y } }]", "turns[0].when"),
        ("turns: [{ calls: [{ tool: x, arguments: [1] }] }]", "turns[0].calls[0]"),
        ("turns: [{ text: x, fault: { kind: boom } }]", "turns[0].fault"),
        ("otherwise: { text: x, when: {} }", "otherwise"),
    ] {
        let sentence = Script::read(text).unwrap_err().to_string();
        assert!(sentence.contains(expected), "{text}: {sentence}");
    }
}

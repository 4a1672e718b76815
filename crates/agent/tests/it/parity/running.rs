//! Runs without anybody's help.

use serde_json::json;
use warren_model::session::{
    CallOutcome, CallState, OutcomeKind, Phase, QueuedState, RunLimits, SessionStatus, StopReason, StreamItem,
};

use warren_testkit::eventually;

use crate::bed::{AgentBed, Engine, is_suspended_by};

// A2, A3
pub(super) async fn a_message_is_answered_and_the_session_rests(engine: Engine) {
    let bed = AgentBed::start(engine, "turns: [{ text: \"Hello you\" }]").await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    assert_eq!(bed.get(&name).await.phase, Phase::Idle);
    let message = bed.say(&name, "Hi").await;
    assert_eq!(message.state, QueuedState::Delivered { step: 1 });
    let session = bed.wait(&name, "completed").await;
    assert_eq!(session.phase, Phase::Completed { finish: StopReason::EndTurn });
    assert_eq!(session.status(bed.bed.now()), SessionStatus::Completed);
    assert_eq!(session.title, "Hi");
    assert_eq!((session.run, session.last_step, session.lineage.len()), (1, 1, 1));
    assert!(session.lease.is_none(), "a session that rests holds nothing");
    assert!(session.total_usage.cost_micros > 0 && session.reserved_micros == 0);
    assert_eq!(bed.last_text(&name).await, "Hello you");
}

// A20, A21
pub(super) async fn tools_are_called_and_their_results_shown(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_write_file }
    calls:
      - { tool: workspace_write_file, arguments: { path: a.txt, content: "one" } }
      - { tool: workspace_write_file, arguments: { path: b.txt, content: "two" } }
  - when: { result_of: workspace_write_file }
    calls: [{ tool: workspace_read_file, arguments: { path: b.txt } }]
  - when: { result_of: workspace_read_file }
    text: "It says {last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let (name, session) = bed.run("go").await;
    let steps = bed.steps(&name).await;
    assert_eq!(steps.len(), 3);
    for call in &steps[0].calls {
        assert_eq!(call.outcome().map(CallOutcome::kind), Some(OutcomeKind::Done), "{call:?}");
        assert!(call.started_at.is_some() && call.ended_at.is_some());
    }
    assert!(bed.last_text(&name).await.contains("two"));
    assert_eq!(session.total_usage.tool_calls, 3);
    assert_eq!(session.total_usage.steps, 3);
}

// A20: bad input
pub(super) async fn arguments_and_tools_that_are_wrong_are_told_to_the_model(engine: Engine) {
    let script = r#"
turns:
  - when: { answers: 0 }
    calls:
      - { tool: no_such_tool }
      - { tool: workspace_read_file, raw_arguments: "{ not json" }
      - { tool: workspace_read_file, arguments: { path: 7 } }
      - { tool: workspace_read_file, arguments: {} }
  - text: "I see"
    when: { answers: 1 }
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let (name, _) = bed.run("go").await;
    let calls = &bed.steps(&name).await[0].calls;
    assert_eq!(calls.len(), 4);
    let told = |at: usize| match calls[at].outcome().unwrap() {
        CallOutcome::Failed { result } => result.to_text(),
        other => panic!("{other:?}"),
    };
    assert!(told(0).contains("no tool `no_such_tool`"), "{}", told(0));
    assert!(told(1).contains("not a JSON object"), "{}", told(1));
    assert!(told(2).contains("path"), "{}", told(2));
    assert!(told(3).contains("path: this argument is missing"), "{}", told(3));
}

// A20
pub(super) async fn a_long_result_is_kept_and_read_on(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_read_file }
    calls: [{ tool: workspace_read_file, arguments: { path: long.txt } }]
  - when: { result_of: workspace_read_file }
    calls: [{ tool: read_result, arguments: { call: call_1_0, offset: 1000, limit: 20000 } }]
  - when: { result_of: read_result }
    text: "done"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "result_bytes": 500 } })).await;
    let long: String = (0..2_000).map(|line| format!("line {line}\n")).collect();
    let place = bed.bed.place(bed.workspace.id);
    std::fs::write(place.join("long.txt"), &long).unwrap();
    let (name, _) = bed.run("go").await;
    let steps = bed.steps(&name).await;
    let Some(CallOutcome::Done { result }) = steps[0].calls[0].outcome() else {
        panic!("{:?}", steps[0].calls)
    };
    assert!(result.whole_bytes.unwrap() > 500);
    assert!(result.to_text().contains("read on with read_result, call \"call_1_0\""), "{}", result.to_text());
    let Some(CallOutcome::Done { result }) = steps[1].calls[0].outcome() else {
        panic!("{:?}", steps[1].calls)
    };
    assert!(result.value["text"].as_str().unwrap().contains("line 200"), "{}", result.value);
    assert!(result.value["total_bytes"].as_u64().unwrap() > 1_000);
}

// A21
pub(super) async fn parallel_changes_of_the_state_all_count(engine: Engine) {
    let one = "{ tool: update_state, arguments: { count: 1, notes: [\"n\"] } }";
    let calls = vec![one; 20].join(",\n        ");
    let script = format!(
        "turns:\n  - when: {{ answers: 0 }}\n    calls: [{calls}]\n  - when: {{ answers: 1 }}\n    text: ok\n"
    );
    let bed = AgentBed::start(engine, &script).await;
    bed.agent(json!({ "state": { "count": { "merge": "increment" }, "notes": { "merge": "append" } } }))
        .await;
    let (_, session) = bed.run("go").await;
    assert_eq!(session.state["count"], json!(20));
    assert_eq!(session.state["notes"].as_array().unwrap().len(), 20);
}

// A14
pub(super) async fn a_spent_limit_waits_for_a_person(engine: Engine) {
    let script = r#"
turns:
  - when: { answers: 0 }
    calls: [{ tool: workspace_ls, arguments: { path: "." } }]
  - when: { answers: 1 }
    text: "done"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "run": { "steps": 1 } } })).await;
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "budget"), "{:?}", session.phase);
    assert!(session.lease.is_none());
    let same = bed.host.sessions.resume(bed.who(), &name, None).await.unwrap_err();
    assert_eq!(same.code.as_str(), "budget_exhausted");
    let more = RunLimits { steps: Some(5), ..RunLimits::default() };
    bed.host.sessions.resume(bed.who(), &name, Some(more)).await.unwrap();
    bed.wait(&name, "completed").await;
}

// A15
pub(super) async fn a_circle_is_noticed(engine: Engine) {
    let script = r#"
turns:
  - when: { user_contains: "stop it" }
    text: "I stop"
  - when: { user_contains: "" }
    calls: [{ tool: workspace_ls, arguments: { path: "." } }]
  - when: { result_of: workspace_ls }
    calls: [{ tool: workspace_ls, arguments: { path: "." } }]
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "repeats": 3 } })).await;
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "stuck"), "{:?}", session.phase);
    let warned = bed.steps(&name).await.iter().filter(|step| !step.notices.is_empty()).count();
    assert_eq!(warned, 1, "the model was warned once before");
    bed.say(&name, "stop it").await;
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "I stop");
}

// A11, A63
pub(super) async fn a_model_that_stumbles_is_asked_again(engine: Engine) {
    let script = r#"
turns:
  - text: "Here I am"
    fault: { kind: status, status: 529, times: 2, retry_after_ms: 20 }
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let (name, session) = bed.run("go").await;
    let steps = bed.steps(&name).await;
    assert_eq!((steps.len(), steps[0].attempt), (1, 3));
    let entries = bed.entries(&name, 0).await;
    let resets = entries.iter().filter(|entry| matches!(entry.item, StreamItem::StepReset { .. })).count();
    assert_eq!(resets, 2, "what was shown of an earlier try is taken back");
    assert_eq!(session.latest_sequence, entries.last().unwrap().sequence);
}

// A11
pub(super) async fn another_model_answers_where_the_first_does_not(engine: Engine) {
    let refusing = "turns: [{ text: x, fault: { kind: status, status: 400, times: 100 } }]";
    let other = "turns: [{ text: \"I can\" }]";
    let bed = AgentBed::with(engine, &[("main", refusing), ("other", other)]).await;
    bed.agent(json!({ "fallbacks": ["x/other"] })).await;
    let (name, _) = bed.run("go").await;
    assert_eq!(bed.last_text(&name).await, "I can");
    bed.agent(json!({})).await;
    let alone = bed.session().await;
    bed.say(&alone, "go").await;
    let failed = bed.wait(&alone, "failed").await;
    assert!(matches!(&failed.phase, Phase::Failed { failure } if failure.kind.as_str() == "model_refused"));
}

// A60, A61, A62
pub(super) async fn a_stream_resumes_from_any_entry_without_gap_or_repeat(engine: Engine) {
    let script = r#"
turns:
  - when: { answers: 0 }
    reasoning: "Let me think about this for a moment."
    text: "I look at what is there, in several pieces."
    chunk_characters: 7
    delay_ms: 30
    calls: [{ tool: workspace_ls, arguments: { path: "." } }]
  - when: { answers: 1 }
    text: "That was all of it."
    chunk_characters: 5
    delay_ms: 30
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    // One reader from the start, while it is told.
    let (_, mut follower) = bed.host.sessions.follow(bed.who(), &name, 0).await.unwrap();
    bed.say(&name, "go").await;
    let mut live = Vec::new();
    while !live
        .iter()
        .any(|entry: &warren_model::session::StreamEntry| matches!(entry.item, StreamItem::RunEnded { .. }))
    {
        live.extend(follower.next().await.unwrap());
    }
    let numbers: Vec<u64> = live.iter().map(|entry| entry.sequence).collect();
    assert_eq!(numbers, (1..=live.len() as u64).collect::<Vec<_>>(), "no gap, no repeat");
    let deltas = live.iter().filter(|entry| matches!(entry.item, StreamItem::TextDelta { .. })).count();
    assert!(deltas > 4, "it came in pieces: {deltas}");
    // P17: whoever has gone leaves nothing behind, though nothing happens in the session any more.
    assert_eq!(bed.host.engine.followed(), 1);
    drop(follower);
    assert_eq!(bed.host.engine.followed(), 0);
    // And one that comes later, from every place.
    let text = |entries: &[warren_model::session::StreamEntry]| {
        let shown = entries.iter().filter_map(|entry| match &entry.item {
            StreamItem::TextDelta { step, block, text } => {
                Some((entry.sequence, *step, *block, text.clone()))
            }
            StreamItem::ReasoningDelta { step, block, text } => {
                Some((entry.sequence, *step, *block, text.clone()))
            }
            _ => None,
        });
        shown.collect::<Vec<_>>()
    };
    for after in 0..live.len() {
        let later = bed.entries(&name, after as u64).await;
        assert_eq!(text(&later), text(&live[after..]), "from {after}");
        // What only says how arguments grew is not kept.
        let kept = |entries: &[warren_model::session::StreamEntry]| {
            let kept = entries.iter().filter(|entry| !matches!(entry.item, StreamItem::CallDelta { .. }));
            kept.map(|entry| entry.sequence).collect::<Vec<_>>()
        };
        assert_eq!(kept(&later), kept(&live[after..]), "from {after}");
    }
}

// A70
pub(super) async fn a_branch_and_a_way_back_share_the_steps_before(engine: Engine) {
    let script = r#"
turns:
  - when: { user_contains: "second" }
    text: "Second answer"
  - when: { user_contains: "other" }
    text: "Other answer"
  - when: { user_contains: "" }
    text: "First answer"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let (name, _) = bed.run("first").await;
    bed.say(&name, "second").await;
    let sessions = &bed.host.sessions;
    crate::bed::settled(&bed, &name, 2).await;
    let branch = sessions.branch(bed.who(), &name, Some(1), None).await.unwrap();
    bed.say(&branch.name, "other").await;
    bed.wait(&branch.name, "completed").await;
    assert_eq!(bed.last_text(&branch.name).await, "Other answer");
    assert_eq!(bed.steps(&branch.name).await.len(), 2);
    assert_eq!(bed.last_text(&name).await, "Second answer", "the other one is as it was");
    let back = sessions.rewind(bed.who(), &name, 1).await.unwrap();
    assert_eq!((back.phase.as_str(), back.lineage.len()), ("idle", 1));
    bed.say(&name, "other").await;
    bed.wait(&name, "completed").await;
    let numbers: Vec<u32> = bed.steps(&name).await.iter().map(|step| step.number).collect();
    assert_eq!(numbers, [1, 3], "a number is never used again");
    let missing = sessions.rewind(bed.who(), &name, 2).await.unwrap_err();
    assert_eq!(missing.code.as_str(), "step_not_found");
    let request = sessions.context_of(bed.who(), &name, 3).await.unwrap().request;
    assert_eq!(request.turns.len(), 3, "what the model saw: first, its answer, other");
    let is_done = |state: &CallState| matches!(state, CallState::Closed(_));
    assert!(bed.steps(&name).await.iter().flat_map(|step| &step.calls).all(|call| is_done(&call.state)));
}

// A20, A31: a tool of the workspace and one of the caller are held against their schemas in the same way.
pub(super) async fn arguments_are_checked_against_the_tools_schema(engine: Engine) {
    let script = r#"
turns:
  - when: { answers: 0 }
    calls:
      - { tool: workspace_read_file, arguments: { path: a.txt, offset: "ten" } }
      - { tool: workspace_read_file, arguments: { path: a.txt, offset: null } }
      - { tool: mail, arguments: { to: [ann, 7] } }
      - { tool: mail, arguments: { to: [ann], cc: bob } }
      - { tool: ask_user, arguments: { question: "?", schema: { type: nothing } } }
  - when: { answers: 1 }
    text: "I see"
"#;
    let bed = AgentBed::start(engine, script).await;
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "to": { "type": "array", "items": { "type": "string" } } },
    });
    let mail = json!({ "name": "mail", "description": "Sends mail", "input_schema": schema });
    bed.agent(json!({ "tools": { "client": [mail] } })).await;
    std::fs::write(bed.bed.place(bed.workspace.id).join("a.txt"), "one").unwrap();
    let (name, _) = bed.run("go").await;
    let calls = &bed.steps(&name).await[0].calls;
    let told = |at: usize| match calls[at].outcome().unwrap() {
        CallOutcome::Failed { result } => result.to_text(),
        other => panic!("{at}: {other:?}"),
    };
    assert!(told(0).starts_with("offset: ") && calls[0].started_at.is_none(), "{}", told(0));
    assert_eq!(calls[1].outcome().map(CallOutcome::kind), Some(OutcomeKind::Done), "{:?}", calls[1]);
    assert!(told(2).starts_with("to.1: "), "{}", told(2));
    assert!(told(3).contains("cc"), "{}", told(3));
    assert!(told(4).starts_with("schema: "), "{}", told(4));
}

// A1, A20: told twice, and then the run has failed and can be resumed.
pub(super) async fn a_last_answer_that_does_not_fit_is_asked_for_again_and_then_fails(engine: Engine) {
    let script = r#"
turns:
  - when: { user_contains: "well" }
    text: "sunny, I think"
  - when: { user_contains: "it is not JSON" }
    text: "{\"degrees\": \"warm\"}"
  - when: { user_contains: "degrees: " }
    text: "{\"degrees\": 21}"
otherwise: { text: "[]" }
"#;
    let bed = AgentBed::start(engine, script).await;
    let schema = json!({ "type": "object", "properties": { "degrees": { "type": "number" } }, "required": ["degrees"] });
    bed.agent(json!({ "output_schema": schema })).await;
    let (name, session) = bed.run("well").await;
    assert_eq!(bed.last_text(&name).await, "{\"degrees\": 21}");
    let steps = bed.steps(&name).await;
    assert_eq!((steps.len(), session.loop_watch.bad_outputs), (3, 0));
    assert!(steps[1].notices[0].contains("it is not JSON"), "{:?}", steps[1].notices);
    assert!(steps[2].notices[0].contains("degrees: "), "{:?}", steps[2].notices);

    let name = bed.session().await;
    bed.say(&name, "badly").await;
    let session = bed.wait(&name, "failed").await;
    let Phase::Failed { failure } = &session.phase else { panic!("{:?}", session.phase) };
    assert_eq!((failure.kind.as_str(), bed.steps(&name).await.len()), ("output", 3));
    assert!(failure.message.contains("\"object\""), "{}", failure.message);
    bed.host.sessions.resume(bed.who(), &name, None).await.unwrap();
    crate::bed::settled(&bed, &name, 2).await;
    assert_eq!(bed.steps(&name).await.len(), 6, "it was asked again, and told why");
}

// A62, A20: the command hangs after its first line; it is shown while it runs, and really gone when its time is over.
pub(super) async fn output_of_a_running_command_is_shown_and_one_that_hangs_is_killed(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_run }
    calls: [{ tool: workspace_run, arguments: { argv: [tail, "-f", shown.txt] } }]
  - when: { result_of: workspace_run }
    text: "{last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "call_seconds": 3 } })).await;
    let workspace = bed.sleeping_workspace().await;
    let place = bed.bed.place(workspace.id);
    std::fs::write(place.join("shown.txt"), "the first line\n").unwrap();
    let name = bed.session_in(workspace.id).await;
    bed.say(&name, "go").await;
    let mut shown = None;
    eventually("its output is in the stream", async || {
        let entries = bed.entries(&name, 0).await;
        shown = entries.into_iter().find_map(|entry| match entry.item {
            StreamItem::CallOutput { step, call_id, text } => Some((step, call_id, text, entry.sequence)),
            _ => None,
        });
        shown.is_some()
    })
    .await;
    let (step, call_id, text, sequence) = shown.unwrap();
    assert_eq!((step, call_id.as_str(), text.as_str()), (1, "call_1_0", "the first line\n"));
    assert!(matches!(bed.steps(&name).await[0].calls[0].state, CallState::Started { .. }), "it still runs");
    assert!(is_running("shown.txt"));
    bed.wait(&name, "completed").await;
    assert!(bed.last_text(&name).await.contains("longer than 3 s"), "{}", bed.last_text(&name).await);
    eventually("the program is gone from the box", async || !is_running("shown.txt")).await;
    eventually("the pieces go after the end of the step", async || {
        bed.entries(&name, 0).await.iter().all(|entry| entry.sequence != sequence)
    })
    .await;
    assert!(bed.entries(&name, 0).await.last().unwrap().sequence > sequence, "the sequence went on");
}

/// Whether a `tail` of this file runs on this machine.
fn is_running(file: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let wanted = format!("tail\0-f\0{file}\0").into_bytes();
    lines.into_iter().any(|line| line.ends_with(&wanted))
}

// A60
pub(super) async fn what_is_old_is_removed_from_streams(engine: Engine) {
    use std::time::Duration;
    let bed = AgentBed::start(engine, "otherwise: { text: ok }").await;
    bed.agent(json!({})).await;
    let (name, session) = bed.run("go").await;
    assert!(!bed.entries(&name, 0).await.is_empty());
    let impatient = warren_agent::Config {
        keep_stream: Some(Duration::ZERO),
        prune_every: Duration::from_millis(50),
        ..crate::bed::config()
    };
    let other = bed.second_host(impatient).await;
    eventually("nothing old is left", async || {
        let (_, follower) = bed.host.sessions.follow(bed.who(), &name, 0).await.unwrap();
        follower.read().await.unwrap().is_empty()
    })
    .await;
    other.stop().await;
    let after = bed.get(&name).await;
    assert_eq!((after.latest_sequence, bed.steps(&name).await.len()), (session.latest_sequence, 1));
    assert_eq!(bed.last_text(&name).await, "ok", "the session itself stays");
}

// A62: a step that has its answer holds the pieces; their rows go, and whoever reads the stream sees no difference
pub(super) async fn pieces_of_an_answer_go_and_are_read_as_they_were(engine: Engine) {
    use std::time::Duration;
    let script = "otherwise: { text: one two three four five six seven, chunk_characters: 8, delay_ms: 60 }";
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let (name, session) = bed.run("go").await;
    let seen = bed.entries(&name, 0).await;
    assert!(seen.iter().filter(|entry| entry.item.is_delta()).count() > 1, "{seen:?}");
    let store = std::sync::Arc::clone(&bed.bed.store);
    let impatient = warren_agent::Config { clear_every: Duration::from_millis(20), ..crate::bed::config() };
    let other = bed.second_host(impatient).await;
    let id = session.id;
    eventually("no piece is left in the database", async || {
        let rows = store.read(move |tx| tx.stream_after(id, 0, 1_000)).await;
        let rows: Vec<_> = rows.map_err(|error: warren_store::Error| error).unwrap();
        !rows.iter().any(|entry| entry.item.is_delta())
    })
    .await;
    other.stop().await;
    let items = |entries: &[warren_model::session::StreamEntry]| {
        entries.iter().map(|entry| (entry.sequence, entry.item.clone())).collect::<Vec<_>>()
    };
    assert_eq!(items(&bed.entries(&name, 0).await), items(&seen));
}

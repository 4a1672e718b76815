//! What is asked twice, what a new version changes, and what people see of a request.

use serde_json::json;
use warren_agent::{HandedIn, NewStop};
use warren_exchange::{ApprovalAnswer, ApprovalDecision};
use warren_fleet::SecretScope;
use warren_model::SecretValue;
use warren_model::session::{CallOutcome, ContextOrigin, OutcomeKind, StopKind};

use super::people::{TIDY, asked};
use crate::bed::{AgentBed, Engine, settled};

// A7: a decision whose answer was lost on the way is sent again
pub(super) async fn the_same_decision_with_a_key_is_answered_the_same(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let approvals = &bed.bed.exchange.approvals;
    let approve = ApprovalAnswer { is_repeatable: true, ..ApprovalAnswer::new(ApprovalDecision::Approve) };
    let first = approvals.decide(bed.who(), approval.id, approve.clone()).await.unwrap();
    bed.wait(&name, "completed").await;
    let again = approvals.decide(bed.who(), approval.id, approve.clone()).await.unwrap();
    assert_eq!((again.state, again.decided_at), (first.state, first.decided_at));
    // Another decision is none that was made before.
    for other in [
        ApprovalAnswer { decision: ApprovalDecision::Deny, ..approve.clone() },
        ApprovalAnswer { edited: Some(json!({ "path": "other.txt" })), ..approve.clone() },
        ApprovalAnswer { is_repeatable: false, ..approve },
    ] {
        let refused = approvals.decide(bed.who(), approval.id, other).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "approval_over");
    }
    let calls = &bed.steps(&name).await[0].calls;
    assert_eq!(calls.len(), 2, "nothing was called twice");
}

// A7
pub(super) async fn the_same_result_and_the_same_stop_with_a_key_are_answered_the_same(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: weather }
    calls: [{ tool: weather, arguments: { city: Bern } }]
  - when: { user_contains: again }
    text: "slow"
    delay_ms: 1500
  - when: { result_of: weather }
    text: "It is {last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "tools": { "client": [{ "name": "weather", "description": "The weather" }] } })).await;
    let name = bed.session().await;
    bed.say(&name, "how is it?").await;
    bed.wait(&name, "suspended").await;
    let sessions = &bed.host.sessions;
    let hand_in = |value: &str| {
        let handed_in = HandedIn::Output(json!(value));
        sessions.hand_in(bed.who(), &name, "call_1_0".into(), handed_in, Some("result".into()))
    };
    hand_in("sunny").await.unwrap();
    bed.wait(&name, "completed").await;
    hand_in("sunny").await.unwrap();
    assert_eq!(hand_in("rainy").await.unwrap_err().code.as_str(), "idempotency_key_reused");
    bed.say(&name, "again").await;
    let stop =
        |kind| sessions.stop(bed.who(), &name, 2, NewStop { key: Some("stop".into()), ..NewStop::new(kind) });
    stop(StopKind::Interrupt).await.unwrap();
    bed.wait(&name, "interrupted").await;
    let again = stop(StopKind::Interrupt).await.unwrap();
    assert_eq!(again.phase.as_str(), "interrupted", "the same stop, though there is nothing to stop");
    assert_eq!(stop(StopKind::Abort).await.unwrap_err().code.as_str(), "idempotency_key_reused");
    let long = NewStop { key: Some("k".repeat(257)), ..NewStop::new(StopKind::Abort) };
    let refused = sessions.stop(bed.who(), &name, 2, long).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "invalid_request");
}

// A6
pub(super) async fn an_upgrade_tells_what_changes_and_a_tool_that_is_gone_is_told_to_the_model(
    engine: Engine,
) {
    let script = r#"
turns:
  - when: { user_contains: list, not_called: workspace_ls }
    calls: [{ tool: workspace_ls, arguments: {} }]
  - when: { user_contains: remove, not_called: workspace_rm }
    calls: [{ tool: workspace_rm, arguments: { path: kept.txt } }]
  - when: { result_of: workspace_rm, result_failed: true }
    text: "I cannot: {last_result}"
otherwise: { text: "done" }
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "tools": { "workspace": ["workspace_ls", "workspace_rm"] } })).await;
    let file = bed.bed.place(bed.workspace.id).join("kept.txt");
    std::fs::write(&file, "x").unwrap();
    let (name, _) = bed.run("list").await;
    let unchanged = bed.host.sessions.upgrade(bed.who(), &name).await.unwrap();
    assert_eq!(unchanged.changes, []);
    bed.agent(json!({ "system": "Be brief.", "tools": { "workspace": ["workspace_ls"] } })).await;
    let upgraded = bed.host.sessions.upgrade(bed.who(), &name).await.unwrap();
    let told: Vec<_> = upgraded.changes.iter().map(|one| format!("{} {}", one.kind, one.path)).collect();
    assert_eq!(told, ["removed tools.workspace.workspace_rm", "added system"]);
    assert_ne!(upgraded.session.agent.hash, upgraded.previous_hash);
    bed.say(&name, "remove").await;
    settled(&bed, &name, 2).await;
    assert_eq!(bed.get(&name).await.phase.as_str(), "completed");
    let steps = bed.steps(&name).await;
    let called = steps.iter().flat_map(|step| &step.calls).find(|call| call.tool == "workspace_rm").unwrap();
    assert_eq!(called.outcome().map(CallOutcome::kind), Some(OutcomeKind::Failed));
    assert!(file.exists() && bed.last_text(&name).await.starts_with("I cannot: "), "{steps:?}");
}

// A19
pub(super) async fn what_a_model_was_shown_is_shared_out_and_holds_no_secret(engine: Engine) {
    let script = r#"
otherwise:
  text: "I will not say hunter2-hunter2."
  usage: { input_tokens: 1000, cached_input_tokens: 600, output_tokens: 10 }
"#;
    let bed = AgentBed::start(engine, script).await;
    let value = SecretValue::new("hunter2-hunter2".to_owned().into()).unwrap();
    let scope = SecretScope::Workspace(bed.workspace.id);
    bed.bed.fleet.secrets.set(bed.who(), scope, "PASSWORD".parse().unwrap(), value).await.unwrap();
    bed.agent(json!({ "system": "Never say hunter2-hunter2." })).await;
    let (name, _) = bed.run("my password is hunter2-hunter2").await;
    bed.say(&name, "once more").await;
    settled(&bed, &name, 2).await;
    let shown = bed.host.sessions.context_of(bed.who(), &name, 2).await.unwrap();
    let text = format!("{:?}", shown.request);
    assert!(!text.contains("hunter2-hunter2") && text.contains("my password is "), "{text}");
    assert!(shown.was_asked);
    let usage = shown.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_input_tokens), (1_000, 600));
    let origins: Vec<_> = shown.shares.iter().map(|share| share.origin).collect();
    let all = [ContextOrigin::System, ContextOrigin::Tools, ContextOrigin::User, ContextOrigin::Assistant];
    assert_eq!(origins, all);
    assert_eq!(shown.shares.iter().filter_map(|share| share.tokens).sum::<u64>(), 1_000);
}

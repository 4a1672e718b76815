//! People in the loop.

use serde_json::json;
use warren_agent::{HandedIn, NewSession, NewSessionMessage, NewStop, NewToolRule, ToolRuleFilter};
use warren_exchange::{ApprovalAnswer, ApprovalDecision, RememberDecision};
use warren_model::session::{BusyMode, CallOutcome, OutcomeKind, QueuedState, SessionName, StopKind};
use warren_model::{Approval, EventKind, Part, PolicyDecision, PolicyRule, RuleScope, RuleScopeKind};
use warren_testkit::eventually;

use crate::bed::{AgentBed, Engine, is_suspended_by};

pub(super) const TIDY: &str = r#"
turns:
  - when: { not_called: workspace_rm }
    calls:
      - { tool: workspace_write_file, arguments: { path: kept.txt, content: "kept" } }
      - { tool: workspace_rm, arguments: { path: gone.txt } }
  - when: { result_of: workspace_rm, result_failed: true }
    text: "it stays: {last_result}"
  - when: { result_of: workspace_rm }
    text: "it is gone"
"#;

pub(super) fn asks() -> serde_json::Value {
    json!({ "policies": [{ "tool": "workspace_rm", "decision": "ask", "reason": "it deletes" }] })
}

/// A session that waits for a decision about `workspace_rm`.
pub(super) async fn asked(bed: &AgentBed) -> (SessionName, Approval) {
    bed.agent(asks()).await;
    std::fs::write(bed.bed.place(bed.workspace.id).join("gone.txt"), "x").unwrap();
    let name = bed.session().await;
    bed.say(&name, "tidy up").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "approval"), "{:?}", session.phase);
    assert!(session.lease.is_none(), "what waits holds nothing");
    let mut pending = bed.host.sessions.pending(bed.who(), &name).await.unwrap().approvals;
    assert_eq!(pending.len(), 1);
    (name, pending.remove(0))
}

pub(super) fn answer(decision: ApprovalDecision) -> ApprovalAnswer {
    ApprovalAnswer { note: Some("my word".into()), ..ApprovalAnswer::new(decision) }
}

// A30
pub(super) async fn an_approval_is_waited_for_and_used_once(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let subject = approval.subject.clone().unwrap();
    assert_eq!((subject.tool.as_str(), subject.step), ("workspace_rm", 1));
    assert_eq!(subject.arguments, json!({ "path": "gone.txt" }));
    // The call beside it needed nobody.
    let calls = bed.steps(&name).await[0].calls.clone();
    assert_eq!(calls[0].outcome().map(CallOutcome::kind), Some(OutcomeKind::Done));
    let file = bed.bed.place(bed.workspace.id).join("gone.txt");
    assert!(file.exists());
    let approvals = &bed.bed.exchange.approvals;
    approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Approve)).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(!file.exists());
    assert_eq!(bed.last_text(&name).await, "it is gone");
    let twice = approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Deny)).await.unwrap_err();
    assert_eq!(twice.code.as_str(), "approval_over");
}

// A30
pub(super) async fn a_denied_call_is_told_to_the_model(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let approvals = &bed.bed.exchange.approvals;
    approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Deny)).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(bed.bed.place(bed.workspace.id).join("gone.txt").exists());
    assert!(bed.last_text(&name).await.contains("my word"), "{}", bed.last_text(&name).await);
}

// A30
pub(super) async fn edited_arguments_are_kept_apart(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let place = bed.bed.place(bed.workspace.id);
    std::fs::write(place.join("other.txt"), "x").unwrap();
    let approvals = &bed.bed.exchange.approvals;
    let edit = |edited| ApprovalAnswer { edited: Some(edited), ..answer(ApprovalDecision::Approve) };
    let wrong = approvals.decide(bed.who(), approval.id, edit(json!("x"))).await.unwrap_err();
    assert_eq!(wrong.code.as_str(), "invalid_request", "{wrong}");
    // What a person makes of the arguments is held against the same schema, and the question stays open.
    for (arguments, path) in [(json!({ "path": 7 }), "path: "), (json!({ "path": "x", "force": 1 }), "force")]
    {
        let wrong = approvals.decide(bed.who(), approval.id, edit(arguments)).await.unwrap_err();
        assert_eq!((wrong.code.as_str(), wrong.code.entry().status), ("invalid_request", 400));
        assert!(wrong.detail.as_ref().is_some_and(|told| told.contains(path)), "{wrong:?}");
    }
    assert_eq!(bed.host.sessions.pending(bed.who(), &name).await.unwrap().approvals.len(), 1);
    approvals.decide(bed.who(), approval.id, edit(json!({ "path": "other.txt" }))).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(place.join("gone.txt").exists() && !place.join("other.txt").exists());
    let call = bed.steps(&name).await[0].calls[1].clone();
    assert_eq!(call.proposed, json!({ "path": "gone.txt" }));
    assert_eq!(call.effective(), &json!({ "path": "other.txt" }));
}

// A31
pub(super) async fn a_tool_of_the_caller_is_handed_in_once(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: weather }
    calls: [{ tool: weather, arguments: { city: Bern } }]
  - when: { result_of: weather }
    text: "It is {last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "tools": { "client": [{ "name": "weather", "description": "The weather" }] } })).await;
    let name = bed.session().await;
    bed.say(&name, "how is it?").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "client_tool"));
    let sessions = &bed.host.sessions;
    let calls = sessions.pending(bed.who(), &name).await.unwrap().calls;
    let id = calls[0].id.clone();
    let hand_in = |id: &str, value: &str| {
        sessions.hand_in(bed.who(), &name, id.to_owned(), HandedIn::Output(json!(value)), None)
    };
    assert_eq!(hand_in("call_9_9", "x").await.unwrap_err().code.as_str(), "not_pending");
    hand_in(&id, "sunny").await.unwrap();
    hand_in(&id, "sunny").await.unwrap();
    assert_eq!(hand_in(&id, "rainy").await.unwrap_err().code.as_str(), "not_pending");
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "It is sunny", "a string stays a raw string");
    let long =
        sessions.hand_in(bed.who(), &name, id, HandedIn::Error("x".repeat(9 << 10)), None).await.unwrap_err();
    assert_eq!(long.code.as_str(), "payload_too_large");
}

// A33
pub(super) async fn the_user_is_asked_a_question(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: ask_user }
    calls: [{ tool: ask_user, arguments: { question: "Which colour?", choices: [red, blue] } }]
  - when: { result_of: ask_user }
    text: "{last_result} it is"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "paint").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "input"));
    let sessions = &bed.host.sessions;
    let call = sessions.pending(bed.who(), &name).await.unwrap().calls.remove(0);
    assert_eq!(call.effective()["question"], "Which colour?");
    sessions.hand_in(bed.who(), &name, call.id, HandedIn::Output(json!("blue")), None).await.unwrap();
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "blue it is");
}

const NOTE: &str = r#"
turns:
  - when: { user_contains: note }
    calls: [{ tool: workspace_write_file, arguments: { path: note.txt, content: "x" } }]
  - when: { result_of: workspace_write_file }
    text: "{last_result}"
"#;

/// Asks for a note; whether a person is asked about it.
async fn is_asked(bed: &AgentBed, name: &SessionName) -> bool {
    bed.say(name, "note").await;
    eventually("it waits or is done", async || {
        matches!(bed.get(name).await.phase.as_str(), "suspended" | "completed")
    })
    .await;
    bed.get(name).await.phase.as_str() == "suspended"
}

/// Approves what the session asks about, and wants that to be remembered.
async fn approve_always(bed: &AgentBed, name: &SessionName, scope: RuleScopeKind, path: &str) {
    let approval = bed.host.sessions.pending(bed.who(), name).await.unwrap().approvals.remove(0);
    let arguments = [("path".to_owned(), path.to_owned())].into();
    let remember = Some(RememberDecision { scope, arguments, expires_in_seconds: Some(3_600) });
    let answer = ApprovalAnswer { remember, ..answer(ApprovalDecision::Approve) };
    bed.bed.exchange.approvals.decide(bed.who(), approval.id, answer).await.unwrap();
    bed.wait(name, "completed").await;
}

// A23
pub(super) async fn an_approval_is_remembered_until_the_rule_is_revoked(engine: Engine) {
    let bed = AgentBed::start(engine, NOTE).await;
    bed.agent(json!({ "policies": [{ "tool": "workspace_write_file", "decision": "ask" }] })).await;
    let (first, second) = (bed.session().await, bed.session().await);
    assert!(is_asked(&bed, &first).await);
    approve_always(&bed, &first, RuleScopeKind::Session, "note.*").await;
    assert!(!is_asked(&bed, &first).await, "it was remembered for this session");
    assert!(is_asked(&bed, &second).await, "and for no other");
    approve_always(&bed, &second, RuleScopeKind::Workspace, "other.*").await;
    assert!(is_asked(&bed, &second).await, "other arguments were remembered");
    approve_always(&bed, &second, RuleScopeKind::Org, "*").await;
    let third = bed.session().await;
    assert!(!is_asked(&bed, &third).await, "it was remembered for all");

    let rules = &bed.host.tool_rules;
    let listed = rules.list(bed.who(), ToolRuleFilter { limit: 9, ..Default::default() }).await.unwrap().rows;
    let scopes: Vec<_> = listed.iter().map(|rule| rule.scope.kind().as_str()).collect();
    assert_eq!(scopes, ["org", "workspace", "session"]);
    let of_org = &listed[0];
    assert_eq!(
        (&of_org.created_by, of_org.rule.tool.as_str()),
        (&bed.who().principal, "workspace_write_file")
    );
    assert!(of_org.rule.expires_at.is_some());
    let revoked = rules.revoke(bed.who(), of_org.id).await.unwrap();
    assert_eq!(revoked.revoked_by.as_ref(), Some(&bed.who().principal));
    assert_eq!(rules.revoke(bed.who(), of_org.id).await.unwrap(), revoked, "the same again changes nothing");
    assert!(is_asked(&bed, &third).await, "it counts no more");
    assert_eq!(bed.bed.events(EventKind::ToolRuleCreated).await.len(), 3);
    assert_eq!(bed.bed.events(EventKind::ToolRuleRevoked).await.len(), 1);
}

// A23
pub(super) async fn what_a_rule_denies_nobody_allows(engine: Engine) {
    let bed = AgentBed::start(engine, NOTE).await;
    bed.agent(json!({ "policies": [{ "tool": "workspace_write_file", "decision": "ask" }] })).await;
    let name = bed.session().await;
    let rules = &bed.host.tool_rules;
    let rule = |decision, reason: &str| PolicyRule {
        tool: "workspace_*".into(),
        arguments: Default::default(),
        decision,
        reason: Some(reason.into()),
        expires_at: None,
    };
    let session_id = bed.get(&name).await.id;
    let allow =
        NewToolRule { scope: RuleScope::Session(session_id), rule: rule(PolicyDecision::Allow, "mine") };
    rules.create(bed.who(), allow.clone()).await.unwrap();
    let deny = NewToolRule { scope: RuleScope::Org, rule: rule(PolicyDecision::Deny, "not this week") };
    rules.create(bed.who(), deny).await.unwrap();
    assert!(!is_asked(&bed, &name).await);
    assert!(bed.last_text(&name).await.contains("not this week"), "{}", bed.last_text(&name).await);
    // An agent makes no rules, and what is over is none.
    let agent = warren_service::Identity::of_workspace(bed.workspace.id, bed.workspace.org_id, bed.bed.now());
    assert_eq!(rules.create(&agent, allow.clone()).await.unwrap_err().code.as_str(), "forbidden");
    let mut over = allow;
    over.rule.expires_at = Some(bed.bed.now().plus_ms(-1));
    assert_eq!(rules.create(bed.who(), over).await.unwrap_err().code.as_str(), "invalid_request");
}

// A33
pub(super) async fn an_answer_has_to_fit_the_schema_of_its_question(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: ask_user }
    calls:
      - tool: ask_user
        arguments:
          question: "How many, and which?"
          schema: { type: object, properties: { count: { type: integer, maximum: 9 } }, required: [count] }
  - when: { result_of: ask_user }
    text: "{last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "order").await;
    bed.wait(&name, "suspended").await;
    let sessions = &bed.host.sessions;
    let hand_in =
        |value| sessions.hand_in(bed.who(), &name, "call_1_0".into(), HandedIn::Output(value), None);
    for (value, path) in [(json!("two"), "output: "), (json!({ "count": 10 }), "output: count: ")] {
        let wrong = hand_in(value).await.unwrap_err();
        assert_eq!(wrong.code.as_str(), "invalid_request");
        assert!(wrong.detail.as_ref().is_some_and(|told| told.starts_with(path)), "{wrong:?}");
    }
    assert!(is_suspended_by(&bed.get(&name).await, "input"), "the question is still open");
    hand_in(json!({ "count": 2 })).await.unwrap();
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "{\"count\":2}");
}

// A34
pub(super) async fn a_message_while_busy_does_what_it_says(engine: Engine) {
    let script = r#"
turns:
  - when: { user_contains: "interrupting" }
    text: "interrupted"
  - when: { user_contains: "queued" }
    text: "next"
  - when: { user_contains: "slow" }
    text: "slowly done"
    delay_ms: 60000
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "slow").await;
    eventually("it is asked", async || bed.get(&name).await.lease.is_some()).await;
    let say = |text: &'static str, mode| bed.try_say(&name, text, Some(mode));
    assert_eq!(say("x", BusyMode::Reject).await.unwrap_err().code.as_str(), "session_busy");
    let queued = say("queued", BusyMode::Queue).await.unwrap();
    assert_eq!(queued.state, QueuedState::Queued);
    let cancelled = say("cancel me", BusyMode::Steer).await.unwrap();
    let gone = bed.host.sessions.cancel_message(bed.who(), &name, cancelled.id).await.unwrap();
    assert!(matches!(gone.state, QueuedState::Dropped { .. }));
    let again = bed.host.sessions.cancel_message(bed.who(), &name, cancelled.id).await.unwrap_err();
    assert_eq!(again.code.as_str(), "not_pending");
    say("interrupting", BusyMode::Interrupt).await.unwrap();
    eventually("both were answered", async || {
        let session = bed.get(&name).await;
        session.run == 2 && session.phase.as_str() == "completed"
    })
    .await;
    assert_eq!(bed.last_text(&name).await, "next");
    let delivered: Vec<_> = bed.steps(&name).await.iter().map(|step| step.messages.len()).collect();
    assert_eq!(delivered, [2, 1], "the interrupting one joined the question that was not answered yet");
}

// A32
pub(super) async fn an_interrupted_run_can_be_resumed_and_an_aborted_one_has_failed(engine: Engine) {
    let script = r#"
turns:
  - text: "slow"
    delay_ms: 1500
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let sessions = &bed.host.sessions;
    let stale = sessions.stop(bed.who(), &name, 7, NewStop::new(StopKind::Interrupt)).await.unwrap_err();
    assert_eq!(stale.code.as_str(), "stale_run");
    sessions.stop(bed.who(), &name, 1, NewStop::new(StopKind::Interrupt)).await.unwrap();
    let session = bed.wait(&name, "interrupted").await;
    assert_eq!(session.open_step, Some(1));
    sessions.resume(bed.who(), &name, None).await.unwrap();
    bed.wait(&name, "completed").await;
    let steps = bed.steps(&name).await;
    assert_eq!((steps.len(), steps[0].calls.len()), (1, 0));
    let other = bed.session().await;
    bed.say(&other, "go").await;
    let aborted = sessions.stop(bed.who(), &other, 1, NewStop::new(StopKind::Abort)).await.unwrap();
    assert_eq!((aborted.phase.as_str(), aborted.generation), ("failed", 2));
    bed.say(&other, "once more").await;
    bed.wait(&other, "completed").await;
}

// A7
pub(super) async fn the_same_key_is_the_same_message(engine: Engine) {
    let bed = AgentBed::start(engine, "otherwise: { text: ok }").await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    let send = |text: &str| {
        let parts = vec![Part::text(text)];
        let message = NewSessionMessage { parts, mode: None, client_id: None, key: Some("k".into()) };
        bed.host.sessions.send(bed.who(), &name, message)
    };
    let first = send("once").await.unwrap();
    let again = send("once").await.unwrap();
    assert_eq!(first.id, again.id);
    let other = send("something else").await.unwrap_err();
    assert_eq!(other.code.as_str(), "idempotency_key_reused");
    // The same words in another mode, or a session of another title, are something else.
    let message = NewSessionMessage {
        parts: vec![Part::text("once")],
        mode: Some(BusyMode::Steer),
        client_id: None,
        key: Some("k".into()),
    };
    let other = bed.host.sessions.send(bed.who(), &name, message).await.unwrap_err();
    assert_eq!(other.code.as_str(), "idempotency_key_reused");
    let create = |title: &str| {
        let new = NewSession {
            workspace_id: bed.workspace.id,
            agent: "helper".parse().unwrap(),
            name: None,
            title: Some(title.to_owned()),
            initial_state: Default::default(),
        };
        bed.host.sessions.create(bed.who(), new, Some("c".into()))
    };
    assert_eq!(create("a").await.unwrap().id, create("a").await.unwrap().id);
    assert_eq!(create("b").await.unwrap_err().code.as_str(), "idempotency_key_reused");
    bed.wait(&name, "completed").await;
    assert_eq!(bed.get(&name).await.run, 1);
}

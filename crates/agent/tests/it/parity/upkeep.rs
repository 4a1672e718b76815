//! What is kept, told and cleaned up around runs.

use std::time::Duration;

use serde_json::json;
use warren_agent::{Config, Definitions, NewSessionMessage};
use warren_exchange::{ApprovalAnswer, ApprovalDecision};
use warren_model::session::{CallOutcome, Phase, StreamItem};
use warren_model::{ApprovalState, Part, Status};
use warren_testkit::eventually;

use super::people::{TIDY, asked};
use crate::bed::{AgentBed, Engine, config};

// A20, A60
pub(super) async fn long_results_go_when_their_session_is_old_or_its_workspace_is_removed(engine: Engine) {
    let script = r#"
turns:
  - when: { user_contains: read, not_called: workspace_read_file }
    calls: [{ tool: workspace_read_file, arguments: { path: long.txt } }]
  - when: { user_contains: more }
    calls: [{ tool: read_result, arguments: { call: call_1_0, offset: 600 } }]
  - when: { result_of: read_result }
    text: "{last_result}"
otherwise: { text: "shown" }
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "result_bytes": 500 } })).await;
    let other = bed.bed.local_workspace().await;
    let mut names = Vec::new();
    for workspace in [bed.workspace.id, other.id] {
        let text: String = (0..500).map(|line| format!("line {line}\n")).collect();
        std::fs::write(bed.bed.place(workspace).join("long.txt"), text).unwrap();
        let name = bed.session_in(workspace).await;
        bed.say(&name, "read").await;
        bed.wait(&name, "completed").await;
        names.push(name);
    }
    let ids = [bed.get(&names[0]).await.id, bed.get(&names[1]).await.id];
    let has = async |id| {
        let read =
            bed.bed.store.read::<_, warren_store::Error, _>(move |tx| tx.read_result(id, "call_1_0", 0, 1));
        read.await.unwrap().is_some()
    };
    assert!(has(ids[0]).await && has(ids[1]).await);
    // For ever, but for what nobody can ask for any more.
    let pruning = |keep_results| Config { keep_results, prune_every: Duration::from_millis(50), ..config() };
    let host = bed.second_host(pruning(None)).await;
    bed.bed.remove(other.id).await;
    bed.bed.wait_for(other.id, Status::Removed).await;
    eventually("the removed workspace's result is gone", async || !has(ids[1]).await).await;
    assert!(has(ids[0]).await, "the other's is not old");
    host.stop().await;
    let host = bed.second_host(pruning(Some(Duration::ZERO))).await;
    eventually("the old session's result is gone", async || !has(ids[0]).await).await;
    host.stop().await;
    let steps = bed.steps(&names[0]).await;
    let Some(CallOutcome::Done { result }) = steps[0].calls[0].outcome() else {
        panic!("{:?}", steps[0].calls)
    };
    assert!(result.to_text().contains("line 1"), "what the model was shown stays");
    bed.say(&names[0], "more").await;
    crate::bed::settled(&bed, &names[0], 2).await;
    let told = bed.last_text(&names[0]).await;
    assert!(told.contains("no more of that call is kept"), "{told}");
}

// A70, A60
pub(super) async fn who_follows_a_session_is_told_that_it_went_back(engine: Engine) {
    let bed = AgentBed::start(engine, "otherwise: { text: ok }").await;
    bed.agent(json!({})).await;
    let (name, _) = bed.run("one").await;
    bed.say(&name, "two").await;
    crate::bed::settled(&bed, &name, 2).await;
    let before = bed.get(&name).await.latest_sequence;
    let (_, mut follower) = bed.host.sessions.follow(bed.who(), &name, before).await.unwrap();
    assert!(follower.read().await.unwrap().is_empty());
    let back = bed.host.sessions.rewind(bed.who(), &name, 1).await.unwrap();
    assert_eq!(back.latest_sequence, before + 1);
    let entries = tokio::time::timeout(Duration::from_secs(2), follower.next()).await.unwrap().unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((entries[0].sequence, &entries[0].item), (before + 1, &StreamItem::Rewound { to_step: 1 }));
    // It is there for those who come later, and the sequence goes on behind it.
    bed.say(&name, "three").await;
    crate::bed::settled(&bed, &name, 3).await;
    let later = bed.entries(&name, before).await;
    assert_eq!(later[0], entries[0]);
    assert!(matches!(later[1].item, StreamItem::RunStarted { run: 3 }), "{:?}", later[1]);
    let missing = bed.host.sessions.rewind(bed.who(), &name, 9).await.unwrap_err();
    assert_eq!(missing.code.as_str(), "step_not_found");
    assert_eq!(
        bed.get(&name).await.latest_sequence,
        later.last().unwrap().sequence,
        "a refusal tells nothing"
    );
}

// F7, A32: nobody is there to hear that the workspace goes
pub(super) async fn a_session_that_waits_ends_with_a_workspace_that_went_while_nobody_looked(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let id = bed.get(&name).await.id;
    bed.host.stop().await;
    bed.bed.remove(bed.workspace.id).await;
    bed.bed.wait_for(bed.workspace.id, Status::Removed).await;
    let read = async || {
        let read = bed.bed.store.read::<_, warren_store::Error, _>(move |tx| tx.session(id));
        read.await.unwrap().unwrap()
    };
    assert_eq!(read().await.phase.as_str(), "suspended", "nobody told it");
    let host = bed.second_host(config()).await;
    eventually("it ends", async || read().await.phase.as_str() == "failed").await;
    let Phase::Failed { failure } = read().await.phase else { unreachable!("it was looked at") };
    assert_eq!(failure.kind.as_str(), "aborted", "{failure:?}");
    let question = bed.bed.store.read::<_, warren_store::Error, _>(move |tx| tx.approval(approval.id));
    assert_eq!(question.await.unwrap().unwrap().state, ApprovalState::Void);
    host.stop().await;
}

// A31: bad input
pub(super) async fn a_blank_message_is_refused(engine: Engine) {
    let bed = AgentBed::start(engine, "otherwise: { text: ok }").await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    for text in ["", " ", "\n\t \u{a0}\u{2003}"] {
        let refused = bed.try_say(&name, text, None).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "blank_message", "{text:?}");
        assert!(refused.code.entry().remedy.contains("warren session send"));
    }
    let parts = vec![Part::text("look"), Part::text(" ")];
    let message = NewSessionMessage { parts, mode: None, client_id: None, key: None };
    let refused = bed.host.sessions.send(bed.who(), &name, message).await.unwrap_err();
    assert_eq!(refused.detail.as_deref(), Some("parts[1].text: it is blank"));
    assert_eq!((bed.get(&name).await.run, bed.get(&name).await.version), (0, 1), "nothing was taken");
    bed.say(&name, " yes ").await;
    bed.wait(&name, "completed").await;
}

// A19: the agent has other tools, other instructions and another model now
pub(super) async fn an_old_step_shows_the_tools_as_they_were_offered_then(engine: Engine) {
    let answers = "otherwise: { text: ok }";
    let bed = AgentBed::with(engine, &[("main", answers), ("other", answers)]).await;
    let mail = json!({ "name": "mail", "description": "Sends mail" });
    let before = json!({
        "system": "Be brief.", "limits": { "output_tokens": 77 },
        "tools": { "workspace": ["workspace_ls"], "client": [mail] },
    });
    bed.agent(before).await;
    let (name, _) = bed.run("one").await;
    let context = async |step| bed.host.sessions.context_of(bed.who(), &name, step).await.unwrap().request;
    let first = context(1).await;
    let tools = |request: &warren_model::session::ModelRequest| {
        request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&first), ["ask_user", "mail", "read_result", "workspace_ls"]);
    let after =
        json!({ "name": "helper", "model": "x/other", "system": "Be long.", "tools": { "workspace": [] } });
    bed.host.definitions.put(bed.who(), Definitions::check(after).unwrap()).await.unwrap();
    bed.host.sessions.upgrade(bed.who(), &name).await.unwrap();
    bed.say(&name, "two").await;
    crate::bed::settled(&bed, &name, 2).await;
    assert_eq!(context(1).await, first, "what the model saw then");
    let second = context(2).await;
    assert_eq!(tools(&second), ["ask_user", "read_result"]);
    assert_eq!((second.model.model.as_str(), second.system.as_str()), ("other", "Be long."));
    assert_eq!((second.max_output_tokens, second.turns.len()), (None, 3));
    // The same is kept once, whoever is asked with it.
    let steps = bed.steps(&name).await;
    assert_ne!(steps[0].request_head, steps[1].request_head);
    let again = bed.session().await;
    bed.say(&again, "three").await;
    bed.wait(&again, "completed").await;
    assert_eq!(bed.steps(&again).await[0].request_head, steps[1].request_head);
}

// A30: a decision is made where nobody carries out sessions; whoever does, finds it
pub(super) async fn a_decision_that_nobody_heard_of_is_found(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    bed.host.stop().await;
    let approve = ApprovalAnswer::new(ApprovalDecision::Approve);
    bed.bed.exchange.approvals.decide(bed.who(), approval.id, approve).await.unwrap();
    let host = bed.second_host(config()).await;
    bed.wait(&name, "completed").await;
    assert!(!bed.bed.place(bed.workspace.id).join("gone.txt").exists());
    host.stop().await;
}

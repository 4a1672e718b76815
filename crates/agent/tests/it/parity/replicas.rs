//! Several processes on one database: one works on a session, another is asked (A32, A60).

use std::time::Duration;

use serde_json::json;
use warren_agent::{AgentHost, NewSessionMessage, NewStop};
use warren_model::Part;
use warren_model::session::{
    BusyMode, CallOutcome, CallState, QueuedState, SessionName, StopKind, StreamItem,
};
use warren_testkit::eventually;

use crate::bed::{AgentBed, Engine, config};

fn within(kind: StopKind, seconds: u32) -> NewStop {
    NewStop { within_seconds: Some(seconds), ..NewStop::new(kind) }
}

/// The bed's own process, and another that takes nothing up by itself.
async fn two(engine: Engine, script: &str) -> (AgentBed, AgentHost, AgentHost) {
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let idle = warren_agent::Config { look_every: Duration::from_secs(600), ..config() };
    let (first, second) = (bed.host.clone(), bed.other_process(idle).await);
    (bed, first, second)
}

async fn send(bed: &AgentBed, host: &AgentHost, name: &SessionName, text: &str, mode: Option<BusyMode>) {
    let message = NewSessionMessage { parts: vec![Part::text(text)], mode, client_id: None, key: None };
    let (host, who, name) = (host.clone(), bed.who().clone(), name.clone());
    bed.bed.inside(async move { host.sessions.send(&who, &name, message).await }).await.unwrap();
}

/// Waits until the call at this place runs.
async fn runs(bed: &AgentBed, name: &SessionName) {
    eventually("the command runs", async || {
        let steps = bed.steps(name).await;
        let call = steps.first().and_then(|step| step.calls.first());
        call.is_some_and(|call| matches!(call.state, CallState::Started { .. }))
    })
    .await;
}

const SLEEPS: &str = r#"
turns:
  - when: { user_contains: sleep }
    calls: [{ tool: workspace_run, arguments: { argv: [sleep, "45.0032"] } }]
  - when: { result_of: workspace_run }
    text: "I was told: {last_result}"
  - when: { user_contains: "" }
    text: "you said {last_user}"
"#;

/// Whether the program of the script runs on this machine, in any of these tests.
fn sleepers(seconds: &str) -> usize {
    let wanted = format!("sleep\0{seconds}\0").into_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| *line == wanted).count()
}

// A32
pub(super) async fn an_interrupt_cuts_what_runs_when_its_deadline_has_come(engine: Engine) {
    let seconds = if engine == Engine::Sqlite { "45.0011" } else { "45.0012" };
    let bed = AgentBed::start(engine, &SLEEPS.replace("45.0032", seconds)).await;
    bed.agent(json!({})).await;
    let workspace = bed.sleeping_workspace().await;
    let name = bed.session_in(workspace.id).await;
    bed.say(&name, "sleep").await;
    runs(&bed, &name).await;
    eventually("its program runs", async || sleepers(seconds) == 1).await;
    let sessions = &bed.host.sessions;
    let too_long = sessions.stop(bed.who(), &name, 1, within(StopKind::Interrupt, 601)).await.unwrap_err();
    assert_eq!(too_long.code.as_str(), "invalid_request");
    let begun = std::time::Instant::now();
    let session = sessions.stop(bed.who(), &name, 1, within(StopKind::Interrupt, 2)).await.unwrap();
    assert_eq!(session.phase.as_str(), "active", "what runs may still end");
    let session = bed.wait(&name, "interrupted").await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(20), "{took:?}");
    assert!(session.lease.is_none());
    eventually("its program is gone", async || sleepers(seconds) == 0).await;
    sessions.resume(bed.who(), &name, None).await.unwrap();
    bed.wait(&name, "completed").await;
    let call = bed.steps(&name).await[0].calls[0].clone();
    let Some(CallOutcome::Unknown { evidence }) = call.outcome() else { panic!("{call:?}") };
    assert!(evidence.contains("the time to stop was over"), "{evidence}");
    assert!(bed.last_text(&name).await.contains("the time to stop was over"), "and the model knows");
}

// A32
pub(super) async fn a_stop_at_another_process_reaches_the_one_that_works(engine: Engine) {
    let seconds = if engine == Engine::Sqlite { "45.0021" } else { "45.0022" };
    let (bed, first, second) = two(engine, &SLEEPS.replace("45.0032", seconds)).await;
    let workspace = bed.sleeping_workspace().await;
    for (kind, phase) in [(StopKind::Interrupt, "interrupted"), (StopKind::Abort, "failed")] {
        let name = bed.session_in(workspace.id).await;
        send(&bed, &first, &name, "sleep", None).await;
        runs(&bed, &name).await;
        eventually("its program runs", async || sleepers(seconds) == 1).await;
        assert_eq!((first.engine.working_on(), second.engine.working_on()), (1, 0));
        second.sessions.stop(bed.who(), &name, 1, within(kind, 1)).await.unwrap();
        let session = bed.wait(&name, phase).await;
        assert_eq!(session.epoch, 1, "nobody took it over");
        eventually("its program is gone", async || sleepers(seconds) == 0).await;
        eventually("the first has let go", async || first.engine.working_on() == 0).await;
        let stale = second.sessions.stop(bed.who(), &name, 7, NewStop::new(kind)).await.unwrap_err();
        assert_eq!(stale.code.as_str(), "stale_run");
    }
    first.stop().await;
    second.stop().await;
}

// A32, A34
pub(super) async fn a_message_at_another_process_reaches_the_one_that_works(engine: Engine) {
    let script = r#"
turns:
  - { when: { user_contains: "steered" }, text: "I was steered" }
  - { when: { user_contains: "interrupting" }, text: "I was interrupted" }
  - when: { user_contains: "slow" }
    text: "never"
    delay_ms: 60000
  - when: { user_contains: "wait" }
    calls: [{ tool: workspace_run, arguments: { argv: [sleep, "1.2"] } }]
"#;
    let (bed, first, second) = two(engine, script).await;
    let workspace = bed.sleeping_workspace().await;
    let name = bed.session_in(workspace.id).await;
    send(&bed, &first, &name, "slow", None).await;
    eventually("the first asks", async || first.engine.working_on() == 1).await;
    send(&bed, &second, &name, "interrupting", Some(BusyMode::Interrupt)).await;
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "I was interrupted");

    let name = bed.session_in(workspace.id).await;
    send(&bed, &first, &name, "wait", None).await;
    runs(&bed, &name).await;
    send(&bed, &second, &name, "steered", Some(BusyMode::Steer)).await;
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "I was steered");
    let session = bed.get(&name).await;
    assert_eq!((session.run, session.epoch), (1, 1), "within the same run, by the same owner");
    let steps = bed.steps(&name).await;
    assert_eq!((steps.len(), steps[1].messages.len()), (2, 1));
    let message = bed.host.sessions.message(bed.who(), &name, steps[1].messages[0]).await.unwrap().unwrap();
    assert_eq!(message.state, QueuedState::Delivered { step: 2 });
    first.stop().await;
    second.stop().await;
}

// A60
pub(super) async fn a_reader_at_another_process_misses_nothing(engine: Engine) {
    let script = r#"
turns:
  - when: { answers: 0 }
    reasoning: "Let me think about this for a moment."
    text: "I look at what is there, in several pieces, one after the other."
    chunk_characters: 4
    delay_ms: 40
    calls: [{ tool: workspace_ls, arguments: { path: "." } }]
  - when: { answers: 1 }
    text: "That was all of it, and it is told slowly."
    chunk_characters: 3
    delay_ms: 40
"#;
    let (bed, first, second) = two(engine, script).await;
    let name = bed.session().await;
    let (_, mut near) = first.sessions.follow(bed.who(), &name, 0).await.unwrap();
    let (_, mut far) = second.sessions.follow(bed.who(), &name, 0).await.unwrap();
    send(&bed, &first, &name, "go", None).await;
    let read = async |follower: &mut warren_agent::Follower| {
        let mut entries: Vec<warren_model::session::StreamEntry> = Vec::new();
        let mut reads = 0;
        while !entries.iter().any(|entry| matches!(entry.item, StreamItem::RunEnded { .. })) {
            entries.extend(follower.next().await.unwrap());
            reads += 1;
        }
        (entries, reads)
    };
    let ((near, _), (far, far_reads)) = tokio::join!(read(&mut near), read(&mut far));
    // What only says how arguments grew is not kept for those who come later.
    let lasting = |entries: &[warren_model::session::StreamEntry]| {
        let lasting = entries.iter().filter(|entry| !matches!(entry.item, StreamItem::CallDelta { .. }));
        lasting.map(|entry| (entry.sequence, entry.item.clone())).collect::<Vec<_>>()
    };
    assert_eq!(lasting(&far), lasting(&near), "the same entries with the same numbers");
    let numbers: Vec<u64> = near.iter().map(|entry| entry.sequence).collect();
    assert_eq!(numbers, (1..=near.len() as u64).collect::<Vec<_>>(), "none is missing");
    assert!(far_reads > 1, "it was read while it was told: {far_reads}");
    assert_eq!(second.engine.working_on(), 0);
    // The reader comes back at either process, in the middle, after the end.
    for host in [&first, &second] {
        for after in [0, 3, far.len() as u64 / 2, far.last().unwrap().sequence - 1] {
            let (_, mut again) = host.sessions.follow(bed.who(), &name, after).await.unwrap();
            let (again, _) = read(&mut again).await;
            let rest: Vec<_> = lasting(&near).into_iter().filter(|(sequence, _)| *sequence > after).collect();
            assert_eq!(lasting(&again), rest, "from {after}");
        }
    }
    first.stop().await;
    second.stop().await;
}

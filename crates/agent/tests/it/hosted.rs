//! Hosted workspaces with an agent, as the exchange calls them. Every scenario on every store.

use serde_json::json;
use warren_agent::{Definitions, SessionQuery};
use warren_exchange::{Accepted, ApprovalAnswer, ApprovalDecision, Delegate, NewMessage, NewSchedule};
use warren_fleet::{CreateWorkspace, PatchWorkspace};
use warren_model::session::{SessionName, StepPhase};
use warren_model::{
    AgentSpec, DelegationState, Desired, ErrorCode, EventKind, MissedPolicy, OverlapPolicy, Status,
    TaskState, Timing, Workspace,
};
use warren_testkit::{Bed, answer_of, eventually};

use crate::bed::{AgentBed, Engine, is_suspended_by};

/// Makes two tests of each scenario, one for each store.
macro_rules! scenarios {
    ($($name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::bed::Engine::Sqlite).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::bed::Engine::Postgres).await;
            })*
        }
    };
}

scenarios! {
    a_message_is_answered_by_the_workspaces_agent,
    what_a_workspace_says_of_its_agent_reaches_it,
    messages_of_one_context_are_one_session,
    a_peer_delegates_to_it,
    its_schedule_fires,
    a_crash_in_the_middle_of_a_delivery_gives_one_answer_and_repeats_no_call,
    a_question_is_answered_by_the_next_message,
    an_approval_is_waited_for_without_a_delivery_and_then_the_answer_comes,
    a_cancelled_task_aborts_its_run,
    a_task_that_waits_is_cancelled_once,
    a_failure_is_told_in_words,
    an_agent_that_is_not_there_is_refused,
    a_paused_workspaces_session_begins_nothing_and_goes_on_after_it,
    a_message_to_a_session_wakes_a_workspace_that_sleeps,
    with_its_workspace_a_run_ends,
    a_session_that_works_makes_its_workspace_busy_and_sleep_counts_from_its_end,
}

const HELLO: &str = "turns:\n  - text: \"hello from the agent\"\n    chunk_characters: 6\n";

fn named(name: &str) -> AgentSpec {
    AgentSpec { name: Some(name.parse().unwrap()), ..AgentSpec::default() }
}

/// A workspace that the stored agent `helper` runs.
async fn hosted(bed: &AgentBed) -> Workspace {
    bed.agent(json!({})).await;
    hosted_with(bed, named("helper")).await
}

async fn hosted_with(bed: &AgentBed, agent: AgentSpec) -> Workspace {
    bed.bed.online(CreateWorkspace { agent, ..Bed::local_request("hosted") }).await
}

async fn answer(bed: &AgentBed, accepted: &Accepted) -> String {
    answer_of(&bed.bed.task_in(accepted, TaskState::Completed).await)
}

/// The names of the sessions that tasks made in this workspace.
async fn sessions_of(bed: &AgentBed, row: &Workspace) -> Vec<SessionName> {
    let query = SessionQuery {
        org_id: None,
        workspace_id: Some(row.id),
        phase: None,
        agent: None,
        before: None,
        limit: 100,
    };
    let page = bed.host.sessions.list(bed.who(), query).await.unwrap();
    page.rows.into_iter().map(|session| session.name).collect()
}

// X15, A1
async fn a_message_is_answered_by_the_workspaces_agent(engine: Engine) {
    let bed = AgentBed::start(engine, HELLO).await;
    let row = hosted(&bed).await;
    let accepted = bed.bed.say(row.id, "hello").await;
    assert_eq!(answer(&bed, &accepted).await, "hello from the agent");
    let task = bed.bed.task(&accepted).await;
    assert_eq!(task.artifacts.len(), 1, "the answer as it was given: {:?}", task.artifacts);
    assert_eq!(task.artifacts[0].parts.len(), 1, "in one piece at the end");
    let sessions = sessions_of(&bed, &row).await;
    assert_eq!(sessions.len(), 1);
    let session = bed.get(&sessions[0]).await;
    assert_eq!(task.metadata["warren/session"]["name"], sessions[0].as_str());
    assert_eq!((session.run, session.created_by), (1, bed.who().principal.clone()), "its author acts");
    // Control: one that names neither an agent nor a model.
    let error = bed.bed.send(bed.bed.text(bed.workspace.id, "hello")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NoAgent);
}

// F50: model and prompts of a template are the agent's.
async fn what_a_workspace_says_of_its_agent_reaches_it(engine: Engine) {
    let other = "turns:\n  - text: \"the other model\"\n";
    let bed = AgentBed::with(engine, &[("main", HELLO), ("other", other)]).await;
    bed.agent(json!({ "system": "Help." })).await;
    let over = AgentSpec { model: Some("x/other".into()), ..named("helper") };
    let own =
        AgentSpec { name: None, prompts: [("system".into(), "Be kind.".into())].into(), ..over.clone() };
    for (spec, system) in [(over, "Help."), (own, "Be kind.")] {
        let row = hosted_with(&bed, spec).await;
        let accepted = bed.bed.say(row.id, "hello").await;
        assert_eq!(answer(&bed, &accepted).await, "the other model");
        let name = sessions_of(&bed, &row).await.remove(0);
        let shown = bed.host.sessions.context_of(bed.who(), &name, 1).await.unwrap().request;
        assert!(shown.system.starts_with(system), "{}", shown.system);
        let session = bed.get(&name).await;
        assert_eq!(session.agent.name.as_str(), format!("workspace.{}", row.id));
    }
}

async fn messages_of_one_context_are_one_session(engine: Engine) {
    let script = "turns:\n  - when: { answers: 0 }\n    text: \"you said {last_user}\"\n";
    let bed = AgentBed::start(engine, script).await;
    let row = hosted(&bed).await;
    let first = bed.bed.say(row.id, "one").await;
    answer(&bed, &first).await;
    for context in [first.task.context_id.clone(), "a context/with signs".to_owned()] {
        let message = NewMessage { context_id: Some(context), ..bed.bed.text(row.id, "two") };
        let accepted = bed.bed.send(message).await.unwrap();
        answer(&bed, &accepted).await;
    }
    let sessions = sessions_of(&bed, &row).await;
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let mut runs = Vec::new();
    for name in &sessions {
        runs.push(bed.get(name).await.run);
    }
    runs.sort_unstable();
    assert_eq!(runs, [1, 2]);
}

// X20, X21
async fn a_peer_delegates_to_it(engine: Engine) {
    let bed = AgentBed::start(engine, HELLO).await;
    bed.agent(json!({})).await;
    let (lead, who) = bed.bed.called_with(Bed::local_request("lead")).await;
    let below =
        CreateWorkspace { parent_id: Some(lead), agent: named("helper"), ..Bed::local_request("below") };
    let row = bed.bed.online(below).await;
    let message = bed.bed.text(row.id, "help");
    let request = Delegate { from: lead, message, parent_task: None, is_told: false };
    let (exchange, asker) = (bed.bed.exchange.clone(), who.clone());
    let made = Box::pin(bed.bed.inside(async move { exchange.delegations.create(&asker, request).await }))
        .await
        .unwrap();
    eventually("it ends", async || {
        let (delegation, _) = bed.bed.exchange.delegations.get(&who, lead, made.delegation.id).await.unwrap();
        delegation.state == DelegationState::Completed
    })
    .await;
    let task = bed.bed.exchange.messages.task(bed.who(), row.id, made.task.id).await.unwrap();
    assert_eq!(answer_of(&task), "hello from the agent");
    let name = sessions_of(&bed, &row).await.remove(0);
    assert_eq!(bed.get(&name).await.created_by.to_string(), format!("workspace:{lead}"));
}

// X40
async fn its_schedule_fires(engine: Engine) {
    let bed = AgentBed::start(engine, HELLO).await;
    let row = hosted(&bed).await;
    let new = NewSchedule {
        name: "pulse".into(),
        timing: Timing::Every { seconds: 86_400 },
        prompt: "tidy up".into(),
        jitter_seconds: 0,
        missed: MissedPolicy::Once,
        overlap: OverlapPolicy::Skip,
    };
    let schedule = bed.bed.exchange.schedules.create(bed.who(), row.id, new).await.unwrap();
    let (exchange, who) = (bed.bed.exchange.clone(), bed.who().clone());
    bed.bed.inside(async move { exchange.schedules.run(&who, schedule.id).await }).await.unwrap();
    eventually("the agent has answered", async || match sessions_of(&bed, &row).await.first() {
        Some(name) => bed.get(name).await.phase.as_str() == "completed",
        None => false,
    })
    .await;
}

// X11, X15, A4
async fn a_crash_in_the_middle_of_a_delivery_gives_one_answer_and_repeats_no_call(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_edit_file }
    calls: [{ tool: workspace_edit_file, arguments: { path: n.txt, old: "x", new: "xx" } }]
  - when: { result_of: workspace_edit_file }
    text: "edited, says the agent slowly"
    chunk_characters: 5
    delay_ms: 200
"#;
    let bed = AgentBed::start(engine, script).await;
    let row = hosted(&bed).await;
    let file = bed.bed.place(row.id).join("n.txt");
    std::fs::write(&file, "x").unwrap();
    let accepted = bed.bed.say(row.id, "go").await;
    eventually("the second answer has begun", async || {
        let Some(name) = sessions_of(&bed, &row).await.pop() else { return false };
        bed.steps(&name).await.get(1).is_some_and(|step| step.phase == StepPhase::Asking && step.attempt == 1)
    })
    .await;
    let bed = bed.crash().await;
    assert_eq!(answer(&bed, &accepted).await, "edited, says the agent slowly");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "xx", "the edit was done once");
    let names = sessions_of(&bed, &row).await;
    assert_eq!(names.len(), 1);
    let session = bed.get(&names[0]).await;
    assert_eq!(session.run, 1, "the message was sent once");
    let task = bed.bed.task(&accepted).await;
    let texts: Vec<_> = task.artifacts.iter().flat_map(|one| &one.parts).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

const ASKS: &str = r#"
turns:
  - when: { not_called: ask_user }
    calls: [{ tool: ask_user, arguments: { question: "Which colour?" } }]
  - when: { result_of: ask_user }
    text: "it is {last_result}"
  - when: { answers: 0 }
    text: "well"
"#;

fn follow_up(bed: &AgentBed, accepted: &Accepted, text: &str) -> NewMessage {
    let task_id = Some(accepted.task.id);
    NewMessage { task_id, ..bed.bed.text(accepted.task.workspace_id, text) }
}

// A33
async fn a_question_is_answered_by_the_next_message(engine: Engine) {
    let bed = AgentBed::start(engine, ASKS).await;
    let row = hosted(&bed).await;
    let accepted = bed.bed.say(row.id, "paint it").await;
    let task = bed.bed.task_in(&accepted, TaskState::InputRequired).await;
    assert_eq!(answer_of(&task), "Which colour?");
    let bed = bed.crash().await;
    let reply = bed.bed.send(follow_up(&bed, &accepted, "blue")).await.unwrap();
    assert_eq!(reply.task.id, accepted.task.id);
    assert_eq!(answer(&bed, &accepted).await, "it is blue");
    let names = sessions_of(&bed, &row).await;
    assert_eq!((names.len(), bed.get(&names[0]).await.run), (1, 1), "the same run");
}

// A30, X51
async fn an_approval_is_waited_for_without_a_delivery_and_then_the_answer_comes(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_write_file }
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "a" } }]
  - when: { result_of: workspace_write_file }
    text: "written"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "policies": [{ "tool": "workspace_write_file", "decision": "ask" }] })).await;
    let row = hosted_with(&bed, named("helper")).await;
    let accepted = bed.bed.say(row.id, "write").await;
    let task = bed.bed.task_in(&accepted, TaskState::InputRequired).await;
    let waits = &task.status_message.as_ref().unwrap().metadata["warren/waits"];
    assert_eq!(
        (&waits["for"], &waits["calls"][0]["tool"]),
        (&json!("approval"), &json!("workspace_write_file"))
    );
    let name = sessions_of(&bed, &row).await.remove(0);
    let mut pending = bed.host.sessions.pending(bed.who(), &name).await.unwrap().approvals;
    let approval = pending.remove(0);
    assert_eq!(waits["calls"][0]["approval_id"], approval.id.to_string());
    assert!(
        bed.bed.deliveries(row.id, warren_model::DeliveryState::Claimed).await.is_empty(),
        "what waits holds nothing"
    );
    let bed = bed.crash().await;
    let decision = ApprovalAnswer::new(ApprovalDecision::Approve);
    let (exchange, who) = (bed.bed.exchange.clone(), bed.who().clone());
    let decide = async move { exchange.approvals.decide(&who, approval.id, decision).await };
    bed.bed.inside(decide).await.unwrap();
    assert_eq!(answer(&bed, &accepted).await, "written");
}

const SLOW: &str =
    "turns:\n  - text: \"a very long answer indeed\"\n    chunk_characters: 1\n    delay_ms: 400\n";

// X22, A32
async fn a_cancelled_task_aborts_its_run(engine: Engine) {
    let bed = AgentBed::start(engine, SLOW).await;
    let row = hosted(&bed).await;
    let accepted = bed.bed.say(row.id, "go on").await;
    eventually("it is being answered", async || !bed.bed.task(&accepted).await.artifacts.is_empty()).await;
    let (exchange, who, id) = (bed.bed.exchange.clone(), bed.who().clone(), accepted.task.id);
    let workspace_id = row.id;
    let cancel = async move { exchange.messages.cancel_task(&who, workspace_id, id).await };
    let cancelled = Box::pin(bed.bed.inside(cancel)).await.unwrap();
    assert_eq!(cancelled.state, TaskState::Cancelled);
    let name = sessions_of(&bed, &row).await.remove(0);
    let session = bed.wait(&name, "failed").await;
    assert!(session.lease.is_none() || bed.host.engine.working_on() <= 1, "{:?}", session.lease);
}

// X22
async fn a_task_that_waits_is_cancelled_once(engine: Engine) {
    let bed = AgentBed::start(engine, ASKS).await;
    let row = hosted(&bed).await;
    let accepted = bed.bed.say(row.id, "paint it").await;
    bed.bed.task_in(&accepted, TaskState::InputRequired).await;
    let (exchange, who, task) = (bed.bed.exchange.clone(), bed.who().clone(), accepted.task.clone());
    let cancel = async move { exchange.messages.cancel_task(&who, task.workspace_id, task.id).await };
    assert_eq!(Box::pin(bed.bed.inside(cancel)).await.unwrap().state, TaskState::Cancelled);
    let name = sessions_of(&bed, &row).await.remove(0);
    bed.wait(&name, "failed").await;
    assert_eq!(bed.bed.waiting(row.id).await, 0, "nobody follows what was cancelled");
    assert_eq!(bed.bed.task(&accepted).await.state, TaskState::Cancelled);
    // The conversation goes on with the next message.
    let context_id = Some(accepted.task.context_id.clone());
    let next = bed.bed.send(NewMessage { context_id, ..bed.bed.text(row.id, "again") }).await.unwrap();
    bed.bed.task_in(&next, TaskState::Completed).await;
    assert_eq!(sessions_of(&bed, &row).await.len(), 1);
}

async fn a_failure_is_told_in_words(engine: Engine) {
    let bed = AgentBed::start(engine, HELLO).await;
    bed.agent(json!({ "model": "x/absent" })).await;
    let row = hosted_with(&bed, named("helper")).await;
    let accepted = bed.bed.say(row.id, "hello").await;
    let task = bed.bed.task_in(&accepted, TaskState::Failed).await;
    assert!(answer_of(&task).contains("no such script"), "{}", answer_of(&task));
}

// F50: bad input
async fn an_agent_that_is_not_there_is_refused(engine: Engine) {
    let bed = AgentBed::start(engine, HELLO).await;
    let create = |agent: AgentSpec| {
        let (fleet, who) = (bed.bed.fleet.clone(), bed.who().clone());
        let request = CreateWorkspace { agent, ..Bed::local_request("hosted") };
        bed.bed.inside(async move { fleet.workspaces.create(&who, request).await })
    };
    let unknown = create(named("nobody")).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::AgentNotFound);
    assert!(unknown.detail.unwrap().contains("`nobody`"));
    let unreadable = AgentSpec { model: Some("gpt".into()), ..AgentSpec::default() };
    assert_eq!(create(unreadable).await.unwrap_err().code, ErrorCode::InvalidRequest);
    let reserved = Definitions::check(json!({ "name": "workspace.x", "model": "x/main" })).unwrap();
    let refused = bed.host.definitions.put(bed.who(), reserved).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidAgent, "names that Warren makes");
    bed.agent(json!({})).await;
    assert_eq!(create(named("helper")).await.unwrap().status, Status::Provisioning);
    assert!(bed.bed.events(EventKind::WorkspaceCreated).await.len() >= 2);
}

const WRITES: &str = r#"
turns:
  - when: { not_called: workspace_write_file }
    text: "I write it, slowly and with care"
    chunk_characters: 4
    delay_ms: 100
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "a" } }]
  - when: { result_of: workspace_write_file }
    text: "written"
"#;

/// A message that is being answered.
async fn begun(bed: &AgentBed, row: &Workspace) -> (Accepted, SessionName) {
    let accepted = bed.bed.say(row.id, "write").await;
    eventually("it is being answered", async || {
        let Some(name) = sessions_of(bed, row).await.pop() else { return false };
        bed.steps(&name).await.first().is_some_and(|step| step.attempt == 1)
    })
    .await;
    (accepted, sessions_of(bed, row).await.remove(0))
}

async fn desire(bed: &AgentBed, row: &Workspace, desired: Desired) {
    let (fleet, who, id) = (bed.bed.fleet.clone(), bed.who().clone(), row.id);
    let patch = PatchWorkspace { desired: Some(desired), ..PatchWorkspace::default() };
    bed.bed.inside(async move { fleet.workspaces.patch(&who, id, patch, None).await }).await.unwrap();
}

// F7, A2: nothing is begun in a workspace that rests
async fn a_paused_workspaces_session_begins_nothing_and_goes_on_after_it(engine: Engine) {
    let bed = AgentBed::start(engine, WRITES).await;
    let row = hosted(&bed).await;
    let (accepted, name) = begun(&bed, &row).await;
    desire(&bed, &row, Desired::Paused).await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "workspace"), "{:?}", session.phase);
    assert!(session.lease.is_none(), "what waits holds nothing");
    let step = bed.steps(&name).await.remove(0);
    assert_eq!(step.phase, StepPhase::Acting, "the answer that was on its way came");
    assert!(!bed.bed.place(row.id).join("a.txt").exists(), "and its call was not begun");
    desire(&bed, &row, Desired::Running).await;
    assert_eq!(answer(&bed, &accepted).await, "written");
    assert_eq!(bed.get(&name).await.run, 1);
}

// F7
async fn a_message_to_a_session_wakes_a_workspace_that_sleeps(engine: Engine) {
    let bed = AgentBed::start(engine, HELLO).await;
    let row = hosted(&bed).await;
    let name = bed.session_in(row.id).await;
    desire(&bed, &row, Desired::Hibernated).await;
    bed.bed.wait_for(row.id, Status::Hibernated).await;
    bed.say(&name, "hello").await;
    bed.wait(&name, "completed").await;
    assert_eq!(bed.bed.status(row.id).await, Status::Online);
    // The same by the exchange. A busy workspace is not put to sleep, and its vitals follow a moment later.
    eventually("it is idle", async || {
        let all = bed.bed.fleet.workspaces.vitals_of(std::slice::from_ref(&row)).await.unwrap();
        all.get(&row.id).is_none_or(|vitals| vitals.active_tasks == 0)
    })
    .await;
    desire(&bed, &row, Desired::Hibernated).await;
    bed.bed.wait_for(row.id, Status::Hibernated).await;
    let accepted = bed.bed.say(row.id, "hello").await;
    assert_eq!(answer(&bed, &accepted).await, "hello from the agent");
}

// F8, A32
async fn with_its_workspace_a_run_ends(engine: Engine) {
    let bed = AgentBed::start(engine, ASKS).await;
    let row = hosted(&bed).await;
    let accepted = bed.bed.say(row.id, "paint it").await;
    bed.bed.task_in(&accepted, TaskState::InputRequired).await;
    let name = sessions_of(&bed, &row).await.remove(0);
    let (fleet, who, id) = (bed.bed.fleet.clone(), bed.who().clone(), row.id);
    bed.bed.inside(async move { fleet.workspaces.remove(&who, id, None, false).await }).await.unwrap();
    let session = bed.wait(&name, "failed").await;
    let warren_model::session::Phase::Failed { failure } = session.phase else { panic!("{session:?}") };
    assert_eq!(failure.message, "aborted by system:fleet");
}

// F7, F11
async fn a_session_that_works_makes_its_workspace_busy_and_sleep_counts_from_its_end(engine: Engine) {
    let bed = AgentBed::start(engine, SLOW).await;
    bed.agent(json!({})).await;
    let mut request = CreateWorkspace { agent: named("helper"), ..Bed::local_request("hosted") };
    request.options.hibernate_after_seconds = Some(600);
    let row = bed.bed.online(request).await;
    let vitals = async || {
        let all = bed.bed.fleet.workspaces.vitals_of(std::slice::from_ref(&row)).await.unwrap();
        all.get(&row.id).cloned().unwrap_or_default()
    };
    let accepted = bed.bed.say(row.id, "go on").await;
    eventually("it is busy", async || vitals().await.active_tasks == 1).await;
    let busy = vitals().await;
    assert_eq!((busy.current_task.as_deref(), busy.idle_deadline), (Some("go on"), None));
    let (exchange, who, task) = (bed.bed.exchange.clone(), bed.who().clone(), accepted.task);
    let cancel = async move { exchange.messages.cancel_task(&who, task.workspace_id, task.id).await };
    Box::pin(bed.bed.inside(cancel)).await.unwrap();
    eventually("it is idle", async || vitals().await.active_tasks == 0).await;
    assert!(vitals().await.idle_deadline.is_some(), "it may sleep");
}

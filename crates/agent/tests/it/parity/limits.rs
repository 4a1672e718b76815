//! What bounds a run: circles, calls beside each other, the workspace's budget.

use serde_json::json;
use warren_model::EventKind;
use warren_model::session::{CallOutcome, OutcomeKind, Phase, StreamEntry, StreamItem};

use crate::bed::{AgentBed, Engine, is_suspended_by};

/// The session is stuck; the reason it tells.
async fn stuck(bed: &AgentBed, name: &warren_model::session::SessionName) -> String {
    let session = bed.wait(name, "suspended").await;
    assert!(is_suspended_by(&session, "stuck"), "{:?}", session.phase);
    assert!(session.lease.is_none(), "what waits holds nothing");
    let Phase::Suspended { reason, .. } = session.phase else { unreachable!("it was looked at") };
    reason
}

// A15: the calls differ, the error is the same. The model is told after 2, a person after 4.
pub(super) async fn the_same_error_again_and_again_is_told_and_then_waits_for_a_person(engine: Engine) {
    let script = r#"
turns:
  - { when: { user_contains: "another way" }, calls: [{ tool: absent, arguments: { try: 3 } }] }
  - { when: { user_contains: "leave it" }, text: "I leave it" }
  - { when: { user_contains: go }, calls: [{ tool: absent, arguments: { try: 1 } }] }
  - { when: { result_of: absent }, calls: [{ tool: absent, arguments: { try: 2 } }] }
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "repeats": 2 } })).await;
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let reason = stuck(&bed, &name).await;
    assert!(reason.contains("the same error came 4 times in a row: there is no tool `absent`"), "{reason}");
    let steps = bed.steps(&name).await;
    let told: Vec<_> = steps.iter().filter(|step| !step.notices.is_empty()).map(|step| step.number).collect();
    assert_eq!((steps.len(), told), (4, vec![3]), "the model was told once, before its third try");
    assert!(steps[2].notices[0].contains("The same error came 2 times"), "{:?}", steps[2].notices);
    let tries: Vec<_> = steps.iter().map(|step| step.calls[0].proposed["try"].clone()).collect();
    assert_eq!(tries, [json!(1), json!(2), json!(3), json!(2)], "no two calls in a row were the same");
    bed.say(&name, "leave it").await;
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "I leave it");
}

// A15: two calls in turn, each with the result that it had before. Control: results that change are no circle.
pub(super) async fn steps_that_bring_nothing_new_are_noticed_and_new_results_are_not(engine: Engine) {
    let script = r#"
turns:
  - { when: { user_contains: "with the same result" }, calls: [{ tool: workspace_ls, arguments: { path: "." } }] }
  - { when: { user_contains: look }, calls: [{ tool: workspace_ls, arguments: { path: "." } }] }
  - { when: { user_contains: count }, calls: [{ tool: workspace_edit_file, arguments: { path: n.txt, old: "+", new: "++" } }] }
  - { when: { result_of: workspace_edit_file, answers: 1 }, calls: [{ tool: workspace_read_file, arguments: { path: n.txt } }] }
  - { when: { result_of: workspace_read_file, answers: 14 }, text: "counted" }
  - { when: { result_of: workspace_read_file }, calls: [{ tool: workspace_edit_file, arguments: { path: n.txt, old: "+-", new: "++-" } }] }
  - { when: { result_of: workspace_edit_file }, calls: [{ tool: workspace_read_file, arguments: { path: n.txt } }] }
  - { when: { result_of: workspace_ls }, calls: [{ tool: workspace_glob, arguments: { pattern: "*.none" } }] }
  - { when: { result_of: workspace_glob }, calls: [{ tool: workspace_ls, arguments: { path: "." } }] }
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "limits": { "repeats": 3 } })).await;
    std::fs::write(bed.bed.place(bed.workspace.id).join("n.txt"), "+-").unwrap();
    let name = bed.session().await;
    bed.say(&name, "look").await;
    let reason = stuck(&bed, &name).await;
    assert!(reason.contains("brought nothing new") && reason.contains("workspace_"), "{reason}");
    let steps = bed.steps(&name).await;
    let used: std::collections::BTreeSet<_> = steps.iter().map(|step| step.calls[0].tool.as_str()).collect();
    assert_eq!(used.len(), 2, "a circle of two: {used:?}");
    let warned = steps.iter().filter(|step| step.notices.iter().any(|one| one.contains("the same result")));
    assert_eq!(warned.count(), 1, "the model was told first");

    let (name, _) = bed.run("count").await;
    assert_eq!(bed.last_text(&name).await, "counted");
    let steps = bed.steps(&name).await;
    assert!(steps.len() > 10 && steps.iter().all(|step| step.notices.is_empty()), "{}", steps.len());
}

/// How many calls ran beside each other at most, as the stream tells it: a call runs from its start to its end.
fn most_at_once(entries: &[StreamEntry]) -> usize {
    let (mut running, mut most) = (0_usize, 0);
    for entry in entries {
        match &entry.item {
            StreamItem::CallStarted { .. } => running += 1,
            StreamItem::CallEnded { .. } => running -= 1,
            _ => {}
        }
        most = most.max(running);
    }
    most
}

/// How many programs with these arguments run on this machine.
fn programs(arguments: &[&str]) -> usize {
    let mut wanted = arguments.join("\0").into_bytes();
    wanted.push(0);
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| *line == wanted).count()
}

// A20
pub(super) async fn no_more_calls_run_at_once_than_the_cap_and_all_are_done(engine: Engine) {
    // A time of its own, so that no other test runs the same program.
    let time = if engine == Engine::Sqlite { "0.4013" } else { "0.4017" };
    let one = format!("{{ tool: workspace_run, arguments: {{ argv: [sleep, \"{time}\"] }} }}");
    let calls = vec![one; 7].join(",\n        ");
    let script = format!(
        "turns:\n  - when: {{ answers: 0 }}\n    calls: [{calls}]\n  - when: {{ answers: 1 }}\n    text: ok\n"
    );
    let bed = AgentBed::start(engine, &script).await;
    bed.agent(json!({ "limits": { "parallel_calls": 3 } })).await;
    let workspace = bed.sleeping_workspace().await;
    let name = bed.session_in(workspace.id).await;
    bed.say(&name, "go").await;
    let mut most = 0;
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while bed.get(&name).await.phase.as_str() != "completed" && std::time::Instant::now() < until {
        most = most.max(programs(&["sleep", time]));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    bed.wait(&name, "completed").await;
    assert!((1..=3).contains(&most), "{most} programs ran at once");
    assert_eq!(most_at_once(&bed.entries(&name, 0).await), 3, "and no fewer than may");
    let calls = &bed.steps(&name).await[0].calls;
    let done = calls.iter().filter(|call| call.outcome().map(CallOutcome::kind) == Some(OutcomeKind::Done));
    assert_eq!((calls.len(), done.count()), (7, 7));
}

// A25: ten changes of one file, by two names of it, and two calls that need nothing for themselves.
pub(super) async fn calls_that_need_the_same_file_never_run_beside_each_other(engine: Engine) {
    let edit = |path: &str| {
        format!("{{ tool: workspace_edit_file, arguments: {{ path: {path}, old: \"end\", new: \"+end\" }} }}")
    };
    let sleep = "{ tool: workspace_run, arguments: { argv: [sleep, \"1.5\"] } }".to_owned();
    let names = ["n.txt", "./n.txt", "sub/../n.txt", "n.txt", "sub//../n.txt"];
    let edits = names.iter().chain(&names).map(|path| edit(path));
    let calls: Vec<_> = [sleep.clone(), sleep].into_iter().chain(edits).collect();
    let script = format!(
        "turns:\n  - when: {{ answers: 0 }}\n    calls: [{}]\n  - when: {{ answers: 1 }}\n    text: ok\n",
        calls.join(",\n        ")
    );
    let bed = AgentBed::start(engine, &script).await;
    bed.agent(json!({ "limits": { "parallel_calls": 12 } })).await;
    let workspace = bed.sleeping_workspace().await;
    let file = bed.bed.place(workspace.id).join("n.txt");
    std::fs::create_dir(bed.bed.place(workspace.id).join("sub")).unwrap();
    std::fs::write(&file, "end").unwrap();
    let name = bed.session_in(workspace.id).await;
    bed.say(&name, "go").await;
    bed.wait(&name, "completed").await;
    let calls = bed.steps(&name).await.remove(0).calls;
    assert!(
        calls.iter().all(|call| call.outcome().map(CallOutcome::kind) == Some(OutcomeKind::Done)),
        "{calls:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "++++++++++end", "no change was lost");
    let entries = bed.entries(&name, 0).await;
    let is_edit = |id: &str| calls.iter().any(|call| call.id == id && call.tool == "workspace_edit_file");
    let edits: Vec<_> = entries
        .iter()
        .filter(|entry| match &entry.item {
            StreamItem::CallStarted { call_id, .. } | StreamItem::CallEnded { call_id, .. } => {
                is_edit(call_id)
            }
            _ => false,
        })
        .cloned()
        .collect();
    assert_eq!((edits.len(), most_at_once(&edits)), (20, 1), "one after the other");
    assert_eq!(most_at_once(&entries), 3, "beside the two that need nothing for themselves");
}

// F36, A14: every answer costs 120 millionths. The third may cost 130, and 60 are left.
pub(super) async fn models_use_up_the_months_budget_and_go_on_when_it_is_raised(engine: Engine) {
    let usage = "usage: { input_tokens: 100, output_tokens: 10 }";
    let look = "calls: [{ tool: workspace_ls, arguments: { path: \".\" } }]";
    let script = format!(
        "turns:\n  - {{ when: {{ answers: 2 }}, text: done, {usage} }}\n  - {{ when: {{ answers: 0 }}, {look}, {usage} }}\n  \
         - {{ when: {{ answers: 1 }}, {look}, {usage} }}\n"
    );
    let bed = AgentBed::start(engine, &script).await;
    bed.agent(json!({ "limits": { "output_tokens": 10 } })).await;
    let (budgets, id) = (&bed.bed.fleet.budgets, bed.workspace.id);
    budgets.set(bed.who(), id, Some(300)).await.unwrap();
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "budget"), "{:?}", session.phase);
    let Phase::Suspended { reason, .. } = &session.phase else { unreachable!("it was looked at") };
    assert!(reason.contains("the workspace may still spend 60 millionths"), "{reason}");
    let spent = async || budgets.get(bed.who(), id).await.unwrap().spent_micros;
    assert_eq!((session.total_usage.cost_micros, session.reserved_micros), (240, 0));
    assert_eq!(spent().await, 240, "the ledger has what the models cost, and nothing set aside");
    let told = async || bed.bed.events(EventKind::WorkspaceBudgetExhausted).await.len();
    assert_eq!(told().await, 0, "there is something left");

    // Another session spends from the same budget. How long its conversation is nobody knows yet: its first answer may
    // cost more than was thought, and is the last.
    let other = bed.session().await;
    bed.say(&other, "go").await;
    let session = bed.wait(&other, "suspended").await;
    assert!(is_suspended_by(&session, "budget"), "{:?}", session.phase);
    assert_eq!((session.total_usage.cost_micros, spent().await), (120, 360));
    assert_eq!(told().await, 1, "the answer that used it up tells so, once");
    let still = bed.host.sessions.resume(bed.who(), &name, None).await.unwrap_err();
    assert_eq!(still.code.as_str(), "budget_exhausted", "{still:?}");
    assert!(is_suspended_by(&bed.get(&name).await, "budget"));

    budgets.set(bed.who(), id, Some(10_000)).await.unwrap();
    for one in [&name, &other] {
        bed.host.sessions.resume(bed.who(), one, None).await.unwrap();
        bed.wait(one, "completed").await;
        assert_eq!(bed.get(one).await.total_usage.cost_micros, 360);
    }
    assert_eq!(spent().await, 720);
    assert_eq!(told().await, 1, "there was enough left since");
}

// F36: an org's quota of sessions at work
pub(super) async fn an_org_has_no_more_sessions_at_work_than_it_may(engine: Engine) {
    let bed = AgentBed::start(engine, "turns:\n  - { text: done }\n").await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    let set = async |max_sessions_running: Option<u32>| {
        let quotas = warren_model::OrgQuotas { max_sessions_running, ..Default::default() };
        let change = warren_fleet::ChangeOrg { quotas: Some(quotas), name: None };
        bed.bed.fleet.orgs.change(bed.who(), "default", change).await.unwrap();
    };
    set(Some(0)).await;
    let refused = bed.try_say(&name, "go", None).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "quota_exceeded", "{refused:?}");
    set(Some(1)).await;
    bed.say(&name, "go").await;
    bed.wait(&name, "completed").await;
}

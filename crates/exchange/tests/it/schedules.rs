//! Messages at set times: each slot once, whatever happens to the clock, the process or the workspace.

use std::collections::BTreeSet;

use serde_json::json;
use warren_exchange::{Error, NewMessage, NewSchedule, Sender};
use warren_fleet::Import;
use warren_model::{
    Blueprint, Displacement, ErrorCode, EventKind, Limits, Message, MissedPolicy, OrgId, OverlapPolicy, Part,
    Principal, PrincipalKind, Role, RunCause, RunState, RuntimeReport, Schedule, ScheduleId, ScheduleRun,
    Status, Task, TaskId, TaskState, Timing, WorkspaceId,
};
use warren_store::TaskQuery;
use warren_testkit::{BedOptions, ExchangeBed, ExchangeOptions, eventually};

const HOUR_MS: i64 = 3_600_000;

fn hourly(name: &str) -> NewSchedule {
    NewSchedule {
        name: name.into(),
        timing: Timing::Every { seconds: 3_600 },
        prompt: "What is new?".into(),
        jitter_seconds: 0,
        missed: MissedPolicy::Once,
        overlap: OverlapPolicy::Skip,
    }
}

async fn create(bed: &ExchangeBed, of: WorkspaceId, new: NewSchedule) -> ScheduleId {
    bed.exchange.schedules.create(&bed.operator, of, new).await.unwrap().id
}

/// A workspace whose agent takes messages when it comes; it does not come here.
async fn place(bed: &ExchangeBed) -> WorkspaceId {
    bed.reporting().await.0
}

/// The newest first.
async fn runs(bed: &ExchangeBed, id: ScheduleId) -> Vec<ScheduleRun> {
    bed.exchange.schedules.runs(&bed.operator, id, None, 500).await.unwrap().rows
}

fn count(runs: &[ScheduleRun], state: RunState) -> usize {
    runs.iter().filter(|run| run.state == state).count()
}

/// Has all that is due fired, and waits until nothing is on its way.
async fn settle(bed: &ExchangeBed, id: ScheduleId) -> Vec<ScheduleRun> {
    bed.exchange.scheduler.fire_due().await.unwrap();
    let is_settled = async || count(&runs(bed, id).await, RunState::Claimed) == 0;
    eventually("no run is on its way", is_settled).await;
    runs(bed, id).await
}

async fn fired(bed: &ExchangeBed, id: ScheduleId) -> usize {
    count(&settle(bed, id).await, RunState::Fired)
}

async fn tasks(bed: &ExchangeBed, of: WorkspaceId) -> Vec<Task> {
    let query = TaskQuery::of(of, 500);
    bed.store.read(move |tx| tx.tasks(&query)).await.unwrap().rows
}

async fn finish(bed: &ExchangeBed, id: Option<TaskId>) {
    let done: Result<(), warren_store::Error> = bed
        .store
        .write(move |tx| {
            let mut task = tx.task(id.unwrap())?.unwrap();
            task.state = TaskState::Completed;
            tx.update_task(&task, task.version).map(drop)
        })
        .await;
    done.unwrap();
}

// X40, X4
#[tokio::test]
async fn a_slot_becomes_a_task_whose_author_is_the_schedule_and_never_a_person() {
    for bed in ExchangeBed::with_clock().await {
        let of = place(&bed).await;
        let id = create(&bed, of, hourly("pulse")).await;
        bed.clock.advance_ms(HOUR_MS - 1);
        assert_eq!(settle(&bed, id).await, [], "not before its time");
        bed.clock.advance_ms(1);
        let runs = settle(&bed, id).await;
        assert_eq!((runs.len(), runs[0].state, runs[0].cause), (1, RunState::Fired, RunCause::Slot));
        let made = tasks(&bed, of).await;
        assert_eq!(made.len(), 1);
        assert_eq!(Some(made[0].id), runs[0].task_id);
        assert_eq!(made[0].author, Principal { kind: PrincipalKind::Schedule, id: id.to_string() });
        assert_eq!(made[0].history[0].text(), "What is new?");
        assert_eq!(made[0].history[0].metadata["schedule"]["name"], "pulse");
        let told = bed.events(EventKind::ScheduleFired).await;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].principal, made[0].author);
    }
}

// X40: nobody has to ask
#[tokio::test]
async fn the_scheduler_wakes_by_itself_and_after_a_restart() {
    for bed in ExchangeBed::with_clock().await {
        let of = place(&bed).await;
        let id = create(&bed, of, NewSchedule { overlap: OverlapPolicy::Allow, ..hourly("pulse") }).await;
        let has_fired = async |bed: &ExchangeBed| count(&runs(bed, id).await, RunState::Fired);
        bed.clock.advance_ms(HOUR_MS);
        eventually("the first slot fires", async || has_fired(&bed).await == 1).await;
        let bed = bed.restart().await;
        bed.clock.advance_ms(HOUR_MS);
        eventually("the second slot fires", async || has_fired(&bed).await == 2).await;
    }
}

// X41: killed between the message and its record
#[tokio::test]
async fn a_message_that_was_sent_and_not_recorded_is_not_sent_again() {
    for bed in ExchangeBed::with_clock().await {
        let of = place(&bed).await;
        let id = create(&bed, of, hourly("pulse")).await;
        let now = bed.now();
        let run = ScheduleRun {
            id: warren_model::ScheduleRunId::from_parts(now, [5; 10]),
            schedule_id: id,
            org_id: OrgId::DEFAULT,
            workspace_id: of,
            slot: Some(now),
            last_slot: None,
            slots: 1,
            cause: RunCause::Slot,
            state: RunState::Claimed,
            reason: None,
            task_id: None,
            asked_by: None,
            attempts: 1,
            lease_until: Some(now.plus_ms(30_000)),
            created_at: now,
            ended_at: None,
        };
        // As the process that died would have sent it.
        let mut message = Message::new(run.id.to_string(), Role::User, vec![Part::text("What is new?")]);
        let about = json!({ "id": id, "name": "pulse", "slot": now.to_string(), "cause": "slot" });
        message.metadata.insert("schedule".into(), about);
        let idempotency_key = Some(run.id.to_string());
        let new = NewMessage { idempotency_key, ..NewMessage::new(of, message) };
        let sender = Sender { principal: Principal::schedule(id), org_id: OrgId::DEFAULT };
        let accepted = bed.exchange.messages.send_as(&sender, new).await.unwrap();
        let row = run.clone();
        let inserted: Result<bool, Error> =
            bed.store.write(move |tx| Ok(tx.insert_schedule_run(&row)?)).await;
        assert_eq!(inserted, Ok(true));
        bed.clock.advance_ms(30_000);
        let runs = settle(&bed, id).await;
        assert_eq!((runs[0].state, runs[0].attempts), (RunState::Fired, 2));
        assert_eq!(runs[0].task_id, Some(accepted.task.id));
        assert_eq!(tasks(&bed, of).await.len(), 1);
    }
}

// X40: eight hours of sleep
#[tokio::test]
async fn after_a_long_sleep_missed_slots_are_skipped_fired_once_or_all() {
    let limits = Limits { max_schedule_catch_up: 5, ..Limits::default() };
    let bed = BedOptions { limits, ..BedOptions::default() };
    for bed in ExchangeBed::with(ExchangeOptions { bed, ..Default::default() }).await {
        let of = place(&bed).await;
        let mut ids = Vec::new();
        for missed in [MissedPolicy::Skip, MissedPolicy::Once, MissedPolicy::All] {
            let new = NewSchedule { missed, overlap: OverlapPolicy::Allow, ..hourly(missed.as_str()) };
            ids.push(create(&bed, of, new).await);
        }
        bed.clock.advance_ms(8 * HOUR_MS + HOUR_MS / 2);
        let outcome = async |id| {
            let runs = settle(&bed, id).await;
            assert!(runs.iter().all(|run| run.cause == RunCause::Missed));
            let skipped = runs.iter().find(|run| run.state == RunState::Skipped).unwrap();
            (count(&runs, RunState::Fired), skipped.slots, skipped.reason.clone().unwrap())
        };
        assert_eq!(outcome(ids[0]).await, (0, 8, "missed".to_owned()));
        assert_eq!(outcome(ids[1]).await, (1, 7, "coalesced".to_owned()));
        assert_eq!(outcome(ids[2]).await, (5, 3, "catch_up_limit".to_owned()));
        // From here on, all of them go on as if nothing had been.
        bed.clock.advance_ms(HOUR_MS / 2);
        for (id, expected) in ids.into_iter().zip([1, 2, 6]) {
            assert_eq!(fired(&bed, id).await, expected);
        }
    }
}

// X41: the clock is set back
#[tokio::test]
async fn a_clock_that_is_set_back_fires_no_slot_twice() {
    for bed in ExchangeBed::with_clock().await {
        let of = place(&bed).await;
        let (overlap, missed) = (OverlapPolicy::Allow, MissedPolicy::All);
        let id = create(&bed, of, NewSchedule { overlap, missed, ..hourly("pulse") }).await;
        bed.clock.advance_ms(2 * HOUR_MS);
        assert_eq!(fired(&bed, id).await, 2);
        for _ in 0..2 {
            bed.clock.advance_ms(-HOUR_MS);
            assert_eq!(settle(&bed, id).await.len(), 2);
            bed.clock.advance_ms(HOUR_MS);
            assert_eq!(settle(&bed, id).await.len(), 2, "the hour was lived through before");
        }
        bed.clock.advance_ms(HOUR_MS);
        let runs = settle(&bed, id).await;
        let slots: BTreeSet<_> = runs.iter().map(|run| run.slot).collect();
        assert_eq!((runs.len(), slots.len()), (3, 3));
    }
}

// X40
#[tokio::test]
async fn a_slot_that_meets_the_one_before_is_skipped_queued_or_fired() {
    for bed in ExchangeBed::with_clock().await {
        let of = place(&bed).await;
        let mut ids = Vec::new();
        for overlap in [OverlapPolicy::Skip, OverlapPolicy::Queue, OverlapPolicy::Allow] {
            ids.push(create(&bed, of, NewSchedule { overlap, ..hourly(overlap.as_str()) }).await);
        }
        for _ in 0..3 {
            bed.clock.advance_ms(HOUR_MS);
            for id in &ids {
                settle(&bed, *id).await;
            }
        }
        let both = |runs: &[ScheduleRun], other| (count(runs, RunState::Fired), count(runs, other));
        let skipping = runs(&bed, ids[0]).await;
        assert_eq!(both(&skipping, RunState::Skipped), (1, 2));
        assert_eq!(skipping[0].reason.as_deref(), Some("overlap"));
        let queueing = runs(&bed, ids[1]).await;
        assert_eq!(both(&queueing, RunState::Waiting), (1, 2));
        assert_eq!(count(&runs(&bed, ids[2]).await, RunState::Fired), 3);
        // One after the other, in their order.
        finish(&bed, queueing.last().unwrap().task_id).await;
        let queueing = settle(&bed, ids[1]).await;
        assert_eq!(both(&queueing, RunState::Waiting), (2, 1));
        assert_eq!(queueing[1].state, RunState::Fired, "the older one");
        finish(&bed, queueing[1].task_id).await;
        assert_eq!(fired(&bed, ids[1]).await, 3);
    }
}

// X42, F17
#[tokio::test]
async fn skips_are_recorded_with_their_reason() {
    for bed in ExchangeBed::with_clock().await {
        let (own, runner) = bed.reporting().await;
        let paused = place(&bed).await;
        let fires_itself = |is_own| RuntimeReport {
            displaced: Displacement { scheduler: Some(is_own), ..Default::default() },
            ..Default::default()
        };
        bed.beat(&runner, fires_itself(true)).await;
        let of_own = create(&bed, own, hourly("own")).await;
        let of_paused = create(&bed, paused, hourly("paused")).await;
        let next = async || bed.exchange.schedules.get(&bed.operator, of_own).await.unwrap().next_at;
        let before = next().await;
        bed.fleet.lifecycle.pause(&bed.operator, paused).await.unwrap();
        bed.clock.advance_ms(HOUR_MS);
        bed.beat(&runner, RuntimeReport::default()).await;
        for (id, reason) in [(of_own, "own_scheduler"), (of_paused, "workspace_paused")] {
            let runs = settle(&bed, id).await;
            assert_eq!((runs.len(), runs[0].state), (1, RunState::Skipped));
            assert_eq!(runs[0].reason.as_deref(), Some(reason));
        }
        assert_ne!(before, next().await, "it is moved on all the same");
        assert!(tasks(&bed, own).await.is_empty() && tasks(&bed, paused).await.is_empty());
        let told = bed.events(EventKind::ScheduleSkipped).await;
        assert_eq!(told.iter().filter(|event| event.workspace_id == Some(own)).count(), 1);
        // Its runtime gives the switch back: Warren fires again.
        bed.beat(&runner, fires_itself(false)).await;
        bed.clock.advance_ms(HOUR_MS);
        bed.beat(&runner, RuntimeReport::default()).await;
        assert_eq!(fired(&bed, of_own).await, 1);
    }
}

// X42
#[tokio::test]
async fn a_hibernated_workspace_is_spoken_to_and_a_removed_one_is_not() {
    for bed in ExchangeBed::with_clock().await {
        let (asleep, removed) = (place(&bed).await, place(&bed).await);
        let of_asleep = create(&bed, asleep, hourly("asleep")).await;
        let of_removed = create(&bed, removed, hourly("removed")).await;
        bed.fleet.lifecycle.hibernate(&bed.operator, asleep, false).await.unwrap();
        bed.remove(removed).await;
        bed.clock.advance_ms(HOUR_MS);
        assert_eq!(fired(&bed, of_asleep).await, 1, "a message wakes it");
        bed.wait_for(asleep, Status::AwaitingAgent).await;
        let stopped = async || -> Schedule {
            let read = bed.store.read::<_, warren_store::Error, _>(move |tx| tx.schedule(of_removed));
            read.await.unwrap().unwrap()
        };
        eventually("it is stopped", async || stopped().await.is_paused).await;
        assert_eq!(stopped().await.next_at, None);
        assert!(tasks(&bed, removed).await.is_empty());
    }
}

// X40
#[tokio::test]
async fn a_paused_schedule_misses_nothing_and_runs_when_asked() {
    for bed in ExchangeBed::with_clock().await {
        let of = place(&bed).await;
        let (schedules, who) = (&bed.exchange.schedules, &bed.operator);
        let id = create(&bed, of, NewSchedule { missed: MissedPolicy::All, ..hourly("pulse") }).await;
        let paused = schedules.pause(who, id).await.unwrap();
        assert_eq!((paused.is_paused, paused.next_at), (true, None));
        bed.clock.advance_ms(10 * HOUR_MS);
        assert_eq!(settle(&bed, id).await, []);
        let run = schedules.run(who, id).await.unwrap();
        assert_eq!((run.cause, run.asked_by.unwrap().kind), (RunCause::Manual, PrincipalKind::User));
        let runs = settle(&bed, id).await;
        assert_eq!((runs.len(), runs[0].state, runs[0].slot), (1, RunState::Fired, None));
        let author = &tasks(&bed, of).await[0].author;
        assert_eq!(author.kind, PrincipalKind::Schedule, "still not a person");
        let resumed = schedules.resume(who, id).await.unwrap();
        assert_eq!(resumed.next_at, Some(bed.now().plus_ms(HOUR_MS)));
        assert_eq!(schedules.upcoming(&resumed, 5).len(), 5);
        let audit = bed.audit().await;
        let actions: Vec<_> = audit.iter().map(|entry| entry.action.as_str()).collect();
        let about: Vec<_> = actions.into_iter().filter(|action| action.starts_with("schedule.")).collect();
        assert_eq!(about, ["schedule.created", "schedule.changed", "schedule.run", "schedule.changed"]);
        schedules.remove(who, id).await.unwrap();
        let gone = schedules.get(who, id).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::ScheduleNotFound);
    }
}

// F50
#[tokio::test]
async fn the_schedules_of_a_blueprint_become_schedules_of_its_workspaces() {
    for bed in ExchangeBed::with_clock().await {
        let make = async |schedules: serde_json::Value| {
            let tree = json!({
                "name": "made", "provider": { "kind": "memory" }, "runtime": "external", "schedules": schedules,
            });
            let import = Import { roots: vec![Blueprint::read(tree).unwrap()], ..Import::default() };
            let mut report = bed.fleet.imports.tree(&bed.operator, import).await.unwrap();
            report.nodes.remove(0).outcome
        };
        let made = make(json!([
            { "name": "morning", "cron": "0 9 * * *", "time_zone": "Europe/Zurich", "prompt": "What is new?" },
            { "name": "pulse", "every_seconds": 3_600, "prompt": "Go on." },
        ]));
        let id = made.await.unwrap().id;
        let listed = bed.exchange.schedules.list(&bed.operator, Some(id), None, 10).await.unwrap().rows;
        let names: BTreeSet<_> = listed.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["morning", "pulse"]));
        let pulse = listed.iter().find(|one| one.name == "pulse").unwrap().id;
        bed.clock.advance_ms(HOUR_MS);
        assert_eq!(fired(&bed, pulse).await, 1);
        // What can never fire is refused with the whole workspace, by its path.
        let refused = make(json!([
            { "name": "ok", "every_seconds": 60, "prompt": "p" },
            { "name": "odd", "cron": "0 9 * * *", "time_zone": "Mars/Base", "prompt": "p" },
        ]));
        let refused = refused.await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnknownTimeZone);
        assert!(refused.detail.as_ref().unwrap().starts_with("schedules[1].time_zone: "), "{refused}");
    }
}

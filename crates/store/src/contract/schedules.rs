//! Schedules and their runs.

use std::sync::Arc;

use warren_model::{
    MissedPolicy, OrgId, OverlapPolicy, Principal, RunCause, RunState, Schedule, ScheduleId, ScheduleRun,
    Status, Timestamp, Timing, WorkspaceId,
};

use super::samples::{NOW, id, insert, update, workspace};
use crate::{Error, ScheduleQuery, ScheduleRunQuery, Store};

pub(super) fn schedule(workspace_id: WorkspaceId, name: &str) -> Schedule {
    Schedule {
        id: id(),
        org_id: OrgId::DEFAULT,
        workspace_id,
        name: name.into(),
        timing: Timing::Cron { expression: "0 9 * * 1-5".into(), time_zone: "Europe/Zurich".into() },
        prompt: "What is \"new\"? — 日本\n".into(),
        jitter_seconds: 30,
        missed: MissedPolicy::Once,
        overlap: OverlapPolicy::Queue,
        is_paused: false,
        next_slot: Some(NOW),
        next_at: Some(NOW.plus_ms(5)),
        created_by: Principal::system("test"),
        created_at: NOW,
        updated_at: NOW,
        version: 1,
        unreadable: None,
    }
}

fn run(of: &Schedule, slot: Option<Timestamp>) -> ScheduleRun {
    ScheduleRun {
        id: id(),
        schedule_id: of.id,
        org_id: of.org_id,
        workspace_id: of.workspace_id,
        slot,
        last_slot: None,
        slots: 1,
        cause: RunCause::Slot,
        state: RunState::Claimed,
        reason: None,
        task_id: None,
        asked_by: None,
        attempts: 1,
        lease_until: Some(NOW.plus_ms(30_000)),
        created_at: NOW,
        ended_at: None,
    }
}

async fn put(store: &dyn Store, schedule: &Schedule) -> Result<(), Error> {
    let row = schedule.clone();
    store.write(move |tx| tx.insert_schedule(&row)).await
}

async fn get(store: &dyn Store, id: ScheduleId) -> Option<Schedule> {
    store.read(move |tx| tx.schedule(id)).await.expect("a schedule is read")
}

async fn put_run(store: &dyn Store, run: &ScheduleRun) -> bool {
    let row = run.clone();
    store.write::<_, Error, _>(move |tx| tx.insert_schedule_run(&row)).await.expect("a run is written")
}

async fn one(store: &dyn Store) -> Schedule {
    let workspace = workspace();
    insert(store, &workspace).await;
    let row = schedule(workspace.id, "morning");
    assert_eq!(put(store, &row).await, Ok(()));
    row
}

// X40
pub async fn every_field_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let cron = one(&*store).await;
    assert_eq!(get(&*store, cron.id).await, Some(cron.clone()));
    let every = Schedule {
        id: id(),
        name: "pulse".into(),
        timing: Timing::Every { seconds: 90 },
        missed: MissedPolicy::All,
        overlap: OverlapPolicy::Allow,
        is_paused: true,
        next_slot: None,
        next_at: None,
        ..cron.clone()
    };
    assert_eq!(put(&*store, &every).await, Ok(()));
    assert_eq!(get(&*store, every.id).await, Some(every));
    assert_eq!(get(&*store, id()).await, None);
    let again = Schedule { id: id(), ..cron.clone() };
    assert_eq!(put(&*store, &again).await, Err(Error::AlreadyExists), "a workspace has a name once");
    let stranger = Schedule { id: id(), workspace_id: id(), ..cron };
    assert!(put(&*store, &stranger).await.is_err(), "nor is one made for a workspace that is not there");
}

// X40
pub async fn a_schedule_is_written_only_at_the_version_it_was_read(store: Arc<dyn Store>) {
    let mut row = one(&*store).await;
    row.timing = Timing::Every { seconds: 60 };
    row.is_paused = true;
    (row.next_slot, row.next_at) = (None, None);
    let write = |row: Schedule, version| store.write(move |tx| tx.update_schedule(&row, version));
    assert_eq!(write(row.clone(), 1).await, Ok(2));
    assert_eq!(write(row.clone(), 1).await, Err(Error::Conflict));
    row.version = 2;
    assert_eq!(get(&*store, row.id).await, Some(row));
}

// X40
pub async fn lists_are_filtered_and_come_in_pages(store: Arc<dyn Store>) {
    let (first, second) = (workspace(), workspace());
    insert(&*store, &first).await;
    insert(&*store, &second).await;
    for name in ["a", "b", "c"] {
        assert_eq!(put(&*store, &schedule(first.id, name)).await, Ok(()));
    }
    assert_eq!(put(&*store, &schedule(second.id, "a")).await, Ok(()));
    let page = |query: ScheduleQuery| store.read::<_, Error, _>(move |tx| tx.schedules(&query));
    let query =
        ScheduleQuery { org_id: Some(OrgId::DEFAULT), workspace_id: Some(first.id), after: None, limit: 2 };
    let start = page(query.clone()).await.expect("a page is read");
    let names = |rows: &[Schedule]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&start.rows), ["a", "b"]);
    let rest = page(ScheduleQuery { after: start.next, ..query.clone() }).await.expect("a page is read");
    assert_eq!((names(&rest.rows), rest.next), (vec!["c".to_owned()], None));
    let all = page(ScheduleQuery { workspace_id: None, limit: 10, ..query }).await.expect("a page is read");
    assert_eq!(all.rows.len(), 4);
    let counts = store.read::<_, Error, _>(move |tx| {
        Ok((tx.count_schedules(OrgId::DEFAULT)?, tx.count_schedules_of(first.id)?))
    });
    assert_eq!(counts.await, Ok((4, 3)));
}

// X40
pub async fn what_is_due_is_found_the_longest_overdue_first(store: Arc<dyn Store>) {
    let workspace = workspace();
    insert(&*store, &workspace).await;
    for (name, offset) in [("late", -10), ("now", 0), ("soon", 1), ("latest", -20)] {
        let at = NOW.plus_ms(offset);
        let row = Schedule { next_slot: Some(at), next_at: Some(at), ..schedule(workspace.id, name) };
        assert_eq!(put(&*store, &row).await, Ok(()));
    }
    let paused =
        Schedule { is_paused: true, next_slot: None, next_at: None, ..schedule(workspace.id, "paused") };
    assert_eq!(put(&*store, &paused).await, Ok(()));
    let due = |limit| store.read::<_, Error, _>(move |tx| tx.due_schedules(NOW, limit));
    let names = |rows: Vec<Schedule>| rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(due(10).await.map(names), Ok(vec!["latest".into(), "late".into(), "now".into()]));
    assert_eq!(due(1).await.map(names), Ok(vec!["latest".into()]));
    let next = store.read::<_, Error, _>(|tx| tx.next_schedule_moment()).await;
    assert_eq!(next, Ok(Some(NOW.plus_ms(-20))));
}

// X41
pub async fn a_slot_is_claimed_by_one_of_many(store: Arc<dyn Store>) {
    let row = one(&*store).await;
    let claims = (0..8).map(|_| {
        let (store, run) = (Arc::clone(&store), run(&row, Some(NOW)));
        tokio::spawn(async move { put_run(&*store, &run).await })
    });
    let mut won = 0;
    for claim in claims.collect::<Vec<_>>() {
        won += u32::from(claim.await.expect("a claim ends"));
    }
    assert_eq!(won, 1);
    assert!(put_run(&*store, &run(&row, Some(NOW.plus_ms(1)))).await, "another slot is another's");
    // What people ask for has no slot, and is asked for as often as they like.
    assert!(put_run(&*store, &run(&row, None)).await && put_run(&*store, &run(&row, None)).await);
}

// X41
pub async fn a_run_is_written_once_per_state_and_attempt(store: Arc<dyn Store>) {
    let row = one(&*store).await;
    let claimed = run(&row, Some(NOW));
    assert!(put_run(&*store, &claimed).await);
    let fired = ScheduleRun {
        state: RunState::Fired,
        task_id: Some(id()),
        lease_until: None,
        ended_at: Some(NOW.plus_ms(7)),
        ..claimed.clone()
    };
    let write = |run: ScheduleRun, attempts| {
        store.write::<_, Error, _>(move |tx| tx.update_schedule_run(&run, RunState::Claimed, attempts))
    };
    assert_eq!(write(fired.clone(), 2).await, Ok(false), "an attempt that was not made");
    assert_eq!(write(fired.clone(), 1).await, Ok(true));
    assert_eq!(write(fired.clone(), 1).await, Ok(false), "it is over");
    let read = store.read::<_, Error, _>(move |tx| tx.schedule_run(claimed.id)).await;
    assert_eq!(read, Ok(Some(fired)));
}

// X41: what a dead replica left
pub async fn a_schedule_is_postponed_at_its_version_and_nothing_else_of_it_changes(store: Arc<dyn Store>) {
    let home = workspace();
    insert(&*store, &home).await;
    let row = schedule(home.id, "nightly");
    let (written, id) = (row.clone(), row.id);
    let made: Result<(), Error> = store.write(move |tx| tx.insert_schedule(&written)).await;
    made.expect("a schedule is written");
    let later = NOW.plus_ms(60_000);
    let postpone = async |version: u64| {
        store.write::<_, Error, _>(move |tx| tx.postpone_schedule(id, version, later)).await
    };
    assert_eq!(postpone(9).await, Ok(false), "another version");
    assert_eq!(postpone(row.version).await, Ok(true));
    let read = store.read::<_, Error, _>(move |tx| tx.schedule(id)).await;
    assert_eq!(read, Ok(Some(Schedule { next_at: Some(later), ..row })));
}

pub async fn unfinished_and_waiting_runs_are_found_again(store: Arc<dyn Store>) {
    let row = one(&*store).await;
    let (claimed, later) = (run(&row, Some(NOW)), run(&row, Some(NOW.plus_ms(1))));
    let later = ScheduleRun { lease_until: Some(NOW.plus_ms(60_000)), ..later };
    let waiting = |slot| ScheduleRun {
        state: RunState::Waiting,
        lease_until: None,
        attempts: 0,
        ..run(&row, Some(NOW.plus_ms(slot)))
    };
    let (first, second) = (waiting(2), waiting(3));
    let skipped = ScheduleRun {
        state: RunState::Skipped,
        reason: Some("missed".into()),
        last_slot: Some(NOW.plus_ms(9)),
        slots: 6,
        lease_until: None,
        ended_at: Some(NOW),
        asked_by: Some(Principal::user(id())),
        ..run(&row, Some(NOW.plus_ms(4)))
    };
    for run in [&claimed, &later, &first, &second, &skipped] {
        assert!(put_run(&*store, run).await);
    }
    let at = |ms| store.read::<_, Error, _>(move |tx| Ok(tx.unfinished_runs(NOW.plus_ms(ms), 10)?.rows));
    assert_eq!(at(29_999).await, Ok(vec![]));
    assert_eq!(at(30_000).await, Ok(vec![claimed.clone()]));
    assert_eq!(store.read::<_, Error, _>(|tx| Ok(tx.waiting_runs(10)?.rows)).await, Ok(vec![first.clone()]));
    let of = row.id;
    let in_state = store.read::<_, Error, _>(move |tx| tx.schedule_runs_in(of, RunState::Waiting, 10)).await;
    assert_eq!(in_state, Ok(vec![second.clone(), first.clone()]), "the newest first");
    let page = |before| {
        let query = ScheduleRunQuery { schedule_id: of, before, limit: 3 };
        store.read::<_, Error, _>(move |tx| tx.schedule_runs(&query))
    };
    let newest = page(None).await.expect("a page is read");
    assert_eq!(newest.rows, vec![skipped, second, first]);
    assert_eq!(page(newest.next).await.expect("a page is read").rows, vec![later, claimed]);
}

// X42, F42
pub async fn runs_go_with_their_schedule_and_old_ones_are_cleared(store: Arc<dyn Store>) {
    let mut place = workspace();
    insert(&*store, &place).await;
    let row = schedule(place.id, "morning");
    assert_eq!(put(&*store, &row).await, Ok(()));
    let ended = |slot| ScheduleRun {
        state: RunState::Fired,
        ended_at: Some(NOW.plus_ms(slot)),
        ..run(&row, Some(NOW.plus_ms(slot)))
    };
    for run in [ended(0), ended(1), ended(2), run(&row, Some(NOW.plus_ms(3)))] {
        assert!(put_run(&*store, &run).await);
    }
    let prune = |limit| store.write::<_, Error, _>(move |tx| tx.prune_schedule_runs(NOW.plus_ms(2), limit));
    assert_eq!(prune(1).await, Ok(1));
    assert_eq!(prune(10).await, Ok(1), "neither what ended at that moment nor what is not over");
    let of = row.id;
    let query = ScheduleRunQuery { schedule_id: of, before: None, limit: 10 };
    let left = store.read::<_, Error, _>(move |tx| tx.schedule_runs(&query)).await.expect("a page is read");
    assert_eq!(left.rows.len(), 2);
    place.status = Status::Removed;
    place.version = update(&*store, &place).await.expect("a workspace is removed");
    let erased = place.id;
    assert_eq!(store.write(move |tx| tx.erase_workspace(erased)).await, Ok(true));
    assert_eq!(get(&*store, of).await, None);
    let delete = store.write::<_, Error, _>(move |tx| tx.delete_schedule(of)).await;
    assert_eq!(delete, Ok(false));
    let left =
        store.read::<_, Error, _>(move |tx| Ok(tx.unfinished_runs(NOW.plus_ms(99_999), 10)?.rows)).await;
    assert_eq!(left, Ok(vec![]));
}

//! What holds for the reports of runtimes, and for their deadlines.

use std::sync::Arc;

use warren_model::{Displaced, Mending, Outcomes, RuntimeState, Timestamp, Vitals, WorkOutcome, WorkspaceId};

use super::samples::{NOW, get, id, insert, workspace};
use crate::{Batch, Due, Error, Store};

async fn put(store: &dyn Store, id: WorkspaceId, vitals: Vitals) -> Result<(), Error> {
    store.write(move |tx| tx.put_vitals(id, &vitals)).await
}

async fn vitals(store: &dyn Store, id: WorkspaceId) -> Vitals {
    store.read(move |tx| tx.vitals(id)).await.expect("vitals are read")
}

async fn due(store: &dyn Store, what: Due, now: Timestamp, limit: u32) -> Vec<WorkspaceId> {
    store.read(move |tx| tx.due(what, now, limit)).await.expect("what is due is read")
}

fn full() -> Vitals {
    Vitals {
        error_rate: 0.1 + 0.2,
        sample_error: Some("déjà vu 'quoted'".into()),
        active_tasks: u32::MAX,
        current_task: Some("t-1".into()),
        uptime_s: Some(77),
        runtime_state: RuntimeState::Other("warming up".into()),
        displaced: Displaced { scheduler: true, session: false, status_mgmt: true, deduplication: true },
        idle_timeout_seconds: Some(30),
        last_heartbeat_at: Some(NOW.plus_ms(1)),
        outcomes: Outcomes {
            recent: vec![WorkOutcome::Succeeded, WorkOutcome::Failed],
            last_at: Some(NOW.plus_ms(7)),
        },
        last_progress_at: Some(NOW.plus_ms(2)),
        last_task_at: Some(NOW.plus_ms(3)),
        liveness_deadline: Some(Timestamp::from_micros(i64::MAX)),
        stall_deadline: Some(NOW.plus_ms(5)),
        probe_at: Some(NOW.plus_ms(8)),
        idle_deadline: Some(NOW.plus_ms(6)),
    }
}

// F11
pub async fn reports_come_back_as_they_were_written_and_touch_no_version(store: Arc<dyn Store>) {
    let row = workspace();
    insert(&*store, &row).await;
    assert_eq!(vitals(&*store, row.id).await, Vitals::default(), "before the first report");
    for one in [full(), Vitals::default()] {
        assert_eq!(put(&*store, row.id, one.clone()).await, Ok(()));
        assert_eq!(vitals(&*store, row.id).await, one);
        let row_id = row.id;
        let held = store.write(move |tx| tx.hold_vitals(row_id)).await;
        assert_eq!(held, Ok(one));
    }
    assert_eq!(get(&*store, row.id).await, Some(row), "the workspace itself did not change");
}

pub async fn reports_of_unknown_workspaces_and_odd_values_are_refused(store: Arc<dyn Store>) {
    let refused = put(&*store, id(), full()).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let row = workspace();
    insert(&*store, &row).await;
    for odd in [
        Vitals { error_rate: f64::NAN, ..full() },
        Vitals { error_rate: f64::INFINITY, ..full() },
        Vitals { sample_error: Some("a\0b".into()), ..full() },
    ] {
        let refused = put(&*store, row.id, odd).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
}

pub async fn reports_of_many_are_read_at_once(store: Arc<dyn Store>) {
    let rows: Vec<_> = (0..3).map(|_| workspace()).collect();
    for row in &rows {
        insert(&*store, row).await;
    }
    put(&*store, rows[1].id, full()).await.expect("vitals are written");
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    let (asked, reported) = (ids.clone(), ids[1]);
    let found = store.read(move |tx| tx.vitals_of(&asked)).await;
    assert_eq!(found, Ok(Batch { rows: vec![(reported, full())], unreadable: Vec::new() }));
    let none: Result<_, Error> = store.read(move |tx| tx.vitals_of(&[])).await;
    assert_eq!(none, Ok(Batch { rows: Vec::new(), unreadable: Vec::new() }));
}

// F16, F20
pub async fn what_is_due_is_found_the_longest_overdue_first(store: Arc<dyn Store>) {
    let with = |what: Due, at: Timestamp| {
        let (mut row, mut vitals) = (workspace(), Vitals::default());
        match what {
            Due::Liveness => vitals.liveness_deadline = Some(at),
            Due::Stall => vitals.stall_deadline = Some(at),
            Due::Probe => vitals.probe_at = Some(at),
            Due::Idleness => vitals.idle_deadline = Some(at),
            Due::Provision => row.provision_deadline = Some(at),
            Due::Mending => row.mending = Mending { attempts: 1, next_at: Some(at) },
        }
        (row, vitals)
    };
    for what in Due::ALL {
        let mut ids = Vec::new();
        for ms in [30, 10, 20, 31] {
            let (row, vitals) = with(what, NOW.plus_ms(ms));
            insert(&*store, &row).await;
            put(&*store, row.id, vitals).await.expect("vitals are written");
            ids.push(row.id);
        }
        insert(&*store, &workspace()).await;
        let now = NOW.plus_ms(30);
        assert_eq!(due(&*store, what, now, 10).await, [ids[1], ids[2], ids[0]], "{what:?}");
        assert_eq!(due(&*store, what, now, 2).await, [ids[1], ids[2]], "{what:?}");
        assert_eq!(due(&*store, what, NOW, 10).await, [], "{what:?}: nothing yet");
    }
}

//! What holds for messages on their way, and for the queues they wait in.

use std::sync::Arc;

use warren_model::{Delivery, DeliveryEnd, DeliveryReason, DeliveryState, Principal, Task, WorkspaceId};

use super::samples::{NOW, delivery, id, new_workspace, put_task, task};
use crate::{DeliveryQuery, Error, QueueState, QueueTotals, Store};

async fn next(store: &dyn Store, workspace_id: WorkspaceId) -> Option<Delivery> {
    store.write(move |tx| tx.next_waiting(workspace_id, NOW, NOW)).await.expect("the next is read")
}

async fn change(store: &dyn Store, row: &Delivery, was: DeliveryState, attempts: u32) -> Result<(), Error> {
    let row = row.clone();
    store.write(move |tx| tx.update_delivery(&row, was, attempts)).await
}

// X14
pub async fn the_queue_goes_by_priority_then_turn_then_age(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let job = task(home);
    let base = delivery(&job);
    let rows = [
        Delivery { turn: 2, ..base.clone() },
        Delivery { id: id(), turn: 1, ..base.clone() },
        Delivery { id: id(), turn: 1, ..base.clone() },
        Delivery { id: id(), turn: 9, priority: 5, ..base.clone() },
        Delivery { id: id(), turn: 0, priority: -1, ..base.clone() },
    ];
    let resting = Delivery { id: id(), priority: 9, not_before: NOW.plus_ms(1), ..base.clone() };
    let expired = Delivery { id: id(), priority: 9, expires_at: NOW, ..base.clone() };
    put_task(&*store, &job, &rows).await;
    put_task(&*store, &Task { id: id(), ..task(home) }, &[resting, expired]).await;
    let expected = [3, 1, 2, 0, 4].map(|at| rows[at].id);
    for (position, wanted) in expected.into_iter().enumerate() {
        let mut got = next(&*store, home).await.expect("something waits");
        assert_eq!(got.id, wanted, "position {position}");
        got.state = DeliveryState::Claimed;
        got.attempts = 1;
        assert_eq!(change(&*store, &got, DeliveryState::Queued, 0).await, Ok(()));
    }
    assert_eq!(next(&*store, home).await, None, "what rests or has expired is not handed out");
    let crowd: Result<_, Error> = store.read(move |tx| Ok((tx.crowd(home, 10)?, tx.crowd(home, 1)?))).await;
    assert_eq!(crowd, Ok(((5, 2), (5, 1))));
    let totals: Result<_, Error> = store.read(|tx| tx.queue_totals()).await;
    let oldest_queued_at = Some(base.created_at);
    assert_eq!(totals, Ok(QueueTotals { queued: 2, claimed: 5, oldest_queued_at }));
}

// X12
pub async fn a_position_counts_those_before_it(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let job = task(home);
    let base = delivery(&job);
    let rows = [
        base.clone(),
        Delivery { id: id(), turn: 2, ..base.clone() },
        Delivery { id: id(), priority: 1, ..base },
    ];
    put_task(&*store, &job, &rows).await;
    let order = store.read::<_, Error, _>(move |tx| tx.waiting_order(home, 2)).await;
    assert_eq!(order, Ok(vec![rows[2].id, rows[0].id]), "as they are claimed, no further than asked");
    for (row, before) in rows.into_iter().zip([1, 2, 0]) {
        let position = store.read(move |tx| tx.position(&row)).await;
        assert_eq!(position, Ok::<_, Error>(before));
    }
    let turns: Result<_, Error> = store
        .read(move |tx| {
            let (known, unknown) = (Principal::system("asker"), Principal::system("nobody"));
            Ok((tx.last_turn_of(home, &known)?, tx.last_turn_of(home, &unknown)?))
        })
        .await;
    assert_eq!(turns, Ok((Some(2), None)));
}

// X15
pub async fn a_claim_is_written_once_and_an_old_attempt_is_refused(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let job = task(home);
    let queued = delivery(&job);
    put_task(&*store, &job, std::slice::from_ref(&queued)).await;
    let claimed = Delivery {
        state: DeliveryState::Claimed,
        attempts: 1,
        owner: Some("one".into()),
        lease_until: Some(NOW.plus_ms(5)),
        has_begun: true,
        progress_at: Some(NOW),
        ..queued.clone()
    };
    let mut claimers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, claimed) = (Arc::clone(&store), claimed.clone());
        claimers.spawn(async move { change(&*store, &claimed, DeliveryState::Queued, 0).await });
    }
    let won = claimers.join_all().await;
    assert_eq!(won.iter().filter(|result| result.is_ok()).count(), 1, "{won:?}");
    assert!(won.iter().all(|result| matches!(result, Ok(()) | Err(Error::Conflict))), "{won:?}");
    let again = Delivery { state: DeliveryState::Queued, owner: None, lease_until: None, ..claimed.clone() };
    assert_eq!(change(&*store, &again, DeliveryState::Claimed, 1).await, Ok(()));
    let second = Delivery { attempts: 2, ..claimed.clone() };
    assert_eq!(change(&*store, &second, DeliveryState::Queued, 1).await, Ok(()));
    let ended = Delivery {
        state: DeliveryState::Ended,
        end: Some(DeliveryEnd::Answered),
        reason: Some(DeliveryReason::NoAnswer),
        ended_at: Some(NOW),
        due_at: None,
        ..second
    };
    let late = Delivery { attempts: 1, ..ended.clone() };
    assert_eq!(
        change(&*store, &late, DeliveryState::Claimed, 1).await,
        Err(Error::Conflict),
        "a late answer"
    );
    assert_eq!(change(&*store, &ended, DeliveryState::Claimed, 2).await, Ok(()));
    let key = ended.id;
    let found = store.read(move |tx| tx.delivery(key)).await;
    assert_eq!(found, Ok::<_, Error>(Some(ended)));
}

// X15
pub async fn a_delivery_ends_once_whatever_a_program_believes(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    for end in DeliveryEnd::ALL {
        let job = task(home);
        let queued = delivery(&job);
        put_task(&*store, &job, std::slice::from_ref(&queued)).await;
        let ended = Delivery { state: DeliveryState::Ended, end: Some(*end), ended_at: Some(NOW), ..queued };
        assert_eq!(change(&*store, &ended, DeliveryState::Queued, 0).await, Ok(()));
        let other =
            Delivery { end: Some(DeliveryEnd::Failed), reason: Some(DeliveryReason::Busy), ..ended.clone() };
        let refused = change(&*store, &other, DeliveryState::Ended, 0).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        let nameless = Delivery { id: id(), end: None, ..ended };
        let refused: Result<(), Error> = store.write(move |tx| tx.insert_delivery(&nameless)).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "an end has a name: {refused:?}");
    }
}

// X14: with the queue locked, of many who claim at once no two get the same, and no more than there is room for
pub async fn a_locked_queue_is_claimed_by_one_at_a_time(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let job = task(home);
    let rows: Vec<_> = (0..20).map(|_| Delivery { id: id(), ..delivery(&job) }).collect();
    put_task(&*store, &job, &rows).await;
    let mut claimers = tokio::task::JoinSet::new();
    for number in 0..10_i64 {
        let store = Arc::clone(&store);
        claimers.spawn(async move {
            store
                .write(move |tx| {
                    let queue_state = tx.lock_queue(home)?;
                    let (running, _) = tx.crowd(home, 1)?;
                    let Some(mut row) = tx.next_waiting(home, NOW, NOW)?.filter(|_| running < 3) else {
                        return Ok(None);
                    };
                    row.state = DeliveryState::Claimed;
                    row.attempts += 1;
                    tx.update_delivery(&row, DeliveryState::Queued, 0)?;
                    tx.put_queue_state(
                        home,
                        QueueState { turn: queue_state.turn + 1, not_before: NOW.plus_ms(number) },
                    )?;
                    Ok::<_, Error>(Some(row.id))
                })
                .await
                .expect("a claim is tried")
        });
    }
    let mut won: Vec<_> = claimers.join_all().await.into_iter().flatten().collect();
    won.sort();
    won.dedup();
    assert_eq!(won.len(), 3, "as many as there was room for, each once");
    let queue_state: Result<QueueState, Error> = store.write(move |tx| tx.lock_queue(home)).await;
    assert_eq!(queue_state.expect("the queue is read").turn, 3);
}

pub async fn lanes_with_work_are_found_by_their_order(store: Arc<dyn Store>) {
    let mut lanes = Vec::new();
    for number in 0..5 {
        let home = new_workspace(&*store).await;
        let job = task(home);
        let waiting: Vec<_> = (0..3).map(|_| Delivery { id: id(), ..delivery(&job) }).collect();
        put_task(&*store, &job, if number == 2 { &[] } else { &waiting }).await;
        if number != 2 {
            lanes.push(home);
        }
    }
    let find = async |after, limit| {
        store.read(move |tx| tx.waiting_queues(after, limit)).await.map_err(|error: Error| error.to_string())
    };
    assert_eq!(find(None, 10).await, Ok(lanes.clone()));
    assert_eq!(find(None, 2).await, Ok(lanes[..2].to_vec()));
    assert_eq!(find(Some(lanes[1]), 10).await, Ok(lanes[2..].to_vec()));
    assert_eq!(find(Some(lanes[3]), 10).await, Ok(Vec::new()));
}

pub async fn what_is_due_is_found_the_longest_overdue_first_and_lists_are_in_pages(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let job = task(home);
    let due = |ms| Delivery { id: id(), due_at: Some(NOW.plus_ms(ms)), ..delivery(&job) };
    let rows = [due(3), due(1), due(2), Delivery { id: id(), due_at: None, ..delivery(&job) }];
    put_task(&*store, &job, &rows).await;
    let due = store.read(move |tx| tx.due_deliveries(NOW.plus_ms(2), 10)).await;
    let found = due.map(|due| due.rows.iter().map(|row| row.id).collect::<Vec<_>>());
    assert_eq!(found, Ok::<_, Error>(vec![rows[1].id, rows[2].id]));
    let page = async |after| {
        let query = DeliveryQuery { workspace_id: home, state: DeliveryState::Queued, after, limit: 3 };
        let page = store.read(move |tx| tx.deliveries(&query)).await.expect("a page is read");
        (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next)
    };
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    assert_eq!(page(None).await, (ids[..3].to_vec(), Some(ids[2])));
    assert_eq!(page(Some(ids[2])).await, (ids[3..].to_vec(), None));
    let key = job.id;
    let last: Result<_, Error> =
        store.read(move |tx| Ok((tx.last_delivery_of(key)?, tx.open_deliveries_of(key)?.len()))).await;
    assert_eq!(last, Ok((Some(rows[3].clone()), 4)));
}

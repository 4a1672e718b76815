//! What holds for tasks, the queue, repeats and delegations.

use std::sync::Arc;

use serde_json::json;
use warren_model::{
    Artifact, Content, Delegation, DelegationState, Delivery, DeliveryEnd, DeliveryReason, DeliveryState,
    Message, OrgId, Part, Principal, Role, Status, Task, TaskId, TaskOrigin, TaskState, WorkspaceId,
};

use super::samples::{NOW, get, id, insert, task, update, workspace};
use crate::{DelegationQuery, DeliveryQuery, Error, Lane, Page, Repeat, Store, TaskMark, TaskQuery};

fn delivery(task: &Task) -> Delivery {
    Delivery {
        id: id(),
        org_id: task.org_id,
        workspace_id: task.workspace_id,
        task_id: task.id,
        author: task.author.clone(),
        message: Message::new("m-1", Role::User, vec![Part::text("do it")]),
        priority: 0,
        turn: 1,
        state: DeliveryState::Queued,
        end: None,
        reason: None,
        attempts: 0,
        not_before: NOW,
        expires_at: NOW.plus_ms(60_000),
        idle_timeout_ms: 300_000,
        deadline_at: None,
        owner: None,
        lease_until: None,
        has_begun: false,
        progress_at: None,
        due_at: Some(NOW.plus_ms(60_000)),
        created_at: NOW,
        ended_at: None,
    }
}

async fn place(store: &dyn Store) -> WorkspaceId {
    let row = workspace();
    insert(store, &row).await;
    row.id
}

async fn put(store: &dyn Store, task: &Task, deliveries: &[Delivery]) {
    let (task, deliveries) = (task.clone(), deliveries.to_vec());
    let written: Result<(), Error> = store
        .write(move |tx| {
            tx.insert_task(&task)?;
            deliveries.iter().try_for_each(|row| tx.insert_delivery(row))
        })
        .await;
    assert_eq!(written, Ok(()), "a task and its messages are written");
}

async fn next(store: &dyn Store, workspace_id: WorkspaceId) -> Option<Delivery> {
    store.write(move |tx| tx.next_waiting(workspace_id, NOW, NOW)).await.expect("the next is read")
}

async fn change(store: &dyn Store, row: &Delivery, was: DeliveryState, attempts: u32) -> Result<(), Error> {
    let row = row.clone();
    store.write(move |tx| tx.update_delivery(&row, was, attempts)).await
}

pub async fn a_task_comes_back_as_it_was_written_in_every_state(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let said = Message {
        metadata: json!({ "k": [1, "\u{1f980}"] }).as_object().cloned().expect("an object"),
        extensions: vec!["https://example.org/x".into()],
        reference_task_ids: vec!["other".into()],
        ..Message::new("m", Role::Agent, vec![Part::text("grüße \u{7}"), Part::data(json!({ "a": null }))])
    };
    let file = Part {
        content: Content::Url("https://example.org/f".into()),
        media_type: Some("text/plain".into()),
        filename: Some("f.txt".into()),
        metadata: serde_json::Map::new(),
    };
    for state in TaskState::ALL {
        let mut row = Task {
            state: *state,
            status_message: Some(said.clone()),
            history: vec![said.clone(), said.clone()],
            artifacts: vec![Artifact {
                id: "a".into(),
                name: Some("n".into()),
                description: None,
                parts: vec![file.clone(), Part { content: Content::Raw("AAE=".into()), ..file.clone() }],
                metadata: serde_json::Map::new(),
                extensions: Vec::new(),
            }],
            origin: TaskOrigin { chain: vec![id(), home], parent: Some(id()) },
            remote_id: Some("theirs".into()),
            ..task(home)
        };
        put(&*store, &row, &[]).await;
        let key = row.id;
        let found = store.read(move |tx| tx.task(key)).await;
        assert_eq!(found, Ok::<_, Error>(Some(row.clone())));
        row.remote_id = None;
        row.history.push(said.clone());
        let changed = row.clone();
        let updated: Result<u64, Error> = store.write(move |tx| tx.update_task(&changed, 1)).await;
        assert_eq!(updated, Ok(2));
        let stale = row.clone();
        let refused: Result<u64, Error> = store.write(move |tx| tx.update_task(&stale, 1)).await;
        assert_eq!(refused, Err(Error::Conflict));
        row.version = 2;
        let found = store.read(move |tx| tx.task(key)).await;
        assert_eq!(found, Ok::<_, Error>(Some(row)));
    }
}

pub async fn tasks_are_listed_youngest_first_and_filtered(store: Arc<dyn Store>) {
    let (home, other) = (place(&*store).await, place(&*store).await);
    let mut rows = Vec::new();
    for number in 0..5_i64 {
        let state = if number % 2 == 0 { TaskState::Completed } else { TaskState::Working };
        let context_id = if number < 3 { "one" } else { "two" }.to_owned();
        let row = Task { state, context_id, updated_at: NOW.plus_ms(number), ..task(home) };
        put(&*store, &row, &[]).await;
        rows.push(row.id);
    }
    put(&*store, &task(other), &[]).await;
    rows.reverse();
    let list = async |query: TaskQuery| {
        let counted = query.clone();
        let page = store.read(move |tx| tx.tasks(&query)).await.expect("tasks are listed");
        let count: u64 = store.read(move |tx| tx.count_tasks(&counted)).await.expect("and counted");
        (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next, count)
    };
    let all = TaskQuery::of(home, 10);
    assert_eq!(list(all.clone()).await, (rows.clone(), None, 5));
    let (first, next, _) = list(TaskQuery { limit: 2, ..all.clone() }).await;
    assert_eq!((first, next), (rows[..2].to_vec(), Some(rows[1])));
    assert_eq!(list(TaskQuery { before: next, ..all.clone() }).await.0, rows[2..]);
    let two = TaskQuery { context_id: Some("two".into()), ..all.clone() };
    assert_eq!(list(two).await, (rows[..2].to_vec(), None, 2));
    let working = TaskQuery { state: Some(TaskState::Working), ..all.clone() };
    assert_eq!(list(working).await, (vec![rows[1], rows[3]], None, 2));
    let nobodys = TaskQuery { author: Some(Principal::system("nobody")), ..all.clone() };
    assert_eq!(list(nobodys).await, (Vec::new(), None, 0));
    let askers = TaskQuery { author: Some(Principal::system("asker")), limit: 4, ..all.clone() };
    assert_eq!(list(askers).await, (rows[..4].to_vec(), Some(rows[3]), 5));
    let since = TaskQuery { updated_since: Some(NOW.plus_ms(3)), ..all };
    assert_eq!(list(since).await.0, rows[..2]);
}

// X1
pub async fn tasks_are_listed_by_their_last_change_without_a_gap(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let mut rows = Vec::new();
    for changed in [3, 1, 2, 2, 2_i64] {
        let row = Task { updated_at: NOW.plus_ms(changed), ..task(home) };
        put(&*store, &row, &[]).await;
        rows.push((changed, row.id));
    }
    rows.sort_unstable_by(|one, other| other.cmp(one));
    let ids: Vec<TaskId> = rows.iter().map(|(_, id)| *id).collect();
    for limit in 1..=5 {
        let (mut found, mut mark) = (Vec::new(), None);
        loop {
            let query = TaskQuery::of(home, limit);
            let page = store.read(move |tx| tx.changed_tasks(&query, mark)).await;
            let page: Page<Task, TaskMark> = page.map_err(|error: Error| error).expect("tasks are listed");
            found.extend(page.rows.iter().map(|row| row.id));
            mark = page.next;
            if mark.is_none() {
                break;
            }
        }
        assert_eq!(found, ids, "in pages of {limit}");
    }
}

// X14
pub async fn the_queue_goes_by_priority_then_turn_then_age(store: Arc<dyn Store>) {
    let home = place(&*store).await;
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
    put(&*store, &job, &rows).await;
    put(&*store, &Task { id: id(), ..task(home) }, &[resting, expired]).await;
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
}

// X12
pub async fn a_position_counts_those_before_it(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let job = task(home);
    let base = delivery(&job);
    let rows = [
        base.clone(),
        Delivery { id: id(), turn: 2, ..base.clone() },
        Delivery { id: id(), priority: 1, ..base },
    ];
    put(&*store, &job, &rows).await;
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
    let home = place(&*store).await;
    let job = task(home);
    let queued = delivery(&job);
    put(&*store, &job, std::slice::from_ref(&queued)).await;
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
    let home = place(&*store).await;
    for end in DeliveryEnd::ALL {
        let job = task(home);
        let queued = delivery(&job);
        put(&*store, &job, std::slice::from_ref(&queued)).await;
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

// X14: with the lane held, of many who claim at once no two get the same, and no more than there is room for
pub async fn a_held_lane_is_claimed_by_one_at_a_time(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let job = task(home);
    let rows: Vec<_> = (0..20).map(|_| Delivery { id: id(), ..delivery(&job) }).collect();
    put(&*store, &job, &rows).await;
    let mut claimers = tokio::task::JoinSet::new();
    for number in 0..10_i64 {
        let store = Arc::clone(&store);
        claimers.spawn(async move {
            store
                .write(move |tx| {
                    let lane = tx.hold_lane(home)?;
                    let (running, _) = tx.crowd(home, 1)?;
                    let Some(mut row) = tx.next_waiting(home, NOW, NOW)?.filter(|_| running < 3) else {
                        return Ok(None);
                    };
                    row.state = DeliveryState::Claimed;
                    row.attempts += 1;
                    tx.update_delivery(&row, DeliveryState::Queued, 0)?;
                    tx.put_lane(home, Lane { turn: lane.turn + 1, not_before: NOW.plus_ms(number) })?;
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
    let lane: Result<Lane, Error> = store.write(move |tx| tx.hold_lane(home)).await;
    assert_eq!(lane.expect("the lane is read").turn, 3);
}

pub async fn lanes_with_work_are_found_by_their_order(store: Arc<dyn Store>) {
    let mut lanes = Vec::new();
    for number in 0..5 {
        let home = place(&*store).await;
        let job = task(home);
        let waiting: Vec<_> = (0..3).map(|_| Delivery { id: id(), ..delivery(&job) }).collect();
        put(&*store, &job, if number == 2 { &[] } else { &waiting }).await;
        if number != 2 {
            lanes.push(home);
        }
    }
    let find = async |after, limit| {
        store.read(move |tx| tx.waiting_lanes(after, limit)).await.map_err(|error: Error| error.to_string())
    };
    assert_eq!(find(None, 10).await, Ok(lanes.clone()));
    assert_eq!(find(None, 2).await, Ok(lanes[..2].to_vec()));
    assert_eq!(find(Some(lanes[1]), 10).await, Ok(lanes[2..].to_vec()));
    assert_eq!(find(Some(lanes[3]), 10).await, Ok(Vec::new()));
}

pub async fn what_is_due_is_found_the_longest_overdue_first_and_lists_are_in_pages(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let job = task(home);
    let due = |ms| Delivery { id: id(), due_at: Some(NOW.plus_ms(ms)), ..delivery(&job) };
    let rows = [due(3), due(1), due(2), Delivery { id: id(), due_at: None, ..delivery(&job) }];
    put(&*store, &job, &rows).await;
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

// X16
pub async fn a_key_is_taken_once_per_sender_and_forgotten_after_its_time(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let job = task(home);
    let first = delivery(&job);
    put(&*store, &job, std::slice::from_ref(&first)).await;
    let repeat = Repeat {
        sender: Principal::system("asker"),
        key: "k".into(),
        fingerprint: "f".into(),
        task_id: job.id,
        delivery_id: first.id,
        at: NOW,
    };
    let other = Repeat { sender: Principal::system("other"), at: NOW.plus_ms(5), ..repeat.clone() };
    let take = async |repeat: Repeat| -> Result<bool, Error> {
        store.write(move |tx| tx.insert_repeat(&repeat, repeat.at.plus_ms(-10))).await
    };
    assert_eq!(take(repeat.clone()).await, Ok(true));
    assert_eq!(take(Repeat { fingerprint: "other".into(), ..repeat.clone() }).await, Ok(false));
    assert_eq!(take(other.clone()).await, Ok(true));
    let find = async |sender: Principal| store.read(move |tx| tx.repeat(&sender, "k")).await;
    assert_eq!(find(repeat.sender.clone()).await, Ok::<_, Error>(Some(repeat.clone())));
    let late = Repeat { fingerprint: "late".into(), at: NOW.plus_ms(9), ..repeat.clone() };
    assert_eq!(take(late).await, Ok(false), "the key still counts");
    let later = Repeat { fingerprint: "later".into(), at: NOW.plus_ms(10), ..repeat.clone() };
    assert_eq!(take(later.clone()).await, Ok(true), "the key is forgotten, though its row is there");
    assert_eq!(find(repeat.sender.clone()).await, Ok::<_, Error>(Some(later)));
    let pruned: Result<u64, Error> = store.write(move |tx| tx.prune_repeats(NOW.plus_ms(10), 10)).await;
    assert_eq!(pruned, Ok(1));
    assert_eq!(find(other.sender.clone()).await, Ok::<_, Error>(None));
}

// X20
pub async fn a_delegation_moves_only_from_the_state_it_was_read_in(store: Arc<dyn Store>) {
    let (from, to) = (place(&*store).await, place(&*store).await);
    let parent = task(from);
    put(&*store, &parent, &[]).await;
    let mut rows = Vec::new();
    for state in DelegationState::ALL {
        let job = task(to);
        put(&*store, &job, &[]).await;
        let row = Delegation {
            id: id(),
            org_id: OrgId::DEFAULT,
            from,
            to,
            task_id: job.id,
            parent_task: Some(parent.id),
            state: *state,
            is_told: true,
            created_at: NOW,
            updated_at: NOW,
            ended_at: state.is_final().then_some(NOW),
        };
        let written = row.clone();
        let inserted: Result<(), Error> = store.write(move |tx| tx.insert_delegation(&written)).await;
        assert_eq!(inserted, Ok(()));
        let (key, task_id) = (row.id, job.id);
        let found: Result<_, Error> =
            store.read(move |tx| Ok((tx.delegation(key)?, tx.delegation_of_task(task_id)?))).await;
        assert_eq!(found, Ok((Some(row.clone()), Some(row.clone()))));
        rows.push(row);
    }
    let parent_id = parent.id;
    let open: Result<Vec<_>, Error> = store.read(move |tx| tx.open_delegations_from(parent_id)).await;
    assert_eq!(open.expect("they are found").len(), 3);
    let moved = Delegation { state: DelegationState::Completed, ended_at: Some(NOW), ..rows[1].clone() };
    let (first, second) = (moved.clone(), moved);
    let done: Result<(), Error> =
        store.write(move |tx| tx.update_delegation(&first, DelegationState::Queued)).await;
    assert_eq!(done, Ok(()));
    let late: Result<(), Error> =
        store.write(move |tx| tx.update_delegation(&second, DelegationState::Queued)).await;
    assert_eq!(late, Err(Error::Conflict));
    let query = DelegationQuery { from, org_id: OrgId::DEFAULT, state: None, before: None, limit: 5 };
    let page = store.read(move |tx| tx.delegations(&query)).await.expect("a page is read");
    let newest: Vec<_> = rows.iter().rev().take(5).map(|row| row.id).collect();
    assert_eq!(page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), newest);
    assert!(page.next.is_some());
}

// F42, F8
pub async fn what_has_ended_goes_after_its_time_and_with_its_workspace(store: Arc<dyn Store>) {
    let home = place(&*store).await;
    let rows = [
        Task { state: TaskState::Completed, updated_at: NOW, ..task(home) },
        Task { state: TaskState::Completed, updated_at: NOW.plus_ms(10), ..task(home) },
        Task { state: TaskState::InputRequired, updated_at: NOW, ..task(home) },
    ];
    for row in &rows {
        put(&*store, row, &[delivery(row)]).await;
    }
    let pruned: Result<u64, Error> = store.write(move |tx| tx.prune_tasks(NOW.plus_ms(5), 10)).await;
    assert_eq!(pruned, Ok(1), "neither the young nor what still goes on");
    let query = TaskQuery::of(home, 10);
    let left: Result<u64, Error> = store.read(move |tx| tx.count_tasks(&query)).await;
    assert_eq!(left, Ok(2));
    let mut row = get(&*store, home).await.expect("it is there");
    row.status = Status::Removed;
    update(&*store, &row).await.expect("it is removed");
    let erased: Result<bool, Error> = store
        .write(move |tx| {
            tx.hold_lane(home)?;
            tx.erase_workspace(home)
        })
        .await;
    assert_eq!(erased, Ok(true));
    let query = TaskQuery::of(home, 10);
    let left: Result<u64, Error> = store.read(move |tx| tx.count_tasks(&query)).await;
    assert_eq!(left, Ok(0));
}

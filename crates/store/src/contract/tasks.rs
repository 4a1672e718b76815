//! What holds for tasks.

use std::sync::Arc;

use serde_json::json;
use warren_model::{
    Artifact, Content, Message, Part, Principal, Role, Status, Task, TaskId, TaskOrigin, TaskState,
};

use super::samples::{NOW, delivery, get, id, new_workspace, put_task, task, update};
use crate::{Error, Page, Store, TaskMark, TaskQuery};

pub async fn a_task_comes_back_as_it_was_written_in_every_state(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
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
        put_task(&*store, &row, &[]).await;
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
    let (home, other) = (new_workspace(&*store).await, new_workspace(&*store).await);
    let mut rows = Vec::new();
    for number in 0..5_i64 {
        let state = if number % 2 == 0 { TaskState::Completed } else { TaskState::Working };
        let context_id = if number < 3 { "one" } else { "two" }.to_owned();
        let row = Task { state, context_id, updated_at: NOW.plus_ms(number), ..task(home) };
        put_task(&*store, &row, &[]).await;
        rows.push(row.id);
    }
    put_task(&*store, &task(other), &[]).await;
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
    let home = new_workspace(&*store).await;
    let mut rows = Vec::new();
    for changed in [3, 1, 2, 2, 2_i64] {
        let row = Task { updated_at: NOW.plus_ms(changed), ..task(home) };
        put_task(&*store, &row, &[]).await;
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

// F42, F8
pub async fn what_has_ended_goes_after_its_time_and_with_its_workspace(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let rows = [
        Task { state: TaskState::Completed, updated_at: NOW, ..task(home) },
        Task { state: TaskState::Completed, updated_at: NOW.plus_ms(10), ..task(home) },
        Task { state: TaskState::InputRequired, updated_at: NOW, ..task(home) },
    ];
    for row in &rows {
        put_task(&*store, row, &[delivery(row)]).await;
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
            tx.lock_queue(home)?;
            tx.erase_workspace(home)
        })
        .await;
    assert_eq!(erased, Ok(true));
    let query = TaskQuery::of(home, 10);
    let left: Result<u64, Error> = store.read(move |tx| tx.count_tasks(&query)).await;
    assert_eq!(left, Ok(0));
}

//! What holds for those who want to be told about tasks.

use std::sync::Arc;

use warren_model::{Principal, PushConfig, Task, TaskId, TaskState};

use super::samples::{NOW, id, insert, task, workspace};
use crate::{Error, Page, Store};

async fn stored_task(store: &dyn Store) -> Task {
    let place = workspace();
    insert(store, &place).await;
    let task = task(place.id);
    let row = task.clone();
    let written: Result<(), Error> = store.write(move |tx| tx.insert_task(&row)).await;
    assert_eq!(written, Ok(()));
    task
}

fn config(task_id: TaskId, name: &str) -> PushConfig {
    PushConfig {
        task_id,
        id: name.into(),
        owner: Principal::system("asker"),
        url: "https://example.org/hook?a=é".into(),
        sealed: Some("v1.key.bytes".into()),
        told_version: 1,
        attempts: 0,
        not_before: NOW,
        created_at: NOW,
    }
}

async fn put(store: &dyn Store, config: &PushConfig) {
    let row = config.clone();
    let written: Result<(), Error> = store.write(move |tx| tx.put_push_config(&row)).await;
    assert_eq!(written, Ok(()));
}

async fn of_task(store: &dyn Store, id: TaskId) -> Vec<PushConfig> {
    store.read(move |tx| tx.push_configs(id)).await.expect("they are read")
}

async fn owed(store: &dyn Store, after_ms: i64) -> Vec<PushConfig> {
    store.read(move |tx| tx.owed_pushes(NOW.plus_ms(after_ms), 10)).await.expect("they are read").rows
}

async fn change(store: &dyn Store, task: &Task) -> Task {
    let mut row = task.clone();
    row.state = TaskState::Working;
    let (written, version) = (row.clone(), row.version);
    row.version = store.write(move |tx| tx.update_task(&written, version)).await.expect("it is written");
    row
}

pub async fn a_push_config_comes_back_as_it_was_written_and_is_replaced_by_its_id(store: Arc<dyn Store>) {
    let task = stored_task(&*store).await;
    let (one, two) = (config(task.id, "one"), PushConfig { sealed: None, ..config(task.id, "two") });
    put(&*store, &two).await;
    put(&*store, &one).await;
    assert_eq!(of_task(&*store, task.id).await, [one.clone(), two.clone()]);
    let again = PushConfig { url: "https://example.org/other".into(), attempts: 3, ..one };
    put(&*store, &again).await;
    assert_eq!(of_task(&*store, task.id).await, [again, two]);
    let unknown = config(id(), "one");
    let refused: Result<(), Error> = store.write(move |tx| tx.put_push_config(&unknown)).await;
    assert!(refused.is_err(), "a task that is not there");
    let task_id = task.id;
    for expected in [true, false] {
        let removed: Result<bool, Error> = store.write(move |tx| tx.remove_push_config(task_id, "one")).await;
        assert_eq!(removed, Ok(expected));
    }
}

pub async fn a_call_is_owed_while_the_task_is_newer_than_what_was_told(store: Arc<dyn Store>) {
    let task = stored_task(&*store).await;
    let known = config(task.id, "one");
    put(&*store, &known).await;
    assert_eq!(owed(&*store, 0).await, [], "it knows all there is");
    let changed = change(&*store, &task).await;
    assert_eq!(owed(&*store, 0).await, std::slice::from_ref(&known));
    assert_eq!(owed(&*store, -1).await, [], "not before its time");
    let told = PushConfig { told_version: changed.version, ..known.clone() };
    let written: Result<bool, Error> = store.write(move |tx| tx.update_push_config(&told, &known)).await;
    assert_eq!(written, Ok(true));
    assert_eq!(owed(&*store, 0).await, []);
    change(&*store, &changed).await;
    assert_eq!(owed(&*store, 0).await.len(), 1, "and again");
}

pub async fn a_call_is_taken_up_by_one_of_many(store: Arc<dyn Store>) {
    let task = stored_task(&*store).await;
    let known = config(task.id, "one");
    put(&*store, &known).await;
    let mut tries = Vec::new();
    for _ in 0..8 {
        let (store, known) = (Arc::clone(&store), known.clone());
        tries.push(tokio::spawn(async move {
            let taken = PushConfig { not_before: NOW.plus_ms(60_000), attempts: 1, ..known.clone() };
            let won: Result<bool, Error> = store.write(move |tx| tx.update_push_config(&taken, &known)).await;
            won.expect("it is asked")
        }));
    }
    let mut won = 0;
    for one in tries {
        won += u32::from(one.await.expect("it runs"));
    }
    assert_eq!(won, 1);
}

// sec/U08
pub async fn what_is_sealed_is_found_in_pages_and_replaced_once(store: Arc<dyn Store>) {
    let job = stored_task(&*store).await;
    for name in ["a", "b", "c"] {
        put(&*store, &config(job.id, name)).await;
    }
    put(&*store, &PushConfig { sealed: None, ..config(job.id, "open") }).await;
    let (mut found, mut next): (Vec<PushConfig>, Option<(TaskId, String)>) = (Vec::new(), None);
    loop {
        let after = next.take();
        let page: Result<Page<PushConfig, (TaskId, String)>, Error> = store
            .read(move |tx| tx.sealed_push_configs(after.as_ref().map(|(task, id)| (*task, id.as_str())), 2))
            .await;
        let page = page.expect("they are listed");
        found.extend(page.rows);
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    found.retain(|one| one.task_id == job.id);
    let names: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let reseal = async |sealed: &'static str| {
        let known = found[0].clone();
        let done: Result<bool, Error> = store.write(move |tx| tx.reseal_push_config(&known, sealed)).await;
        done.expect("it is written")
    };
    assert!(reseal("v1.new.bytes").await);
    assert!(!reseal("v1.late.bytes").await, "somebody was faster");
    assert_eq!(of_task(&*store, job.id).await[0].sealed.as_deref(), Some("v1.new.bytes"));
}

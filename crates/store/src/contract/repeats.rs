//! What holds for the keys under which messages were accepted.

use std::sync::Arc;

use warren_model::Principal;

use super::samples::{NOW, delivery, new_workspace, put_task, task};
use crate::{Error, Repeat, Store};

// X16
pub async fn a_key_is_taken_once_per_sender_and_forgotten_after_its_time(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    let job = task(home);
    let first = delivery(&job);
    put_task(&*store, &job, std::slice::from_ref(&first)).await;
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

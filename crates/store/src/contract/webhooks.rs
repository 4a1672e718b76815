//! What holds for webhooks, what is owed to them, and channels.

use std::sync::Arc;

use warren_model::{
    Channel, EventKind, Network, OrgId, Principal, Status, Webhook, WebhookCall, WebhookCallState, WebhookId,
};

use super::samples::{NOW, id, insert, update, workspace};
use crate::{Error, Store, WebhookCallQuery};

pub(super) fn webhook() -> Webhook {
    Webhook {
        id: id(),
        org_id: OrgId::DEFAULT,
        name: "tell".into(),
        network: Network::Webhook,
        url: "https://receiver.example/".into(),
        kinds: vec![EventKind::WorkspaceCreated, EventKind::WorkspaceRemoved],
        workspace_id: None,
        since: 7,
        is_active: true,
        created_at: NOW,
        created_by: Principal::system("test"),
    }
}

fn call(webhook_id: WebhookId, seq: u64) -> WebhookCall {
    WebhookCall {
        id: id(),
        webhook_id,
        seq,
        kind: EventKind::WorkspaceCreated,
        body: "{\"type\":\"é\"}".into(),
        state: WebhookCallState::Queued,
        attempts: 0,
        due_at: Some(NOW),
        last_status: None,
        last_error: None,
        created_at: NOW,
        ended_at: None,
    }
}

async fn put(store: &dyn Store, webhook: &Webhook, calls: &[WebhookCall]) {
    let (webhook, calls) = (webhook.clone(), calls.to_vec());
    let written: Result<(), Error> = store
        .write(move |tx| {
            tx.insert_webhook(&webhook)?;
            calls.iter().try_for_each(|call| tx.insert_webhook_call(call))
        })
        .await;
    assert_eq!(written, Ok(()), "a webhook and its calls are written");
}

pub async fn webhooks_and_channels_come_back_as_they_were_written(store: Arc<dyn Store>) {
    let row = workspace();
    insert(&*store, &row).await;
    let own = Webhook { workspace_id: Some(row.id), kinds: Vec::new(), is_active: false, ..webhook() };
    let of_all = webhook();
    let channel = Channel {
        id: id(),
        org_id: row.org_id,
        workspace_id: row.id,
        name: "door".into(),
        network: Network::Webhook,
        created_at: NOW,
        created_by: Principal::system("test"),
    };
    put(&*store, &own, &[]).await;
    put(&*store, &of_all, &[]).await;
    let written = channel.clone();
    store.write(move |tx| tx.insert_channel(&written)).await.expect("a channel is written");
    let (one, other, door, place) = (own.id, of_all.id, channel.id, row.id);
    store
        .read(move |tx| {
            assert_eq!(tx.webhook(one)?, Some(own.clone()));
            assert_eq!(tx.webhook(other)?, Some(of_all.clone()));
            assert_eq!(tx.active_webhooks()?.rows, std::slice::from_ref(&of_all));
            assert_eq!(tx.count_webhooks(OrgId::DEFAULT)?, 2);
            let page = tx.webhooks(OrgId::DEFAULT, None, 1)?;
            assert_eq!((page.rows.len(), page.next), (1, Some(page.rows[0].id)));
            assert_eq!(tx.webhooks(OrgId::DEFAULT, page.next, 5)?.rows.len(), 1);
            assert_eq!(tx.webhooks(OrgId::from_bytes([9; 16]), None, 5)?.rows, []);
            assert_eq!(tx.channel(door)?, Some(channel.clone()));
            assert_eq!(tx.channels_of(place)?.rows, std::slice::from_ref(&channel));
            Ok::<(), Error>(())
        })
        .await
        .expect("they are read");
    store
        .write(move |tx| {
            assert!(tx.set_webhook_active(one, true)?);
            assert!(!tx.set_webhook_active(one, true)?, "it was so already");
            assert!(tx.delete_webhook(one)? && !tx.delete_webhook(one)?);
            assert!(tx.delete_channel(door)? && !tx.delete_channel(door)?);
            Ok::<(), Error>(())
        })
        .await
        .expect("they are removed");
}

pub async fn an_event_is_owed_to_a_webhook_once(store: Arc<dyn Store>) {
    let webhook = webhook();
    let first = call(webhook.id, 3);
    let again = WebhookCall { body: "other".into(), ..call(webhook.id, 3) };
    put(&*store, &webhook, &[first.clone(), again]).await;
    let (id, query) =
        (first.id, WebhookCallQuery { webhook_id: webhook.id, state: None, before: None, limit: 10 });
    let (read, calls) = store
        .read(move |tx| Ok::<_, Error>((tx.webhook_call(id)?, tx.webhook_calls(&query)?.rows)))
        .await
        .expect("they are read");
    assert_eq!(read.as_ref(), Some(&first));
    assert_eq!(calls, [first]);

    let moved: Result<(), Error> = store.write(|tx| tx.move_webhook_cursor(0, 5)).await;
    assert_eq!(moved, Ok(()));
    let late: Result<(), Error> = store.write(|tx| tx.move_webhook_cursor(0, 6)).await;
    assert_eq!(late, Err(Error::Conflict), "two who decide at once: one does");
    assert_eq!(store.read(|tx| tx.webhook_cursor()).await, Ok(5));
}

pub async fn a_call_is_claimed_once_and_ends_once(store: Arc<dyn Store>) {
    let hook = webhook();
    let row = call(hook.id, 1);
    put(&*store, &hook, std::slice::from_ref(&row)).await;
    let claimed = WebhookCall { attempts: 1, due_at: Some(NOW.plus_ms(60_000)), ..row.clone() };
    let write = |call: WebhookCall, known: u32| {
        let store = Arc::clone(&store);
        async move { store.write(move |tx| tx.update_webhook_call(&call, known)).await }
    };
    assert_eq!(write(claimed.clone(), 0).await, Ok(()));
    assert_eq!(write(claimed.clone(), 0).await, Err(Error::Conflict), "somebody else has it");
    let ended = WebhookCall {
        state: WebhookCallState::Dead,
        due_at: None,
        last_status: Some(500),
        last_error: Some("status".into()),
        ended_at: Some(NOW),
        ..claimed.clone()
    };
    assert_eq!(write(ended.clone(), 1).await, Ok(()));
    assert_eq!(write(claimed, 1).await, Err(Error::Conflict), "it has ended");
    let id = row.id;
    let (read, again, twice) = store
        .write(move |tx| {
            let read = tx.webhook_call(id)?;
            let again = tx.requeue_webhook_call(id, NOW)?;
            Ok::<_, Error>((read, again, tx.requeue_webhook_call(id, NOW)?))
        })
        .await
        .expect("it is asked for again");
    assert_eq!((read, again, twice), (Some(ended), true, false));
    let pruned = store.write(|tx| tx.prune_webhook_calls(NOW.plus_ms(1), 10)).await;
    assert_eq!(pruned, Ok(0), "what is owed again is not old");
}

pub async fn what_is_due_is_found_by_webhook_and_not_for_stopped_ones(store: Arc<dyn Store>) {
    let (one, stopped) = (webhook(), Webhook { is_active: false, ..webhook() });
    let later = WebhookCall { due_at: Some(NOW.plus_ms(10)), ..call(one.id, 1) };
    let (first, second) = (call(one.id, 2), call(one.id, 3));
    put(&*store, &one, &[second.clone(), later.clone(), first.clone()]).await;
    put(&*store, &stopped, &[call(stopped.id, 1)]).await;
    let hook = one.id;
    store
        .read(move |tx| {
            assert_eq!(tx.due_webhooks(NOW, 10)?, [hook]);
            assert_eq!(tx.due_webhooks(NOW.plus_ms(-1), 10)?, []);
            assert_eq!(tx.due_webhook_calls(hook, NOW, 10)?.rows, [first.clone(), second.clone()]);
            assert_eq!(tx.due_webhook_calls(hook, NOW.plus_ms(10), 10)?.rows.len(), 3);
            assert_eq!(tx.due_webhook_calls(hook, NOW, 1)?.rows, std::slice::from_ref(&first));
            Ok::<(), Error>(())
        })
        .await
        .expect("they are read");
}

pub async fn they_go_with_what_they_belong_to(store: Arc<dyn Store>) {
    let row = workspace();
    insert(&*store, &row).await;
    let of_place = Webhook { workspace_id: Some(row.id), ..webhook() };
    let owed = call(of_place.id, 1);
    put(&*store, &of_place, std::slice::from_ref(&owed)).await;
    let mut removed = row.clone();
    removed.status = Status::Removed;
    update(&*store, &removed).await.expect("it is removed");
    let (place, hook, call) = (row.id, of_place.id, owed.id);
    let left = store
        .write(move |tx| {
            assert!(tx.erase_workspace(place)?);
            Ok::<_, Error>((tx.webhook(hook)?, tx.webhook_call(call)?))
        })
        .await;
    assert_eq!(left, Ok((None, None)));
}

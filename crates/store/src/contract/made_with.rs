//! What holds for what was made with tokens.

use std::sync::Arc;

use warren_model::{Channel, MadeWithToken, Network, OrgId, Principal, Schedule, TokenId, Webhook};

use super::samples::{NOW, id, new_workspace, token};
use super::schedules::schedule;
use super::webhooks::webhook;
use crate::{Error, Store};

async fn made_with(store: &dyn Store, token_id: TokenId) -> Vec<MadeWithToken> {
    store.read(move |tx| tx.made_with(token_id)).await.expect("it is read")
}

// F30
pub async fn what_was_made_is_found_by_its_token_until_nothing_is_left_of_it(store: Arc<dyn Store>) {
    let (maker, kept) = (id(), token());
    let (gone, grandchild, schedule) = (id(), id(), MadeWithToken::Schedule(id()));
    let others = [MadeWithToken::Webhook(id()), MadeWithToken::Channel(id())];
    let written = kept.clone();
    store
        .write(move |tx| {
            tx.insert_token(&written)?;
            for made in
                [schedule, others[0], others[1], MadeWithToken::Token(written.id), MadeWithToken::Token(gone)]
            {
                tx.note_made_with(maker, made)?;
            }
            // Made once: whoever comes later is not its maker.
            tx.note_made_with(gone, schedule)?;
            tx.note_made_with(gone, MadeWithToken::Token(grandchild))?;
            Ok::<_, Error>(())
        })
        .await
        .expect("it is written");
    assert_eq!(made_with(&*store, maker).await.len(), 5);
    assert_eq!(made_with(&*store, gone).await, [MadeWithToken::Token(grandchild)]);
    assert_eq!(made_with(&*store, id()).await, []);
    // First what is gone and led to nothing; then the one through which another was found.
    let prune =
        async |limit: u32| store.write(move |tx| tx.prune_made_with(limit)).await.expect("it is cleared");
    assert_eq!(prune(100).await, 4);
    assert_eq!(made_with(&*store, maker).await.len(), 2);
    assert_eq!((prune(1).await, prune(1).await), (1, 0));
    assert_eq!(made_with(&*store, maker).await, [MadeWithToken::Token(kept.id)], "what is there stays");
}

// F30: whoever leaves takes with them what acts in their name
pub async fn what_somebody_made_in_an_org_is_found_whatever_their_token_was(store: Arc<dyn Store>) {
    let (maker, other) = (Principal::user(id()), Principal::user(id()));
    let home = new_workspace(&*store).await;
    let webhook = |by: &Principal, org_id: OrgId| Webhook { org_id, created_by: by.clone(), ..webhook() };
    let (own, elsewhere) = (webhook(&maker, OrgId::DEFAULT), webhook(&maker, id()));
    let others = webhook(&other, OrgId::DEFAULT);
    let door = Channel {
        id: id(),
        org_id: OrgId::DEFAULT,
        workspace_id: home,
        name: "door".into(),
        network: Network::Webhook,
        created_at: NOW,
        created_by: maker.clone(),
    };
    let schedule = Schedule { created_by: maker.clone(), ..schedule(home, "daily") };
    let expected = [
        MadeWithToken::Schedule(schedule.id),
        MadeWithToken::Webhook(own.id),
        MadeWithToken::Channel(door.id),
    ];
    store
        .write(move |tx| {
            for one in [&own, &elsewhere, &others] {
                tx.insert_webhook(one)?;
            }
            tx.insert_channel(&door)?;
            tx.insert_schedule(&schedule)
        })
        .await
        .expect("it is written");
    assert_eq!(store.read(move |tx| tx.made_by(&maker, OrgId::DEFAULT)).await, Ok(expected.to_vec()));
}

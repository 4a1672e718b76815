//! What holds for what was made with tokens.

use std::sync::Arc;

use warren_model::{MadeWithToken, TokenId};

use super::samples::{id, token};
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

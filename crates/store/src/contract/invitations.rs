//! What holds for invitations: one person takes one, once (F9).

use std::sync::Arc;

use warren_model::{Invitation, InvitationId, OrgId, OrgRole, Principal, TokenHash, UserId};

use super::samples::{NOW, id};
use crate::Store;

fn invitation() -> Invitation {
    let id: InvitationId = id();
    let mut hash = [0; 32];
    hash[..16].copy_from_slice(id.as_bytes());
    Invitation {
        id,
        org_id: OrgId::DEFAULT,
        role: OrgRole::Member,
        hash: TokenHash(hash),
        email: Some("new@example.org".into()),
        invited_by: Principal::user(UserId::OPERATOR),
        created_at: NOW,
        expires_at: NOW.plus_ms(1_000),
        used_at: None,
        used_by: None,
        revoked_at: None,
    }
}

async fn insert(store: &dyn Store, one: &Invitation) {
    let one = one.clone();
    store.write(move |tx| tx.insert_invitation(&one)).await.expect("it is written");
}

async fn get(store: &dyn Store, id: InvitationId) -> Option<Invitation> {
    store.read(move |tx| tx.invitation(id)).await.expect("it is read")
}

// F9
pub async fn an_invitation_is_used_by_one_of_many(store: Arc<dyn Store>) {
    let (written, bare) = (invitation(), Invitation { email: None, ..invitation() });
    for one in [&written, &bare] {
        insert(&*store, one).await;
        assert_eq!(get(&*store, one.id).await.as_ref(), Some(one));
    }
    let hash = written.hash;
    let found = store.read(move |tx| tx.invitation_by_hash(&hash)).await;
    assert_eq!(found, Ok(Some(written.clone())));
    let tries: Vec<_> = (0..4)
        .map(|_| {
            let (store, invitation, by) = (Arc::clone(&store), written.id, id());
            tokio::spawn(async move {
                let used = store.write(move |tx| tx.use_invitation(invitation, by, NOW)).await;
                used.expect("it is written").then_some(by)
            })
        })
        .collect();
    let mut winners: Vec<UserId> = Vec::new();
    for one in tries {
        winners.extend(one.await.expect("it ran"));
    }
    assert_eq!(winners.len(), 1, "of many, one");
    let used = Invitation { used_at: Some(NOW), used_by: Some(winners[0]), ..written.clone() };
    assert_eq!(get(&*store, written.id).await, Some(used));
    let revoke = async |id: InvitationId| store.write(move |tx| tx.revoke_invitation(id, NOW)).await;
    assert_eq!(revoke(written.id).await, Ok(false), "a used one is not taken back");
    assert_eq!((revoke(bare.id).await, revoke(bare.id).await), (Ok(true), Ok(false)));
    let (taken_back, by) = (bare.id, id());
    assert_eq!(store.write(move |tx| tx.use_invitation(taken_back, by, NOW)).await, Ok(false));
    let (open, others) = (invitation(), Invitation { invited_by: Principal::user(id()), ..invitation() });
    for one in [&open, &others] {
        insert(&*store, one).await;
    }
    let maker = open.invited_by.clone();
    let taken_back = store.write(move |tx| tx.revoke_invitations_by(OrgId::DEFAULT, &maker, NOW)).await;
    assert_eq!(taken_back, Ok(1), "those that nobody used, and not those of others");
    assert_eq!(get(&*store, open.id).await.and_then(|one| one.revoked_at), Some(NOW));
    assert_eq!(get(&*store, others.id).await, Some(others));
}

// F9
pub async fn invitations_are_listed_by_org_and_cleared_when_old(store: Arc<dyn Store>) {
    let all = [invitation(), invitation(), invitation()];
    for one in &all {
        insert(&*store, one).await;
    }
    let first = store.read(|tx| tx.invitations(OrgId::DEFAULT, None, 2)).await.expect("they are read");
    assert_eq!(first.rows, all[..2]);
    let next = first.next;
    assert!(next.is_some());
    let rest = store.read(move |tx| tx.invitations(OrgId::DEFAULT, next, 2)).await.expect("they are read");
    assert_eq!((rest.rows.as_slice(), rest.next), (&all[2..], None));
    let other = id();
    let elsewhere = store.read(move |tx| tx.invitations(other, None, 5)).await.expect("they are read");
    assert_eq!(elsewhere.rows, []);
    let open = async |ms: i64| {
        store.read(move |tx| tx.count_open_invitations(OrgId::DEFAULT, NOW.plus_ms(ms))).await
    };
    assert_eq!((open(0).await, open(1_000).await), (Ok(3), Ok(0)));
    let prune = async |ms: i64| store.write(move |tx| tx.prune_invitations(NOW.plus_ms(ms), 2)).await;
    assert_eq!((prune(1_000).await, prune(1_001).await, prune(1_001).await), (Ok(0), Ok(2), Ok(1)));
}

//! What holds for people: a name and its looks are one person's, and a token knows whose it is (F9, F30).

use std::sync::Arc;

use warren_model::{
    Holder, Member, OrgId, OrgRole, Principal, Timestamp, Token, TokenKind, TokenSecret, User, UserId,
};

use super::samples::{NOW, id, token};
use crate::{Error, Store};

pub(super) fn user(name: &str) -> User {
    User {
        id: id(),
        name: name.parse().expect("a good name"),
        display_name: format!("{name} 日本"),
        email: None,
        is_admin: false,
        created_at: NOW,
        removed_at: None,
    }
}

pub(super) async fn insert_user(store: &dyn Store, user: &User) -> Result<(), Error> {
    let user = user.clone();
    store.write(move |tx| tx.insert_user(&user)).await
}

async fn get_user(store: &dyn Store, id: UserId) -> Option<User> {
    store.read(move |tx| tx.user(id)).await.expect("a user is read")
}

// F9: what was there before people had names goes on
pub async fn the_person_who_started_this_warren_is_there_from_the_beginning(store: Arc<dyn Store>) {
    let operator = get_user(&*store, UserId::OPERATOR).await.expect("they are there");
    assert_eq!((operator.name.as_str(), operator.is_admin, operator.removed_at), ("operator", true, None));
    assert!(operator.created_at > Timestamp::from_micros(1_700_000_000_000_000));
    let (org, member, admins) = store
        .read(|tx| {
            let member = tx.member(OrgId::DEFAULT, UserId::OPERATOR)?;
            Ok::<_, Error>((tx.org(OrgId::DEFAULT)?, member, tx.count_admins()?))
        })
        .await
        .expect("they are read");
    assert_eq!(org.map(|org| org.name.to_string()), Some("default".into()));
    assert_eq!((member.map(|member| member.role), admins), (Some(OrgRole::Operator), 1));
}

// F9
pub async fn every_field_comes_back_and_a_name_is_taken_once_until_its_owner_is_removed(
    store: Arc<dyn Store>,
) {
    let mut alice = User { email: Some("alice@example.org".into()), is_admin: true, ..user("alice") };
    assert_eq!(insert_user(&*store, &alice).await, Ok(()));
    assert_eq!(get_user(&*store, alice.id).await, Some(alice.clone()));
    let other = user("alice");
    assert_eq!(insert_user(&*store, &other).await, Err(Error::AlreadyExists));
    alice.display_name = "Alice B".into();
    alice.is_admin = false;
    alice.removed_at = Some(NOW.plus_ms(5));
    let (written, unknown) = (alice.clone(), user("nobody"));
    let updated =
        store.write(move |tx| Ok::<_, Error>((tx.update_user(&written)?, tx.update_user(&unknown)?))).await;
    assert_eq!(updated, Ok((true, false)));
    assert_eq!(get_user(&*store, alice.id).await, Some(alice.clone()));
    let name = alice.name.clone();
    let by_name = store.read(move |tx| tx.user_by_name(&name)).await;
    assert_eq!(by_name, Ok(None), "one that is removed leaves the name to others");
    assert_eq!(insert_user(&*store, &other).await, Ok(()));
    let ids = [alice.id, other.id, id()];
    let mut found = store.read(move |tx| tx.users_by_ids(&ids)).await.expect("they are read");
    found.sort_by_key(|user| user.id);
    assert_eq!(found, [alice, other]);
    assert_eq!(store.read(move |tx| tx.users_by_ids(&[])).await, Ok(Vec::new()));
}

// F9
pub async fn looks_are_taken_by_one_of_many(store: Arc<dyn Store>) {
    let people = ["a1", "a2", "a3", "a4"].map(user);
    for one in &people {
        assert_eq!(insert_user(&*store, one).await, Ok(()));
    }
    let tries = people.clone().map(|one| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let looks = ["laura".to_owned(), one.name.to_string()];
            store
                .write(move |tx| match tx.claim_looks(one.id, &looks)? {
                    None => Ok(one.id),
                    Some(_) => Err(Error::Conflict),
                })
                .await
        })
    });
    let mut winners = Vec::new();
    for one in tries {
        winners.extend(one.await.expect("it ran"));
    }
    assert_eq!(winners.len(), 1, "of many, one");
    let (winner, loser) = (winners[0], people.iter().find(|one| one.id != winners[0]).expect("others").id);
    let claim = async |who: UserId, look: &str| {
        let looks = [look.to_owned()];
        store.write(move |tx| tx.claim_looks(who, &looks)).await.expect("it is claimed")
    };
    assert_eq!(claim(loser, "laura").await, Some(winner));
    let holder = async |look: &str| {
        let looks = ["nobodys".to_owned(), look.to_owned()];
        store.read(move |tx| tx.look_holder(&looks)).await.expect("it is read")
    };
    assert_eq!((holder("laura").await, holder("other").await), (Some(winner), None));
    assert_eq!(claim(winner, "other").await, None, "what they looked like before is free");
    assert_eq!(claim(loser, "laura").await, None);
    assert_eq!(claim(loser, "laura").await, None, "one's own, again");
}

// F31
pub async fn a_providers_person_is_one_users(store: Arc<dyn Store>) {
    let (one, other) = (user("one"), user("other"));
    for person in [&one, &other] {
        assert_eq!(insert_user(&*store, person).await, Ok(()));
    }
    let link = async |who: UserId| store.write(move |tx| tx.link_identity(who, "https://id", "s1")).await;
    let found = async |issuer: &'static str, subject: &'static str| {
        store
            .read(move |tx| tx.user_by_identity(issuer, subject))
            .await
            .expect("it is read")
            .map(|user| user.id)
    };
    assert_eq!((link(one.id).await, link(one.id).await), (Ok(()), Ok(())));
    assert_eq!(link(other.id).await, Err(Error::AlreadyExists));
    assert_eq!(found("https://id", "s1").await, Some(one.id));
    assert_eq!((found("https://id", "S1").await, found("https://ID", "s1").await), (None, None));
    let id = one.id;
    assert_eq!(store.write(move |tx| tx.unlink_identities(id)).await, Ok(1));
    assert_eq!((found("https://id", "s1").await, link(other.id).await), (None, Ok(())));
}

// F30: a browser's rights are its user's at the moment of the request
pub async fn a_token_is_found_with_its_holder_as_they_stand_now(store: Arc<dyn Store>) {
    let person = user("holder");
    assert_eq!(insert_user(&*store, &person).await, Ok(()));
    let secret = TokenSecret::new(TokenKind::SignIn, [9; 32]);
    let written = Token {
        kind: TokenKind::SignIn,
        hash: secret.hash(),
        prefix: secret.display_prefix(),
        owner: person.principal(),
        org_id: OrgId::DEFAULT,
        ..token()
    };
    let machines = Token { owner: Principal::system("test"), ..token() };
    for one in [written.clone(), machines.clone()] {
        store.write(move |tx| tx.insert_token(&one)).await.expect("it is written");
    }
    let held = async || {
        let (hash, id) = (secret.hash(), written.id);
        let both = store.read(move |tx| Ok::<_, Error>((tx.held_token_by_hash(&hash)?, tx.held_token(id)?)));
        let (by_hash, by_id) = both.await.expect("it is read");
        assert_eq!(by_hash, by_id);
        by_hash.expect("it is there")
    };
    let of = |role: Option<OrgRole>| Holder {
        user_id: person.id,
        name: person.name.clone(),
        display_name: person.display_name.clone(),
        is_admin: false,
        is_removed: false,
        role,
        is_org_removed: false,
        org_name: Some("default".parse().expect("a good name")),
    };
    assert_eq!(held().await, (written.clone(), Some(of(None))), "they are in no org yet");
    for (role, left_at) in
        [(OrgRole::Viewer, None), (OrgRole::Operator, None), (OrgRole::Operator, Some(NOW))]
    {
        let member = Member { org_id: OrgId::DEFAULT, user_id: person.id, role, since: NOW, left_at };
        store.write(move |tx| tx.put_member(&member)).await.expect("it is written");
        assert_eq!(held().await.1, Some(of(left_at.is_none().then_some(role))));
    }
    let id = machines.id;
    assert_eq!(store.read(move |tx| tx.held_token(id)).await, Ok(Some((machines, None))));
    let (token_id, elsewhere) = (written.id, id_of_org());
    store.write(move |tx| tx.move_token(token_id, elsewhere)).await.expect("it is moved");
    let (moved, holder) = held().await;
    assert_eq!((moved.org_id, holder.expect("they are known").org_name), (elsewhere, None));
}

fn id_of_org() -> OrgId {
    id()
}

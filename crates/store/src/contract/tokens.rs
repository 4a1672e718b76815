//! What holds for tokens: known by hash, ended once (F30).

use std::sync::Arc;

use warren_model::{
    OrgId, Principal, Scope, ScopeSet, Timestamp, Token, TokenHash, TokenId, TokenKind, TokenSecret,
    Workspace,
};

use super::samples::{NOW, id, insert, token, workspace};
use crate::{Error, Store, TokenQuery};

async fn insert_token(store: &dyn Store, token: &Token) -> Result<(), Error> {
    let token = token.clone();
    store.write(move |tx| tx.insert_token(&token)).await
}

async fn get_token(store: &dyn Store, id: TokenId) -> Option<Token> {
    store.read(move |tx| tx.token(id)).await.expect("a token is read")
}

// F30
pub async fn every_field_and_kind_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let owner_of_tokens: Workspace = workspace();
    insert(&*store, &owner_of_tokens).await;
    for kind in TokenKind::ALL {
        let full = Token {
            kind,
            name: "日本 🦀 'quoted'".into(),
            owner: Principal::workspace(owner_of_tokens.id),
            org_id: id(),
            workspace_id: Some(owner_of_tokens.id),
            scopes: [Scope::EventsRead, Scope::TokensWrite].into_iter().collect(),
            expires_at: Some(NOW.plus_ms(1)),
            last_used_at: Some(NOW.plus_ms(2)),
            revoked_at: Some(NOW.plus_ms(3)),
            used_at: Some(NOW.plus_ms(4)),
            ..token()
        };
        let bare = Token { kind, scopes: ScopeSet::EMPTY, ..token() };
        for written in [full, bare] {
            assert_eq!(insert_token(&*store, &written).await, Ok(()));
            assert_eq!(get_token(&*store, written.id).await, Some(written));
        }
    }
    assert_eq!(get_token(&*store, id()).await, None);
}

// F30
pub async fn a_token_is_found_by_its_hash_only(store: Arc<dyn Store>) {
    let secret = TokenSecret::new(TokenKind::Admin, [7; 32]);
    let written =
        Token { kind: TokenKind::Admin, hash: secret.hash(), prefix: secret.display_prefix(), ..token() };
    assert_eq!(insert_token(&*store, &written).await, Ok(()));
    let by_hash = |hash: TokenHash| {
        let store = Arc::clone(&store);
        async move {
            let found: Result<Option<Token>, Error> = store.read(move |tx| tx.token_by_hash(&hash)).await;
            found.expect("a token is read")
        }
    };
    assert_eq!(by_hash(secret.hash()).await, Some(written));
    let mut near = secret.hash();
    near.0[31] ^= 1;
    assert_eq!(by_hash(near).await, None);
}

// F30
pub async fn a_hash_is_stored_once(store: Arc<dyn Store>) {
    let first = token();
    assert_eq!(insert_token(&*store, &first).await, Ok(()));
    let same_hash = Token { hash: first.hash, ..token() };
    let same_id = Token { id: first.id, ..token() };
    assert_eq!(insert_token(&*store, &same_hash).await, Err(Error::AlreadyExists));
    assert_eq!(insert_token(&*store, &same_id).await, Err(Error::AlreadyExists));
    assert_eq!(get_token(&*store, first.id).await, Some(first));
}

pub async fn a_token_of_an_unknown_workspace_is_refused(store: Arc<dyn Store>) {
    let stray = Token { workspace_id: Some(id()), ..token() };
    let result = insert_token(&*store, &stray).await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
}

// F30
pub async fn a_token_is_revoked_once(store: Arc<dyn Store>) {
    let written = token();
    assert_eq!(insert_token(&*store, &written).await, Ok(()));
    let revoke = |id: TokenId, at: Timestamp| {
        let store = Arc::clone(&store);
        async move {
            let done: Result<bool, Error> = store.write(move |tx| tx.revoke_token(id, at)).await;
            done.expect("revoking is answered")
        }
    };
    assert!(revoke(written.id, NOW).await);
    assert!(!revoke(written.id, NOW.plus_ms(1)).await, "it was revoked already");
    assert!(!revoke(id(), NOW).await, "there is no such token");
    let found = get_token(&*store, written.id).await.expect("the row stays");
    assert_eq!(found.revoked_at, Some(NOW), "the first time counts");
}

// F30
pub async fn a_token_is_used_up_by_one_of_many(store: Arc<dyn Store>) {
    let written = Token { kind: TokenKind::Join, ..token() };
    assert_eq!(insert_token(&*store, &written).await, Ok(()));
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..32 {
        let (store, id) = (Arc::clone(&store), written.id);
        callers.spawn(async move {
            let done: Result<bool, Error> =
                store.write(move |tx| tx.use_up_token(id, NOW.plus_ms(caller))).await;
            done.expect("using up is answered").then_some(NOW.plus_ms(caller))
        });
    }
    let mut winners = Vec::new();
    while let Some(won) = callers.join_next().await {
        winners.extend(won.expect("a caller ends well"));
    }
    assert_eq!(winners.len(), 1);
    let found = get_token(&*store, written.id).await.expect("the row stays");
    assert_eq!(found.used_at, winners.first().copied());
}

// F30
pub async fn last_use_only_moves_forward(store: Arc<dyn Store>) {
    let written = token();
    assert_eq!(insert_token(&*store, &written).await, Ok(()));
    for (at, expected) in [(5, 5), (9, 9), (7, 9)] {
        let id = written.id;
        let touched: Result<(), Error> = store.write(move |tx| tx.touch_token(id, NOW.plus_ms(at))).await;
        assert_eq!(touched, Ok(()));
        let found = get_token(&*store, id).await.expect("the row is there");
        assert_eq!(found.last_used_at, Some(NOW.plus_ms(expected)));
    }
}

// F30
pub async fn ended_and_passing_tokens_do_not_count(store: Arc<dyn Store>) {
    let plain = token;
    let counted = [
        plain(),
        Token { kind: TokenKind::Admin, ..plain() },
        Token { kind: TokenKind::Join, ..plain() },
        Token { expires_at: Some(NOW.plus_ms(1)), ..plain() },
    ];
    let not_counted = [
        Token { kind: TokenKind::Login, ..plain() },
        Token { kind: TokenKind::SignIn, ..plain() },
        Token { expires_at: Some(NOW), ..plain() },
        Token { revoked_at: Some(NOW), ..plain() },
        Token { used_at: Some(NOW), ..plain() },
        Token { owner: Principal::system("somebody else"), ..plain() },
    ];
    for written in counted.iter().chain(&not_counted) {
        assert_eq!(insert_token(&*store, written).await, Ok(()));
    }
    let owner = plain().owner;
    let count: Result<u64, Error> = store.read(move |tx| tx.count_tokens(&owner, NOW)).await;
    assert_eq!(count, Ok(counted.len() as u64));
}

pub async fn lists_are_filtered_and_come_in_pages(store: Arc<dyn Store>) {
    let (org_id, owner) = (id(), Principal::system("lister"));
    let ours = Token { org_id, ..token() };
    let theirs = Token { owner: owner.clone(), ..token() };
    let both = Token { org_id, owner: owner.clone(), ..token() };
    let revoked = Token { org_id, revoked_at: Some(NOW), ..token() };
    let used = Token { org_id, used_at: Some(NOW), ..token() };
    for written in [&used, &revoked, &both, &theirs, &ours] {
        assert_eq!(insert_token(&*store, written).await, Ok(()));
    }
    let all = TokenQuery {
        org_id: None,
        owner: None,
        only_of: None,
        includes_ended: false,
        after: None,
        limit: 100,
    };
    let by_org = TokenQuery { org_id: Some(org_id), ..all.clone() };
    let cases = [
        ("all", all.clone(), vec![&ours, &theirs, &both]),
        ("by org", by_org.clone(), vec![&ours, &both]),
        ("by owner", TokenQuery { owner: Some(owner.clone()), ..all.clone() }, vec![&theirs, &both]),
        ("by both", TokenQuery { owner: Some(owner), ..by_org.clone() }, vec![&both]),
        (
            "with ended",
            TokenQuery { includes_ended: true, ..by_org.clone() },
            vec![&ours, &both, &revoked, &used],
        ),
    ];
    for (label, query, expected) in cases {
        for limit in [1, 2, 100] {
            let query = TokenQuery { limit, ..query.clone() };
            let expected: Vec<_> = expected.iter().map(|token| token.id).collect();
            assert_eq!(list_ids(&*store, query).await, expected, "{label} by {limit}");
        }
    }
}

async fn list_ids(store: &dyn Store, mut query: TokenQuery) -> Vec<TokenId> {
    let mut ids = Vec::new();
    loop {
        let asked = query.clone();
        let page = store.read(move |tx| tx.tokens(&asked)).await.expect("a page of tokens is read");
        ids.extend(page.rows.iter().map(|token| token.id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return ids,
        }
    }
}

// F9
pub async fn the_last_use_of_each_owner_is_told_by_org(store: Arc<dyn Store>) {
    let (one, two, none) = (Principal::user(id()), Principal::user(id()), Principal::user(id()));
    let elsewhere = id();
    let rows = [
        Token { owner: one.clone(), last_used_at: Some(NOW), ..token() },
        Token { owner: one.clone(), last_used_at: Some(NOW.plus_ms(2)), revoked_at: Some(NOW), ..token() },
        Token { owner: one.clone(), last_used_at: Some(NOW.plus_ms(9)), org_id: elsewhere, ..token() },
        Token { owner: two.clone(), last_used_at: Some(NOW.plus_ms(1)), ..token() },
        Token { owner: none.clone(), ..token() },
    ];
    let written: Result<(), Error> =
        store.write(move |tx| rows.iter().try_for_each(|row| tx.insert_token(row))).await;
    assert_eq!(written, Ok(()));
    let last = async |org_id: OrgId, owners: &[&Principal]| {
        let owners: Vec<_> = owners.iter().map(|owner| (*owner).clone()).collect();
        let mut found = store.read(move |tx| tx.last_uses(org_id, &owners)).await.expect("they are read");
        found.sort_by_key(|(_, at)| *at);
        found
    };
    let both = [(two.clone(), NOW.plus_ms(1)), (one.clone(), NOW.plus_ms(2))];
    assert_eq!(last(OrgId::DEFAULT, &[&one, &two, &none]).await, both);
    assert_eq!(last(OrgId::DEFAULT, &[&two]).await, both[..1]);
    assert_eq!(last(elsewhere, &[&one, &two]).await, [(one, NOW.plus_ms(9))]);
    assert_eq!(last(elsewhere, &[]).await, []);
}

// F42
pub async fn tokens_that_ended_long_ago_are_cleared(store: Arc<dyn Store>) {
    let ended = [
        Token { revoked_at: Some(NOW), ..token() },
        Token { used_at: Some(NOW), ..token() },
        Token { expires_at: Some(NOW), ..token() },
    ];
    let kept = [
        token(),
        Token { expires_at: Some(NOW.plus_ms(10)), ..token() },
        Token { revoked_at: Some(NOW.plus_ms(5)), ..token() },
    ];
    let rows: Vec<_> = ended.iter().chain(&kept).cloned().collect();
    let written: Result<(), Error> =
        store.write(move |tx| rows.iter().try_for_each(|row| tx.insert_token(row))).await;
    assert_eq!(written, Ok(()));
    let prune = async |limit: u32| -> Result<u64, Error> {
        store.write(move |tx| tx.prune_tokens(NOW.plus_ms(5), limit)).await
    };
    assert_eq!((prune(2).await, prune(2).await, prune(2).await), (Ok(2), Ok(1), Ok(0)));
    for row in kept {
        let found = store.read(move |tx| tx.token(row.id)).await;
        assert_eq!(found, Ok::<_, Error>(Some(row)));
    }
}

// F10
pub async fn a_runtimes_tokens_end_together_and_others_stay(store: Arc<dyn Store>) {
    let row: Workspace = workspace();
    insert(&*store, &row).await;
    let of = |kind| warren_model::Token { kind, workspace_id: Some(row.id), ..token() };
    let tokens = [of(TokenKind::Runner), of(TokenKind::Runner), of(TokenKind::Workspace)];
    let rows = tokens.clone();
    let written: Result<(), Error> =
        store.write(move |tx| rows.iter().try_for_each(|token| tx.insert_token(token))).await;
    assert_eq!(written, Ok(()));
    let row_id = row.id;
    let revoke = move |tx: &mut dyn crate::WriteTx| tx.revoke_tokens_of(row_id, TokenKind::Runner, NOW);
    assert_eq!(store.write(revoke).await, Ok::<_, Error>(2));
    assert_eq!(store.write(revoke).await, Ok::<_, Error>(0));
    let other = tokens[2].id;
    let left = store.read(move |tx| tx.token(other)).await.expect("a token is read");
    assert_eq!(left.and_then(|token| token.revoked_at), None);
}

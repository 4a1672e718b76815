//! Tokens: who gets which, and when they end.

use warren_fleet::{Made, MintToken, TooFast};
use warren_model::{ErrorCode, EventKind, Limits, Scope, ScopeSet, TokenKind};
use warren_testkit::{Bed, BedOptions};

fn user_token(scopes: ScopeSet) -> MintToken {
    MintToken { kind: TokenKind::User, name: "new".into(), scopes, workspace_id: None, expires_in_ms: None }
}

// F30, sec/U07
#[tokio::test]
async fn nobody_makes_or_ends_a_token_that_may_do_more_than_their_own() {
    for bed in Bed::on_each_store().await {
        let narrow: ScopeSet = [Scope::TokensWrite, Scope::TokensRead].into_iter().collect();
        let (user, wide) = (bed.user(narrow).await, bed.user(ScopeSet::all()).await);
        let refused = bed.fleet.tokens.mint(&user, user_token(ScopeSet::all())).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let refused = bed.fleet.tokens.revoke(&user, wide.token.id, Made::Ends).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let own = bed.fleet.tokens.mint(&user, user_token(narrow)).await.unwrap();
        let own_identity = bed.identify(&own).await;
        assert!(bed.is_valid(&own_identity).await);
        bed.fleet.tokens.revoke(&user, own.token.id, Made::Ends).await.unwrap();
        let ended = bed.fleet.tokens.identify(own.secret.reveal()).await.unwrap_err();
        assert_eq!(ended.code, ErrorCode::TokenExpired);
        assert!(!bed.is_valid(&own_identity).await);
    }
}

// F31
#[tokio::test]
async fn a_sign_in_link_signs_one_browser_in_and_it_can_sign_out() {
    for bed in Bed::on_each_store().await {
        let link = bed.fleet.tokens.mint_sign_in_link(None).await.unwrap();
        let tries = (0..4).map(|_| bed.fleet.tokens.sign_in(link.secret.reveal(), None));
        let all = futures_util::future::join_all(tries).await;
        let signed_in: Vec<_> = all.into_iter().filter_map(Result::ok).collect();
        assert_eq!(signed_in.len(), 1, "of many that try one link, one succeeds");
        assert_eq!(bed.events(EventKind::SignedIn).await.len(), 1);
        let browser = bed.fleet.tokens.identify(signed_in[0].secret.reveal()).await.unwrap();
        bed.fleet.tokens.sign_out(&browser).await.unwrap();
        assert!(bed.fleet.tokens.identify(signed_in[0].secret.reveal()).await.is_err());
    }
}

// F31
#[tokio::test]
async fn a_sign_in_link_works_for_ten_minutes() {
    for bed in Bed::on_each_store().await {
        let link = bed.fleet.tokens.mint_sign_in_link(None).await.unwrap();
        bed.clock.advance_ms(10 * 60_000);
        let late = bed.fleet.tokens.sign_in(link.secret.reveal(), None).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::TokenExpired);
    }
}

// F30
#[tokio::test]
async fn the_tokens_of_a_workspace_end_with_it() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let request = MintToken {
            kind: TokenKind::Workspace,
            workspace_id: Some(row.id),
            ..user_token(ScopeSet::EMPTY)
        };
        let minted = bed.fleet.tokens.mint(&bed.operator, request).await.unwrap();
        bed.fleet.tokens.identify(minted.secret.reveal()).await.unwrap();
        bed.fleet.workspaces.remove(&bed.operator, row.id, None, false).await.unwrap();
        let ended = bed.fleet.tokens.identify(minted.secret.reveal()).await.unwrap_err();
        assert_eq!(ended.code, ErrorCode::TokenExpired);
    }
}

// F36
#[tokio::test]
async fn each_user_token_is_held_to_its_own_pace_an_agent_to_one_over_all_of_its_own_and_an_operator_to_none()
{
    let limits = Limits { max_requests_per_minute: 2, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        let (one, other) = (bed.user(ScopeSet::all()).await, bed.user(ScopeSet::all()).await);
        assert_eq!(one.principal, other.principal);
        for _ in 0..2 {
            assert_eq!(bed.fleet.throttle.admit(&one), Ok(()));
        }
        let TooFast { retry_after_seconds, per_minute } = bed.fleet.throttle.admit(&one).unwrap_err();
        assert_eq!((retry_after_seconds, per_minute), (30, 2));
        assert_eq!(bed.fleet.throttle.admit(&other), Ok(()), "one that hurries stops no other");
        bed.clock.advance_ms(30_000);
        assert_eq!(bed.fleet.throttle.admit(&one), Ok(()));
        let of = bed.workspace().await.id;
        let (first, second) = (bed.agent_of(of).await, bed.agent_of(of).await);
        assert_eq!(bed.fleet.throttle.admit(&first), Ok(()));
        assert_eq!(bed.fleet.throttle.admit(&second), Ok(()));
        assert!(bed.fleet.throttle.admit(&first).is_err(), "many tokens of an agent are no faster than one");
        for _ in 0..10 {
            assert_eq!(bed.fleet.throttle.admit(&bed.operator), Ok(()));
        }
    }
}

// F30
#[tokio::test]
async fn a_token_expires_on_time() {
    for bed in Bed::on_each_store().await {
        let request = MintToken { expires_in_ms: Some(60_000), ..user_token(ScopeSet::all()) };
        let minted = bed.fleet.tokens.mint(&bed.operator, request).await.unwrap();
        bed.clock.advance_ms(59_999);
        bed.fleet.tokens.identify(minted.secret.reveal()).await.unwrap();
        bed.clock.advance_ms(1);
        let ended = bed.fleet.tokens.identify(minted.secret.reveal()).await.unwrap_err();
        assert_eq!(ended.code, ErrorCode::TokenExpired);
    }
}

// F30: cap per owner
#[tokio::test]
async fn an_owner_holds_so_many_tokens_and_no_more() {
    let limits = Limits { max_tokens_per_owner: 3, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        let more = || MintToken { kind: TokenKind::Admin, ..user_token(ScopeSet::EMPTY) };
        for _ in 0..2 {
            bed.fleet.tokens.mint(&bed.operator, more()).await.unwrap();
        }
        let refused = bed.fleet.tokens.mint(&bed.operator, more()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TokenLimit);
    }
}

// F30, sec/U07
#[tokio::test]
async fn a_token_ends_no_later_than_the_one_that_made_it() {
    for bed in Bed::on_each_store().await {
        let scopes: ScopeSet = [Scope::TokensWrite, Scope::TokensRead].into_iter().collect();
        let brief = MintToken { expires_in_ms: Some(3_600_000), ..user_token(scopes) };
        let maker = bed.fleet.tokens.mint(&bed.operator, brief).await.unwrap();
        let maker = bed.identify(&maker).await;
        let child = bed.fleet.tokens.mint(&maker, user_token(scopes)).await.unwrap().token;
        assert_eq!(child.expires_at, maker.token.expires_at);
        let longer = MintToken { expires_in_ms: Some(7_200_000), ..user_token(scopes) };
        let child = bed.fleet.tokens.mint(&maker, longer).await;
        assert!(child.is_err() || child.unwrap().token.expires_at <= maker.token.expires_at);
    }
}

// F31
#[tokio::test]
async fn signing_out_ends_a_sign_in_and_no_other_token() {
    for bed in Bed::on_each_store().await {
        let refused = bed.fleet.tokens.sign_out(&bed.operator).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        assert!(bed.is_valid(&bed.operator).await);
    }
}

// F30, sec/U02
#[tokio::test]
async fn no_secret_of_a_token_is_in_the_files_of_the_database() {
    let bed = Bed::on_sqlite(BedOptions::default()).await;
    let minted = bed.fleet.tokens.mint(&bed.operator, user_token(ScopeSet::all())).await.unwrap();
    let secrets = [minted.secret.reveal().to_owned(), bed.operator_secret.clone()];
    let folder = bed.stop().await;
    let mut read = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            read += bytes.len();
            for secret in &secrets {
                let tail = secret.splitn(3, '_').nth(2).unwrap().as_bytes();
                assert!(!bytes.windows(20).any(|window| window == &tail[..20]), "{:?}", entry.path());
            }
        }
    }
    assert!(read > 4_096, "the database was looked at");
}

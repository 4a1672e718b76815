//! Tokens: who gets which, and when they end.

use warren_fleet::{MintToken, TooFast};
use warren_model::{ErrorCode, EventKind, Limits, Scope, ScopeSet, TokenKind};

use crate::bed::Bed;

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
        let refused = bed.fleet.tokens.revoke(&user, wide.token.id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let own = bed.fleet.tokens.mint(&user, user_token(narrow)).await.unwrap();
        bed.fleet.tokens.revoke(&user, own.token.id).await.unwrap();
        let ended = bed.fleet.tokens.identify(own.secret.reveal()).await.unwrap_err();
        assert_eq!(ended.code, ErrorCode::TokenExpired);
        assert!(!bed.fleet.tokens.is_still_valid(own.token.id).await.unwrap());
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
async fn a_user_is_held_to_their_pace_over_all_their_tokens_and_an_operator_is_not() {
    let limits = Limits { max_requests_per_minute: 2, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        let (one, other) = (bed.user(ScopeSet::all()).await, bed.user(ScopeSet::all()).await);
        assert_eq!(one.principal, other.principal);
        assert_eq!(bed.fleet.throttle.admit(&one), Ok(()));
        assert_eq!(bed.fleet.throttle.admit(&other), Ok(()));
        let TooFast { retry_after_seconds, per_minute } = bed.fleet.throttle.admit(&one).unwrap_err();
        assert_eq!((retry_after_seconds, per_minute), (30, 2));
        bed.clock.advance_ms(30_000);
        assert_eq!(bed.fleet.throttle.admit(&one), Ok(()));
        for _ in 0..10 {
            assert_eq!(bed.fleet.throttle.admit(&bed.operator), Ok(()));
        }
    }
}

//! Runtimes: how they come in, what they report, and what silence leads to.

use warren_fleet::SecretScope;
use warren_fleet::{CreateWorkspace, MintToken, Register};
use warren_model::{
    ErrorCode, EventKind, Runtime, RuntimeReport, ScopeSet, SecretValue, Status, TokenKind, WorkspaceId,
};
use warren_service::Identity;

use crate::bed::Bed;

async fn external(bed: &Bed) -> WorkspaceId {
    let request = CreateWorkspace { runtime: Runtime::External, ..Bed::request("outside") };
    bed.fleet.workspaces.create(&bed.operator, request).await.unwrap().id
}

async fn join_token(bed: &Bed, id: WorkspaceId) -> Identity {
    let request = MintToken {
        kind: TokenKind::Join,
        name: "join".into(),
        scopes: ScopeSet::EMPTY,
        workspace_id: Some(id),
        expires_in_ms: None,
    };
    let minted = bed.fleet.tokens.mint(&bed.operator, request).await.unwrap();
    bed.fleet.tokens.identify(minted.secret.reveal()).await.unwrap()
}

/// A runtime that has registered, with its credential.
async fn reporting(bed: &Bed) -> (WorkspaceId, Identity) {
    let id = external(bed).await;
    let join = join_token(bed, id).await;
    let registered = bed.fleet.runtimes.register(&join, Register::default()).await.unwrap();
    let runner = bed.fleet.tokens.identify(registered.credential.secret.reveal()).await.unwrap();
    bed.wait_for(id, Status::Online).await;
    (id, runner)
}

// F10
#[tokio::test]
async fn a_join_token_works_once_and_each_boot_ends_the_credential_before() {
    for bed in Bed::on_each_store().await {
        let id = external(&bed).await;
        let join = join_token(&bed, id).await;
        let first = bed.fleet.runtimes.register(&join, Register::default()).await.unwrap();
        let again = bed.fleet.runtimes.register(&join, Register::default()).await.unwrap_err();
        assert_eq!(again.code, ErrorCode::TokenExpired);
        let anew = join_token(&bed, id).await;
        let second = bed.fleet.runtimes.register(&anew, Register::default()).await.unwrap();
        assert_eq!((first.boots, second.boots), (1, 2));
        let ended = bed.fleet.tokens.identify(first.credential.secret.reveal()).await.unwrap_err();
        assert_eq!(ended.code, ErrorCode::TokenExpired);
        bed.fleet.tokens.identify(second.credential.secret.reveal()).await.unwrap();
    }
}

// F10
#[tokio::test]
async fn of_many_with_one_join_token_one_registers() {
    for bed in Bed::on_each_store().await {
        let join = join_token(&bed, external(&bed).await).await;
        let tries = (0..8).map(|_| bed.fleet.runtimes.register(&join, Register::default()));
        let all = futures_util::future::join_all(tries).await;
        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 1);
        assert_eq!(bed.events(EventKind::WorkspaceRegistered).await.len(), 1);
    }
}

// F11
#[tokio::test]
async fn what_a_report_does_not_mention_stays_and_what_is_wrong_is_refused_whole() {
    for bed in Bed::on_each_store().await {
        let (_, runner) = reporting(&bed).await;
        let report = RuntimeReport { active_tasks: Some(3), uptime_s: Some(7), ..RuntimeReport::default() };
        bed.fleet.runtimes.heartbeat(&runner, report).await.unwrap();
        let wrong =
            RuntimeReport { active_tasks: Some(1), error_rate: Some(2.0), ..RuntimeReport::default() };
        let refused = bed.fleet.runtimes.heartbeat(&runner, wrong).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        let heard = bed.fleet.runtimes.heartbeat(&runner, RuntimeReport::default()).await.unwrap();
        assert_eq!((heard.vitals.active_tasks, heard.vitals.uptime_s), (3, Some(7)));
    }
}

// F16
#[tokio::test]
async fn silence_past_the_deadline_is_offline_and_a_word_brings_it_back() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = reporting(&bed).await;
        bed.fleet.runtimes.heartbeat(&runner, RuntimeReport::default()).await.unwrap();
        bed.clock.advance_ms(89_000);
        bed.fleet.sweeps.run(&bed.operator, "liveness").await.unwrap();
        assert_eq!(bed.row(id).await.status, Status::Online);
        bed.clock.advance_ms(2_000);
        bed.fleet.sweeps.run(&bed.operator, "liveness").await.unwrap();
        assert_eq!(bed.row(id).await.status, Status::Offline);
        bed.fleet.runtimes.note_sign_of_life(&runner).await;
        assert_eq!(bed.row(id).await.status, Status::Online);
    }
}

// F32
#[tokio::test]
async fn a_secret_in_the_words_of_a_report_is_masked_before_it_is_kept() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = reporting(&bed).await;
        let value = SecretValue::new("moonlight-sonata".to_owned().into()).unwrap();
        let scope = SecretScope::Workspace(id);
        bed.fleet.secrets.set(&bed.operator, scope, "SONG".parse().unwrap(), value).await.unwrap();
        let current_task = Some("playing moonlight-sonata".to_owned());
        let report = RuntimeReport { current_task, ..RuntimeReport::default() };
        let heard = bed.fleet.runtimes.heartbeat(&runner, report).await.unwrap();
        let said = heard.vitals.current_task.unwrap();
        assert!(said.starts_with("playing ") && !said.contains("moonlight"), "{said}");
    }
}

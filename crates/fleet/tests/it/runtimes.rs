//! Runtimes: how they come in, what they report, and what silence leads to.

use serde_json::json;
use warren_fleet::{MintToken, Register, SecretScope};
use warren_model::{
    AuditAction, ErrorCode, EventKind, Principal, Runtime, RuntimeReport, ScopeSet, SecretValue, Status,
    TokenKind,
};
use warren_testkit::Bed;

// F10
#[tokio::test]
async fn a_join_token_works_once_and_each_boot_ends_the_credential_before() {
    for bed in Bed::on_each_store().await {
        let id = bed.external().await;
        let join = bed.join_token(id).await;
        let first = bed.fleet.runtimes.register(&join, Register::default()).await.unwrap();
        let again = bed.fleet.runtimes.register(&join, Register::default()).await.unwrap_err();
        assert_eq!(again.code, ErrorCode::TokenExpired);
        let anew = bed.join_token(id).await;
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
        let join = bed.join_token(bed.external().await).await;
        let tries = (0..8).map(|_| bed.fleet.runtimes.register(&join, Register::default()));
        let all = futures_util::future::join_all(tries).await;
        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 1);
        assert_eq!(bed.events(EventKind::WorkspaceRegistered).await.len(), 1);
    }
}

// F10
#[tokio::test]
async fn a_runtime_changes_its_card_with_the_credential_of_its_boot_and_with_no_other() {
    for bed in Bed::on_each_store().await {
        let (id, runtimes) = (bed.external().await, &bed.fleet.runtimes);
        let register = Register { agent_card: Some(json!({ "name": "a" })), ..Register::default() };
        let first = runtimes.register(&bed.join_token(id).await, register).await.unwrap();
        let runner = bed.fleet.tokens.identify(first.credential.secret.reveal()).await.unwrap();
        let card = Some(json!({ "name": "b" }));
        for _ in 0..2 {
            let changed = runtimes.change_card(&runner, card.clone()).await.unwrap();
            assert_eq!((changed.boots, &changed.agent_card), (1, &card));
        }
        assert_eq!(runtimes.registration(id).await.unwrap().unwrap().agent_card, card);
        let events = bed.events(EventKind::WorkspaceCardChanged).await;
        assert_eq!(events.len(), 1, "the same again is no change");
        assert_eq!(events[0].principal, Principal::workspace(id));
        let audit = bed.audit().await;
        let noted = audit.iter().filter(|entry| entry.action == AuditAction::RuntimeCardChanged.as_str());
        assert_eq!(noted.count(), 1);

        let join = bed.join_token(id).await;
        for other in [&bed.operator, &join] {
            let refused = runtimes.change_card(other, None).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Forbidden);
        }
        for wrong in [json!("text"), json!({ "name": "x".repeat(300 << 10) })] {
            runtimes.change_card(&runner, Some(wrong)).await.unwrap_err();
        }
        // The runtime of a boot that is over has no say, however it got here.
        runtimes.register(&join, Register::default()).await.unwrap();
        let late = runtimes.change_card(&runner, card).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::TokenExpired);
        assert_eq!(runtimes.registration(id).await.unwrap().unwrap().agent_card, None);
    }
}

// F11
#[tokio::test]
async fn what_a_report_does_not_mention_stays_and_what_is_wrong_is_left_out() {
    for bed in Bed::on_each_store().await {
        let (_, runner) = bed.reporting().await;
        let report = RuntimeReport { active_tasks: Some(3), uptime_s: Some(7), ..RuntimeReport::default() };
        bed.fleet.runtimes.heartbeat(&runner, report).await.unwrap();
        let wrong =
            RuntimeReport { active_tasks: Some(1), error_rate: Some(2.0), ..RuntimeReport::default() };
        let heard = bed.fleet.runtimes.heartbeat(&runner, wrong).await.unwrap();
        assert_eq!(heard.doubts.len(), 1, "{:?}", heard.doubts);
        assert_eq!((heard.vitals.active_tasks, heard.vitals.error_rate), (1, 0.0), "the rest counts");
        let heard = bed.fleet.runtimes.heartbeat(&runner, RuntimeReport::default()).await.unwrap();
        assert_eq!((heard.vitals.active_tasks, heard.vitals.uptime_s), (1, Some(7)));
    }
}

// F16
#[tokio::test]
async fn silence_past_the_deadline_is_offline_and_a_word_brings_it_back() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
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
        let (id, runner) = bed.reporting().await;
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

fn join(workspace_id: Option<warren_model::WorkspaceId>, expires_in_ms: Option<i64>) -> MintToken {
    let (kind, name, scopes) = (TokenKind::Join, "join".into(), ScopeSet::EMPTY);
    MintToken { kind, name, scopes, workspace_id, expires_in_ms }
}

// F10: unknown and removed workspaces are refused, and tokens end with the workspace
#[tokio::test]
async fn nobody_joins_a_workspace_that_is_unknown_or_removed() {
    for bed in Bed::on_each_store().await {
        let id = bed.external().await;
        let token = bed.join_token(id).await;
        bed.remove(id).await;
        assert!(!bed.is_valid(&token).await);
        bed.fleet.runtimes.register(&token, Register::default()).await.unwrap_err();
        assert_eq!(bed.status(id).await, Status::Removed);
        let unknown = bed.fleet.context.new_id();
        for (of, code) in [
            (Some(unknown), ErrorCode::WorkspaceNotFound),
            (None, ErrorCode::InvalidRequest),
            (Some(id), ErrorCode::WorkspaceNotFound),
        ] {
            let refused = bed.fleet.tokens.mint(&bed.operator, join(of, None)).await.unwrap_err();
            assert_eq!(refused.code, code);
        }
    }
}

// F10
#[tokio::test]
async fn a_join_token_ends_after_an_hour_unless_told() {
    for bed in Bed::on_each_store().await {
        let id = bed.external().await;
        let mint = async |expires_in_ms| {
            bed.fleet.tokens.mint(&bed.operator, join(Some(id), expires_in_ms)).await.unwrap()
        };
        let (usual, long) = (mint(None).await, mint(Some(7_200_000)).await);
        bed.clock.advance_ms(3_600_000);
        let ended = bed.fleet.tokens.identify(usual.secret.reveal()).await.unwrap_err();
        assert_eq!(ended.code, ErrorCode::TokenExpired);
        let long = bed.identify(&long).await;
        bed.fleet.runtimes.register(&long, Register::default()).await.unwrap();
    }
}

// F10, F3
#[tokio::test]
async fn the_credential_of_a_resident_ends_when_its_box_does() {
    for bed in Bed::on_each_store().await {
        let id = bed.awaiting(Runtime::Resident).await;
        let (lifecycle, who) = (&bed.fleet.lifecycle, &bed.operator);
        for round in ["restart", "pause", "hibernate"] {
            let (runner, unused) = (bed.register(id).await, bed.join_token(id).await);
            bed.beat(&runner, RuntimeReport::default()).await;
            match round {
                "restart" => lifecycle.restart(who, id).await.unwrap(),
                "pause" => lifecycle.pause(who, id).await.unwrap(),
                _ => lifecycle.hibernate(who, id, false).await.unwrap(),
            };
            assert!(!bed.is_valid(&runner).await && !bed.is_valid(&unused).await, "{round}");
            bed.fleet.runtimes.register(&unused, Register::default()).await.unwrap_err();
            match round {
                "pause" => drop(lifecycle.resume(who, id).await.unwrap()),
                "hibernate" => drop(lifecycle.wake(who, id).await.unwrap()),
                _ => {}
            }
            bed.wait_for(id, Status::AwaitingAgent).await;
        }
    }
}

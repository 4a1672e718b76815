//! A hosted workspace has no agent yet: whatever would wait for one is refused at once.

use warren_exchange::NewSchedule;
use warren_model::{DeliveryState, ErrorCode, MissedPolicy, OverlapPolicy, Runtime, Timing, WorkspaceId};
use warren_testkit::ExchangeBed;

async fn external(bed: &ExchangeBed) -> WorkspaceId {
    bed.awaiting(Runtime::External).await
}

// X12, X15; the control is in the test: an external one takes the message
#[tokio::test]
async fn a_message_to_a_hosted_workspace_is_refused_and_nothing_is_queued() {
    for bed in ExchangeBed::on_each_store().await {
        let hosted = bed.workspace().await.id;
        let error = bed.send(bed.text(hosted, "hello")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::NoAgent);
        for state in [DeliveryState::Queued, DeliveryState::Claimed, DeliveryState::Ended] {
            assert!(bed.deliveries(hosted, state).await.is_empty());
        }
        // Control
        let external = external(&bed).await;
        bed.say(external, "hello").await;
        assert_eq!(bed.waiting(external).await, 1);
    }
}

// X12, X40; the control is in the test: a workspace whose agent comes gets its schedule
#[tokio::test]
async fn a_schedule_of_a_hosted_workspace_is_refused_with_what_to_do_about_it() {
    for bed in ExchangeBed::on_each_store().await {
        let hosted = bed.workspace().await.id;
        let nightly = NewSchedule {
            name: "nightly".into(),
            timing: Timing::Every { seconds: 86_400 },
            prompt: "tidy up".into(),
            jitter_seconds: 0,
            missed: MissedPolicy::Once,
            overlap: OverlapPolicy::Skip,
        };
        let schedules = &bed.exchange.schedules;
        let refused = schedules.create(&bed.operator, hosted, nightly.clone()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NoAgent);
        assert!(refused.code.entry().remedy.contains("--runtime resident"));
        // Control
        let external = external(&bed).await;
        schedules.create(&bed.operator, external, nightly).await.unwrap();
    }
}

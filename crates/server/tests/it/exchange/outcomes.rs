//! What Warren counts itself of the work that it hands out (F13).

use std::sync::Arc;

use serde_json::{Value, json};
use warren_exchange::Outcome;
use warren_model::{DeliveryReason, TaskState, WorkspaceId};
use warren_testkit::{Act, PostgresDatabase, ScriptedAgent, Warren};

use super::{agent, boot, say, task_in};
use crate::fleet::{beat, clock, events, eventually, show, status, status_after};

const BROKEN: Act = Act::Outcome(Outcome::Failed { reason: DeliveryReason::BadAnswer });

fn failed() -> Act {
    Act::SayIn(TaskState::Failed, "no".into())
}

/// Sends as many messages, one after the other, and has each end like this.
async fn work(warren: &Warren, peer: &ScriptedAgent, id: WorkspaceId, ends: &[Act]) {
    for act in ends {
        peer.next([act.clone()]);
        let accepted = say(warren, id, "work").await;
        let state = if matches!(act, Act::Say(_)) { "completed" } else { "failed" };
        task_in(warren, &accepted, state).await;
    }
}

async fn seen(warren: &Warren, id: WorkspaceId) -> (Value, Value) {
    let vitals = &show(warren, id).await["vitals"];
    (vitals["seen_outcomes"].clone(), vitals["seen_failures"].clone())
}

// F13
#[tokio::test]
async fn work_that_fails_degrades_a_runtime_that_says_all_is_well_and_a_restart_forgets_nothing() {
    let peer = ScriptedAgent::default();
    let warren = Warren::builder().called_agents(Arc::new(peer.clone())).start().await;
    let (id, secret) = agent(&warren, json!({})).await;
    let well = json!({ "error_rate": 0.0 });
    work(&warren, &peer, id, &[BROKEN, failed(), BROKEN]).await;
    assert_eq!(status_after(&warren, &secret, &well).await, "online", "three are no trend");
    work(&warren, &peer, id, &[failed()]).await;
    eventually("the fourth is one too many", async || status(&warren, id).await == "degraded").await;
    let reason = show(&warren, id).await["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "At least half of the recent work failed.");
    let told = events(&warren, Some(id)).await;
    assert!(
        told.iter()
            .any(|event| event["data"]["to"] == "degraded" && event["data"]["reason"] == reason.as_str())
    );
    assert_eq!(status_after(&warren, &secret, &well).await, "degraded", "its own word is not worse");
    let warren = warren.restart().await;
    assert_eq!(seen(&warren, id).await, (json!(4), json!(4)));
    assert_eq!(status_after(&warren, &secret, &well).await, "degraded");
    work(&warren, &peer, id, &[const { Act::Say(String::new()) }; 9]).await;
    assert_eq!(status_after(&warren, &secret, &well).await, "degraded", "one of the last ten failed");
    work(&warren, &peer, id, &[Act::Say("ok".into())]).await;
    assert_eq!(seen(&warren, id).await, (json!(10), json!(0)));
    let unwell = json!({ "runtime_state": "draining" });
    assert_eq!(status_after(&warren, &secret, &unwell).await, "degraded", "its own word is not empty");
    assert_eq!(status_after(&warren, &secret, &json!({ "runtime_state": "" })).await, "online");
}

// F13
#[tokio::test]
async fn a_runtime_that_manages_its_status_is_not_judged_by_what_warren_saw() {
    let peer = ScriptedAgent::default();
    let warren = Warren::builder().called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    let secret = boot(&warren, id, json!({ "status_mgmt": true })).await;
    work(&warren, &peer, id, &vec![BROKEN; 6]).await;
    assert_eq!(seen(&warren, id).await, (json!(6), json!(6)));
    assert_eq!(status_after(&warren, &secret, &json!({})).await, "online");
    let back = json!({ "runtime_metadata": { "capabilities": { "status_mgmt": false } } });
    assert_eq!(status_after(&warren, &secret, &back).await, "degraded", "the switch alone kept it so");
}

// F13
#[tokio::test]
async fn failures_of_a_while_ago_do_not_count() {
    let database = PostgresDatabase::create();
    let (peer, clock) = (ScriptedAgent::default(), clock());
    let builder = Warren::builder().database(database.url()).called_agents(Arc::new(peer.clone()));
    let warren = builder.clock(Arc::clone(&clock)).start().await;
    let (id, secret) = agent(&warren, json!({})).await;
    work(&warren, &peer, id, &vec![failed(); 5]).await;
    eventually("it is degraded", async || status(&warren, id).await == "degraded").await;
    for _ in 0..14 {
        clock.advance_ms(60_000);
        assert_eq!(beat(&warren, &secret, &json!({})).await["status"], "degraded");
    }
    clock.advance_ms(60_000);
    assert_eq!(status_after(&warren, &secret, &json!({})).await, "online");
}

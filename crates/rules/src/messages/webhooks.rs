//! Webhooks (X52): to whom an event is owed, what follows from an attempt, and whether what came in is what it claims
//! to be, up to the arithmetic of signatures, which its callers do.
//!
//! ```text
//!   event ── is_owed ──▶ queued ── attempt ──▶ 2xx: delivered
//!                          ▲          ├──────▶ 410: dead, and the webhook is stopped
//!                          └─ again ──┤
//!                                     └──────▶ the last attempt: dead
//! ```

use warren_model::{Event, Timestamp, Webhook, WebhookCall};

use warren_model::Backoff;

/// Attempts before a call is a dead letter: with the waits below, about five hours.
pub const MAX_ATTEMPTS: u32 = 10;
/// How far the clock of a sender may be from ours, which is as long as a message can be replayed before its id is looked at.
pub const TOLERANCE_S: i64 = 300;
/// Of bytes in a message that comes in.
pub const MAX_INCOMING_BYTES: usize = 256 << 10;

const WAITS: Backoff = Backoff { first_ms: 5_000, factor: 4, max_ms: 3_600_000, jitter: 0.2 };

/// Whether a webhook is told of an event. What webhooks do is told to none: one that fails would owe itself the news of it
/// for ever.
pub fn is_owed(webhook: &Webhook, event: &Event) -> bool {
    webhook.is_active
        && event.seq > webhook.since
        && event.org_id == webhook.org_id
        && webhook.workspace_id.is_none_or(|id| event.workspace_id == Some(id))
        && (webhook.kinds.is_empty() || webhook.kinds.contains(&event.kind))
        && !event.kind.as_str().starts_with("webhook.")
}

/// What an attempt led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    Answered {
        status: u16,
        retry_after_ms: Option<u64>,
    },
    /// No answer that counts.
    Failed,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Delivered,
    Again {
        at: Timestamp,
    },
    Dead,
    /// The receiver is gone for good: dead, and the webhook is stopped.
    Gone,
}

/// Decides after attempt number `call.attempts`. `fraction` is a random number in `0.0..1.0`.
pub fn after(call: &WebhookCall, attempt: Attempt, now: Timestamp, fraction: f64) -> Next {
    let asked_ms = match attempt {
        Attempt::Answered { status: 200..=299, .. } => return Next::Delivered,
        Attempt::Answered { status: 410, .. } => return Next::Gone,
        Attempt::Answered { retry_after_ms, .. } => retry_after_ms.unwrap_or(0).min(WAITS.max_ms),
        Attempt::Failed => 0,
    };
    if call.attempts >= MAX_ATTEMPTS {
        return Next::Dead;
    }
    let wait_ms = WAITS.delay_ms(call.attempts.saturating_sub(1), fraction).max(asked_ms);
    Next::Again { at: now.plus_ms(i64::try_from(wait_ms).unwrap_or(i64::MAX)) }
}

/// Whether a message that says when it was sent is taken now.
pub fn is_timely(sent_s: i64, now: Timestamp) -> bool {
    let now_s = now.as_micros() / 1_000_000;
    now_s.abs_diff(sent_s) <= TOLERANCE_S.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use warren_model::{
        EventKind, Network, OrgId, Principal, WebhookCallId, WebhookCallState, WebhookId, WorkspaceId,
    };

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000_000);

    fn webhook() -> Webhook {
        Webhook {
            id: WebhookId::from_parts(NOW, [1; 10]),
            org_id: OrgId::DEFAULT,
            name: "a".into(),
            network: Network::Webhook,
            url: "https://a.example/".into(),
            kinds: Vec::new(),
            workspace_id: None,
            since: 5,
            is_active: true,
            created_at: NOW,
            created_by: Principal::system("test"),
        }
    }

    fn event(kind: EventKind) -> Event {
        Event {
            seq: 6,
            at: NOW,
            kind,
            org_id: OrgId::DEFAULT,
            workspace_id: Some(WorkspaceId::from_parts(NOW, [2; 10])),
            principal: Principal::system("test"),
            data: Value::Null.into(),
        }
    }

    fn call(attempts: u32) -> WebhookCall {
        WebhookCall {
            id: WebhookCallId::from_parts(NOW, [3; 10]),
            webhook_id: webhook().id,
            seq: 6,
            kind: EventKind::WorkspaceCreated,
            body: String::new(),
            state: WebhookCallState::Queued,
            attempts,
            due_at: None,
            last_status: None,
            last_error: None,
            created_at: NOW,
            ended_at: None,
        }
    }

    // X52
    #[test]
    fn an_event_is_owed_to_those_who_asked_for_it_and_came_before_it() {
        let created = event(EventKind::WorkspaceCreated);
        assert!(is_owed(&webhook(), &created));
        let chosen = Webhook { kinds: vec![EventKind::WorkspaceRemoved], ..webhook() };
        assert!(!is_owed(&chosen, &created) && is_owed(&chosen, &event(EventKind::WorkspaceRemoved)));
        let other = WorkspaceId::from_parts(NOW, [9; 10]);
        let refusing = [
            Webhook { is_active: false, ..webhook() },
            Webhook { since: 6, ..webhook() },
            Webhook { org_id: OrgId::from_bytes([9; 16]), ..webhook() },
            Webhook { workspace_id: Some(other), ..webhook() },
        ];
        assert!(refusing.iter().all(|webhook| !is_owed(webhook, &created)));
    }

    // X52
    #[test]
    fn what_webhooks_do_is_told_to_no_webhook() {
        for kind in EventKind::ALL.iter().filter(|kind| kind.as_str().starts_with("webhook.")) {
            assert!(!is_owed(&webhook(), &event(*kind)), "{}", kind.as_str());
        }
    }

    // X52
    #[test]
    fn an_attempt_is_repeated_with_growing_waits_and_then_given_up() {
        let failed = |attempts| after(&call(attempts), Attempt::Failed, NOW, 0.5);
        assert_eq!(failed(1), Next::Again { at: NOW.plus_ms(5_000) });
        assert_eq!(failed(2), Next::Again { at: NOW.plus_ms(20_000) });
        assert_eq!(failed(9), Next::Again { at: NOW.plus_ms(3_600_000) });
        assert_eq!(failed(MAX_ATTEMPTS), Next::Dead);
        let answered = |status, retry_after_ms| Attempt::Answered { status, retry_after_ms };
        assert_eq!(after(&call(1), answered(204, None), NOW, 0.5), Next::Delivered);
        assert_eq!(after(&call(1), answered(410, None), NOW, 0.5), Next::Gone);
        let asked = after(&call(1), answered(503, Some(60_000)), NOW, 0.5);
        assert_eq!(asked, Next::Again { at: NOW.plus_ms(60_000) });
        let greedy = after(&call(1), answered(429, Some(u64::MAX)), NOW, 0.5);
        assert_eq!(greedy, Next::Again { at: NOW.plus_ms(3_600_000) }, "nobody puts us off for ever");
    }

    // X52
    #[test]
    fn a_message_is_taken_within_five_minutes_of_its_time() {
        let now_s = NOW.as_micros() / 1_000_000;
        assert!(is_timely(now_s, NOW) && is_timely(now_s - 300, NOW) && is_timely(now_s + 300, NOW));
        for odd in [now_s - 301, now_s + 301, 0, i64::MIN, i64::MAX] {
            assert!(!is_timely(odd, NOW), "{odd}");
        }
    }

    proptest! {
        // X52
        #[test]
        fn every_call_ends(status in 100_u16..600, retry in proptest::option::of(any::<u64>()), fraction in 0.0..1.0_f64) {
            let mut attempts = 1;
            while let Next::Again { at } = after(&call(attempts), Attempt::Answered { status, retry_after_ms: retry }, NOW, fraction) {
                prop_assert!(at > NOW && at <= NOW.plus_ms(2 * 3_600_000));
                attempts += 1;
                prop_assert!(attempts <= MAX_ATTEMPTS);
            }
        }
    }
}

//! What happened becomes what is owed, and what is owed is delivered: at least once, signed, with waits between the
//! attempts, and given up in the end.
//!
//! The rows are the truth. Whom an event is owed to is decided by whoever moves the cursor, in one transaction, so that of
//! several replicas one does; an attempt is claimed by a compare-and-set that also says when it counts as lost, so that a
//! crash costs a repetition and no call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::{Notify, watch};
use tracing::info_span;
use warren_fleet::{BackgroundLoop, Tally};
use warren_model::event::{WebhookCallDead, WebhookStopped};
use warren_model::{
    ErrorCode, Event, Principal, Timestamp, Webhook, WebhookCall, WebhookCallId, WebhookCallState, WebhookId,
    WebhookStopReason,
};
use warren_outbound::{CallError, CallLimits};
use warren_rules::messages::webhooks::{Attempt, Next, after, is_owed};
use warren_service::{Error, Sealer};
use warren_store::{Error as StoreError, EventQuery, WriteTx};

use super::network::speaker_of;
use super::{Webhooks, event, secret_name};

/// How often what is due is asked for when nothing happens.
const LOOK: Duration = Duration::from_secs(1);
/// Between two looks, however fast events come.
const PACE: Duration = Duration::from_millis(20);
/// Events that are looked at in one transaction.
const BATCH: u32 = 200;
/// Calls of one webhook under way at once, here: a slow receiver holds up nobody else.
const AT_ONCE: usize = 4;
/// Webhooks that are looked after in one round.
const MAX_DUE: u32 = 200;
/// Longer than an attempt takes; a claim that is older was lost with its process.
const CLAIM_MS: i64 = 60_000;
/// How long calls that have ended are kept.
pub(crate) const KEEP_CALLS_MS: i64 = 7 * 24 * 3_600_000;

const LIMITS: CallLimits = CallLimits {
    first_byte: Duration::from_secs(15),
    idle: Duration::from_secs(5),
    whole: Duration::from_secs(30),
    header_bytes: 32 << 10,
    body_bytes: 64 << 10,
    line_bytes: 64 << 10,
    json: warren_rules::text::json_bounds::JsonBounds { max_depth: 64, max_values: 10_000 },
};

/// What goes on here, in this process.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Something may be due earlier than the next look.
    sooner: Notify,
    under_way: Mutex<HashMap<WebhookId, usize>>,
}

impl Work {
    pub(crate) fn notify_one(&self) {
        self.sooner.notify_one();
    }

    fn room(&self, id: WebhookId) -> usize {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        AT_ONCE.saturating_sub(under_way.get(&id).copied().unwrap_or(0))
    }
}

/// One place of those that a webhook has; given back when the attempt ends, however it ends.
struct Place {
    work: Arc<Work>,
    id: WebhookId,
}

impl Place {
    fn take(work: &Arc<Work>, id: WebhookId) -> Self {
        *work.under_way.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default() += 1;
        Self { work: Arc::clone(work), id }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = self.work.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = under_way.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.id);
            }
        }
        drop(under_way);
        self.work.notify_one();
    }
}

impl Webhooks {
    /// What tells webhooks what happened, for whoever looks after it.
    pub(crate) fn background_loop(&self) -> impl BackgroundLoop + 'static {
        let newest = tokio::sync::Mutex::new(self.context.store().newest_event());
        WebhooksLoop { webhooks: self.clone(), newest }
    }

    async fn deliver_webhooks_once(&self) -> Result<(), Error> {
        while self.owe_events().await? {}
        let now = self.context.now();
        let due =
            self.context.store().read(move |tx| tx.due_webhooks(now, MAX_DUE).map_err(Error::from)).await?;
        for id in due {
            let room = self.work.room(id);
            if room == 0 || self.context.stopping().is_cancelled() {
                continue;
            }
            let claimed = match self.claim_calls(id, room).await {
                // One that cannot be read has nothing to do with the others.
                Err(error) if error.code == ErrorCode::DatabaseDamaged => {
                    tracing::warn!(webhook.id = %id, %error, "what is owed to a webhook cannot be read");
                    continue;
                }
                claimed => claimed?,
            };
            for (webhook, call) in claimed {
                let (service, place) = (self.clone(), Place::take(&self.work, id));
                let span = info_span!("exchange.webhooks.call", webhook.id = %id, webhook.call.id = %call.id);
                self.context.spawn(span, async move {
                    // A stop waits for no slow receiver: the claim ends by itself, and the call is made once more.
                    tokio::select! {
                        () = service.context.stopping().cancelled() => {}
                        () = service.attempt_call(&webhook, call) => {}
                    }
                    drop(place);
                });
            }
        }
        Ok(())
    }

    /// Decides for the next events whom they are owed to. Returns true if there may be more.
    async fn owe_events(&self) -> Result<bool, Error> {
        let now = self.context.now();
        let webhooks = self.context.store().read(|tx| tx.active_webhooks().map_err(Error::from)).await?;
        if self.context.readable(webhooks).is_empty() {
            return Ok(false);
        }
        let (entropy, service) = (Arc::clone(self.context.entropy()), self.clone());
        let owed = self
            .context
            .store()
            .write(move |tx| {
                let seen = tx.webhook_cursor()?;
                let page =
                    tx.events(&EventQuery { after: seen, org_id: None, workspace_id: None, limit: BATCH })?;
                let page = service.context.listed(page);
                // What cannot be read is owed to nobody, and keeps nobody waiting.
                let last = page.next.or_else(|| page.rows.last().map(|event| event.seq));
                let Some(last) = last else { return Ok(false) };
                // As of this transaction: one that was made meanwhile must not miss its first event.
                let webhooks = tx.active_webhooks()?.rows;
                for event in &page.rows {
                    for webhook in webhooks.iter().filter(|webhook| is_owed(webhook, event)) {
                        let id = entropy.id(now);
                        tx.insert_webhook_call(&new_call(id, webhook, event, now))?;
                    }
                }
                tx.move_webhook_cursor(seen, last)?;
                Ok::<_, Error>(page.next.is_some())
            })
            .await;
        match owed {
            // Another replica moved it; what is there now is looked at in the next round.
            Err(error) if error.code == ErrorCode::VersionConflict => Ok(false),
            other => other,
        }
    }

    /// Takes up to `room` calls of a webhook for a while.
    async fn claim_calls(&self, id: WebhookId, room: usize) -> Result<Vec<(Webhook, WebhookCall)>, Error> {
        let (now, room) = (self.context.now(), u32::try_from(room).unwrap_or(u32::MAX));
        let service = self.clone();
        self.context
            .store()
            .write(move |tx| {
                let Some(webhook) = tx.webhook(id)?.filter(|webhook| webhook.is_active) else {
                    return Ok(Vec::new());
                };
                let mut claimed = Vec::new();
                for call in service.context.readable(tx.due_webhook_calls(id, now, room)?) {
                    let known = call.attempts;
                    let call =
                        WebhookCall { attempts: known + 1, due_at: Some(now.plus_ms(CLAIM_MS)), ..call };
                    match tx.update_webhook_call(&call, known) {
                        Ok(()) => claimed.push((webhook.clone(), call)),
                        Err(StoreError::Conflict) => {}
                        Err(error) => return Err(Error::from(error)),
                    }
                }
                Ok(claimed)
            })
            .await
    }

    async fn attempt_call(&self, webhook: &Webhook, call: WebhookCall) {
        let (attempt, error) = self.tell(webhook, &call).await;
        let now = self.context.now();
        let next = after(&call, attempt, now, self.context.entropy().fraction());
        let status = match attempt {
            Attempt::Answered { status, .. } => Some(u32::from(status)),
            Attempt::Failed => None,
        };
        let call = WebhookCall { last_status: status, last_error: error.map(str::to_owned), ..call };
        let (id, org_id) = (call.id, webhook.org_id);
        let settled = self.context.store().write(move |tx| settle(tx, call.clone(), org_id, next, now)).await;
        if let Err(error) = settled {
            // The claim ends by itself, and the call is made once more.
            tracing::warn!(webhook.call.id = %id, %error, "what became of a webhook's call could not be written");
        }
    }

    async fn tell(&self, webhook: &Webhook, call: &WebhookCall) -> (Attempt, Option<&'static str>) {
        let id = webhook.id;
        let sealed = self
            .context
            .store()
            .read(move |tx| tx.secret(Sealer::SYSTEM_SECRETS, &secret_name(id)).map_err(Error::from))
            .await;
        let secret = match sealed {
            Ok(Some(sealed)) => self.secrets.open(&sealed),
            Ok(None) => Err(Error::new(ErrorCode::SecretUnreadable)),
            Err(error) => Err(error),
        };
        let Ok(secret) = secret else {
            tracing::error!(webhook.id = %id, "a webhook's secret cannot be opened; nothing is sent unsigned");
            return (Attempt::Failed, Some("secret_unreadable"));
        };
        let composed = speaker_of(webhook.network).compose(webhook, call, &secret, self.context.now());
        match self.connector.call(composed.limits(LIMITS)).await {
            Ok(answer) => {
                let retry_after_ms =
                    answer.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let status = answer.status.as_u16();
                let error = (!answer.status.is_success()).then_some("status");
                (Attempt::Answered { status, retry_after_ms }, error)
            }
            Err(CallError::Refused(_)) => (Attempt::Failed, Some("call_refused")),
            Err(CallError::BadAnswer(_)) => (Attempt::Failed, Some("bad_answer")),
            Err(
                CallError::NobodyListens { .. }
                | CallError::Unreachable { .. }
                | CallError::Untrusted { .. }
                | CallError::NoAnswer { .. },
            ) => (Attempt::Failed, Some("no_answer")),
        }
    }
}

#[derive(Debug)]
struct WebhooksLoop {
    webhooks: Webhooks,
    newest: tokio::sync::Mutex<watch::Receiver<u64>>,
}

#[async_trait]
impl BackgroundLoop for WebhooksLoop {
    fn name(&self) -> &'static str {
        "webhooks"
    }

    fn meaning(&self) -> &'static str {
        "Tells webhooks what happened."
    }

    fn interval(&self) -> Duration {
        LOOK
    }

    async fn run(&self, _tally: &mut Tally) -> Result<(), Error> {
        self.newest.lock().await.borrow_and_update();
        self.webhooks.deliver_webhooks_once().await
    }

    async fn rest(&self) {
        tokio::time::sleep(PACE).await;
        let mut newest = self.newest.lock().await;
        tokio::select! {
            _ = newest.changed() => {}
            () = self.webhooks.work.sooner.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

fn settle(
    tx: &mut dyn WriteTx,
    call: WebhookCall,
    org_id: warren_model::OrgId,
    next: Next,
    now: Timestamp,
) -> Result<(), Error> {
    let attempts = call.attempts;
    let (state, due_at) = match next {
        Next::Again { at } => (WebhookCallState::Queued, Some(at)),
        Next::Delivered => (WebhookCallState::Delivered, None),
        Next::Dead | Next::Gone => (WebhookCallState::Dead, None),
    };
    let ended_at = due_at.is_none().then_some(now);
    let call = WebhookCall { state, due_at, ended_at, ..call };
    match tx.update_webhook_call(&call, attempts) {
        Ok(()) => {}
        // The webhook was removed, or the claim was lost and somebody else is at it.
        Err(StoreError::Conflict) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let (by, id) = (Principal::system("exchange"), call.webhook_id);
    if matches!(next, Next::Dead | Next::Gone) {
        let data = WebhookCallDead { webhook_id: id, call_id: call.id, attempts, reason: call.last_error };
        tx.append_event(&event(org_id, None, &by, now, data))?;
    }
    if next == Next::Gone && tx.set_webhook_active(id, false)? {
        let data = WebhookStopped { webhook_id: id, reason: WebhookStopReason::Gone };
        tx.append_event(&event(org_id, None, &by, now, data))?;
    }
    Ok(())
}

fn new_call(id: WebhookCallId, webhook: &Webhook, event: &Event, now: Timestamp) -> WebhookCall {
    let body = json!({
        "type": event.kind.as_str(),
        "timestamp": event.at.to_string(),
        "data": {
            "seq": event.seq,
            "workspace_id": event.workspace_id,
            "principal": event.principal.to_string(),
            "details": event.data,
        },
    });
    WebhookCall {
        id,
        webhook_id: webhook.id,
        seq: event.seq,
        kind: event.kind,
        body: body.to_string(),
        state: WebhookCallState::Queued,
        attempts: 0,
        due_at: Some(now),
        last_status: None,
        last_error: None,
        created_at: now,
        ended_at: None,
    }
}

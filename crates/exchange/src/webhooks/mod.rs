//! Other systems (X52): webhooks that are told what happened, and channels through which they speak to a workspace.
//!
//! ```text
//!   events ── cursor ──▶ webhook_calls ── attempts, signed ──▶ receiver        delivery.rs
//!   sender ── signed ──▶ channel ── a message of the channel's own ──▶ queue    channels.rs
//! ```
//!
//! What either side must know to believe the other is one shared secret, sealed with Warren's own.

mod channels;
mod delivery;
mod network;

pub use channels::{Channels, CreateChannel};
pub(crate) use delivery::KEEP_CALLS_MS;
use delivery::Work;
pub use network::{Channel, Incoming, SharedSecret, StandardWebhooks, Unverified};

use std::sync::Arc;

use url::Url;
use warren_model::event::{WebhookCreated, WebhookRemoved, WebhookResumed, WebhookStopped};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, EventKind, Id, IdKind, MadeWithToken,
    Network, NewEvent, OrgId, Principal, SealedSecret, SecretName, SecretValue, Timestamp, Webhook,
    WebhookCall, WebhookCallId, WebhookCallState, WebhookId, WebhookStopReason, WorkspaceId,
};
use warren_outbound::Connector;
use warren_service::{Action, Actor, Context, Error, Identity, Sealer};
use warren_store::{Page, ReadTx, WebhookCallQuery, WriteTx};
use zeroize::Zeroizing;

/// A webhook that somebody asks for.
#[derive(Debug, Clone)]
pub struct CreateWebhook {
    pub name: String,
    pub url: String,
    /// Empty: all.
    pub kinds: Vec<EventKind>,
    pub workspace_id: Option<WorkspaceId>,
    /// One that the receiver has already; absent: a new one.
    pub secret: Option<String>,
}

/// Receivers outside that are told of events.
#[derive(Debug, Clone)]
pub struct Webhooks {
    context: Context,
    connector: Connector,
    secrets: SharedSecrets,
    work: Arc<Work>,
}

impl Webhooks {
    pub(crate) fn new(context: Context, connector: Connector, secrets: SharedSecrets) -> Self {
        Self { context, connector, secrets, work: Arc::default() }
    }

    /// Makes a webhook; its secret is in this answer and nowhere else. It is told of what happens from now on.
    #[tracing::instrument(name = "exchange.webhooks.create", skip_all)]
    pub async fn create(
        &self,
        who: &Identity,
        create: CreateWebhook,
    ) -> Result<(Webhook, SharedSecret), Error> {
        may_change(who)?;
        check_name(&create.name)?;
        if create.kinds.len() > Webhook::MAX_KINDS {
            let detail = format!("events: at most {}", Webhook::MAX_KINDS);
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let url = self.connector.check(&create.url).await?.url;
        let secret = self.secrets.new_or_given(create.secret.as_deref())?;
        let now = self.context.now();
        let webhook = Webhook {
            id: self.context.entropy().id(now),
            org_id: who.token.org_id,
            name: create.name,
            network: Network::Webhook,
            url: url.to_string(),
            kinds: create.kinds,
            workspace_id: create.workspace_id,
            since: 0,
            is_active: true,
            created_at: now,
            created_by: who.principal.clone(),
        };
        let sealed = self.secrets.seal(webhook.id, &secret, &who.principal, now);
        let (row, actor, max) = (webhook.clone(), Actor::of(who), self.context.limits().max_webhooks_per_org);
        self.context.store().write(move |tx| insert(tx, row.clone(), &sealed, &actor, max)).await?;
        Ok((webhook, secret))
    }

    #[tracing::instrument(name = "exchange.webhooks.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        after: Option<WebhookId>,
        limit: u32,
    ) -> Result<Page<Webhook, WebhookId>, Error> {
        who.may_in_own_org(Action::ReadEvents)?;
        let org_id = who.token.org_id;
        let page = self
            .context
            .store()
            .read(move |tx| tx.webhooks(org_id, after, limit).map_err(Error::from))
            .await?;
        Ok(self.context.listed(page))
    }

    #[tracing::instrument(name = "exchange.webhooks.get", skip_all, fields(webhook.id = %id))]
    pub async fn get(&self, who: &Identity, id: WebhookId) -> Result<Webhook, Error> {
        who.may_in_own_org(Action::ReadEvents)?;
        let visible = who.visible_org();
        self.context.store().read(move |tx| own_webhook(tx, visible, id)).await
    }

    /// Stops it, or lets it go on: what was owed when it stopped is still owed, what happened meanwhile is not.
    #[tracing::instrument(name = "exchange.webhooks.set_active", skip_all, fields(webhook.id = %id))]
    pub async fn set_active(&self, who: &Identity, id: WebhookId, is_active: bool) -> Result<Webhook, Error> {
        may_change(who)?;
        let (visible, now, actor, by) =
            (who.visible_org(), self.context.now(), Actor::of(who), who.principal.clone());
        self.context
            .store()
            .write(move |tx| {
                let webhook = own_webhook(tx, visible, id)?;
                if is_active {
                    skip_what_nobody_is_owed(tx)?;
                }
                if tx.set_webhook_active(id, is_active)? {
                    let data: EventData = if is_active {
                        WebhookResumed { webhook_id: id }.into()
                    } else {
                        WebhookStopped { webhook_id: id, reason: WebhookStopReason::Asked }.into()
                    };
                    tx.append_event(&event(webhook.org_id, None, &by, now, data))?;
                    let details = AuditDetails::WebhookChanged { is_active };
                    let target = (AuditAction::WebhookChanged, AuditTargetKind::Webhook);
                    tx.append_audit(&actor.did(now, target.0, target.1, &id.to_string(), &details))?;
                }
                Ok(Webhook { is_active, ..webhook })
            })
            .await
    }

    #[tracing::instrument(name = "exchange.webhooks.remove", skip_all, fields(webhook.id = %id))]
    pub async fn remove(&self, who: &Identity, id: WebhookId) -> Result<(), Error> {
        may_change(who)?;
        let (visible, now, actor, by) =
            (who.visible_org(), self.context.now(), Actor::of(who), who.principal.clone());
        self.context
            .store()
            .write(move |tx| {
                let webhook = own_webhook(tx, visible, id)?;
                tx.delete_webhook(id)?;
                tx.delete_secret(Sealer::SYSTEM_SECRETS, &secret_name(id))?;
                let data = WebhookRemoved { webhook_id: id };
                tx.append_event(&event(webhook.org_id, None, &by, now, data))?;
                let (action, kind) = (AuditAction::WebhookRemoved, AuditTargetKind::Webhook);
                Ok(tx.append_audit(&actor.did(now, action, kind, &id.to_string(), &AuditDetails::None))?)
            })
            .await
    }

    /// What was and is owed to it, the youngest first.
    #[tracing::instrument(name = "exchange.webhooks.calls", skip_all, fields(webhook.id = %query.webhook_id))]
    pub async fn calls(
        &self,
        who: &Identity,
        query: WebhookCallQuery,
    ) -> Result<Page<WebhookCall, WebhookCallId>, Error> {
        self.get(who, query.webhook_id).await?;
        let page = self.context.store().read(move |tx| tx.webhook_calls(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// Puts a call that has ended back into the queue, under the same id.
    #[tracing::instrument(name = "exchange.webhooks.redeliver", skip_all, fields(webhook.id = %id, webhook.call.id = %call_id))]
    pub async fn redeliver(
        &self,
        who: &Identity,
        id: WebhookId,
        call_id: WebhookCallId,
    ) -> Result<WebhookCall, Error> {
        may_change(who)?;
        self.get(who, id).await?;
        let now = self.context.now();
        let call = self
            .context
            .store()
            .write(move |tx| {
                let not_found = || Error::new(ErrorCode::WebhookNotFound);
                tx.webhook_call(call_id)?.filter(|call| call.webhook_id == id).ok_or_else(not_found)?;
                tx.requeue_webhook_call(call_id, now)?;
                tx.webhook_call(call_id)?.ok_or_else(not_found)
            })
            .await?;
        debug_assert_eq!(call.state, WebhookCallState::Queued);
        self.work.notify_one();
        Ok(call)
    }
}

/// Secrets that Warren shares with receivers and senders outside, sealed with its own.
#[derive(Debug, Clone)]
pub(crate) struct SharedSecrets {
    context: Context,
    sealer: Sealer,
}

impl SharedSecrets {
    pub(crate) fn new(context: Context, sealer: Sealer) -> Self {
        Self { context, sealer }
    }

    fn new_or_given(&self, given: Option<&str>) -> Result<SharedSecret, Error> {
        match given {
            None => Ok(SharedSecret::of(&self.context.entropy().secret())),
            Some(text) => SharedSecret::parse(text).ok_or_else(|| {
                let detail = "secret: expected `whsec_` and 24 to 64 bytes in base64";
                Error::with_detail(ErrorCode::InvalidRequest, detail)
            }),
        }
    }

    fn seal<K: IdKind>(
        &self,
        id: Id<K>,
        secret: &SharedSecret,
        by: &Principal,
        now: Timestamp,
    ) -> SealedSecret {
        let value = SecretValue::new(Zeroizing::new(secret.reveal().to_owned())).expect("a secret is text");
        self.sealer.seal_system_secret(&secret_name(id), &value, by, now)
    }

    /// What was sealed for a webhook or channel.
    fn open(&self, row: &SealedSecret) -> Result<SharedSecret, Error> {
        let value = self.sealer.open_system_secret(row)?;
        SharedSecret::parse(value.reveal()).ok_or_else(|| Error::new(ErrorCode::SecretUnreadable))
    }
}

fn insert(
    tx: &mut dyn WriteTx,
    mut webhook: Webhook,
    sealed: &SealedSecret,
    actor: &Actor,
    max: u32,
) -> Result<(), Error> {
    if tx.count_webhooks(webhook.org_id)? >= u64::from(max) {
        return Err(Error::new(ErrorCode::WebhookLimit));
    }
    if let Some(id) = webhook.workspace_id {
        let row = tx.workspace(id)?.filter(|row| row.org_id == webhook.org_id);
        row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
    }
    webhook.since = tx.newest_event_seq()?;
    skip_what_nobody_is_owed(tx)?;
    tx.insert_webhook(&webhook)?;
    actor.note_made(tx, MadeWithToken::Webhook(webhook.id))?;
    tx.insert_secret(sealed)?;
    let origin = Url::parse(&webhook.url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let data = WebhookCreated { webhook_id: webhook.id, name: webhook.name.clone(), origin };
    let (at, by) = (webhook.created_at, &webhook.created_by);
    let event = event(webhook.org_id, webhook.workspace_id, by, at, data);
    tx.append_event(&event)?;
    let (action, kind) = (AuditAction::WebhookCreated, AuditTargetKind::Webhook);
    let details = AuditDetails::Event(event.data);
    Ok(tx.append_audit(&actor.did(at, action, kind, &webhook.id.to_string(), &details))?)
}

/// While no webhook is active nobody looks at the events; whoever is the first again is not owed them.
fn skip_what_nobody_is_owed(tx: &mut dyn WriteTx) -> Result<(), Error> {
    let active = tx.active_webhooks()?;
    if active.rows.is_empty() && active.unreadable.is_empty() {
        let (seen, newest) = (tx.webhook_cursor()?, tx.newest_event_seq()?);
        tx.move_webhook_cursor(seen, newest.max(seen))?;
    }
    Ok(())
}

/// A webhook is standing access for somebody outside, as a token is, and to events: it takes the right to hand out the
/// one and to read the other.
fn may_change(who: &Identity) -> Result<(), Error> {
    who.may_in_own_org(Action::ReadEvents)?;
    who.may_in_own_org(Action::TellOutside)
}

fn own_webhook<T: ReadTx + ?Sized>(
    tx: &mut T,
    visible: Option<OrgId>,
    id: WebhookId,
) -> Result<Webhook, Error> {
    let webhook = tx.webhook(id)?.filter(|webhook| visible.is_none_or(|org| org == webhook.org_id));
    webhook.ok_or_else(|| Error::new(ErrorCode::WebhookNotFound))
}

fn check_name(name: &str) -> Result<(), Error> {
    let has_good_length = (1..=Webhook::MAX_NAME_BYTES).contains(&name.len());
    if has_good_length && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!("name: expected 1 to {} bytes of text", Webhook::MAX_NAME_BYTES);
    Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
}

/// Under which a webhook's or channel's secret is kept.
fn secret_name<K: IdKind>(id: Id<K>) -> SecretName {
    Sealer::system_secret_name(id)
}

fn event(
    org_id: OrgId,
    workspace_id: Option<WorkspaceId>,
    by: &Principal,
    at: Timestamp,
    data: impl Into<EventData>,
) -> NewEvent {
    NewEvent { at, org_id, workspace_id, principal: by.clone(), data: data.into() }
}

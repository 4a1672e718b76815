//! Doors through which other systems send messages to a workspace. What comes in is a message of the channel's own, and
//! never one of a person (X4).

use warren_fleet::Fleet;
use warren_model::event::{ChannelCreated, ChannelRemoved};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, Channel, ChannelId, ErrorCode, MadeWithToken, Network,
    Principal, WorkspaceId,
};
use warren_rules::messages::webhooks::MAX_INCOMING_BYTES;
use warren_service::{Action, Actor, Context, Error, Identity, Sealer};
use warren_store::Batch;

use super::network::{Incoming, SharedSecret, speaker_of};
use super::{SharedSecrets, check_name, event, secret_name};
use crate::messages::{Accepted, Messages, NewMessage, Sender};

/// A channel that somebody asks for.
#[derive(Debug, Clone)]
pub struct CreateChannel {
    pub name: String,
    /// One that the sender has already; absent: a new one.
    pub secret: Option<String>,
}

/// Ways in which other systems send messages to a workspace.
#[derive(Debug, Clone)]
pub struct Channels {
    context: Context,
    fleet: Fleet,
    secrets: SharedSecrets,
    messages: Messages,
}

impl Channels {
    pub(crate) fn new(context: Context, fleet: Fleet, secrets: SharedSecrets, messages: Messages) -> Self {
        Self { context, fleet, secrets, messages }
    }

    /// Makes a channel; its secret is in this answer and nowhere else.
    #[tracing::instrument(name = "exchange.channels.create", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn create(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        create: CreateChannel,
    ) -> Result<(Channel, SharedSecret), Error> {
        let workspace = self.fleet.workspaces.get(who, Action::WriteWorkspaces, workspace_id).await?;
        check_name(&create.name)?;
        let secret = self.secrets.new_or_given(create.secret.as_deref())?;
        let now = self.context.now();
        let channel = Channel {
            id: self.context.entropy().id(now),
            org_id: workspace.org_id,
            workspace_id,
            name: create.name,
            network: Network::Webhook,
            created_at: now,
            created_by: who.principal.clone(),
        };
        let sealed = self.secrets.seal(channel.id, &secret, &who.principal, now);
        let (row, actor, max) = (channel.clone(), Actor::of(who), self.context.limits().max_webhooks_per_org);
        self.context
            .store()
            .write(move |tx| {
                let known = tx.channels_of(workspace_id)?;
                if known.rows.len() + known.unreadable.len() >= max as usize {
                    return Err(Error::new(ErrorCode::WebhookLimit));
                }
                tx.insert_channel(&row)?;
                actor.note_made(tx, MadeWithToken::Channel(row.id))?;
                tx.insert_secret(&sealed)?;
                let data = ChannelCreated { channel_id: row.id, name: row.name.clone() };
                let event = event(row.org_id, Some(workspace_id), &row.created_by, now, data);
                tx.append_event(&event)?;
                let (action, kind) = (AuditAction::ChannelCreated, AuditTargetKind::Channel);
                Ok(tx.append_audit(&actor.did(
                    now,
                    action,
                    kind,
                    &row.id.to_string(),
                    &AuditDetails::Event(event.data.clone()),
                ))?)
            })
            .await?;
        Ok((channel, secret))
    }

    #[tracing::instrument(name = "exchange.channels.list", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn list(&self, who: &Identity, workspace_id: WorkspaceId) -> Result<Batch<Channel>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWorkspaces, workspace_id).await?;
        let found =
            self.context.store().read(move |tx| tx.channels_of(workspace_id).map_err(Error::from)).await?;
        self.context.tell_unreadable(&found.unreadable);
        Ok(found)
    }

    #[tracing::instrument(name = "exchange.channels.remove", skip_all, fields(workspace.id = %workspace_id, channel.id = %id))]
    pub async fn remove(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ChannelId,
    ) -> Result<(), Error> {
        self.fleet.workspaces.get(who, Action::WriteWorkspaces, workspace_id).await?;
        let (now, actor, by) = (self.context.now(), Actor::of(who), who.principal.clone());
        self.context
            .store()
            .write(move |tx| {
                let channel = tx.channel(id)?.filter(|channel| channel.workspace_id == workspace_id);
                let channel = channel.ok_or_else(|| Error::new(ErrorCode::ChannelNotFound))?;
                tx.delete_channel(id)?;
                tx.delete_secret(Sealer::SYSTEM_SECRETS, &secret_name(id))?;
                let data = ChannelRemoved { channel_id: id };
                tx.append_event(&event(channel.org_id, Some(workspace_id), &by, now, data))?;
                let (action, kind) = (AuditAction::ChannelRemoved, AuditTargetKind::Channel);
                Ok(tx.append_audit(&actor.did(now, action, kind, &id.to_string(), &AuditDetails::None))?)
            })
            .await
    }

    /// Takes what came in through a channel, if it is from whom it claims to be. That there is no such channel is told no
    /// differently from a wrong signature.
    #[tracing::instrument(name = "exchange.channels.receive", skip_all, fields(channel.id = %id))]
    pub async fn receive(&self, id: ChannelId, incoming: Incoming<'_>) -> Result<Accepted, Error> {
        let refused = || Error::new(ErrorCode::HookRefused);
        if incoming.body.len() > MAX_INCOMING_BYTES {
            let detail = format!("at most {MAX_INCOMING_BYTES} bytes");
            return Err(Error::with_detail(ErrorCode::PayloadTooLarge, detail));
        }
        let found = self
            .context
            .store()
            .read(move |tx| {
                let Some(channel) = tx.channel(id)? else { return Ok(None) };
                let sealed = tx.secret(Sealer::SYSTEM_SECRETS, &secret_name(id))?;
                Ok::<_, Error>(sealed.map(|sealed| (channel, sealed)))
            })
            .await?;
        let (channel, sealed) = found.ok_or_else(refused)?;
        let secret = self.secrets.open(&sealed)?;
        let now = self.context.now();
        let message = speaker_of(channel.network).receive(incoming, &secret, now).map_err(|_| refused())?;
        let sender = Sender { principal: Principal::channel(id), org_id: channel.org_id };
        self.messages.send_as(&sender, NewMessage::new(channel.workspace_id, message)).await
    }
}

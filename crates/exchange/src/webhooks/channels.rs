//! Doors through which other systems send messages to a workspace. What comes in is a message of the channel's own, and
//! never one of a person (X4).

use serde_json::json;
use warren_fleet::access::Action;
use warren_fleet::{Actor, Identity};
use warren_model::{
    AuditAction, AuditTargetKind, Channel, ChannelId, ErrorCode, EventKind, Network, Principal, WorkspaceId,
};
use warren_rules::messages::webhooks::MAX_INCOMING_BYTES;
use warren_store::Batch;

use super::network::{Incoming, SharedSecret, speaker_of};
use super::{check_name, event, secret_name};
use crate::{Accepted, Error, Exchange, Send, Sender};

/// A channel that somebody asks for.
#[derive(Debug, Clone)]
pub struct CreateChannel {
    pub name: String,
    /// One that the sender has already; absent: a new one.
    pub secret: Option<String>,
}

impl Exchange {
    /// Makes a channel; its secret is in this answer and nowhere else.
    pub async fn create_channel(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        create: CreateChannel,
    ) -> Result<(Channel, SharedSecret), Error> {
        let workspace = self.fleet().workspace(who, Action::WriteWorkspaces, workspace_id).await?;
        check_name(&create.name)?;
        let secret = self.shared_secret(create.secret.as_deref())?;
        let now = self.clock().now();
        let channel = Channel {
            id: self.entropy().id(now),
            org_id: workspace.org_id,
            workspace_id,
            name: create.name,
            network: Network::Webhook,
            created_at: now,
            created_by: who.principal.clone(),
        };
        let sealed = self.sealed(channel.id, &secret, &who.principal, now);
        let (row, actor, max) = (channel.clone(), Actor::of(who), self.fleet().limits().max_webhooks_per_org);
        self.store()
            .write(move |tx| {
                let known = tx.channels_of(workspace_id)?;
                if known.rows.len() + known.unreadable.len() >= max as usize {
                    return Err(Error::new(ErrorCode::WebhookLimit));
                }
                tx.insert_channel(&row)?;
                tx.insert_secret(&sealed)?;
                let data = json!({ "channel_id": row.id, "name": row.name });
                let (kind, by) = (EventKind::ChannelCreated, &row.created_by);
                tx.append_event(&event(row.org_id, Some(workspace_id), kind, by, now, data.clone()))?;
                let (action, kind) = (AuditAction::ChannelCreated, AuditTargetKind::Channel);
                Ok(tx.append_audit(&actor.did(now, action, kind, &row.id.to_string(), data))?)
            })
            .await?;
        Ok((channel, secret))
    }

    pub async fn channels(&self, who: &Identity, workspace_id: WorkspaceId) -> Result<Batch<Channel>, Error> {
        self.fleet().workspace(who, Action::ReadWorkspaces, workspace_id).await?;
        let found = self.store().read(move |tx| tx.channels_of(workspace_id).map_err(Error::from)).await?;
        self.fleet().context().tell_unreadable(&found.unreadable);
        Ok(found)
    }

    pub async fn remove_channel(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ChannelId,
    ) -> Result<(), Error> {
        self.fleet().workspace(who, Action::WriteWorkspaces, workspace_id).await?;
        let (now, actor, by) = (self.clock().now(), Actor::of(who), who.principal.clone());
        self.store()
            .write(move |tx| {
                let channel = tx.channel(id)?.filter(|channel| channel.workspace_id == workspace_id);
                let channel = channel.ok_or_else(|| Error::new(ErrorCode::ChannelNotFound))?;
                tx.delete_channel(id)?;
                tx.delete_secret(warren_service::Sealer::SYSTEM_SECRETS, &secret_name(id))?;
                let (data, kind) = (json!({ "channel_id": id }), EventKind::ChannelRemoved);
                tx.append_event(&event(channel.org_id, Some(workspace_id), kind, &by, now, data))?;
                let (action, kind) = (AuditAction::ChannelRemoved, AuditTargetKind::Channel);
                Ok(tx.append_audit(&actor.did(now, action, kind, &id.to_string(), json!({})))?)
            })
            .await
    }

    /// Takes what came in through a channel, if it is from whom it claims to be. That there is no such channel is told no
    /// differently from a wrong signature.
    pub async fn receive(&self, id: ChannelId, incoming: Incoming<'_>) -> Result<Accepted, Error> {
        let refused = || Error::new(ErrorCode::HookRefused);
        if incoming.body.len() > MAX_INCOMING_BYTES {
            let detail = format!("at most {MAX_INCOMING_BYTES} bytes");
            return Err(Error::with_detail(ErrorCode::PayloadTooLarge, detail));
        }
        let found = self
            .store()
            .read(move |tx| {
                let Some(channel) = tx.channel(id)? else { return Ok(None) };
                let sealed = tx.secret(warren_service::Sealer::SYSTEM_SECRETS, &secret_name(id))?;
                Ok::<_, Error>(sealed.map(|sealed| (channel, sealed)))
            })
            .await?;
        let (channel, sealed) = found.ok_or_else(refused)?;
        let secret = self.opened(&sealed)?;
        let now = self.clock().now();
        let message = speaker_of(channel.network).receive(incoming, &secret, now).map_err(|_| refused())?;
        let sender = Sender { principal: Principal::channel(id), org_id: channel.org_id };
        self.send_as(&sender, Send::new(channel.workspace_id, message)).await
    }
}

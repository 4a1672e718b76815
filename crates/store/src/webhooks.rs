//! Webhooks, the calls that are owed to them, and channels.

use warren_model::{
    Channel, ChannelId, OrgId, Timestamp, Webhook, WebhookCall, WebhookCallId, WebhookCallState, WebhookId,
    WorkspaceId,
};

use crate::{Batch, Error, Page};

/// Calls of one webhook, the youngest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCallQuery {
    pub webhook_id: WebhookId,
    pub state: Option<WebhookCallState>,
    /// Only those older than this one.
    pub before: Option<WebhookCallId>,
    pub limit: u32,
}

pub trait WebhookReads {
    fn webhook(&mut self, id: WebhookId) -> Result<Option<Webhook>, Error>;
    /// By id, which is by age.
    fn webhooks(
        &mut self,
        org_id: OrgId,
        after: Option<WebhookId>,
        limit: u32,
    ) -> Result<Page<Webhook, WebhookId>, Error>;
    /// Those of all orgs that are told of events now.
    fn active_webhooks(&mut self) -> Result<Batch<Webhook>, Error>;
    fn count_webhooks(&mut self, org_id: OrgId) -> Result<u64, Error>;
    fn webhook_call(&mut self, id: WebhookCallId) -> Result<Option<WebhookCall>, Error>;
    fn webhook_calls(&mut self, query: &WebhookCallQuery) -> Result<Page<WebhookCall, WebhookCallId>, Error>;
    /// Active webhooks for which something is due at `now`.
    fn due_webhooks(&mut self, now: Timestamp, limit: u32) -> Result<Vec<WebhookId>, Error>;
    /// What is due for one of them, the longest overdue first.
    fn due_webhook_calls(
        &mut self,
        webhook_id: WebhookId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Batch<WebhookCall>, Error>;
    /// The last event for which it was decided whom it is owed to.
    fn webhook_cursor(&mut self) -> Result<u64, Error>;
    fn channel(&mut self, id: ChannelId) -> Result<Option<Channel>, Error>;
    /// All of a workspace; there are few.
    fn channels_of(&mut self, workspace_id: WorkspaceId) -> Result<Batch<Channel>, Error>;
}

pub trait WebhookWrites {
    fn insert_webhook(&mut self, webhook: &Webhook) -> Result<(), Error>;
    /// Starts or stops it. Returns whether this call changed anything.
    fn set_webhook_active(&mut self, id: WebhookId, is_active: bool) -> Result<bool, Error>;
    /// With the calls that are owed to it. Returns whether there was one.
    fn delete_webhook(&mut self, id: WebhookId) -> Result<bool, Error>;
    /// Moves the cursor, or fails with `Conflict` if somebody else did.
    fn move_webhook_cursor(&mut self, from: u64, to: u64) -> Result<(), Error>;
    /// Without effect if this event is owed to this webhook already.
    fn insert_webhook_call(&mut self, call: &WebhookCall) -> Result<(), Error>;
    /// Writes what changes about a call, or fails with `Conflict` unless it stands at this attempt and has not ended.
    fn update_webhook_call(&mut self, call: &WebhookCall, known_attempts: u32) -> Result<(), Error>;
    /// Puts a call that has ended back into the queue, from its first attempt on. Returns whether it had ended.
    fn requeue_webhook_call(&mut self, id: WebhookCallId, at: Timestamp) -> Result<bool, Error>;
    /// Deletes calls that ended before this moment, at most `limit`. Returns how many.
    fn prune_webhook_calls(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
    fn insert_channel(&mut self, channel: &Channel) -> Result<(), Error>;
    /// Returns whether there was one.
    fn delete_channel(&mut self, id: ChannelId) -> Result<bool, Error>;
}

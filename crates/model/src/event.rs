//! Events: facts that happened, with a sequence number, written in the transaction of the change.

use crate::{OrgId, Principal, Timestamp, WorkspaceId};

macro_rules! event_kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $data:literal;)*) => {
        /// The vocabulary of events. The generated reference page is made from this table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind { $($(#[doc = $doc])+ $variant),* }

        impl EventKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// `domain.subject.action`
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// A sentence for the reference page.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+)),* }
            }

            /// The fields of the event's data, for the reference page.
            pub const fn fields(self) -> &'static str {
                match self { $(Self::$variant => $data),* }
            }
        }
    };
}

event_kinds! {
    /// A workspace was created.
    WorkspaceCreated = "workspace.lifecycle.created", "name, provider, status, tier, template";
    /// A workspace's name, parent or spec changed; its generation went up if the spec did.
    WorkspaceSpecChanged = "workspace.spec.changed", "fields, generation";
    /// A workspace's status changed; the reason is a public sentence.
    WorkspaceStatusChanged = "workspace.status.changed", "from, to, reason, generation";
    /// A workspace was removed.
    WorkspaceRemoved = "workspace.lifecycle.removed", "from, to, reason, generation";
    /// A removed workspace could not be stopped: its files are kept, and it is tried again.
    WorkspaceRemovalFailed = "workspace.removal.failed", "attempts, reason";
    /// The runtime of a workspace registered; `boots` counts how often one did.
    WorkspaceRegistered = "workspace.runtime.registered", "boots, version";
    /// A runtime whose work shows no progress was asked whether it is there. `way` is `card`, `box` or `claims`; `found` is
    /// `answers`, `silent` or `unknown`.
    WorkspaceProbed = "workspace.runtime.probed", "way, found, reason";
    /// The image that a workspace is made from is another now: it is made anew.
    WorkspaceImageRefreshed = "workspace.image.refreshed", "image, from, to";
    /// The runtime of a workspace reported. Never stored: it has no sequence, and only who asks for live events sees it.
    WorkspaceHeartbeat = "workspace.heartbeat", "error_rate, active_tasks, current_task, uptime_s, runtime_state, status";
    /// A file of a workspace was written, moved or deleted through Warren.
    WorkspaceFileChanged = "workspace.file.changed", "operation, path, bytes";
    /// A background process or terminal was started in a workspace; its end is a `workspace.command.finished`.
    WorkspaceProcessStarted = "workspace.process.started", "process, program, has_pty";
    /// A command in a workspace ended; `abandoned` if Warren ended it because nobody waited for it any more. `process`
    /// is the number of a background process.
    WorkspaceCommandFinished = "workspace.command.finished", "program, process, exit_code, signal, timed_out, abandoned, duration_ms";
    /// A tool call was refused by policy, or several were: a roll-up carries their exact count.
    WorkspaceToolRefused = "workspace.tool.refused", "kind, count, tool, sentence";
    /// A template was stored, under a new name or in place of what was there.
    TemplateStored = "fleet.template.stored", "name, hash";
    /// A template was removed. Workspaces made from it stay.
    TemplateRemoved = "fleet.template.removed", "name, hash";
    /// A workspace has spent its budget for the month.
    WorkspaceBudgetExhausted = "workspace.budget.exhausted", "month, limit_micros, spent_micros";
    /// A message was accepted; `position` says how many are before it, if it has to wait.
    TaskSubmitted = "exchange.task.submitted", "task_id, delivery_id, context_id, position";
    /// A task's state changed.
    TaskChanged = "exchange.task.changed", "task_id, delivery_id, from, to, reason";
    /// An agent said something about work under way; the first line of it.
    TaskProgressed = "exchange.task.progressed", "task_id, line";
    /// A message was put back into the queue, to be tried again.
    DeliveryRequeued = "exchange.delivery.requeued", "task_id, delivery_id, reason, attempts";
    /// A message was refused because the agent is busy and keeps its own session: nothing was queued.
    MessageRefused = "exchange.message.refused", "reason";
    /// A delegation changed and has not ended.
    DelegationChanged = "exchange.delegation.changed", "delegation_id, task_id, to, state";
    /// A delegation ended, and its result is stitched to it; told to the one that handed it on.
    DelegationCompleted = "exchange.delegation.completed", "delegation_id, task_id, to, state";
    /// A conversation with a workspace began.
    ConversationCreated = "chat.conversation.created", "conversation_id";
    /// A conversation has another title.
    ConversationChanged = "chat.conversation.changed", "conversation_id";
    /// A conversation was deleted, with its messages.
    ConversationRemoved = "chat.conversation.removed", "conversation_id, messages";
    /// A message stands in a conversation, under this id and no other. What it says is read from the conversation.
    ChatMessagePosted = "chat.message.posted", "conversation_id, message_id, task_id, author";
    /// Somebody wants to be told about a task at an address of theirs.
    PushConfigSet = "exchange.push_config.set", "task_id, config_id";
    /// Somebody does not want to be told about a task any more.
    PushConfigRemoved = "exchange.push_config.removed", "task_id, config_id";
    /// An address did not take what it was told about a task, as often as it was tried.
    PushGivenUp = "exchange.push_config.given_up", "task_id, config_id, attempts";
    /// A schedule was made, changed, paused, resumed or removed; `change` says which.
    ScheduleChanged = "exchange.schedule.changed", "schedule_id, name, change";
    /// A schedule fired: its message is on its way.
    ScheduleFired = "exchange.schedule.fired", "schedule_id, run_id, name, slot, cause, task_id";
    /// Slots of a schedule did not fire.
    ScheduleSkipped = "exchange.schedule.skipped", "schedule_id, run_id, name, slot, slots, reason";
    /// A slot of a schedule could not be fired.
    ScheduleFailed = "exchange.schedule.failed", "schedule_id, run_id, name, slot, reason";
    /// Something was remembered, under a new key or in place of what was there.
    MemoryWritten = "exchange.memory.written", "memory_id, scope, key, version, masked";
    /// Something was forgotten.
    MemoryForgotten = "exchange.memory.forgotten", "memory_id, scope, key";
    /// A workspace asks for a person's decision.
    ApprovalRequested = "exchange.approval.requested", "approval_id, action, expires_at";
    /// A question was decided, or nobody decided it in time; `state` says which.
    ApprovalDecided = "exchange.approval.decided", "approval_id, action, state";
    /// A token was made.
    TokenCreated = "identity.token.created", "token_id, kind, name";
    /// A token was revoked.
    TokenRevoked = "identity.token.revoked", "token_id";
    /// Somebody opened a sign-in link.
    SignedIn = "identity.session.started", "token_id";
    /// A secret was set, or got a new value. Workspaces that run with it get it by a restart, a few at a time.
    SecretSet = "secret.value.set", "name, owner, version, workspaces";
    /// A secret was removed.
    SecretRemoved = "secret.value.removed", "name, owner, workspaces";
    /// All secrets are sealed under another key.
    SecretKeyRotated = "secret.key.rotated", "key_id, resealed, unreadable";
    /// Somebody outside is told of events from now on.
    WebhookCreated = "webhook.subscription.created", "webhook_id, name, origin";
    /// A webhook was stopped, by a person or because its receiver said that it is gone.
    WebhookStopped = "webhook.subscription.stopped", "webhook_id, reason";
    /// A webhook that was stopped goes on.
    WebhookResumed = "webhook.subscription.resumed", "webhook_id";
    /// A webhook was removed, with what was owed to it.
    WebhookRemoved = "webhook.subscription.removed", "webhook_id";
    /// An event could not be delivered to a webhook and is a dead letter now. Told to people, never to webhooks.
    WebhookCallDead = "webhook.call.dead", "webhook_id, call_id, attempts, reason";
    /// A door was made through which another system sends messages to a workspace.
    ChannelCreated = "channel.door.created", "channel_id, name";
    /// Such a door was removed.
    ChannelRemoved = "channel.door.removed", "channel_id";
    /// Warren started.
    ServerStarted = "server.process.started", "version";
    /// Warren was asked to stop and is closing.
    ServerStopping = "server.process.stopping", "version";
}

impl EventKind {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Whether it is written to the log. What is not is told to those who listen, and forgotten.
    pub const fn is_stored(self) -> bool {
        !matches!(self, Self::WorkspaceHeartbeat)
    }
}

/// A fact to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub at: Timestamp,
    pub kind: EventKind,
    pub org_id: OrgId,
    pub workspace_id: Option<WorkspaceId>,
    pub principal: Principal,
    pub data: serde_json::Value,
}

/// A fact as it stands in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Counts from 1 without gaps, in commit order.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
    pub org_id: OrgId,
    pub workspace_id: Option<WorkspaceId>,
    pub principal: Principal,
    pub data: serde_json::Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_have_three_parts() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in EventKind::ALL {
            // The one that is not stored has the name that the specification gives it.
            let parts = if kind.is_stored() { 3 } else { 2 };
            assert_eq!(kind.as_str().split('.').count(), parts, "{}", kind.as_str());
            assert!(seen.insert(kind.as_str()));
            assert_eq!(EventKind::parse(kind.as_str()), Some(*kind));
        }
    }
}

//! The table of events: one entry for each kind, with its name, its meaning and the fields of its data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{EventField, FieldType};
use crate::session::{PhaseKind, Suspension};
use crate::{
    ApprovalId, ApprovalState, ChannelId, ChatMessageId, ConversationId, DelegationId, DelegationState,
    DeliveryId, DeliveryReason, FileChange, Finding, MemoryId, MemoryScope, NetworkScheme, OrgRole,
    PolicyDecision, Principal, ProbeWay, ProviderKind, RefusalKind, RuleScopeKind, RunCause, ScheduleChange,
    ScheduleId, ScheduleRunId, SecretOwnerKind, SessionId, SkipReason, Status, TaskId, TaskState,
    TemplateName, Tier, Timestamp, TokenId, TokenKind, ToolRuleId, UserId, WebhookCallId, WebhookId,
    WebhookStopReason, WorkspaceId,
};

/// Makes of the table: `EventKind`, one struct per kind, and `EventData`, which holds any of them. Fields behind `;`
/// may be left out of the JSON; those with `Option` in front of it are null where there is nothing.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident = $name:literal {
            $($field:ident: $type:ty),* $(,)? $(; $($optional:ident: $optional_type:ty),* $(,)?)?
        }
    )*) => {
        /// The vocabulary of events. The generated reference page is made from this table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind { $($(#[doc = $doc])+ $kind),* }

        impl EventKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// `domain.subject.action`
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// The name of its struct.
            pub const fn type_name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind)),* }
            }

            /// A sentence for the reference page.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+)),* }
            }

            /// The fields of the event's data, for the reference page.
            pub fn fields(self) -> Vec<EventField> {
                match self { $(Self::$kind => vec![
                    $(field::<$type>(stringify!($field), false),)*
                    $($(field::<$optional_type>(stringify!($optional), true),)*)?
                ]),* }
            }

            /// The JSON schema of the event's data, for the OpenAPI document.
            pub fn schema(self) -> Value {
                match self { $(Self::$kind => object(
                    &[$((stringify!($field), <$type as FieldType>::schema())),*],
                    &[$($((stringify!($optional), <$optional_type as FieldType>::schema())),*)?],
                )),* }
            }

            /// Data with something in every field, for tests that go through all kinds.
            pub fn example(self) -> EventData {
                match self { $(Self::$kind => EventData::$kind($kind {
                    $($field: FieldType::example(),)*
                    $($($optional: FieldType::example(),)*)?
                })),* }
            }
        }

        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            pub struct $kind {
                $(pub $field: $type,)*
                $($(
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    pub $optional: Option<$optional_type>,
                )*)?
            }

            impl From<$kind> for EventData {
                fn from(data: $kind) -> Self {
                    Self::$kind(data)
                }
            }
        )*

        /// What an event tells, by kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum EventData { $($kind($kind)),* }

        impl EventData {
            pub const fn kind(&self) -> EventKind {
                match self { $(Self::$kind(_) => EventKind::$kind),* }
            }

            /// Fields that are not known here are left out; one that is missing, or is something else, is an error.
            pub fn from_json(kind: EventKind, json: &Value) -> Result<Self, serde_json::Error> {
                match kind { $(EventKind::$kind => $kind::deserialize(json).map(Self::$kind)),* }
            }
        }
    };
}

events! {
    /// A workspace was created.
    WorkspaceCreated = "workspace.lifecycle.created" {
        name: String,
        provider: ProviderKind,
        status: Status,
        tier: Tier,
        template: Option<TemplateName>,
    }
    /// A workspace's name, parent or spec changed; its generation went up if the spec did.
    WorkspaceSpecChanged = "workspace.spec.changed" { fields: Vec<String>, generation: u64 }
    /// A workspace's status changed; the reason is a public sentence.
    WorkspaceStatusChanged = "workspace.status.changed" {
        from: Status,
        to: Status,
        reason: Option<String>,
        generation: u64,
    }
    /// A workspace was removed.
    WorkspaceRemoved = "workspace.lifecycle.removed" {
        from: Status,
        to: Status,
        reason: Option<String>,
        generation: u64,
    }
    /// A removed workspace could not be stopped: its files are kept, and it is tried again.
    WorkspaceRemovalFailed = "workspace.removal.failed" { attempts: u32, reason: String }
    /// The runtime of a workspace registered; `boots` counts how often one did.
    WorkspaceRegistered = "workspace.runtime.registered" { boots: u64, version: Option<String> }
    /// The runtime of a workspace describes itself differently, or no longer.
    WorkspaceCardChanged = "workspace.card.changed" { boots: u64, has_card: bool }
    /// A runtime whose work shows no progress was asked whether it is there.
    WorkspaceProbed = "workspace.runtime.probed" { way: ProbeWay, found: Finding, reason: String }
    /// The image that a workspace is made from is another now: it is made anew.
    WorkspaceImageRefreshed = "workspace.image.refreshed" { image: String, from: Option<String>, to: String }
    /// The runtime of a workspace reported. Never stored: it has no sequence, and only who asks for live events sees it.
    WorkspaceHeartbeat = "workspace.heartbeat" {
        error_rate: f64,
        active_tasks: u32,
        current_task: Option<String>,
        uptime_s: Option<u64>,
        runtime_state: String,
        status: Status,
    }
    /// A file of a workspace was written, moved or deleted through Warren.
    WorkspaceFileChanged = "workspace.file.changed" { operation: FileChange, path: String, bytes: u64 }
    /// A background process or terminal was started in a workspace; its end is a `workspace.command.finished`.
    WorkspaceProcessStarted = "workspace.process.started" { process: u32, program: String, has_pty: bool }
    /// A command in a workspace ended; `abandoned` if Warren ended it because nobody waited for it any more. `process`
    /// is the number of a background process.
    WorkspaceCommandFinished = "workspace.command.finished" {
        program: String,
        process: Option<u32>,
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
        abandoned: bool,
        duration_ms: u64,
    }
    /// A tool call was refused by policy, or several were: a roll-up carries their exact count.
    WorkspaceToolRefused = "workspace.tool.refused" {
        kind: RefusalKind,
        count: u64;
        tool: String,
        sentence: String,
    }
    /// Programs of a box reached a host, through the web door: so many connections since the last event of this kind about
    /// the host, with the bytes that went out and came in. `problem` says what became of those that were cut.
    WorkspaceNetworkUsed = "workspace.network.used" {
        host: String,
        port: u32,
        scheme: NetworkScheme,
        connections: u64,
        sent_bytes: u64,
        received_bytes: u64,
        duration_ms: u64;
        problem: String,
    }
    /// A template was stored, under a new name or in place of what was there.
    TemplateStored = "fleet.template.stored" { name: TemplateName, hash: String }
    /// A template was removed. Workspaces made from it stay.
    TemplateRemoved = "fleet.template.removed" { name: TemplateName, hash: String }
    /// A workspace has spent its budget for the month.
    WorkspaceBudgetExhausted = "workspace.budget.exhausted" {
        month: String,
        limit_micros: Option<u64>,
        spent_micros: u64,
    }
    /// A program of a box asked a model, through Warren. `counted` says whether the provider told what was used; otherwise it
    /// is estimated, as where the answer was broken off.
    WorkspaceModelCalled = "workspace.model.called" {
        model: String,
        status: u32,
        input_tokens: u64,
        cached_input_tokens: u64,
        output_tokens: u64,
        cost_micros: u64,
        counted: bool,
        duration_ms: u64,
    }
    /// A message was accepted; `position` says how many are before it, if it has to wait.
    TaskSubmitted = "exchange.task.submitted" {
        task_id: TaskId,
        delivery_id: DeliveryId,
        context_id: String,
        position: Option<u64>,
    }
    /// A task's state changed.
    TaskChanged = "exchange.task.changed" {
        task_id: TaskId,
        delivery_id: DeliveryId,
        from: TaskState,
        to: TaskState,
        reason: Option<DeliveryReason>,
    }
    /// An agent said something about work under way; the first line of it.
    TaskProgressed = "exchange.task.progressed" { task_id: TaskId, line: String }
    /// A message was put back into the queue, to be tried again.
    DeliveryRequeued = "exchange.delivery.requeued" {
        task_id: TaskId,
        delivery_id: DeliveryId,
        reason: Option<DeliveryReason>,
        attempts: u32,
    }
    /// A message was refused because the agent is busy and keeps its own session: nothing was queued.
    MessageRefused = "exchange.message.refused" { reason: DeliveryReason }
    /// A delegation changed and has not ended.
    DelegationChanged = "exchange.delegation.changed" {
        delegation_id: DelegationId,
        task_id: TaskId,
        to: WorkspaceId,
        state: DelegationState,
    }
    /// A delegation ended, and its result is stitched to it; told to the one that handed it on.
    DelegationCompleted = "exchange.delegation.completed" {
        delegation_id: DelegationId,
        task_id: TaskId,
        to: WorkspaceId,
        state: DelegationState,
    }
    /// A conversation with a workspace began.
    ConversationCreated = "chat.conversation.created" { conversation_id: ConversationId }
    /// A conversation has another title.
    ConversationChanged = "chat.conversation.changed" { conversation_id: ConversationId }
    /// A conversation was deleted, with its messages.
    ConversationRemoved = "chat.conversation.removed" { conversation_id: ConversationId, messages: u64 }
    /// A message stands in a conversation, under this id and no other. What it says is read from the conversation.
    ChatMessagePosted = "chat.message.posted" {
        conversation_id: ConversationId,
        message_id: ChatMessageId,
        task_id: Option<TaskId>,
        author: Principal,
    }
    /// Somebody wants to be told about a task at an address of theirs.
    PushConfigSet = "exchange.push_config.set" { task_id: TaskId, config_id: String }
    /// Somebody does not want to be told about a task any more.
    PushConfigRemoved = "exchange.push_config.removed" { task_id: TaskId, config_id: String }
    /// An address did not take what it was told about a task, as often as it was tried.
    PushGivenUp = "exchange.push_config.given_up" { task_id: TaskId, config_id: String, attempts: u32 }
    /// A schedule was made, changed, paused, resumed or removed; `change` says which.
    ScheduleChanged = "exchange.schedule.changed" {
        schedule_id: ScheduleId,
        name: String,
        change: ScheduleChange;
        problem: String,
    }
    /// A schedule fired: its message is on its way.
    ScheduleFired = "exchange.schedule.fired" {
        schedule_id: ScheduleId,
        run_id: ScheduleRunId,
        name: String,
        slot: Option<Timestamp>,
        cause: RunCause,
        task_id: Option<TaskId>,
    }
    /// Slots of a schedule did not fire.
    ScheduleSkipped = "exchange.schedule.skipped" {
        schedule_id: ScheduleId,
        run_id: ScheduleRunId,
        name: String,
        slot: Option<Timestamp>,
        slots: u32,
        reason: Option<SkipReason>,
    }
    /// A slot of a schedule could not be fired.
    ScheduleFailed = "exchange.schedule.failed" {
        schedule_id: ScheduleId,
        run_id: ScheduleRunId,
        name: String,
        slot: Option<Timestamp>,
        reason: String,
    }
    /// Something was remembered, under a new key or in place of what was there.
    MemoryWritten = "exchange.memory.written" {
        memory_id: MemoryId,
        scope: MemoryScope,
        key: String,
        version: u64,
        masked: u32,
    }
    /// Something was forgotten.
    MemoryForgotten = "exchange.memory.forgotten" { memory_id: MemoryId, scope: MemoryScope, key: String }
    /// A workspace asks for a person's decision.
    ApprovalRequested = "exchange.approval.requested" {
        approval_id: ApprovalId,
        action: String,
        expires_at: Timestamp,
    }
    /// A question was decided, or nobody decided it in time; `state` says which.
    ApprovalDecided = "exchange.approval.decided" {
        approval_id: ApprovalId,
        action: String,
        state: ApprovalState,
    }
    /// A session with an agent went on, waits, or ended; `phase` is idle, active, suspended, completed, failed or
    /// interrupted.
    SessionChanged = "agent.session.changed" {
        session_id: SessionId,
        name: String,
        phase: PhaseKind,
        suspended_by: Option<Suspension>,
        run: u32,
    }
    /// A person made a rule about tool calls, by itself or with an approval.
    ToolRuleCreated = "agent.tool_rule.created" {
        rule_id: ToolRuleId,
        tool: String,
        decision: PolicyDecision,
        scope: RuleScopeKind,
        expires_at: Option<Timestamp>,
    }
    /// A rule about tool calls counts no more.
    ToolRuleRevoked = "agent.tool_rule.revoked" { rule_id: ToolRuleId, tool: String }
    /// A token was made.
    TokenCreated = "identity.token.created" { token_id: TokenId, kind: TokenKind, name: String }
    /// A token was revoked.
    TokenRevoked = "identity.token.revoked" { token_id: TokenId, kind: TokenKind, name: String }
    /// Somebody opened a sign-in link.
    SignedIn = "identity.session.started" { token_id: TokenId, kind: TokenKind, name: String }
    /// Somebody was taken into the org.
    UserJoined = "identity.user.joined" { user_id: UserId, name: String, role: OrgRole }
    /// Somebody's name or role was changed.
    UserChanged = "identity.user.changed" { user_id: UserId, name: String; role: OrgRole }
    /// Somebody left the org, or was taken out of it.
    UserLeft = "identity.user.left" { user_id: UserId, name: String }
    /// A secret was set, or got a new value. Workspaces that run with it get it by a restart, a few at a time.
    SecretSet = "secret.value.set" { name: String, owner: SecretOwnerKind, version: u64, workspaces: u64 }
    /// A secret was removed.
    SecretRemoved = "secret.value.removed" { name: String, owner: SecretOwnerKind, workspaces: u64 }
    /// All secrets are sealed under another key.
    SecretKeyRotated = "secret.key.rotated" { key_id: String, resealed: u64, unreadable: u64 }
    /// Somebody outside is told of events from now on.
    WebhookCreated = "webhook.subscription.created" { webhook_id: WebhookId, name: String, origin: String }
    /// A webhook was stopped, by a person or because its receiver said that it is gone.
    WebhookStopped = "webhook.subscription.stopped" { webhook_id: WebhookId, reason: WebhookStopReason }
    /// A webhook that was stopped goes on.
    WebhookResumed = "webhook.subscription.resumed" { webhook_id: WebhookId }
    /// A webhook was removed, with what was owed to it.
    WebhookRemoved = "webhook.subscription.removed" { webhook_id: WebhookId }
    /// An event could not be delivered to a webhook and is a dead letter now. Told to people, never to webhooks.
    WebhookCallDead = "webhook.call.dead" {
        webhook_id: WebhookId,
        call_id: WebhookCallId,
        attempts: u32,
        reason: Option<String>,
    }
    /// A door was made through which another system sends messages to a workspace.
    ChannelCreated = "channel.door.created" { channel_id: ChannelId, name: String }
    /// Such a door was removed.
    ChannelRemoved = "channel.door.removed" { channel_id: ChannelId }
    /// Warren started.
    ServerStarted = "server.process.started" { version: String }
    /// Warren was asked to stop and is closing.
    ServerStopping = "server.process.stopping" { version: String }
}

impl EventData {
    /// As it is stored and sent: an object with its keys in order.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("plain fields under names can be written as JSON")
    }
}

fn field<T: FieldType>(name: &'static str, is_optional: bool) -> EventField {
    EventField { name, holds: T::words(), spellings: T::spellings(), is_optional }
}

fn object(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        required.iter().chain(optional).map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

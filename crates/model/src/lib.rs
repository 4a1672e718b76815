//! The nouns of Warren: typed ids, statuses, specs, refs, principals, events, limits and error codes.
//!
//! Nothing here does anything: no clock, no randomness, no I/O. Types that are stored or sent carry serde; the
//! others do not, since `Serialize` is a promise to strangers.

mod agent;
mod agent_change;
mod approval;
mod audit;
mod backoff;
mod bundle;
mod capability;
mod ceilings;
mod conversation;
mod delegation;
mod document;
mod doors;
mod error_code;
pub mod event;
mod failure;
mod from_json;
mod id;
mod limits;
mod made_with;
mod memory;
mod message;
mod network;
mod people;
mod principal;
mod probe;
mod provider_config;
mod push_config;
mod reference;
mod registration;
mod runner_spec;
mod schedule;
mod secret;
pub mod session;
mod task;
mod template;
mod text;
mod text_enum;
mod time;
mod token;
mod tool;
mod tool_name;
mod tool_rule;
mod vitals;
mod webhook;
mod workspace;

pub use agent::{
    AgentDefinition, AgentLimits, AgentName, AgentTools, AgentVersion, ClientTool, InvalidAgentName, Merge,
    PolicyDecision, PolicyRule, StateField, StoredAgent,
};
pub use agent_change::{AgentChange, AgentChangeKind};
pub use approval::{Approval, ApprovalState, ApprovalSubject};
pub use audit::{
    AuditAction, AuditDetails, AuditEntry, AuditHash, AuditHead, AuditOutcome, AuditTargetKind,
    NewAuditEntry, canonical_json,
};
pub use backoff::Backoff;
pub use bundle::{
    Bundle, BundleError, BundleFile, BundleFiles, BundleMemory, BundleNode, BundleOrigin, BundlePeer,
    BundlePeers, BundleSchedule,
};
pub use capability::{Capability, CapabilitySet, UnknownCapability};
pub use ceilings::{Ceilings, TierCeilings};
pub use conversation::{ChatMessage, Conversation};
pub use delegation::{Delegation, DelegationState, PeerCircle, PeerPolicy};
pub use document::{DocumentError, MAX_DOCUMENT_BYTES, parse_yaml, read_document};
pub use doors::{DoorSpec, InvalidModelGrant, ModelGrant};
pub use error_code::{ErrorCode, ErrorEntry};
pub use event::{Event, EventData, EventField, EventJson, EventKind, NewEvent};
pub use failure::PublicFailure;
pub use from_json::from_json;
pub use id::{
    ApprovalId, ApprovalKind, AttachmentId, AttachmentKind, ChannelId, ChannelKind, ChatMessageId,
    ChatMessageKind, ConversationId, ConversationKind, DelegationId, DelegationKind, DeliveryId,
    DeliveryKind, Id, IdKind, InvalidId, InvitationId, InvitationKind, MemoryId, MemoryKind, OrgId, OrgKind,
    RequestId, RequestKind, ScheduleId, ScheduleKind, ScheduleRunId, ScheduleRunKind, SessionId, SessionKind,
    SessionMessageId, SessionMessageKind, TaskId, TaskKind, TokenId, TokenIdKind, ToolRuleId, ToolRuleKind,
    UserId, UserKind, WebhookCallId, WebhookCallKind, WebhookId, WebhookKind, WorkspaceId, WorkspaceKind,
};
pub use limits::{Limits, MIB};
pub use made_with::MadeWithToken;
pub use memory::{Memory, MemoryPlace, MemoryScope};
pub use message::{Artifact, Content, Message, Part, Role, WORKSPACE_SCHEME, fingerprint};
pub use network::{HostGrant, NetworkGrant, NetworkPolicy, NetworkScheme, NetworkSet};
pub use people::{
    Holder, InvalidShortName, Invitation, InvitationSecret, InvitationState, Member, Org, OrgQuotas, OrgRole,
    ShortName, User, UserIdentity,
};
pub use principal::{Principal, PrincipalKind};
pub use probe::{Finding, ProbeWay};
pub use provider_config::{
    BoxLimits, CommandMode, DockerConfig, DockerRelaxations, Isolation, LocalConfig, MemoryConfig, Mount,
    MountMode, ProviderConfig, ProviderKind, PullPolicy, Reuse, RunPolicy, SandboxConfig, Sharing,
    TmpfsMount, Ulimit, max_timeout_problem,
};
pub use push_config::PushConfig;
pub use reference::{Ref, RefError};
pub use registration::Registration;
pub use runner_spec::{RunnerAdapter, RunnerSpec};
pub use schedule::{
    MissedPolicy, OverlapPolicy, RunCause, RunState, Schedule, ScheduleChange, ScheduleRun, SkipReason,
    Timing,
};
pub use secret::{
    InvalidSecretName, InvalidSecretValue, KeyId, SealedSecret, SecretName, SecretOwner, SecretOwnerKind,
    SecretValue,
};
pub use task::{
    Delivery, DeliveryEnd, DeliveryReason, DeliveryState, Task, TaskOrigin, TaskState, TaskUpdate,
};
pub use template::{
    AgentSpec, Blueprint, InvalidTemplateName, Position, ScheduleSpec, Template, TemplateName, TemplateStamp,
    env_problem,
};
pub use text::{truncate_utf8, truncate_utf8_tail};
pub use time::{InvalidTimestamp, Timestamp};
pub use token::{InvalidToken, Scope, ScopeSet, Token, TokenHash, TokenKind, TokenSecret};
pub use tool::{FileChange, RefusalKind};
pub use tool_rule::{RuleScope, RuleScopeKind, ToolRule};
pub use vitals::{
    Displaced, Displacement, Outcomes, ReportDoubt, RuntimeReport, RuntimeState, Vitals, WorkOutcome,
};
pub use webhook::{Channel, Network, Webhook, WebhookCall, WebhookCallState, WebhookStopReason};
pub use workspace::{
    BehindOf, Desired, InvalidName, Mending, Runtime, Status, StatusReason, Tier, Workspace, WorkspaceName,
    WorkspaceSpec,
};

//! The wire: request, response and event types with their OpenAPI schemas (feature `openapi`), and
//! the typed client (feature `client`).
//!
//! Nothing internal is visible here. The server converts by hand at its edge, so that an internal rename cannot
//! change what strangers see. Requests refuse unknown fields; clients must accept unknown fields in answers.

mod agents;
mod approvals;
mod audit;
mod budgets;
mod chat;
#[cfg(feature = "client")]
pub mod client;
mod commands;
mod events;
mod exchange;
mod files;
mod identity;
mod image_logins;
mod info;
mod memory;
mod models;
mod network;
mod people;
mod problem;
mod processes;
mod providers;
mod runner_line;
mod runtimes;
mod schedules;
mod schema;
mod secrets;
mod session_steps;
mod sessions;
pub mod sse;
mod sweeps;
mod templates;
mod tool_rules;
mod tools;
mod unique_keys;
mod webhooks;
mod workspaces;

pub use agents::{AgentPage, AgentSummary, StoredAgent};
pub use approvals::{
    Approval, ApprovalCall, ApprovalPage, ApprovalState, DecideApproval, RequestApproval, WithdrawApproval,
};
pub use audit::{AuditEntry, AuditHead, AuditPage, AuditTarget};
pub use budgets::{Budget, SetBudget};
pub use chat::{
    Attachment, ChangeConversation, ChatMessage, ChatMessagePage, Conversation, ConversationPage,
    CreateConversation, Feed, FeedLine, Notify, PostMessage, PostedMessage, Uploaded,
};
pub use commands::{ExecFrame, ExecRequest, ExecResult};
pub use events::{Event, EventFrame, EventPage, LiveEvent};
pub use exchange::{
    AcceptedMessage, AnswerMessage, AnswerOutcome, ArtifactUpdate, Author, Claim, ClaimMessage,
    ClaimedMessage, ClearedQueue, Delegate, Delegation, DelegationPage, DelegationState, DeliveryState,
    MessagePart, MessageRole, Peer, PeerCircle, PeerList, PeerPolicy, ProgressTaken, QueuePage,
    QueuedMessage, ReportProgress, SendMessage, Task, TaskArtifact, TaskMessage, TaskPage, TaskState,
};
pub use files::{
    ChangeKind, Entry, EntryKind, FileChange, FileChanges, FileWatchFrame, FileWritten, Listing, MoveFile,
};
pub use identity::{
    CreateToken, CreatedToken, MadeWithToken, MadeWithTokenList, MintableKind, Principal, PrincipalKind,
    RevokedToken, SignIn, SignInLink, Token, TokenKind, TokenPage, UseSignInLink,
};
pub use image_logins::{ImageLogin, ImageLogins, SetImageLogin};
pub use info::{
    Health, ProviderInfo, RegistryDescription, ServerInfo, SigningKey, SigningKeys, WorkspaceHealth,
};
pub use memory::{FoundMemories, Memory, MemoryPage, MemoryScope, Remember};
pub use models::{KnownModels, ModelProvider};
pub use network::{HostGrant, NetworkAccess, NetworkGrant, NetworkPolicy, NetworkScheme, NoNetwork};
pub use people::{
    BeginProviderSignIn, CreateInvitation, CreateOrg, CreateUser, CreatedInvitation, Invitation,
    InvitationPage, InvitationPreview, InvitationState, Org, OrgMembership, OrgPage, OrgQuotas, OrgRole,
    OrgUsage, PatchOrg, PatchUser, ProviderAddress, RemovedUser, ShowInvitation, SignInProvider, SignInWays,
    SignedInUser, SwitchOrg, UseInvitation, User, UserPage,
};
pub use problem::Problem;
pub use processes::{
    Process, ProcessFrame, ProcessInput, ProcessList, ProcessOutput, ProcessState, PtySize, SignalName,
    SignalProcess, StartProcess, TerminalFrame, TerminalRequest,
};
pub use providers::{
    BoxLimits, CommandMode, DockerConfig, DockerRelaxations, Isolation, LocalConfig, MemoryConfig, Mount,
    MountMode, ProviderConfig, PullPolicy, Reuse, RunPolicy, SandboxConfig, Sharing, TmpfsMount, Ulimit,
};
pub use runner_line::{DOORS_ARE_OPEN, MAX_RUNNER_LINE_BYTES, RunnerAnswer, RunnerRequest};
pub use runtimes::{
    AgentCardAnswer, ChangeAgentCard, Heartbeat, HeartbeatAnswer, RegisterRuntime, RegisteredRuntime,
    RuntimeCapabilities, RuntimeMetadata, Vitals,
};
pub use schedules::{
    CreateSchedule, MissedPolicy, OverlapPolicy, PatchSchedule, PreviewSchedule, RunCause, RunState,
    Schedule, SchedulePage, SchedulePreview, ScheduleRun, ScheduleRunPage,
};
pub use secrets::{KeyRotation, Secret, SecretOwner, SecretPage, SetSecret};
pub use session_steps::{
    AnswerBlock, Checkpoint, CheckpointPage, ContextCall, ContextOrigin, ContextShare, ContextTool,
    ContextTurn, SessionCall, SessionCallDecision, SessionCallOutcome, SessionEntry, SessionStep,
    SessionStepPage, StepContext, TokenUsage,
};
pub use sessions::{
    AgentChange, AgentChangeKind, BranchPoint, BranchSession, BusyMode, CallDecision, CreateSession,
    DecideCall, PendingWork, ResumeSession, RewindSession, RunLimits, RunUsage, SendSessionMessage, Session,
    SessionFailure, SessionMessage, SessionMessageState, SessionPage, SessionStatus, SessionStop,
    SessionSuspension, StopRun, SubmitToolResult, SuspendedBy, UpgradedSession,
};
pub use sweeps::{Sweep, SweepList, SweepOutcome, SweepRun};
pub use templates::{
    Agent, Blueprint, Bundle, BundleFile, BundleFiles, BundleMemory, BundleNode, BundleOrigin, BundlePeer,
    BundlePeers, BundleSchedule, CollapsedWorkspace, Document, ExpandWorkspace, ImportBundle, ImportReport,
    ImportTree, ImportedFiles, ImportedNode, MissingEnv, Position, RunnerAdapter, RunnerSpec, ScheduleSpec,
    Template, TemplatePage, TemplateStamp, TemplateSummary,
};
pub use tool_rules::{
    CreateToolRule, RememberDecision, ToolRule, ToolRuleDecision, ToolRulePage, ToolRuleScope,
};
pub use tools::{Tool, ToolAnswer, ToolCatalog, ToolRefusal};
pub use webhooks::{
    Channel, ChannelList, CreateChannel, CreateWebhook, CreatedChannel, CreatedWebhook, PatchWebhook,
    ReceivedHook, Webhook, WebhookCall, WebhookCallPage, WebhookCallState, WebhookPage,
};
pub use workspaces::{
    BehindOf, Capability, CreateWorkspace, Desired, Doors, PatchWorkspace, RemovalCounts, RemovedWorkspace,
    Runtime, Status, Tier, Workspace, WorkspacePage,
};

/// The media type of YAML documents.
pub const YAML: &str = "application/yaml";
/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The header that a browser page must send with every change, so that no other site can make one.
pub const CSRF_HEADER: &str = "x-warren-csrf";
/// The cookie of a browser that is signed in.
pub const SIGN_IN_COOKIE: &str = "warren_session";

//! The two transactions: everything that can be read, and everything that can be written.

/// Puts the transactions together from the traits of the nouns. This is the one list of them.
macro_rules! transactions {
    ($($noun:ident: $reads:ident, $writes:ident;)*) => {
        $(pub use crate::$noun::{$reads, $writes};)*

        /// Everything that can be read.
        pub trait ReadTx: $($reads +)* {}
        impl<T> ReadTx for T where T: $($reads +)* ?Sized {}

        /// Everything that can be read and written.
        pub trait WriteTx: ReadTx $(+ $writes)* {}
        impl<T> WriteTx for T where T: ReadTx $(+ $writes)* + ?Sized {}
    };
}

transactions! {
    workspaces: WorkspaceReads, WorkspaceWrites;
    vitals: VitalsReads, VitalsWrites;
    registrations: RegistrationReads, RegistrationWrites;
    events: EventReads, EventWrites;
    tokens: TokenReads, TokenWrites;
    spending: SpendingReads, SpendingWrites;
    leases: LeaseReads, LeaseWrites;
    secrets: SecretReads, SecretWrites;
    audit: AuditReads, AuditWrites;
    templates: TemplateReads, TemplateWrites;
    positions: PositionReads, PositionWrites;
    tasks: TaskReads, TaskWrites;
    deliveries: DeliveryReads, DeliveryWrites;
    repeats: RepeatReads, RepeatWrites;
    delegations: DelegationReads, DelegationWrites;
    chat: ChatReads, ChatWrites;
    push_configs: PushConfigReads, PushConfigWrites;
    webhooks: WebhookReads, WebhookWrites;
    schedules: ScheduleReads, ScheduleWrites;
    memory: MemoryReads, MemoryWrites;
    approvals: ApprovalReads, ApprovalWrites;
    agents: AgentReads, AgentWrites;
    sessions: SessionReads, SessionWrites;
    session_leases: SessionLeaseReads, SessionLeaseWrites;
    session_steps: StepReads, StepWrites;
    session_messages: SessionMessageReads, SessionMessageWrites;
    session_stream: SessionStreamReads, SessionStreamWrites;
    session_results: SessionResultReads, SessionResultWrites;
    request_heads: RequestHeadReads, RequestHeadWrites;
    session_keys: SessionKeyReads, SessionKeyWrites;
    tool_rules: ToolRuleReads, ToolRuleWrites;
    made_with: MadeWithReads, MadeWithWrites;
    users: UserReads, UserWrites;
    orgs: OrgReads, OrgWrites;
    invitations: InvitationReads, InvitationWrites;
    box_holders: BoxHolderReads, BoxHolderWrites;
}

//! One trait per noun, all over one transaction.

use warren_model::{
    Event, NewEvent, OrgId, Principal, Registration, Timestamp, Token, TokenHash, TokenId, TokenKind, Vitals,
    Workspace, WorkspaceId,
};

use crate::approvals::{ApprovalReads, ApprovalWrites};
use crate::chat::{ChatReads, ChatWrites};
use crate::exchange::{
    DelegationReads, DelegationWrites, DeliveryReads, DeliveryWrites, RepeatReads, RepeatWrites, TaskReads,
    TaskWrites,
};
use crate::memory::{MemoryReads, MemoryWrites};
use crate::places::{PlaceReads, PlaceWrites};
use crate::push_configs::{PushConfigReads, PushConfigWrites};
use crate::schedules::{ScheduleReads, ScheduleWrites};
use crate::templates::{PositionReads, PositionWrites, TemplateReads, TemplateWrites};
use crate::{AuditReads, AuditWrites, SecretReads, SecretWrites, WebhookReads, WebhookWrites};
use crate::{Batch, Error, EventQuery, Page, TokenQuery, WorkspaceQuery};

/// Everything that can be read.
pub trait ReadTx:
    WorkspaceReads
    + VitalsReads
    + RegistrationReads
    + EventReads
    + TokenReads
    + SpendingReads
    + LeaseReads
    + SecretReads
    + AuditReads
    + TemplateReads
    + PositionReads
    + TaskReads
    + DeliveryReads
    + RepeatReads
    + DelegationReads
    + ChatReads
    + PushConfigReads
    + WebhookReads
    + ScheduleReads
    + MemoryReads
    + ApprovalReads
    + PlaceReads
{
}
impl<T> ReadTx for T where
    T: WorkspaceReads
        + VitalsReads
        + RegistrationReads
        + EventReads
        + TokenReads
        + SpendingReads
        + LeaseReads
        + SecretReads
        + AuditReads
        + TemplateReads
        + PositionReads
        + TaskReads
        + DeliveryReads
        + RepeatReads
        + DelegationReads
        + ChatReads
        + PushConfigReads
        + WebhookReads
        + ScheduleReads
        + MemoryReads
        + ApprovalReads
        + PlaceReads
        + ?Sized
{
}

/// Everything that can be read and written.
pub trait WriteTx:
    ReadTx
    + WorkspaceWrites
    + VitalsWrites
    + RegistrationWrites
    + EventWrites
    + TokenWrites
    + SpendingWrites
    + LeaseWrites
    + SecretWrites
    + AuditWrites
    + TemplateWrites
    + PositionWrites
    + TaskWrites
    + DeliveryWrites
    + RepeatWrites
    + DelegationWrites
    + ChatWrites
    + PushConfigWrites
    + WebhookWrites
    + ScheduleWrites
    + MemoryWrites
    + ApprovalWrites
    + PlaceWrites
{
}
impl<T> WriteTx for T where
    T: ReadTx
        + WorkspaceWrites
        + VitalsWrites
        + RegistrationWrites
        + EventWrites
        + TokenWrites
        + SpendingWrites
        + LeaseWrites
        + SecretWrites
        + AuditWrites
        + TemplateWrites
        + PositionWrites
        + TaskWrites
        + DeliveryWrites
        + RepeatWrites
        + DelegationWrites
        + ChatWrites
        + PushConfigWrites
        + WebhookWrites
        + ScheduleWrites
        + MemoryWrites
        + ApprovalWrites
        + PlaceWrites
        + ?Sized
{
}

pub trait WorkspaceReads {
    fn workspace(&mut self, id: WorkspaceId) -> Result<Option<Workspace>, Error>;
    fn workspaces(&mut self, query: &WorkspaceQuery) -> Result<Page<Workspace, WorkspaceId>, Error>;
    /// How many workspaces of the org are not removed.
    fn count_workspaces(&mut self, org_id: OrgId) -> Result<u64, Error>;
    /// Ids of all that are not removed, in order.
    fn living_workspace_ids(
        &mut self,
        after: Option<WorkspaceId>,
        limit: u32,
    ) -> Result<Vec<WorkspaceId>, Error>;
}

pub trait WorkspaceWrites {
    fn insert_workspace(&mut self, workspace: &Workspace) -> Result<(), Error>;
    /// Compare-and-set: writes all columns and `version = expected_version + 1`, only if the row still has
    /// `expected_version`; otherwise `Error::Conflict`. `workspace.version` is not looked at. Answers with the
    /// new version.
    fn update_workspace(&mut self, workspace: &Workspace, expected_version: u64) -> Result<u64, Error>;
    /// Compare-and-set from a row as it was read to what it is to be: writes what differs between the two and
    /// `version = from.version + 1`, only if the row still has `from.version`. Does the same as `update_workspace` for
    /// less, since an engine leaves the indexes of columns alone that are not written.
    fn change_workspace(&mut self, from: &Workspace, to: &Workspace) -> Result<u64, Error>;
    /// Erases a removed workspace with its reports and tokens; those below it become roots. Answers whether there was
    /// one. What is not removed is left alone.
    fn erase_workspace(&mut self, id: WorkspaceId) -> Result<bool, Error>;
}

/// A deadline that a sweep looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing was heard for too long.
    Liveness,
    /// Work in flight shows no progress.
    Stall,
    /// The runtime is to be probed.
    Probe,
    /// No task for so long that it may sleep.
    Idleness,
    /// Provisioning took too long.
    Provision,
    /// Something is to be tried again.
    Mending,
}

impl Due {
    pub const ALL: [Self; 6] =
        [Self::Liveness, Self::Stall, Self::Probe, Self::Idleness, Self::Provision, Self::Mending];
}

pub trait VitalsReads {
    /// What is known from reports; of one that never reported, the default.
    fn vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error>;
    /// Of many at once; those that never reported are not in it.
    fn vitals_of(&mut self, ids: &[WorkspaceId]) -> Result<Batch<(WorkspaceId, Vitals)>, Error>;
    /// Workspaces whose deadline is `now` or earlier, the longest overdue first.
    fn due(&mut self, what: Due, now: Timestamp, limit: u32) -> Result<Vec<WorkspaceId>, Error>;
}

pub trait VitalsWrites {
    /// As `vitals`, and nobody else changes them until this transaction ends.
    fn hold_vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error>;
    fn put_vitals(&mut self, id: WorkspaceId, vitals: &Vitals) -> Result<(), Error>;
}

pub trait RegistrationReads {
    fn registration(&mut self, id: WorkspaceId) -> Result<Option<Registration>, Error>;
}

pub trait RegistrationWrites {
    fn put_registration(&mut self, registration: &Registration) -> Result<(), Error>;
}

pub trait EventReads {
    /// At most `limit` rows after `query.after`, ascending. `next` is the last sequence looked at, also where the
    /// filter hid rows, so that a reader moves on; `None` when the end of the log was reached.
    fn events(&mut self, query: &EventQuery) -> Result<Page<Event, u64>, Error>;
    /// The highest sequence, 0 for an empty log.
    fn newest_event_seq(&mut self) -> Result<u64, Error>;
    /// The lowest sequence that is still kept; none for an empty log.
    fn oldest_event_seq(&mut self) -> Result<Option<u64>, Error>;
}

pub trait EventWrites {
    /// Appends to the outbox. The sequence is given at commit, without gaps, in commit order.
    fn append_event(&mut self, event: &NewEvent) -> Result<(), Error>;
    /// Deletes the oldest events that happened before this moment, at most `limit`. Answers how many.
    fn prune_events(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}

pub trait TokenReads {
    fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error>;
    /// The way a credential is checked: by hash, so that no comparison leaks timing.
    fn token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Token>, Error>;
    fn tokens(&mut self, query: &TokenQuery) -> Result<Page<Token, TokenId>, Error>;
    /// How many tokens this owner holds that are neither expired at `now`, revoked nor used up; sign-in links and
    /// browser sessions do not count.
    fn count_tokens(&mut self, owner: &Principal, now: Timestamp) -> Result<u64, Error>;
}

pub trait TokenWrites {
    fn insert_token(&mut self, token: &Token) -> Result<(), Error>;
    /// Sets `revoked_at` once. Answers whether this call did it.
    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error>;
    /// Sets `used_at` once. Answers whether this call did it: of two callers, one gets `true`.
    fn use_up_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error>;
    fn touch_token(&mut self, id: TokenId, at: Timestamp) -> Result<(), Error>;
    /// Revokes all tokens of one kind that speak for a workspace. Answers how many this call ended.
    fn revoke_tokens_of(
        &mut self,
        workspace_id: WorkspaceId,
        kind: TokenKind,
        at: Timestamp,
    ) -> Result<u64, Error>;
    /// Deletes tokens that ended before this moment, at most `limit`. Answers how many.
    fn prune_tokens(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}

pub trait SpendingReads {
    /// What a workspace spent in a month, such as `2026-11`, in millionths.
    fn spent(&mut self, id: WorkspaceId, month: &str) -> Result<u64, Error>;
}

pub trait SpendingWrites {
    /// Adds to what was spent and answers with the sum. Of many at once, none is lost.
    fn add_spending(&mut self, id: WorkspaceId, month: &str, micros: u64) -> Result<u64, Error>;
}

/// A claim on a named piece of work, with a fence that only grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    pub owner: String,
    /// Grows with each new owner; a stalled one cannot write with an old fence.
    pub fence: u64,
    pub expires_at: Timestamp,
}

pub trait LeaseReads {
    fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error>;
}

pub trait LeaseWrites {
    /// Takes the lease if it is free, expired at `now`, or already this owner's (then the fence stays). `None`
    /// when somebody else holds it.
    fn take_lease(
        &mut self,
        name: &str,
        owner: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, Error>;
    /// Fails with `LeaseLost` unless the lease stands under this fence and has not expired at `now`. Called in
    /// the same transaction as the write it guards.
    fn check_lease(&mut self, lease: &Lease, now: Timestamp) -> Result<(), Error>;
    /// Gives the lease back; without effect if it is no longer held.
    fn release_lease(&mut self, lease: &Lease) -> Result<(), Error>;
}

//! What persistence must promise: traits per noun over one transaction, and the contract suite each backend passes.
//!
//! ```text
//!   store.write(|tx| { load; decide; compare-and-set; append event })   all of it, or nothing
//!   store.write_few(|tx| { … })                                           the same, for a row or two that somebody watches
//!   store.read(|tx| { … })                                              one consistent snapshot
//!   store.read_few(|tx| { … })                                            the same, for a few rows by their keys
//! ```
//!
//! The work is a plain synchronous closure. That is what lets SQLite's one writer thread put many callers' work
//! into one commit, and what keeps a transaction from being held over an await. A backend may run the closure
//! again when the database asks for it (a deadlock in Postgres), so it must have no effect but on the transaction.
//! `write` answers only when the work is on disk.

mod agents;
mod approvals;
mod audit;
mod box_holders;
mod chat;
pub mod contract;
mod delegations;
mod deliveries;
mod error;
mod events;
mod invitations;
mod leases;
mod made_with;
mod memory;
mod orgs;
mod pages;
mod positions;
mod push_configs;
mod registrations;
mod repeats;
mod request_heads;
mod schedules;
mod secrets;
mod session_keys;
mod session_leases;
mod session_messages;
mod session_results;
mod session_steps;
mod session_stream;
mod sessions;
mod spending;
mod tasks;
mod templates;
mod tokens;
mod tool_rules;
mod transaction;
mod users;
mod vitals;
mod waker;
mod webhooks;
mod workspaces;

pub use agents::{AgentVersionMark, AgentVersionQuery};
pub use approvals::ApprovalQuery;
pub use audit::AuditQuery;
pub use box_holders::{BoxHolder, ReplicaRow};
pub use chat::{ChatSearch, ChatSpan, ConversationQuery, NoticeKey};
pub use delegations::DelegationQuery;
pub use deliveries::{DeliveryQuery, QueueState, QueueTotals};
pub use error::Error;
pub use events::EventQuery;
pub use leases::Lease;
pub use memory::{MemoryQuery, MemorySearch};
pub use orgs::MemberQuery;
pub use pages::{Batch, Page, Unreadable};
pub use repeats::Repeat;
pub use schedules::{ScheduleQuery, ScheduleRunQuery};
pub use secrets::{Reach, SecretKey, SecretQuery};
pub use session_keys::{KeyScope, SessionKey};
pub use session_messages::SessionMessageQuery;
pub use session_results::{MAX_RESULT_BYTES, ResultPart};
pub use session_stream::PieceSpan;
pub use sessions::SessionQuery;
pub use tasks::{TaskMark, TaskQuery};
pub use tokens::TokenQuery;
pub use tool_rules::ToolRuleQuery;
pub use transaction::*;
pub use vitals::Due;
pub use waker::{WakeUps, Waker};
pub use webhooks::WebhookCallQuery;
pub use workspaces::WorkspaceQuery;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use warren_model::{AuditHead, WorkspaceId};

/// Work inside a reading transaction, with its type erased.
pub type ReadWork = Box<dyn FnMut(&mut dyn ReadTx) -> Verdict + Send>;
/// Work inside a writing transaction, with its type erased.
pub type WriteWork = Box<dyn FnMut(&mut dyn WriteTx) -> Verdict + Send>;

/// What the work wants done with its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Commit,
    Rollback,
}

/// What a database says of itself, for `doctor` and `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreHealth {
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// The engine's own version.
    pub engine_version: String,
    /// The newest migration that was applied.
    pub schema_version: u32,
    /// What makes a commit durable, in the engine's words, such as `wal, synchronous=FULL`.
    pub durability: String,
}

/// What a copy of a database holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseCopy {
    pub schema_version: u32,
    pub newest_event: u64,
    pub audit_head: AuditHead,
    /// Those that were not removed.
    pub workspaces: BTreeSet<WorkspaceId>,
}

/// A database. Use `read` and `write`; the two `run_*` methods are for backends.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    async fn run_read(&self, work: ReadWork) -> Result<(), Error>;

    /// A read that is so short that handing it to another thread would cost more than itself.
    async fn run_read_few(&self, work: ReadWork) -> Result<(), Error> {
        self.run_read(work).await
    }

    /// Answers after the commit is durable, or after the rollback.
    async fn run_write(&self, work: WriteWork) -> Result<(), Error>;

    /// A write that is so short that it may go before others that wait.
    async fn run_write_few(&self, work: WriteWork) -> Result<(), Error> {
        self.run_write(work).await
    }

    /// The highest event sequence this process knows to be committed. A hint to read again, never the truth:
    /// readers keep a slow poll behind it.
    fn newest_event(&self) -> watch::Receiver<u64>;

    async fn health(&self) -> Result<StoreHealth, Error>;

    /// Whether other processes may be on the same database.
    fn is_shared(&self) -> bool;

    /// Writes a copy as of one moment into the empty file at `path`, while others read and write. Only where the database is
    /// this process's own: one that is shared has an operator who backs it up.
    async fn copy_to(&self, path: &Path) -> Result<DatabaseCopy, Error> {
        Err(Error::Refused(format!("a shared database is not copied to {}", path.display())))
    }

    /// Finishes what was accepted and lets go of the database.
    async fn close(&self);
}

impl dyn Store + '_ {
    /// Runs `work` on one consistent snapshot.
    pub async fn read<T, E, F>(&self, mut work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut dyn ReadTx) -> Result<T, E> + Send + 'static,
    {
        let slot = Slot::default();
        let filled = slot.clone();
        self.run_read(Box::new(move |tx| filled.put(work(tx)))).await?;
        slot.take()
    }

    /// As `read`, for a few rows that are found by their keys: where the engine is part of this process, it is asked on
    /// the caller's own thread. Never for lists or searches, which would hold up whoever else runs there.
    pub async fn read_few<T, E, F>(&self, mut work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut dyn ReadTx) -> Result<T, E> + Send + 'static,
    {
        let slot = Slot::default();
        let filled = slot.clone();
        self.run_read_few(Box::new(move |tx| filled.put(work(tx)))).await?;
        slot.take()
    }

    /// Runs `work` in one transaction: all of it is durable when this answers `Ok`, none of it if not.
    pub async fn write<T, E, F>(&self, mut work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut dyn WriteTx) -> Result<T, E> + Send + 'static,
    {
        let slot = Slot::default();
        let filled = slot.clone();
        self.run_write(Box::new(move |tx| filled.put(work(tx)))).await?;
        slot.take()
    }

    /// As `write`, for a row or two: where writes wait for each other, it goes before those that take longer. For what people
    /// watch as it comes, and nothing else: what everybody calls urgent is not.
    pub async fn write_few<T, E, F>(&self, mut work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut dyn WriteTx) -> Result<T, E> + Send + 'static,
    {
        let slot = Slot::default();
        let filled = slot.clone();
        self.run_write_few(Box::new(move |tx| filled.put(work(tx)))).await?;
        slot.take()
    }
}

/// Carries a typed result out of an erased closure; the last run counts.
struct Slot<T, E>(Arc<Mutex<Option<Result<T, E>>>>);

impl<T, E> Default for Slot<T, E> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }
}

impl<T, E> Clone for Slot<T, E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T, E: From<Error>> Slot<T, E> {
    fn put(&self, result: Result<T, E>) -> Verdict {
        let verdict = if result.is_ok() { Verdict::Commit } else { Verdict::Rollback };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        verdict
    }

    fn take(&self) -> Result<T, E> {
        let result = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.unwrap_or_else(|| Err(Error::Unavailable("the work was dropped before it ran".into()).into()))
    }
}

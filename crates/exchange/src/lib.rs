//! Carriers of messages: what `rules` decides about tasks, schedules, memory and approvals is written and brought
//! about here, and every call that leaves Warren goes through the one checked connector.
//!
//! ```text
//!   send ─▶ one row in the queue ─▶ claim ─┬▶ dispatcher calls the runtime ──┐
//!           (accepted: durable)            └▶ the runtime comes and asks ────┴▶ settle: row, task, delegation, events
//! ```
//!
//! As in the fleet, a change is `load → decide → compare-and-set + event` in one transaction, and what must happen
//! afterwards is found again from the rows, so that a crash between the two loses nothing.

pub mod a2a;
mod a2a_client;
mod agent_words;
mod answer_files;
mod approvals;
mod chat;
pub mod connector;
mod delegations;
mod dispatcher;
mod endings;
mod feed;
mod files;
mod memory;
mod notices;
mod peers;
mod prober;
mod pull;
mod pushes;
mod queue;
mod runtimes;
mod schedules;
mod send;
pub mod signing;
mod tasks;
mod terms;
mod transport;
mod tree;
mod upkeep;
mod watchers;
pub mod webhooks;

pub use a2a_client::A2aTransport;
pub use answer_files::Sight;
pub use approvals::{ApprovalDecision, AskApproval, MAX_APPROVAL_WAIT_MS};
pub use chat::{MAX_CHAT_PAGE, NewConversation};
pub use delegations::{Delegate, Delegated};
pub use endings::result_of;
pub use memory::{MAX_FOUND, Remember};
pub use notices::{Notice, Noticed, Once};
pub use prober::CardProber;
pub use pull::{Answer, Claimed, LEASES_MS, MAX_WAIT_MS};
pub use queue::Placed;
pub use schedules::{MAX_PREVIEW, NewSchedule, PatchSchedule, Rest};
pub use send::{Accepted, OWN_NAMESPACE, PRIORITIES, Send, Sender};
pub use terms::Terms;
pub use transport::{Endpoint, NoTransport, Outcome, Told, Transport, Turn, UpdateSink};
pub use warren_rules::messages::attachments;
pub use warren_rules::messages::feed::Line;
pub use watchers::Follower;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warren_doors::{Clock, Entropy};
use warren_fleet::Fleet;
use warren_model::{Principal, WorkspaceId};
use warren_store::Store;

use connector::Connector;

/// Failures have the fleet's shape: a public code and detail, and a cause that stays in the log.
pub use warren_service::Error;

/// What the exchange is made of. Everything comes from outside.
#[derive(Debug, Clone)]
pub struct Parts {
    pub fleet: Fleet,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub connector: Connector,
    pub terms: Terms,
    /// How runtimes are called.
    pub transport: Arc<dyn Transport>,
}

/// The exchange. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Exchange(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Parts,
    /// Tells this process from others on the same database.
    instance: String,
    /// Work that must finish even if the client that asked for it hangs up.
    tasks: TaskTracker,
    stopping: CancellationToken,
    watchers: watchers::Watchers,
    runs: dispatcher::Runs,
    kicks: dispatcher::Kicks,
    webhooks: webhooks::Work,
    schedules: schedules::Wake,
}

impl Exchange {
    pub fn new(parts: Parts) -> Self {
        let instance = parts.entropy.id::<warren_model::RequestKind>(parts.clock.now()).to_string();
        Self(Arc::new(Inner {
            instance,
            parts,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            watchers: watchers::Watchers::default(),
            runs: dispatcher::Runs::default(),
            kicks: dispatcher::Kicks::default(),
            webhooks: webhooks::Work::default(),
            schedules: schedules::Wake::default(),
        }))
    }

    /// Takes up what an earlier process left. Called after the fleet's own start.
    pub async fn start(&self) -> Result<(), Error> {
        self.start_upkeep();
        self.start_pushes();
        self.start_webhooks();
        self.start_scheduler();
        Ok(())
    }

    /// Stops taking up work and waits for what is under way. Called before the fleet's own stop.
    pub async fn stop(&self) {
        self.0.stopping.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub fn fleet(&self) -> &Fleet {
        &self.0.parts.fleet
    }

    /// The one door for calls to others.
    pub fn connector(&self) -> &Connector {
        &self.0.parts.connector
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        self.fleet().context.store()
    }

    pub fn terms(&self) -> &Terms {
        &self.0.parts.terms
    }

    fn clock(&self) -> &dyn Clock {
        &*self.0.parts.clock
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.0.parts.entropy
    }

    fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.0.parts.transport)
    }

    fn instance(&self) -> &str {
        &self.0.instance
    }

    fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    fn tasks_in_hand(&self) -> &TaskTracker {
        &self.0.tasks
    }

    fn watchers(&self) -> &watchers::Watchers {
        &self.0.watchers
    }

    fn runs(&self) -> &dispatcher::Runs {
        &self.0.runs
    }

    fn kicks(&self) -> &dispatcher::Kicks {
        &self.0.kicks
    }

    fn webhook_work(&self) -> &webhooks::Work {
        &self.0.webhooks
    }

    /// A message came for one that sleeps (F7).
    fn wake(&self, id: WorkspaceId, by: &Principal) {
        let (exchange, by) = (self.clone(), by.clone());
        self.0.tasks.spawn(async move {
            if let Err(error) = exchange.fleet().lifecycle.wake_for_message(id, &by).await {
                tracing::warn!(workspace.id = %id, %error, "a workspace could not be woken for its message");
            }
        });
    }

    /// Its box is dead, as its transport found out (X13).
    fn report_failing(&self, id: WorkspaceId) {
        let exchange = self.clone();
        self.0.tasks.spawn(async move {
            if let Err(error) = exchange.fleet().lifecycle.found_failing(id).await {
                tracing::warn!(workspace.id = %id, %error, "a failing workspace could not be marked; its next report does it");
            }
        });
    }

    fn report_gone(&self, id: WorkspaceId) {
        let exchange = self.clone();
        self.0.tasks.spawn(async move {
            if let Err(error) = exchange.fleet().lifecycle.found_gone(id).await {
                tracing::warn!(workspace.id = %id, %error, "a dead workspace could not be marked");
            }
        });
    }
}

//! Messages and what belongs to them: what `rules` decides about tasks, schedules, memory and approvals is written and
//! brought about here.
//!
//! ```text
//!   send ─▶ one row in the queue ─▶ claim ─┬▶ Warren calls the agent ──┐
//!           (accepted: durable)            └▶ the agent comes and asks ┴▶ settle: row, task, delegation, events
//! ```
//!
//! One service per noun, put together by [`Exchange`]. As in the fleet, a change is `load → decide → compare-and-set +
//! event` in one transaction, and what must happen afterwards is found again from the rows, so that a crash between the two
//! loses nothing.

pub mod a2a;
mod agents;
mod approvals;
mod config;
mod conversations;
mod delegations;
mod kinship;
mod memories;
mod messages;
mod notices;
mod peers;
mod push_configs;
mod schedules;
mod signing;
mod web_doors;
pub mod webhooks;

pub use agents::{
    AgentAddress, AgentRuntime, AgentUpdate, Agents, ByA2a, DeliveryAttempt, Finding, Outcome, Reach,
    Registrations, UpdateSink,
};
pub use approvals::{
    ApprovalAnswer, ApprovalDecision, Approvals, AskApproval, CallDecisions, MAX_APPROVAL_WAIT_MS,
    RememberDecision,
};
pub use config::Config;
pub use conversations::{Conversations, MAX_CHAT_PAGE, NewConversation};
pub use delegations::{Delegate, Delegated, Delegations};
pub use memories::{MAX_FOUND, Memories, Remember};
pub use messages::{
    Accepted, Answer, Claimed, FileView, Follower, LEASES_MS, MAX_WAIT_MS, Messages, NewMessage,
    OWN_NAMESPACE, PRIORITIES, Placed, Queue, Sender, go_on_with_task, result_of,
};
pub use notices::{Notice, Noticed, Notices, Once};
pub use peers::Peers;
pub use push_configs::PushConfigs;
pub use schedules::{MAX_PREVIEW, NewSchedule, PatchSchedule, Rest, Scheduler, Schedules};
pub use signing::Signer;
pub use warren_rules::messages::attachments::{LOOKED_AT, MAX_ATTACHMENTS, checked_type};
pub use warren_rules::messages::feed::Line;
/// Failures of all services: a public code and detail, and a cause that stays in the log.
pub use warren_service::Error;
/// What can be asked of the services.
pub use warren_store::{
    ApprovalQuery, ChatSpan, ConversationQuery, DeliveryQuery, TaskMark, TaskQuery, WebhookCallQuery,
};
pub use web_doors::{BoundCredential, WebAccess, WebDoors};
pub use webhooks::{Channels, Webhooks};

use std::ops::Deref;
use std::sync::{Arc, Weak};

use warren_fleet::Fleet;
use warren_model::WorkspaceId;
use warren_outbound::Connector;
use warren_service::Context;

use messages::{Deliveries, Masking, Upkeep};
use webhooks::SharedSecrets;

/// What the exchange is made of. Everything comes from outside.
#[derive(Debug, Clone)]
pub struct Parts {
    pub fleet: Fleet,
    pub connector: Connector,
    pub config: Config,
    /// How agents are reached.
    pub agents: Agents,
    /// Whose keys are published.
    pub signer: Signer,
    /// What boxes may reach, besides what their workspaces say.
    pub web_access: WebAccess,
}

/// The services of the exchange, put together. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Exchange(Arc<Services>);

/// One service per noun.
#[derive(Debug)]
pub struct Services {
    pub messages: Messages,
    pub queue: Queue,
    pub delegations: Delegations,
    pub conversations: Conversations,
    pub notices: Notices,
    pub schedules: Schedules,
    pub scheduler: Scheduler,
    pub approvals: Approvals,
    pub memories: Memories,
    pub webhooks: Webhooks,
    pub channels: Channels,
    pub push_configs: PushConfigs,
    pub web_doors: WebDoors,
    pub peers: Peers,
    pub registrations: Registrations,
    pub signer: Signer,
    fleet: Fleet,
    connector: Connector,
    config: Config,
    context: Context,
    upkeep: Upkeep,
    agents: Agents,
    deliveries: Deliveries,
}

impl Deref for Exchange {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}

/// Has queues looked at now rather than with the next look over all of them. Does not keep the exchange.
#[derive(Debug, Clone)]
pub struct QueueWaker(Weak<Services>);

impl QueueWaker {
    pub fn wake(&self, id: WorkspaceId) {
        if let Some(services) = self.0.upgrade() {
            services.deliveries.wake_queue(id);
        }
    }
}

impl Exchange {
    pub fn new(parts: Parts) -> Self {
        let Parts { fleet, connector, config, agents, signer, web_access } = parts;
        // It stops before the fleet does.
        let context = fleet.context.with_own_work();
        let with = || (context.clone(), fleet.clone());
        let masking = Masking::new(context.clone(), fleet.redactors.clone());
        let (c, f) = with();
        let deliveries = Deliveries::new(c, f, config, agents.clone(), masking.clone());
        let (c, f) = with();
        let peers = Peers::new(c, f);
        let (c, f) = with();
        let messages = Messages::new(c, f, config, agents.clone(), peers.clone(), deliveries.clone());
        let (c, f) = with();
        let approvals = Approvals::new(c, f);
        let secrets = SharedSecrets::new(context.clone(), fleet.sealer.clone());
        let scheduler = Scheduler::new(context.clone(), messages.clone());
        Self(Arc::new(Services {
            queue: Queue::new(context.clone(), fleet.clone(), config, deliveries.clone()),
            delegations: Delegations::new(
                context.clone(),
                fleet.clone(),
                peers.clone(),
                messages.clone(),
                deliveries.clone(),
            ),
            conversations: Conversations::new(context.clone(), fleet.clone(), config, messages.clone()),
            notices: Notices::new(context.clone(), fleet.clone(), config, masking),
            schedules: Schedules::new(context.clone(), fleet.clone(), agents.clone(), scheduler.clone()),
            scheduler,
            memories: Memories::new(context.clone(), fleet.clone()),
            webhooks: Webhooks::new(context.clone(), connector.clone(), secrets.clone()),
            channels: Channels::new(context.clone(), fleet.clone(), secrets, messages.clone()),
            push_configs: PushConfigs::new(context.clone(), fleet.sealer.clone(), connector.clone()),
            web_doors: WebDoors::new(
                context.clone(),
                fleet.clone(),
                approvals.clone(),
                &connector,
                web_access,
            ),
            registrations: Registrations::new(fleet.clone(), connector.clone(), agents.clone()),
            upkeep: Upkeep::new(context.clone(), config, deliveries.clone(), approvals.clone()),
            agents,
            deliveries,
            messages,
            approvals,
            peers,
            signer,
            fleet,
            connector,
            config,
            context,
        }))
    }

    /// Takes up what an earlier process left. Called after the fleet's own start. A replica that only serves clients leaves
    /// this to workers.
    pub async fn start(&self) -> Result<(), Error> {
        if !self.fleet.box_holders.role().opens_boxes() {
            return Ok(());
        }
        self.upkeep.start();
        let sweeps = &self.fleet.sweeps;
        sweeps.supervise(&self.context, Arc::new(self.push_configs.background_loop()));
        sweeps.supervise(&self.context, Arc::new(self.webhooks.background_loop()));
        sweeps.supervise(&self.context, Arc::new(self.scheduler.background_loop()));
        Ok(())
    }

    /// Stops taking up work and waits for what is under way. Called before the fleet's own stop.
    pub async fn stop(&self) {
        self.context.begin_stop();
        self.context.wait_for_background_work().await;
    }

    /// Says who speaks with the agents that Warren runs itself. Once, where everything is put together.
    pub fn host_agents_with(&self, hosted: Arc<dyn AgentRuntime>) {
        self.agents.host_with(hosted);
    }

    /// For whoever puts messages into queues in transactions of their own.
    pub fn queue_waker(&self) -> QueueWaker {
        QueueWaker(Arc::downgrade(&self.0))
    }

    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The one door for calls to others.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
}

//! Sessions with agents: carries out what `rules::sessions` decides.
//!
//! ```text
//!   Definitions   agents as people store them
//!   ModelCatalog  the models that they can be run by
//!   ToolRules     rules about tool calls that people make
//!   Sessions      begin, speak to, decide, stop, resume, go back, branch
//!   Engine        claims sessions by lease, asks models (llm), calls tools (operations)
//!   commit        the one way in which a session changes: load, decide, write, in one transaction
//!   hosted        the agents of hosted workspaces, as the exchange calls them
//!   streams       what happens in a session, from any entry on
//! ```
//!
//! - Nothing but the database holds the truth. A session that waits is a row; no task, timer or socket belongs to it.
//! - Whoever works on a session holds its lease. Every write names the lease's epoch, so that an owner who froze and was
//!   replaced cannot write late.
//! - That a call is begun is on disk before it is begun.

mod chats;
mod commit;
mod config;
mod decisions;
mod definitions;
mod engine;
mod hosted;
mod model_catalog;
mod models;
mod offers;
mod provider_models;
mod request_heads;
mod schemas;
mod session_input;
mod session_keys;
mod sessions;
mod shown_context;
mod streams;
mod tool_rules;
mod tools;

pub use chats::{AnswerRef, Chats, RunReader, SaidInstead};
pub use config::Config;
pub use definitions::Definitions;
pub use engine::Engine;
pub use hosted::HostedAgents;
pub use model_catalog::ModelCatalog;
pub use models::{KnownModels, KnownProvider, ModelCaller, Models};
pub use provider_models::{EnvironmentKeys, ProviderModels};
pub use sessions::{
    DEFAULT_STOP_SECONDS, HandedIn, MAX_STOP_SECONDS, NewSession, NewSessionMessage, NewStop, Pending,
    Sessions, Upgraded,
};
pub use shown_context::ShownContext;
pub use streams::Follower;
pub use tool_rules::{NewToolRule, ToolRuleFilter, ToolRules, scope_of};
pub use warren_store::SessionQuery;

use std::sync::Arc;

use warren_exchange::Exchange;
use warren_fleet::Fleet;
use warren_operations::Operations;
use warren_service::Context;

use commit::Surroundings;
use decisions::Decisions;
use streams::Streams;

/// What agents are hosted with. Everything comes from outside.
#[derive(Debug, Clone)]
pub struct Parts {
    pub fleet: Fleet,
    pub operations: Operations,
    pub models: Arc<dyn Models>,
    pub config: Config,
}

/// The services of hosted agents, put together. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct AgentHost {
    pub definitions: Definitions,
    pub sessions: Sessions,
    pub models: ModelCatalog,
    pub chats: Chats,
    pub tool_rules: ToolRules,
    pub engine: Engine,
    hosted: HostedAgents,
    context: Context,
}

impl AgentHost {
    pub fn new(parts: Parts) -> Self {
        let Parts { fleet, operations, models, config } = parts;
        // It stops before the fleet does.
        let context = fleet.context.with_own_work();
        let catalog = ModelCatalog::new(fleet.clone(), Arc::clone(&models));
        let surroundings = Surroundings::new(context.clone(), models);
        let streams = Streams::new(context.clone());
        let engine = Engine::new(
            context.clone(),
            config,
            surroundings.clone(),
            fleet.clone(),
            operations.clone(),
            streams.clone(),
        );
        let hosted = HostedAgents::new(engine.clone(), streams.clone());
        let tool_rules = ToolRules::new(context.clone(), fleet.clone());
        let sessions = Sessions::new(
            context.clone(),
            fleet,
            engine.clone(),
            surroundings.clone(),
            streams.clone(),
            operations,
        );
        let chats = Chats::new(context.clone(), sessions.clone(), engine.clone(), surroundings, streams);
        Self {
            definitions: Definitions::new(context.clone()),
            sessions,
            chats,
            models: catalog,
            tool_rules,
            engine,
            hosted,
            context,
        }
    }

    /// Makes these the agents of hosted workspaces, which the exchange calls, and of whose tool calls it tells what people
    /// decided. Once, where everything is put together.
    pub fn join(&self, exchange: &Exchange) {
        exchange.approvals.tell_call_decisions_to(Arc::new(Decisions::new(self.engine.clone())));
        exchange.host_agents_with(Arc::new(self.hosted.clone()));
        self.engine.wake_queues_of(exchange.queue_waker());
    }

    /// Takes up what an earlier process left.
    pub fn start(&self) {
        self.engine.start();
    }

    /// Gives leases back and waits for what is under way.
    pub async fn stop(&self) {
        self.context.begin_stop();
        self.context.wait_for_background_work().await;
    }
}

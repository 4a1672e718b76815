//! The services of fleet and exchange without a server around them, with agents that do what the test says.
//!
//! ```text
//!   for bed in ExchangeBed::on_each_store().await {
//!       let (id, _) = bed.called().await;               // a workspace whose agent Warren calls
//!       bed.agent.next([Act::Say("done".into())]);      // what it does with the next message
//!       let accepted = bed.say(id, "hello").await;
//!       bed.task_in(&accepted, TaskState::Completed).await;
//!   }
//! ```

use std::ops::Deref;
use std::sync::Arc;

use serde_json::json;
use warren_exchange::{
    Accepted, Agents, Config, DeliveryQuery, Error, Exchange, NewMessage, Parts, Signer, WebAccess,
};
use warren_fleet::{CreateWorkspace, Register};
use warren_model::{
    Delivery, DeliveryState, Displacement, Message, Part, Role, Runtime, RuntimeReport, Status, Task, TaskId,
    TaskState, WorkspaceId,
};
use warren_outbound::{Connector, OutboundPolicy, Resolver, SystemResolver};
use warren_service::Identity;

use crate::bed::{Bed, BedOptions, eventually};
use crate::{PostgresDatabase, ScriptedAgent};

/// Choices to make before the start.
#[derive(Debug, Clone, Default)]
pub struct ExchangeOptions {
    pub bed: BedOptions,
    pub config: Config,
    /// What webhooks and the like may call. By default nothing that is private, and so no peer of a test.
    pub outbound: OutboundPolicy,
    /// Where names lead; absent: as on this machine.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// What boxes may reach.
    pub web_access: WebAccess,
    /// Certificates that are trusted besides the machine's, in PEM.
    pub roots: Option<&'static [u8]>,
}

impl ExchangeOptions {
    /// On the machine's own clock, for what waits by itself.
    pub fn real_time() -> Self {
        Self { bed: BedOptions { is_real_time: true, ..BedOptions::default() }, ..Self::default() }
    }
}

/// A running exchange over a fleet.
#[derive(Debug)]
pub struct ExchangeBed {
    pub bed: Bed,
    pub exchange: Exchange,
    /// Behind every workspace that registered with the card of [`ExchangeBed::called`].
    pub agent: ScriptedAgent,
    options: ExchangeOptions,
}

impl Deref for ExchangeBed {
    type Target = Bed;

    fn deref(&self) -> &Bed {
        &self.bed
    }
}

impl ExchangeBed {
    /// One for each store, on the machine's own clock.
    pub async fn on_each_store() -> Vec<Self> {
        Self::with(ExchangeOptions::real_time()).await
    }

    /// One for each store, on a clock that the test moves.
    pub async fn with_clock() -> Vec<Self> {
        Self::with(ExchangeOptions::default()).await
    }

    pub async fn with_config(config: Config) -> Vec<Self> {
        Self::with(ExchangeOptions { config, ..ExchangeOptions::real_time() }).await
    }

    pub async fn with(options: ExchangeOptions) -> Vec<Self> {
        let mut beds = vec![Self::on_sqlite(options.clone()).await];
        if let Some(database) = PostgresDatabase::where_one_is_named() {
            beds.push(Self::on(Some(database), options).await);
        }
        beds
    }

    /// For what does not depend on the store, or is about its files.
    pub async fn on_sqlite(options: ExchangeOptions) -> Self {
        Self::on(None, options).await
    }

    pub async fn on(database: Option<PostgresDatabase>, mut options: ExchangeOptions) -> Self {
        let agent = ScriptedAgent::default();
        let agents = Agents::new(Arc::new(agent.clone()));
        options.bed.probe = Arc::new(agents.clone());
        let bed = Bed::on(database, options.bed.clone()).await;
        Self::over(bed, agent, agents, options).await
    }

    async fn over(bed: Bed, agent: ScriptedAgent, agents: Agents, options: ExchangeOptions) -> Self {
        let resolver = options.resolver.clone().unwrap_or_else(|| Arc::new(SystemResolver));
        let connector = Connector::new(options.outbound.clone(), resolver);
        let connector = match options.roots {
            Some(roots) => connector.trusting(roots).expect("the roots are certificates"),
            None => connector,
        };
        let signer = Signer::new(bed.fleet.sealer.clone(), bed.clock_door(), connector.clone());
        let config = options.config;
        let exchange = Exchange::new(Parts {
            fleet: bed.fleet.clone(),
            connector,
            config,
            agents,
            signer,
            web_access: options.web_access.clone(),
        });
        let starting = exchange.clone();
        bed.inside(async move { starting.start().await }).await.expect("the exchange starts");
        Self { bed, exchange, agent, options }
    }

    /// Stops and starts again on the same store and folder, with the same agents.
    pub async fn restart(self) -> Self {
        self.exchange.stop().await;
        let Self { bed, exchange, agent, options } = self;
        drop(exchange);
        let agents = Agents::new(Arc::new(agent.clone()));
        Self::over(bed.restart().await, agent, agents, options).await
    }

    /// Cuts everything off where it is, and starts again on the same store and folder, with the same agents.
    pub async fn crash(self) -> Self {
        let Self { bed, exchange, agent, options } = self;
        drop(exchange);
        let agents = Agents::new(Arc::new(agent.clone()));
        Self::over(bed.crash().await, agent, agents, options).await
    }
}

/// Workspaces with agents.
impl ExchangeBed {
    /// A workspace whose agent Warren calls, and its credential.
    pub async fn called(&self) -> (WorkspaceId, Identity) {
        self.called_with(Bed::local_request("agent")).await
    }

    pub async fn called_with(&self, request: CreateWorkspace) -> (WorkspaceId, Identity) {
        let id = self.create(CreateWorkspace { runtime: Runtime::External, ..request }).await.id;
        self.wait_for(id, Status::AwaitingAgent).await;
        (id, self.boot(id, Displacement::default()).await)
    }

    /// Registers an agent that Warren calls; returns its credential.
    pub async fn boot(&self, id: WorkspaceId, displaced: Displacement) -> Identity {
        let report = RuntimeReport { displaced, ..RuntimeReport::default() };
        let card = Some(json!({ "scripted": true }));
        let register = Register { agent_card: card, report, ..Register::default() };
        let join = self.join_token(id).await;
        let (exchange, registering) = (self.exchange.clone(), join);
        let registered = self
            .inside(async move { exchange.registrations.register(&registering, register).await })
            .await
            .expect("the join token is good");
        self.identify(&registered.credential).await
    }
}

/// Messages.
impl ExchangeBed {
    /// A text to a workspace, under an id of its own.
    pub fn text(&self, id: WorkspaceId, text: &str) -> NewMessage {
        let message_id: TaskId = self.fleet.context.new_id();
        NewMessage::new(id, Message::new(message_id.to_string(), Role::User, vec![Part::text(text)]))
    }

    /// Sends as the operator.
    pub async fn send(&self, new: NewMessage) -> Result<Accepted, Error> {
        self.send_as(&self.operator, new).await
    }

    pub async fn send_as(&self, who: &Identity, new: NewMessage) -> Result<Accepted, Error> {
        let (exchange, who) = (self.exchange.clone(), who.clone());
        self.inside(Box::pin(async move { exchange.messages.send(&who, new).await })).await
    }

    /// Sends a text as the operator.
    pub async fn say(&self, id: WorkspaceId, text: &str) -> Accepted {
        self.send(self.text(id, text)).await.expect("it is accepted")
    }

    pub async fn task(&self, accepted: &Accepted) -> Task {
        let (of, id) = (accepted.task.workspace_id, accepted.task.id);
        self.exchange.messages.task(&self.operator, of, id).await.expect("the task is there")
    }

    /// Waits until the task is in this state; returns it.
    pub async fn task_in(&self, accepted: &Accepted, state: TaskState) -> Task {
        eventually(state.as_str(), async || self.task(accepted).await.state == state).await;
        self.task(accepted).await
    }

    /// What the agent said last about a task.
    pub async fn said(&self, accepted: &Accepted) -> String {
        answer_of(&self.task(accepted).await)
    }

    pub async fn deliveries(&self, workspace_id: WorkspaceId, state: DeliveryState) -> Vec<Delivery> {
        let query = DeliveryQuery { workspace_id, state, after: None, limit: 200 };
        let read = self.store.read(move |tx| tx.deliveries(&query).map_err(Error::from)).await;
        read.expect("the store is there").rows
    }

    /// How many wait.
    pub async fn waiting(&self, id: WorkspaceId) -> usize {
        self.deliveries(id, DeliveryState::Queued).await.len()
    }
}

/// What the agent said last.
pub fn answer_of(task: &Task) -> String {
    let last = task.history.iter().rev().find(|message| message.role == Role::Agent);
    task.status_message.as_ref().or(last).map_or_else(String::new, Message::text)
}

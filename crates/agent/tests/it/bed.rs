//! Hosted agents without a server around them. The model answers from a script that the test writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use warren_agent::{
    AgentHost, Config, Definitions, KnownModels, ModelCaller, Models, NewSession, NewSessionMessage, Parts,
};
use warren_llm::{AnswerStream, CallOptions, ModelClient, ModelError, Script, ScriptedModel};
use warren_model::session::{
    BusyMode, ModelName, ModelRequest, Phase, Session, SessionMessage, SessionName, Step, StreamEntry,
    TokenUsage,
};
use warren_model::{Part, Workspace, WorkspaceId};
use warren_operations::Operations;
use warren_rules::sessions::TokenPrice;
use warren_service::{Error, Identity};
use warren_testkit::{BedOptions, ExchangeBed, ExchangeOptions, PostgresDatabase, eventually};

/// Models that answer from scripts, by the name of the model. They outlive a crash, as a provider does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scripts(HashMap<String, Arc<ScriptedModel>>);

impl Scripts {
    pub(crate) fn new(scripts: &[(&str, &str)]) -> Self {
        let model = |(name, text): &(&str, &str)| {
            let script = Script::read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            ((*name).to_owned(), Arc::new(ScriptedModel::new(script)))
        };
        Self(scripts.iter().map(model).collect())
    }
}

#[async_trait]
impl Models for Scripts {
    async fn start(
        &self,
        _: ModelCaller,
        request: &ModelRequest,
        resume: Option<Value>,
    ) -> Result<AnswerStream, ModelError> {
        let model = self.0.get(&request.model.model);
        let model = model.ok_or_else(|| ModelError::refused("there is no such script"))?;
        model.start(request, CallOptions { key: None, resume }).await
    }

    fn price(&self, _: &ModelName) -> Option<TokenPrice> {
        Some(TokenPrice { input: 1_000_000, output: 2_000_000 })
    }

    fn cost_micros(&self, _: &ModelName, usage: &TokenUsage) -> u64 {
        usage.input_tokens + 2 * usage.output_tokens
    }

    async fn known(&self, _: ModelCaller) -> Result<KnownModels, Error> {
        Ok(KnownModels::default())
    }
}

/// Which database a scenario runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

pub(crate) struct AgentBed {
    pub(crate) bed: ExchangeBed,
    pub(crate) host: AgentHost,
    pub(crate) workspace: Workspace,
    scripts: Scripts,
    pub(crate) config: Config,
}

/// Impatient, so that tests need not wait.
pub(crate) fn config() -> Config {
    Config {
        lease: Duration::from_millis(1_500),
        renew_every: Duration::from_millis(300),
        look_every: Duration::from_millis(50),
        ..Config::default()
    }
}

impl AgentBed {
    /// One model, named `x/main`.
    pub(crate) async fn start(engine: Engine, script: &str) -> Self {
        Box::pin(Self::with(engine, &[("main", script)])).await
    }

    pub(crate) async fn with(engine: Engine, scripts: &[(&str, &str)]) -> Self {
        let bed = BedOptions { is_real_time: true, is_crashable: true, ..BedOptions::default() };
        // A delivery whose owner died is taken over soon, too.
        let exchange = warren_exchange::Config { lease_ms: 1_500, ..warren_exchange::Config::default() };
        let options = ExchangeOptions { bed, config: exchange, ..ExchangeOptions::default() };
        let bed = match engine {
            Engine::Sqlite => ExchangeBed::on_sqlite(options).await,
            Engine::Postgres => ExchangeBed::on(Some(PostgresDatabase::create()), options).await,
        };
        let workspace = bed.local_workspace().await;
        let (scripts, config) = (Scripts::new(scripts), config());
        let host = host(&bed, &scripts, config).await;
        Self { bed, host, workspace, scripts, config }
    }

    /// A workspace in which `sleep` and `tail` may be run.
    pub(crate) async fn sleeping_workspace(&self) -> Workspace {
        let mut request = warren_testkit::Bed::local_request("sleepy");
        if let warren_model::ProviderConfig::Local(config) = &mut request.provider {
            config.run.allow = Some(vec!["sleep".to_owned(), "tail".to_owned()]);
        }
        self.bed.online(request).await
    }

    /// Another process on the same database.
    pub(crate) async fn second_host(&self, config: Config) -> AgentHost {
        host(&self.bed, &self.scripts, config).await
    }

    /// The same, with a name and, on PostgreSQL, connections of its own.
    pub(crate) async fn other_process(&self, config: Config) -> AgentHost {
        let fleet = self.bed.fleet_of_another_process().await;
        let host = host_over(fleet, &self.scripts, config);
        let starting = host.clone();
        self.bed.inside(async move { starting.start() }).await;
        host
    }

    /// Everything is cut off where it is, and begins again from the database.
    pub(crate) async fn crash(self) -> Self {
        let Self { bed, host: before, workspace, scripts, config } = self;
        drop(before);
        let bed = Box::pin(bed.crash()).await;
        let host = host(&bed, &scripts, config).await;
        Self { bed, host, workspace, scripts, config }
    }

    pub(crate) fn who(&self) -> &Identity {
        &self.bed.operator
    }

    /// Stores an agent on `x/main`, with what else the test says of it.
    pub(crate) async fn agent(&self, more: Value) {
        let mut document = json!({ "name": "helper", "model": "x/main" });
        for (name, value) in more.as_object().unwrap() {
            document[name] = value.clone();
        }
        let agent = Definitions::check(document).unwrap();
        self.host.definitions.put(self.who(), agent).await.unwrap();
    }

    pub(crate) async fn session(&self) -> SessionName {
        self.session_in(self.workspace.id).await
    }

    pub(crate) async fn session_in(&self, workspace_id: WorkspaceId) -> SessionName {
        let new = NewSession {
            workspace_id,
            agent: "helper".parse().unwrap(),
            name: None,
            title: None,
            initial_state: Default::default(),
        };
        self.host.sessions.create(self.who(), new, None).await.unwrap().name
    }

    pub(crate) async fn say(&self, name: &SessionName, text: &str) -> SessionMessage {
        self.try_say(name, text, None).await.unwrap()
    }

    pub(crate) async fn try_say(
        &self,
        name: &SessionName,
        text: &str,
        mode: Option<BusyMode>,
    ) -> Result<SessionMessage, Error> {
        let message = NewSessionMessage { parts: vec![Part::text(text)], mode, client_id: None, key: None };
        let (host, who, name) = (self.host.clone(), self.who().clone(), name.clone());
        self.bed.inside(async move { host.sessions.send(&who, &name, message).await }).await
    }

    pub(crate) async fn get(&self, name: &SessionName) -> Session {
        self.host.sessions.get(self.who(), name).await.unwrap()
    }

    pub(crate) async fn steps(&self, name: &SessionName) -> Vec<Step> {
        self.host.sessions.steps(self.who(), name, 0, 200).await.unwrap()
    }

    /// Waits until the session is in this phase.
    pub(crate) async fn wait(&self, name: &SessionName, phase: &str) -> Session {
        eventually(&format!("{name} is {phase}"), async || self.get(name).await.phase.as_str() == phase)
            .await;
        self.get(name).await
    }

    /// Says something and waits for the end of the run.
    pub(crate) async fn run(&self, text: &str) -> (SessionName, Session) {
        let name = self.session().await;
        self.say(&name, text).await;
        let session = self.wait(&name, "completed").await;
        (name, session)
    }

    pub(crate) async fn entries(&self, name: &SessionName, after: u64) -> Vec<StreamEntry> {
        let (session, mut follower) = self.host.sessions.follow(self.who(), name, after).await.unwrap();
        let mut entries = Vec::new();
        while follower.position() < session.latest_sequence {
            entries.extend(follower.next().await.unwrap());
        }
        entries
    }

    /// What the agent said last.
    pub(crate) async fn last_text(&self, name: &SessionName) -> String {
        let steps = self.steps(name).await;
        let step = steps.last().unwrap();
        let texts = step.blocks.iter().filter_map(|block| match block {
            warren_model::session::Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

fn host_over(fleet: warren_fleet::Fleet, scripts: &Scripts, config: Config) -> AgentHost {
    let operations = Operations::new(fleet.clone());
    AgentHost::new(Parts { fleet, operations, models: Arc::new(scripts.clone()), config })
}

async fn host(bed: &ExchangeBed, scripts: &Scripts, config: Config) -> AgentHost {
    let host = host_over(bed.fleet.clone(), scripts, config);
    host.join(&bed.exchange);
    let starting = host.clone();
    bed.inside(async move { starting.start() }).await;
    host
}

/// Waits until so many runs of the session have ended.
pub(crate) async fn settled(bed: &AgentBed, name: &SessionName, runs: u32) {
    eventually("the run has ended", async || {
        let session = bed.get(name).await;
        session.run == runs && !session.phase.has_run()
    })
    .await;
}

/// Whether the session waits for this.
pub(crate) fn is_suspended_by(session: &Session, word: &str) -> bool {
    matches!(&session.phase, Phase::Suspended { by, .. } if by.as_str() == word)
}

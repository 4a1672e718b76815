//! Putting a Warren together and taking it down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use warren_agent::{AgentHost, Config as AgentConfig, Parts as AgentParts, ProviderModels};
use warren_doors::{Clock, Entropy, Environment, ManualClock, OsEntropy, SystemClock};
use warren_exchange::{
    AgentRuntime, Agents, ByA2a, Config as ExchangeConfig, Exchange, Parts as ExchangeParts, Signer,
    WebAccess,
};
use warren_fleet::{Config as FleetConfig, Fleet, NewPeople, Parts, Replica, Role, StoredLosses, StoredRefs};
use warren_llm::{Prices, ProviderSettings, Providers, Script, ScriptedModel};
use warren_model::{Limits, Status, WorkspaceId};
use warren_oidc::{Provider as OidcProvider, ProviderSettings as SignInSettings};
use warren_operations::Operations;
use warren_outbound::{Connector, OutboundPolicy, Resolver, SystemResolver};
use warren_providers::{LocalProvider, MemoryProvider};
use warren_server::{Parts as ServerParts, ProviderSignIn, Server, ServerConfig, Telemetry, VERSION};
use warren_service::{Context, ContextParts, KeyFile, Keys, Sealer};
use warren_store::Store;
use warren_workspace::Provider;
use warren_workspace::registry::{OpenGates, Registry, RegistryConfig, RegistryParts};

use crate::faults::{Faults, Faulty};
use crate::http::Answer;
use crate::own_runtime::OwnRuntime;

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// Choices to make before the start.
#[derive(Debug, Default)]
pub struct Builder {
    limits: Limits,
    config: ServerConfig,
    clock: Option<Arc<ManualClock>>,
    environment: Environment,
    database: Option<String>,
    disk: Option<std::path::PathBuf>,
    fleet_config: FleetConfig,
    exchange_config: ExchangeConfig,
    called_agents: Option<Arc<dyn AgentRuntime>>,
    scripts: Vec<(String, ScriptedModel)>,
    model_providers: Vec<(String, ProviderSettings)>,
    providers: Vec<Arc<dyn Provider>>,
    faults: Option<Arc<Faults>>,
    is_crashable: bool,
    role: Role,
    is_reachable: bool,
    /// Whose key for secrets it has, and so whom it believes.
    key_of: Option<std::path::PathBuf>,
    outbound: OutboundPolicy,
    resolver: Option<Arc<dyn Resolver>>,
    web_access: WebAccess,
    provider_sign_in: Option<(SignInSettings, NewPeople, Option<String>)>,
}

impl Builder {
    /// What may be called. By default nothing that is private, and so no peer of a test.
    #[must_use]
    pub fn outbound(mut self, policy: OutboundPolicy) -> Self {
        self.outbound = policy;
        self
    }

    /// A disk that it shares with others, for the folders of its workspaces.
    #[must_use]
    pub fn disk(mut self, folder: std::path::PathBuf) -> Self {
        self.disk = Some(folder);
        self
    }

    /// What it does among several on one database.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Says to other replicas where it is reached.
    #[must_use]
    pub fn reachable(mut self) -> Self {
        self.is_reachable = true;
        self
    }

    /// Gives it the key for secrets of the Warren in that folder: the two believe each other.
    #[must_use]
    pub fn key_of(mut self, folder: &std::path::Path) -> Self {
        self.key_of = Some(folder.to_owned());
        self
    }

    /// Lets it call peers on this machine.
    #[must_use]
    pub fn reaches_loopback(mut self) -> Self {
        self.outbound = self.outbound.with_loopback();
        self
    }

    /// Names that the test makes up.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// What boxes may reach, besides what their workspaces say. By default nothing that is private.
    #[must_use]
    pub fn web_access(mut self, access: WebAccess) -> Self {
        self.web_access = access;
        self
    }

    /// By whom people sign in, who comes in without an invitation, and where people reach it.
    #[must_use]
    pub fn sign_in_provider(
        mut self,
        settings: SignInSettings,
        new_people: NewPeople,
        public_url: Option<String>,
    ) -> Self {
        self.provider_sign_in = Some((settings, new_people, public_url));
        self
    }

    /// What the fleet expects of runtimes.
    #[must_use]
    pub fn fleet_config(mut self, config: FleetConfig) -> Self {
        self.fleet_config = config;
        self
    }

    /// What the exchange promises.
    #[must_use]
    pub fn exchange_config(mut self, config: ExchangeConfig) -> Self {
        self.exchange_config = config;
        self
    }

    /// How runtimes are called.
    #[must_use]
    pub fn called_agents(mut self, agents: Arc<dyn AgentRuntime>) -> Self {
        self.called_agents = Some(agents);
        self
    }

    /// A script that answers as the model `scripted/{name}`, beside those that Warren brings.
    #[must_use]
    pub fn script(mut self, name: &str, script: Script) -> Self {
        self.scripts.push((name.to_owned(), ScriptedModel::new(script)));
        self
    }

    /// A provider of models, beside those that Warren knows or instead of one.
    #[must_use]
    pub fn model_provider(mut self, name: &str, settings: ProviderSettings) -> Self {
        self.model_providers.push((name.to_owned(), settings));
        self
    }

    /// A provider in place of the one of its kind.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Faults in front of every provider.
    #[must_use]
    pub fn faults(mut self, faults: Arc<Faults>) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Has it run by itself, so that all of it can be cut off at any moment with [`Warren::crash`].
    #[must_use]
    pub fn crashable(mut self) -> Self {
        self.is_crashable = true;
        self
    }

    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    #[must_use]
    pub fn config(mut self, config: ServerConfig) -> Self {
        self.config = config;
        self
    }

    /// A clock that the test moves.
    #[must_use]
    pub fn clock(mut self, clock: Arc<ManualClock>) -> Self {
        self.clock = Some(clock);
        self
    }

    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Another database than SQLite in the temp folder.
    #[must_use]
    pub fn database(mut self, address: String) -> Self {
        self.database = Some(address);
        self
    }

    pub async fn start(self) -> Warren {
        let folder = tempfile::tempdir().expect("a temp folder can be made");
        Warren::start_in(folder, self).await
    }
}

/// A running Warren, with the operator's token.
#[derive(Debug)]
pub struct Warren {
    pub address: SocketAddr,
    pub url: String,
    /// The operator's secret.
    pub token: String,
    pub fleet: Fleet,
    pub exchange: Exchange,
    pub agents: AgentHost,
    pub store: Arc<dyn Store>,
    pub(crate) http: reqwest::Client,
    folder: TempDir,
    builder: Builder,
    stop: CancellationToken,
    server: JoinHandle<()>,
    runtime: Option<OwnRuntime>,
}

impl Warren {
    pub async fn start() -> Self {
        Builder::default().start().await
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    async fn start_in(folder: TempDir, builder: Builder) -> Self {
        if !builder.is_crashable {
            return Self::start_here(folder, builder).await;
        }
        let own = OwnRuntime::new();
        let mut warren = own.run(Self::start_here(folder, builder)).await;
        warren.runtime = Some(own);
        warren
    }

    async fn start_here(folder: TempDir, builder: Builder) -> Self {
        let database = folder.path().join("warren.db").display().to_string();
        let database = builder.database.clone().unwrap_or_else(|| format!("sqlite:{database}"));
        let store = warren_store_sql::open(&database).await.expect("the database opens");
        let clock: Arc<dyn Clock> = match &builder.clock {
            Some(clock) => Arc::clone(clock) as Arc<dyn Clock>,
            None => Arc::new(SystemClock),
        };
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let telemetry = Arc::new(Telemetry::new());
        let local = LocalProvider::new(
            &builder.disk.clone().unwrap_or_else(|| folder.path().join("workspaces")),
            builder.environment.clone(),
            Arc::clone(&clock),
            Arc::clone(&entropy),
        )
        .expect("the workspaces folder can be made");
        let memory = MemoryProvider::new(Arc::clone(&clock), &*entropy);
        let mut providers = builder.providers.clone();
        let usual: [Arc<dyn Provider>; 2] = [Arc::new(memory), Arc::new(local)];
        for provider in usual {
            if !providers.iter().any(|given| given.kind() == provider.kind()) {
                providers.push(provider);
            }
        }
        if let Some(faults) = &builder.faults {
            let faulty = |inner| Arc::new(Faulty { inner, faults: Arc::clone(faults) }) as Arc<dyn Provider>;
            providers = providers.into_iter().map(faulty).collect();
        }
        let context = Context::new(ContextParts {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            limits: builder.limits.clone(),
        });
        let replica = if store.is_shared() {
            Replica::new(&folder.path().display().to_string(), context.clone()).with_role(builder.role)
        } else {
            Replica::alone(context.clone())
        };
        let parts = RegistryParts {
            providers,
            gates: OpenGates::new(16),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            metrics: Arc::clone(&telemetry) as _,
            refs: Arc::new(StoredRefs::new(context.clone(), replica.clone())),
            losses: Arc::new(StoredLosses::new(context.clone())),
        };
        if let Some(other) = &builder.key_of {
            std::fs::copy(other.join("secrets.key"), folder.path().join("secrets.key"))
                .expect("a key is copied");
        }
        let key_file = KeyFile::own(folder.path().join("secrets.key"), &*entropy).expect("a key is made");
        let resolver = builder.resolver.clone().unwrap_or_else(|| Arc::new(SystemResolver));
        let connector = Connector::new(builder.outbound.clone(), resolver);
        let provider_sign_in = builder.provider_sign_in.clone().map(|(settings, new_people, public_url)| {
            let (clock, entropy) = (Arc::clone(&clock), Arc::clone(&entropy));
            let provider = OidcProvider::new(settings, connector.clone(), clock, entropy);
            ProviderSignIn { name: "Example".to_owned(), provider, public_url, new_people }
        });
        let keys = Keys::open(Arc::new(key_file)).expect("the key is read");
        let sealer = Sealer::new(keys.clone(), Arc::clone(&entropy));
        let signer = Signer::new(sealer, Arc::clone(&clock), connector.clone());
        let by_a2a = ByA2a::new(connector.clone(), Arc::clone(&clock), signer.clone());
        let agents = Agents::new(builder.called_agents.clone().unwrap_or_else(|| Arc::new(by_a2a)));
        let fleet = Fleet::new(Parts {
            context,
            registry: Registry::new(parts, RegistryConfig::default()),
            keys,
            config: builder.fleet_config,
            replica,
            data_folder: folder.path().to_owned(),
            kept_from_boxes: crate::model_keys(),
            probe: Arc::new(agents.clone()),
        });
        fleet.start(VERSION).await.expect("the fleet starts");
        let token = fleet.tokens.mint_operator("test").await.expect("a token is made").secret;
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let models = warren_llm::Models::new(
            connector.clone(),
            Providers::default().with(builder.model_providers.iter().cloned()),
        );
        let exchange = Exchange::new(ExchangeParts {
            fleet: fleet.clone(),
            config: builder.exchange_config,
            agents,
            signer,
            connector,
            web_access: builder.web_access.clone(),
        });
        exchange.start().await.expect("the exchange starts");
        let operations = Operations::new(fleet.clone());
        let models = builder
            .scripts
            .iter()
            .fold(models, |models, (name, script)| models.with_script(name, script.clone()));
        let models = ProviderModels::new(models, Prices::built_in(), fleet.clone(), Default::default());
        let agents = AgentHost::new(AgentParts {
            fleet: fleet.clone(),
            operations: operations.clone(),
            models: Arc::new(models),
            config: AgentConfig::default(),
        });
        agents.join(&exchange);
        agents.start();
        let parts = ServerParts {
            agents: agents.clone(),
            exchange: exchange.clone(),
            operations,
            clock,
            entropy,
            telemetry,
            provider_sign_in,
        };
        let server = Server::bind(listen, builder.config.clone(), parts).await.expect("a free port is found");
        let address = server.local_addr();
        if builder.is_reachable {
            let announced = fleet.box_holders.announce(Some(format!("http://{address}"))).await;
            announced.expect("the others are told");
        }
        let stop = CancellationToken::new();
        let server = tokio::spawn(server.run(stop.clone()));
        Self {
            address,
            url: format!("http://{address}"),
            token: token.reveal().to_owned(),
            fleet,
            exchange,
            agents,
            store,
            http: crate::http::client(),
            folder,
            builder,
            stop,
            server,
            runtime: None,
        }
    }

    /// Stops as the binary does on SIGTERM and answers when all is closed.
    pub async fn stop(self) -> TempDir {
        self.stop.cancel();
        self.server.await.expect("the server ends without a panic");
        self.folder
    }

    /// Asks the server to stop, without waiting for it.
    pub fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// Stops and starts again on the same folder, with a new port and a new operator's token.
    pub async fn restart(mut self) -> Self {
        let builder = std::mem::take(&mut self.builder);
        let folder = self.stop().await;
        Self::start_in(folder, builder).await
    }

    /// Cuts everything off where it is, and starts again on the same folder.
    pub async fn crash(mut self) -> Self {
        let builder = std::mem::take(&mut self.builder);
        let folder = self.kill();
        Self::start_in(folder, builder).await
    }

    /// Cuts everything off where it is.
    pub fn kill(self) -> TempDir {
        drop(self.runtime.expect("only a Warren that was built `crashable` can crash"));
        self.folder
    }

    /// The folder with everything this Warren keeps.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Asks for a workspace. A name that is taken gets a number, so that a test need not think of names.
    pub async fn create(&self, body: &serde_json::Value) -> Answer {
        let answer = self.post("/api/v1/workspaces", body).await;
        if answer.status != 409 || answer.code() != "workspace_exists" {
            return answer;
        }
        let name = crate::numbered(body["name"].as_str().unwrap_or_default());
        let mut asked = body.clone();
        asked["name"] = name.into();
        self.post("/api/v1/workspaces", &asked).await
    }

    /// Makes a workspace and waits until it is online.
    pub async fn workspace(&self, provider: serde_json::Value) -> WorkspaceId {
        let answer = self.create(&serde_json::json!({ "name": "test", "provider": provider })).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let id = answer.json()["id"].as_str().expect("an id").parse().expect("a workspace id");
        self.wait_for_status(id, Status::Online).await;
        id
    }

    /// Waits until the workspace has this status.
    pub async fn wait_for_status(&self, id: WorkspaceId, status: Status) {
        let path = format!("/api/v1/workspaces/{id}?include_removed=true");
        let waiting = async {
            loop {
                let seen = self.get(&path).await.json()["status"].clone();
                if seen == status.as_str() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("{id} did not become {status}: {}", self.get(&path).await.text());
        }
    }
}

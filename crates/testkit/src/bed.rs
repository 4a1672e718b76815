//! A fleet without a server around it, on a real store, with a clock that the test moves and faults that it sets.
//!
//! ```text
//!   for bed in Bed::on_each_store().await {     // SQLite, and PostgreSQL where WARREN_TEST_POSTGRES names one
//!       let row = bed.workspace().await;        // online, in memory
//!       bed.clock.advance_ms(90_000);
//!       bed.sweep("liveness").await;            // no sweep runs unasked
//!   }
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use warren_doors::{Clock, Entropy, Environment, ManualClock, OsEntropy, SystemClock};
use warren_fleet::{
    Config, CreateWorkspace, Fleet, Heard, MintToken, Minted, NoProbe, Parts, Register, Registered, Removal,
    Replica, RuntimeProbe, StoredLosses, StoredRefs, SweepOutcome, SweepReport, WorkspaceOptions,
};
use warren_model::{
    AgentSpec, AuditEntry, ErrorCode, Event, EventData, EventKind, Limits, LocalConfig, MemoryConfig, OrgId,
    ProviderConfig, Runtime, RuntimeReport, ScopeSet, Status, Timestamp, TokenKind, Vitals, Workspace,
    WorkspaceId,
};
use warren_providers::{LocalProvider, MemoryProvider};
use warren_service::{Action, Context, ContextParts, Identity, KeyFile, Keys};
use warren_store::{AuditQuery, EventQuery, Store};
use warren_workspace::registry::{OpenGates, Registry, RegistryConfig, RegistryParts};
use warren_workspace::{NoMetrics, Provider};

use crate::own_runtime::OwnRuntime;
use crate::{Faults, Faulty, PostgresDatabase};

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);
const VERSION: &str = "test";
/// What the clock shows first.
pub const BED_START: Timestamp = Timestamp::from_micros(1_780_000_000_000_000);

/// Looks again until it is so.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "did not happen: {what}");
}

/// Choices to make before the start.
#[derive(Debug, Clone)]
pub struct BedOptions {
    pub limits: Limits,
    pub config: Config,
    /// What processes of the host could see.
    pub environment: Environment,
    /// Who is asked whether a runtime that is called is there.
    pub probe: Arc<dyn RuntimeProbe>,
    /// The machine's own clock in place of the one that the test moves.
    pub is_real_time: bool,
    /// Has it run by itself, so that all of it can be cut off at any moment with [`Bed::crash`].
    pub is_crashable: bool,
    /// Names of further secrets that no command gets.
    pub kept_from_boxes: std::collections::BTreeSet<warren_model::SecretName>,
}

impl Default for BedOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            config: Config { sweeps_unasked: false, ..Config::default() },
            environment: Environment::default(),
            probe: Arc::new(NoProbe),
            is_real_time: false,
            is_crashable: false,
            kept_from_boxes: std::collections::BTreeSet::new(),
        }
    }
}

impl BedOptions {
    pub fn crashable() -> Self {
        Self { is_crashable: true, ..Self::default() }
    }
}

/// A running fleet, with an operator who asks.
#[derive(Debug)]
pub struct Bed {
    pub fleet: Fleet,
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    pub faults: Arc<Faults>,
    pub operator: Identity,
    /// The operator's secret.
    pub operator_secret: String,
    ground: Ground,
    runtime: Option<OwnRuntime>,
}

/// What stays when the fleet is stopped and started again.
#[derive(Debug)]
struct Ground {
    folder: TempDir,
    database: Option<PostgresDatabase>,
    clock: Arc<ManualClock>,
    faults: Arc<Faults>,
    options: BedOptions,
}

impl Ground {
    fn new(database: Option<PostgresDatabase>, options: BedOptions) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temp folder can be made"),
            database,
            clock: Arc::new(ManualClock::at(BED_START)),
            faults: Arc::default(),
            options,
        }
    }

    fn clock_door(&self) -> Arc<dyn Clock> {
        if self.options.is_real_time { Arc::new(SystemClock) } else { Arc::clone(&self.clock) as _ }
    }

    /// Not started yet.
    fn fleet(&self, store: &Arc<dyn Store>) -> Fleet {
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let context = Context::new(ContextParts {
            store: Arc::clone(store),
            clock: self.clock_door(),
            entropy: Arc::clone(&entropy),
            limits: self.options.limits.clone(),
        });
        let replica = if store.is_shared() {
            Replica::new(&self.folder.path().display().to_string(), context.clone())
        } else {
            Replica::alone(context.clone())
        };
        let registry = RegistryParts {
            providers: self.providers(&entropy),
            gates: OpenGates::new(16),
            clock: self.clock_door(),
            entropy: Arc::clone(&entropy),
            metrics: Arc::new(NoMetrics),
            refs: Arc::new(StoredRefs::new(context.clone(), replica.clone())),
            losses: Arc::new(StoredLosses::new(context.clone())),
        };
        let keys = KeyFile::own(self.folder.path().join("secrets.key"), &*entropy).expect("a key is made");
        Fleet::new(Parts {
            context,
            registry: Registry::new(registry, RegistryConfig::default()),
            keys: Keys::open(Arc::new(keys)).expect("the key is read"),
            config: self.options.config,
            probe: Arc::clone(&self.options.probe),
            replica,
            data_folder: self.folder.path().to_owned(),
            kept_from_boxes: &crate::model_keys() | &self.options.kept_from_boxes,
        })
    }

    fn providers(&self, entropy: &Arc<dyn Entropy>) -> Vec<Arc<dyn Provider>> {
        let memory = MemoryProvider::new(self.clock_door(), &**entropy);
        let places = self.folder.path().join("workspaces");
        let environment = self.options.environment.clone();
        let local = LocalProvider::new(&places, environment, self.clock_door(), Arc::clone(entropy));
        let both: [Arc<dyn Provider>; 2] =
            [Arc::new(memory), Arc::new(local.expect("the folder of workspaces can be made"))];
        let faulty = |inner| Arc::new(Faulty { inner, faults: Arc::clone(&self.faults) }) as _;
        both.into_iter().map(faulty).collect()
    }
}

impl Bed {
    /// One for each store.
    pub async fn on_each_store() -> Vec<Self> {
        Self::with(BedOptions::default()).await
    }

    pub async fn with_limits(limits: Limits) -> Vec<Self> {
        Self::with(BedOptions { limits, ..BedOptions::default() }).await
    }

    pub async fn with(options: BedOptions) -> Vec<Self> {
        let mut beds = vec![Self::on_sqlite(options.clone()).await];
        if let Some(database) = PostgresDatabase::where_one_is_named() {
            beds.push(Self::on(Some(database), options).await);
        }
        beds
    }

    /// For what does not depend on the store, or is about its files.
    pub async fn on_sqlite(options: BedOptions) -> Self {
        Self::on(None, options).await
    }

    pub(crate) async fn on(database: Option<PostgresDatabase>, options: BedOptions) -> Self {
        Box::pin(Self::start(Ground::new(database, options))).await
    }

    async fn start(ground: Ground) -> Self {
        if !ground.options.is_crashable {
            return Self::start_here(ground).await;
        }
        let own = OwnRuntime::new();
        let mut bed = own.run(Self::start_here(ground)).await;
        bed.runtime = Some(own);
        bed
    }

    async fn start_here(ground: Ground) -> Self {
        let address = match &ground.database {
            Some(database) => database.url(),
            None => format!("sqlite:{}", ground.folder.path().join("warren.db").display()),
        };
        let store = warren_store_sql::open(&address).await.expect("the database opens");
        let fleet = ground.fleet(&store);
        fleet.start(VERSION).await.expect("the fleet starts");
        let minted = fleet.tokens.mint_operator("test").await.expect("a token is made");
        let operator_secret = minted.secret.reveal().to_owned();
        let operator = fleet.tokens.identify(&operator_secret).await.expect("the operator is known");
        let (clock, faults) = (Arc::clone(&ground.clock), Arc::clone(&ground.faults));
        Self { fleet, store, clock, faults, operator, operator_secret, ground, runtime: None }
    }

    /// Stops as the binary does on SIGTERM; what it leaves on disk is in the folder.
    pub async fn stop(self) -> TempDir {
        self.fleet.stop(VERSION).await;
        self.ground.folder
    }

    /// Stops and starts again on the same store and folder.
    pub async fn restart(self) -> Self {
        self.fleet.stop(VERSION).await;
        Box::pin(Self::start(self.into_ground())).await
    }

    /// Cuts everything off where it is, and starts again on the same store and folder. What the test began outside
    /// [`Bed::inside`] would go on.
    pub async fn crash(self) -> Self {
        assert!(self.runtime.is_some(), "only a bed with `is_crashable` can crash");
        Box::pin(Self::start(self.into_ground())).await
    }

    /// Lets go of all but what outlives a process.
    fn into_ground(self) -> Ground {
        drop(self.runtime);
        self.ground
    }

    /// The fleet of another process on this database, which does nothing by itself: with a name of its own and, on
    /// PostgreSQL, connections of its own. SQLite belongs to one process, so that the store is shared there.
    pub async fn fleet_of_another_process(&self) -> Fleet {
        let store = match &self.ground.database {
            Some(database) => {
                let url = database.url();
                self.inside(async move { warren_store_sql::open(&url).await.expect("the database opens") })
                    .await
            }
            None => Arc::clone(&self.store),
        };
        self.ground.fleet(&store)
    }

    /// Does something as a part of the fleet, so that a crash cuts off all that follows from it.
    pub async fn inside<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        match &self.runtime {
            Some(own) => own.run(work).await,
            None => work.await,
        }
    }

    /// The folder with everything this fleet keeps.
    pub fn folder(&self) -> &std::path::Path {
        self.ground.folder.path()
    }

    /// Where the files of a `local` workspace are.
    pub fn place(&self, id: WorkspaceId) -> PathBuf {
        self.folder().join("workspaces").join(id.to_string())
    }

    pub fn is_on_sqlite(&self) -> bool {
        self.ground.database.is_none()
    }

    /// The clock that the fleet looks at.
    pub fn clock_door(&self) -> Arc<dyn Clock> {
        self.ground.clock_door()
    }

    pub fn now(&self) -> Timestamp {
        self.clock_door().now()
    }
}

/// Workspaces.
impl Bed {
    /// What makes a workspace in memory.
    pub fn request(name: &str) -> CreateWorkspace {
        CreateWorkspace {
            name: name.parse().expect("a name"),
            provider: Self::memory(),
            capabilities: None,
            parent_id: None,
            runtime: Runtime::Hosted,
            tier: None,
            options: WorkspaceOptions::default(),
            agent: AgentSpec::default(),
            template: None,
        }
    }

    pub fn memory() -> ProviderConfig {
        ProviderConfig::Memory(MemoryConfig::default())
    }

    pub fn local() -> ProviderConfig {
        ProviderConfig::Local(LocalConfig::default())
    }

    /// What makes a workspace with files on disk.
    pub fn local_request(name: &str) -> CreateWorkspace {
        CreateWorkspace { provider: Self::local(), ..Self::request(name) }
    }

    /// Makes one and does not wait for anything. A name that is taken gets a number, so that a test need not think of
    /// names.
    pub async fn create(&self, request: CreateWorkspace) -> Workspace {
        let create = async |request: CreateWorkspace| {
            let (fleet, operator) = (self.fleet.clone(), self.operator.clone());
            self.inside(async move { fleet.workspaces.create(&operator, request).await }).await
        };
        let made = match create(request.clone()).await {
            Err(error) if error.code == ErrorCode::WorkspaceExists => {
                let name = crate::numbered(request.name.as_str()).parse().expect("a name");
                create(CreateWorkspace { name, ..request }).await
            }
            made => made,
        };
        made.expect("it is accepted")
    }

    /// A workspace that is online.
    pub async fn workspace(&self) -> Workspace {
        self.workspace_below(None).await
    }

    pub async fn workspace_below(&self, parent_id: Option<WorkspaceId>) -> Workspace {
        self.online(CreateWorkspace { parent_id, ..Self::request("test") }).await
    }

    /// A workspace with files on disk that is online.
    pub async fn local_workspace(&self) -> Workspace {
        self.online(Self::local_request("test")).await
    }

    pub async fn online(&self, request: CreateWorkspace) -> Workspace {
        let made = self.create(request).await;
        self.wait_for(made.id, Status::Online).await
    }

    /// The row, as it is now.
    pub async fn row(&self, id: WorkspaceId) -> Workspace {
        let read = self.fleet.workspaces.get(&self.operator, Action::ReadWorkspaces, id);
        read.await.expect("the row is there")
    }

    pub async fn status(&self, id: WorkspaceId) -> Status {
        self.row(id).await.status
    }

    pub async fn wait_for(&self, id: WorkspaceId, status: Status) -> Workspace {
        let waiting = async {
            loop {
                let row = self.row(id).await;
                if row.status == status {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(row) => row,
            Err(_) => panic!("did not become {status}: {:?}", self.row(id).await),
        }
    }

    /// Waits until a change of its spec or of secrets has reached it. A change is rolled out in the background, so that its
    /// status is for a while the one from before.
    pub async fn wait_until_caught_up(&self, id: WorkspaceId) {
        eventually("the workspace to catch up", async || self.row(id).await.behind_of().is_none()).await;
    }

    pub async fn remove(&self, id: WorkspaceId) -> Removal {
        let (fleet, operator) = (self.fleet.clone(), self.operator.clone());
        let remove = async move { fleet.workspaces.remove(&operator, id, None, false).await };
        self.inside(remove).await.expect("it can be removed")
    }

    pub async fn restart_workspace(&self, id: WorkspaceId) -> Workspace {
        let (fleet, operator) = (self.fleet.clone(), self.operator.clone());
        let restart = async move { fleet.lifecycle.restart(&operator, id).await };
        self.inside(restart).await.expect("it can be restarted")
    }
}

/// Runtimes.
impl Bed {
    /// A workspace whose runtime lives elsewhere, and waits for it.
    pub async fn external(&self) -> WorkspaceId {
        self.awaiting(Runtime::External).await
    }

    pub async fn awaiting(&self, runtime: Runtime) -> WorkspaceId {
        let id = self.create(CreateWorkspace { runtime, ..Self::local_request("agent") }).await.id;
        self.wait_for(id, Status::AwaitingAgent).await;
        id
    }

    pub async fn join_token(&self, id: WorkspaceId) -> Identity {
        self.token(TokenKind::Join, ScopeSet::EMPTY, Some(id)).await
    }

    /// Registers with a new join token, under an agent card or none.
    pub async fn register_with(&self, id: WorkspaceId, register: Register) -> Registered {
        let join = self.join_token(id).await;
        self.fleet.runtimes.register(&join, register).await.expect("the join token is good")
    }

    /// Registers with a new join token; returns the credential of this boot.
    pub async fn register(&self, id: WorkspaceId) -> Identity {
        let registered = self.register_with(id, Register::default()).await;
        self.identify(&registered.credential).await
    }

    /// An external workspace with a registered runtime, and its credential.
    pub async fn reporting(&self) -> (WorkspaceId, Identity) {
        let id = self.external().await;
        let runner = self.register(id).await;
        (id, runner)
    }

    pub async fn beat(&self, runner: &Identity, report: RuntimeReport) -> Heard {
        self.fleet.runtimes.heartbeat(runner, report).await.expect("the report is taken")
    }

    /// The status that a report leads to.
    pub async fn status_after(&self, runner: &Identity, report: RuntimeReport) -> Status {
        self.beat(runner, report).await.workspace.status
    }

    pub async fn vitals(&self, id: WorkspaceId) -> Vitals {
        let row = self.row(id).await;
        let mut vitals = self.fleet.workspaces.vitals_of(&[row]).await.expect("the store is there");
        vitals.remove(&id).expect("it has reported")
    }
}

/// Who asks.
impl Bed {
    /// A new token of the operator's making, as whoever shows it is known.
    pub async fn token(&self, kind: TokenKind, scopes: ScopeSet, of: Option<WorkspaceId>) -> Identity {
        let request =
            MintToken { kind, name: "somebody".into(), scopes, workspace_id: of, expires_in_ms: None };
        let minted = self.fleet.tokens.mint(&self.operator, request).await.expect("a token is made");
        self.identify(&minted).await
    }

    pub async fn identify(&self, minted: &Minted) -> Identity {
        self.fleet.tokens.identify(minted.secret.reveal()).await.expect("the token is good")
    }

    /// A user with these scopes, in the operator's org.
    pub async fn user(&self, scopes: ScopeSet) -> Identity {
        self.token(TokenKind::User, scopes, None).await
    }

    /// The agent of a workspace.
    pub async fn agent_of(&self, id: WorkspaceId) -> Identity {
        self.token(TokenKind::Workspace, ScopeSet::EMPTY, Some(id)).await
    }

    /// Somebody of another org, who may do everything there.
    pub async fn stranger(&self) -> Identity {
        let mut stranger = self.user(ScopeSet::all()).await;
        stranger.token.org_id = OrgId::from_bytes([9; 16]);
        stranger
    }

    /// Whether this credential still opens anything.
    pub async fn is_valid(&self, who: &Identity) -> bool {
        self.fleet.tokens.is_still_valid(who).await.expect("the store is there")
    }
}

/// What was written.
impl Bed {
    /// Runs a sweep now.
    pub async fn sweep(&self, name: &str) -> SweepReport {
        self.fleet.sweeps.run(&self.operator, name).await.expect("the sweep is known")
    }

    /// Runs a sweep now; returns (looked at, acted on, failed).
    pub async fn swept(&self, name: &str) -> (u64, u64, u64) {
        match self.sweep(name).await.last_run.expect("it just ran").outcome {
            SweepOutcome::Done { looked_at, acted_on, failed } => (looked_at, acted_on, failed),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// All stored events, oldest first.
    pub async fn all_events(&self) -> Vec<Event> {
        let (mut after, mut all) = (0, Vec::new());
        loop {
            let query = EventQuery { after, org_id: None, workspace_id: None, limit: 500 };
            let page = self.store.read(move |tx| tx.events(&query)).await.expect("the store is there");
            all.extend(page.rows);
            match page.next {
                Some(next) => after = next,
                None => return all,
            }
        }
    }

    pub async fn events(&self, kind: EventKind) -> Vec<Event> {
        let mut all = self.all_events().await;
        all.retain(|event| event.kind == kind);
        all
    }

    /// How often a workspace came to a status.
    pub async fn arrivals(&self, id: WorkspaceId, at: Status) -> usize {
        let came = |event: &Event| {
            event.workspace_id == Some(id)
                && matches!(event.read(), Ok(EventData::WorkspaceStatusChanged(changed)) if changed.to == at)
        };
        self.all_events().await.iter().filter(|event| came(event)).count()
    }

    pub async fn audit(&self) -> Vec<AuditEntry> {
        let query = AuditQuery::all(0, 1_000);
        self.fleet.audit.list(&self.operator, query).await.expect("an operator may").rows
    }
}

//! A fleet without a server around it, with a clock that the test moves and faults that it sets.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use warren_doors::{Clock, Entropy, Environment, ManualClock, OsEntropy};
use warren_fleet::{
    Config, CreateWorkspace, Fleet, MintToken, NoProbe, Parts, Replica, StoredLosses, StoredRefs,
    WorkspaceOptions,
};
use warren_model::{
    AgentSpec, AuditEntry, Event, EventKind, Limits, MemoryConfig, OrgId, ProviderConfig, Runtime, ScopeSet,
    Status, Timestamp, TokenKind, Workspace, WorkspaceId,
};
use warren_providers::MemoryProvider;
use warren_service::{Action, Context, ContextParts, Identity, KeyFile, Keys};
use warren_store::{AuditQuery, EventQuery};
use warren_testkit::{Faults, Faulty, PostgresDatabase};
use warren_workspace::NoMetrics;
use warren_workspace::registry::{OpenGates, Registry, RegistryConfig, RegistryParts};

const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const START: Timestamp = Timestamp::from_micros(1_780_000_000_000_000);

pub(crate) struct Bed {
    pub(crate) fleet: Fleet,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) operator: Identity,
    _folder: TempDir,
    _database: Option<PostgresDatabase>,
}

impl Bed {
    /// One for each store. No sweep runs unasked.
    pub(crate) async fn on_each_store() -> Vec<Self> {
        Self::with_limits(Limits::default()).await
    }

    pub(crate) async fn with_limits(limits: Limits) -> Vec<Self> {
        let mut beds = vec![Self::start(None, limits.clone()).await];
        if Environment::of_process().get("WARREN_TEST_POSTGRES").is_some() {
            beds.push(Self::start(Some(PostgresDatabase::create()), limits).await);
        }
        beds
    }

    async fn start(database: Option<PostgresDatabase>, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = match &database {
            Some(database) => database.url(),
            None => format!("sqlite:{}", folder.path().join("warren.db").display()),
        };
        let store = warren_store_sql::open(&address).await.unwrap();
        let clock = Arc::new(ManualClock::at(START));
        let door: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let is_shared = store.is_shared();
        let context = Context::new(ContextParts {
            store,
            clock: Arc::clone(&door),
            entropy: Arc::clone(&entropy),
            limits,
        });
        let replica =
            if is_shared { Replica::new("test", context.clone()) } else { Replica::alone(context.clone()) };
        let faults = Arc::new(Faults::default());
        let memory = Arc::new(MemoryProvider::new(Arc::clone(&door), &*entropy));
        let registry = RegistryParts {
            providers: vec![Arc::new(Faulty { inner: memory, faults: Arc::clone(&faults) })],
            gates: OpenGates::new(16),
            clock: door,
            entropy: Arc::clone(&entropy),
            metrics: Arc::new(NoMetrics),
            refs: Arc::new(StoredRefs::new(context.clone(), replica.clone())),
            losses: Arc::new(StoredLosses::new(context.clone())),
        };
        let keys = KeyFile::own(folder.path().join("secrets.key"), &*entropy).unwrap();
        let fleet = Fleet::new(Parts {
            context,
            registry: Registry::new(registry, RegistryConfig::default()),
            keys: Keys::open(Arc::new(keys)).unwrap(),
            config: Config { sweeps_unasked: false, ..Config::default() },
            probe: Arc::new(NoProbe),
            replica,
        });
        fleet.start("test").await.unwrap();
        let secret = fleet.tokens.mint_operator("test").await.unwrap().secret;
        let operator = fleet.tokens.identify(secret.reveal()).await.unwrap();
        Self { fleet, clock, faults, operator, _folder: folder, _database: database }
    }

    /// What makes a workspace in memory.
    pub(crate) fn request(name: &str) -> CreateWorkspace {
        CreateWorkspace {
            name: name.parse().unwrap(),
            provider: ProviderConfig::Memory(MemoryConfig::default()),
            capabilities: None,
            parent_id: None,
            runtime: Runtime::Hosted,
            tier: None,
            options: WorkspaceOptions::default(),
            agent: AgentSpec::default(),
            template: None,
        }
    }

    /// A workspace that is online.
    pub(crate) async fn workspace(&self) -> Workspace {
        self.workspace_below(None).await
    }

    pub(crate) async fn workspace_below(&self, parent_id: Option<WorkspaceId>) -> Workspace {
        let request = CreateWorkspace { parent_id, ..Self::request("test") };
        let made = self.fleet.workspaces.create(&self.operator, request).await.unwrap();
        self.wait_for(made.id, Status::Online).await
    }

    /// The row, as it is now.
    pub(crate) async fn row(&self, id: WorkspaceId) -> Workspace {
        self.fleet.workspaces.get(&self.operator, Action::ReadWorkspaces, id).await.unwrap()
    }

    pub(crate) async fn wait_for(&self, id: WorkspaceId, status: Status) -> Workspace {
        let waiting = async {
            loop {
                let row = self.row(id).await;
                if row.status == status {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("the workspace gets there")
    }

    /// A token of a user with these scopes, in the operator's org.
    pub(crate) async fn user(&self, scopes: ScopeSet) -> Identity {
        let request = MintToken {
            kind: TokenKind::User,
            name: "somebody".into(),
            scopes,
            workspace_id: None,
            expires_in_ms: None,
        };
        let minted = self.fleet.tokens.mint(&self.operator, request).await.unwrap();
        self.fleet.tokens.identify(minted.secret.reveal()).await.unwrap()
    }

    /// Somebody of another org, who may do everything there.
    pub(crate) async fn stranger(&self) -> Identity {
        let mut stranger = self.user(ScopeSet::all()).await;
        stranger.token.org_id = OrgId::from_bytes([9; 16]);
        stranger
    }

    pub(crate) async fn events(&self, kind: EventKind) -> Vec<Event> {
        let query = EventQuery { after: 0, org_id: None, workspace_id: None, limit: 1_000 };
        let read = self.fleet.context.store().read(move |tx| tx.events(&query));
        let page = read.await.unwrap();
        page.rows.into_iter().filter(|event| event.kind == kind).collect()
    }

    pub(crate) async fn audit(&self) -> Vec<AuditEntry> {
        let query = AuditQuery::all(0, 1_000);
        self.fleet.audit.list(&self.operator, query).await.unwrap().rows
    }
}

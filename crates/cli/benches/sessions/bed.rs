//! Agents on a database of their own, without a server around them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use warren_agent::{
    AgentHost, Config, Models, NewSession, NewSessionMessage, Parts as AgentParts, ProviderModels,
};
use warren_doors::{Clock, Entropy, OsEntropy, SystemClock};
use warren_fleet::{
    Config as FleetConfig, CreateWorkspace, Fleet, NoProbe, Parts, Replica, StoredLosses, StoredRefs,
    WorkspaceOptions,
};
use warren_llm::{Prices, Providers, Script, ScriptedModel};
use warren_model::session::{Phase, Session, SessionName, StreamItem};
use warren_model::{
    AgentDefinition, AgentSpec, Limits, MemoryConfig, Part, ProviderConfig, Runtime, Status, WorkspaceId,
};
use warren_operations::Operations;
use warren_outbound::{Connector, OutboundPolicy, SystemResolver};
use warren_providers::MemoryProvider;
use warren_service::{Action, Context, ContextParts, FixedKeys, Identity, Key, Keyring, Keys};
use warren_store::Store;
use warren_workspace::NoMetrics;
use warren_workspace::registry::{OpenGates, Registry, RegistryConfig, RegistryParts};

pub(crate) const DATABASE: &str = "sessions.db";
const VERSION: &str = "bench";

/// What an agent asks its model for: so many steps with one call each, and then an answer.
fn script(steps: u32) -> String {
    let texts = "This is one step of several: it reads a file, and goes on. ".repeat(3);
    let call = "[{ tool: workspace_read_file, arguments: { path: notes.txt } }]";
    let turns: String = (0..steps)
        .map(|answers| {
            format!("  - {{ when: {{ answers: {answers} }}, text: \"{texts}\", calls: {call}, chunk_characters: 400 }}\n")
        })
        .collect();
    format!("turns:\n{turns}otherwise: {{ text: \"All of it is done.\" }}\n")
}

/// A session that asks the user something, and is over when it has the answer.
const ASKING: &str = "turns:\n  - { when: { answers: 0 }, calls: [{ tool: ask_user, arguments: { question: \"Go on?\" } }] }\n\
                      otherwise: { text: \"Thank you.\" }\n";

pub(crate) struct Bed {
    pub(crate) host: AgentHost,
    pub(crate) fleet: Fleet,
    pub(crate) who: Identity,
    pub(crate) workspace: WorkspaceId,
    pub(crate) folder: Arc<TempDir>,
    operations: Operations,
}

impl Bed {
    /// On a new database, with scripts of so many steps.
    pub(crate) async fn new(steps: u32, config: Config) -> Self {
        let folder =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
        let bed = Self::on(Arc::new(folder), steps, config).await;
        let write =
            json!({ "path": "notes.txt", "content": "A line of notes that an agent reads.\n".repeat(14) });
        let written = bed.operations.tools.call(&bed.who, bed.workspace, "workspace_write_file", write).await;
        written.expect("a file is written");
        bed
    }

    pub(crate) async fn on(folder: Arc<TempDir>, steps: u32, config: Config) -> Self {
        let (fleet, operations, who) = fleet_on(folder.path()).await;
        let workspace = workspace(&fleet, &who).await;
        let models = scripted(&fleet, steps);
        let host = host(&fleet, &operations, models, config);
        for model in ["steps", "echo", "asking"] {
            let agent = json!({
                "name": model, "model": format!("scripted/{model}"), "system": "You are measured.",
                "tools": { "workspace": ["workspace_read_file"] },
                "limits": { "repeats": 1_000_000, "run": {} },
            });
            let agent = AgentDefinition::read(agent).expect("a good agent");
            host.definitions.put(&who, agent).await.expect("it is stored");
        }
        Self { host, fleet, who, workspace, folder, operations }
    }

    /// The same database and fleet with other agents, as after a start: nothing is in memory.
    pub(crate) fn host_with(&self, models: Arc<dyn Models>, config: Config) -> AgentHost {
        host(&self.fleet, &self.operations, models, config)
    }

    pub(crate) fn scripted(&self, steps: u32) -> Arc<dyn Models> {
        scripted(&self.fleet, steps)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) async fn session(&self, agent: &str) -> SessionName {
        let new = NewSession {
            workspace_id: self.workspace,
            agent: agent.parse().expect("a name"),
            name: None,
            title: None,
            initial_state: Default::default(),
        };
        self.host.sessions.create(&self.who, new, None).await.expect("it is made").name
    }

    pub(crate) async fn say(&self, host: &AgentHost, name: &SessionName, text: &str) {
        let parts = vec![Part::text(text)];
        let message = NewSessionMessage { parts, mode: None, client_id: None, key: None };
        host.sessions.send(&self.who, name, message).await.expect("it is accepted");
    }

    /// Waits until nothing is under way. The session is looked at only when its stream says that this may be so, so that
    /// who waits takes nothing from what is measured.
    pub(crate) async fn wait(&self, host: &AgentHost, name: &SessionName) -> Session {
        loop {
            let session = host.sessions.get(&self.who, name).await.expect("it is there");
            if session.phase != Phase::Active {
                return session;
            }
            let follow = host.sessions.follow(&self.who, name, session.latest_sequence);
            let (_, mut follower) = follow.await.expect("it can be followed");
            let may_end = |item: &StreamItem| {
                matches!(item, StreamItem::RunEnded { .. } | StreamItem::Suspended { .. })
            };
            let told = async {
                while !follower
                    .next()
                    .await
                    .expect("the stream goes on")
                    .iter()
                    .any(|entry| may_end(&entry.item))
                {}
            };
            let _ = tokio::time::timeout(Duration::from_secs(10), told).await;
        }
    }
}

/// Agents on a database that is there, with nobody who does anything with them.
pub(crate) async fn idle_host(folder: &Path) -> AgentHost {
    let (fleet, operations, _) = fleet_on(folder).await;
    let models = scripted(&fleet, 1);
    host(&fleet, &operations, models, Config::default())
}

async fn fleet_on(folder: &Path) -> (Fleet, Operations, Identity) {
    let address = format!("sqlite:{}", folder.join(DATABASE).display());
    let store: Arc<dyn Store> = warren_store_sql::open(&address).await.expect("the database opens");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let context = Context::new(ContextParts {
        store,
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        limits: Limits::default(),
    });
    let replica = Replica::alone(context.clone());
    let registry = RegistryParts {
        providers: vec![Arc::new(MemoryProvider::new(Arc::clone(&clock), &*entropy))],
        gates: OpenGates::new(16),
        clock,
        entropy,
        metrics: Arc::new(NoMetrics),
        refs: Arc::new(StoredRefs::new(context.clone(), replica.clone())),
        losses: Arc::new(StoredLosses::new(context.clone())),
    };
    let fleet = Fleet::new(Parts {
        context,
        registry: Registry::new(registry, RegistryConfig::default()),
        config: FleetConfig::default(),
        replica,
        probe: Arc::new(NoProbe),
        keys: Keys::open(Arc::new(FixedKeys(Keyring::of(Key::new([1; 32]))))).expect("the key is there"),
        data_folder: folder.to_owned(),
        kept_from_boxes: Default::default(),
    });
    fleet.start(VERSION).await.expect("the fleet starts");
    let minted = fleet.tokens.mint_operator("bench").await.expect("a token is made");
    let who = fleet.tokens.identify(minted.secret.reveal()).await.expect("the operator is known");
    (fleet.clone(), Operations::new(fleet), who)
}

async fn workspace(fleet: &Fleet, who: &Identity) -> WorkspaceId {
    let request = CreateWorkspace {
        name: "bench".parse().expect("a name"),
        provider: ProviderConfig::Memory(MemoryConfig::default()),
        capabilities: None,
        parent_id: None,
        runtime: Runtime::Hosted,
        tier: None,
        options: WorkspaceOptions::default(),
        agent: AgentSpec::default(),
        template: None,
    };
    let id = fleet.workspaces.create(who, request).await.expect("it is accepted").id;
    loop {
        let row = fleet.workspaces.get(who, Action::ReadWorkspaces, id).await.expect("it is there");
        if row.status == Status::Online {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn scripted(fleet: &Fleet, steps: u32) -> Arc<dyn Models> {
    let connector = Connector::new(OutboundPolicy::default(), Arc::new(SystemResolver));
    let model = |text: &str| ScriptedModel::new(Script::read(text).expect("a good script"));
    let models = warren_llm::Models::new(connector, Providers::default())
        .with_script("steps", model(&script(steps)))
        .with_script("asking", model(ASKING));
    Arc::new(ProviderModels::new(models, Prices::built_in(), fleet.clone(), Default::default()))
}

fn host(fleet: &Fleet, operations: &Operations, models: Arc<dyn Models>, config: Config) -> AgentHost {
    let parts = AgentParts { fleet: fleet.clone(), operations: operations.clone(), models, config };
    let host = AgentHost::new(parts);
    host.start();
    host
}

/// A number of this process, in kB.
pub(crate) fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has a resident size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// What the database takes on disk, once everything is in its main file.
pub(crate) fn on_disk(folder: &Path) -> u64 {
    let database = rusqlite::Connection::open(folder.join(DATABASE)).expect("the database opens");
    let _: i64 = database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .expect("what was written is moved");
    let number = |what: &str| {
        let read = |row: &rusqlite::Row<'_>| row.get::<_, u32>(0);
        u64::from(database.query_row(&format!("PRAGMA {what}"), [], read).expect("a number"))
    };
    (number("page_count") - number("freelist_count")) * number("page_size")
}

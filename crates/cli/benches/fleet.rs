//! The fleet at size: heartbeats a second (P8), 100,000 workspaces that report every 30 s, a page out of 100,000, and
//! sweeps over them. Durable all of it; the baseline of the heartbeats is one commit each, in the same run.
//!
//! `cargo bench -p warren-cli --bench fleet`; Postgres is measured when `WARREN_TEST_POSTGRES` names a server.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use warren_doors::{Clock, Entropy, Environment, ManualClock, OsEntropy};
use warren_fleet::{Config as FleetConfig, Fleet, Parts, Replica, StoredLosses, StoredRefs};
use warren_model::RuntimeReport as Report;
use warren_model::{
    CapabilitySet, Limits, MemoryConfig, Mending, OrgId, Principal, ProviderConfig, Runtime, ScopeSet,
    Status, Timestamp, Token, TokenHash, TokenKind, Workspace, WorkspaceSpec,
};
use warren_providers::MemoryProvider;
use warren_service::Identity;
use warren_service::{Context, ContextParts};
use warren_service::{FixedKeys, Key, Keyring, Keys};
use warren_store::{Store, WorkspaceQuery};
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};
use warren_workspace::NoMetrics;
use warren_workspace::registry::{OpenGates, Registry, RegistryConfig, RegistryParts};

const NOW: Timestamp = Timestamp::from_micros(1_763_200_000_000_000);
const CALLERS: usize = 256;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const SMALL: usize = 1_000;
const LARGE: usize = 100_000;
const REPORTS_PER_SECOND: usize = LARGE / 30;
const PACED_SECONDS: usize = 10;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        rates().await;
        large().await;
    });
}

/// A fleet with so many workspaces that are online.
struct Bed {
    fleet: Fleet,
    clock: Arc<ManualClock>,
    runtimes: Arc<Vec<Identity>>,
    operator: Identity,
}

impl Bed {
    async fn on(store: Arc<dyn Store>, size: usize) -> Self {
        let clock = Arc::new(ManualClock::at(NOW));
        let door: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let context = Context::new(ContextParts {
            store,
            clock: Arc::clone(&door),
            entropy: Arc::clone(&entropy),
            limits: Limits { max_workspaces_per_org: u32::MAX, ..Limits::default() },
        });
        let replica = Replica::alone(context.clone());
        let registry = RegistryParts {
            providers: vec![Arc::new(MemoryProvider::new(Arc::clone(&door), &*entropy))],
            gates: OpenGates::new(16),
            clock: Arc::clone(&door),
            entropy: Arc::clone(&entropy),
            metrics: Arc::new(NoMetrics),
            refs: Arc::new(StoredRefs::new(context.clone(), replica.clone())),
            losses: Arc::new(StoredLosses::new(context.clone())),
        };
        let fleet = Fleet::new(Parts {
            context,
            registry: Registry::new(registry, RegistryConfig::default()),
            config: FleetConfig::default(),
            replica,
            probe: Arc::new(warren_fleet::NoProbe),
            keys: Keys::open(Arc::new(FixedKeys(Keyring::of(Key::new([1; 32]))))).expect("the key is there"),
            data_folder: std::env::temp_dir(),
            kept_from_boxes: Default::default(),
        });
        let rows: Vec<_> = (0..size).map(|number| workspace(&*entropy, &*clock, number)).collect();
        for part in rows.chunks(1_000) {
            let part = part.to_vec();
            let inserted: Result<(), warren_store::Error> = fleet
                .context
                .store()
                .write(move |tx| part.iter().try_for_each(|row| tx.insert_workspace(row)))
                .await;
            inserted.expect("workspaces are inserted");
        }
        let identity = |kind, workspace: Option<&Workspace>| identity(&*entropy, &*clock, kind, workspace);
        let runtimes: Vec<_> = rows.iter().map(|row| identity(TokenKind::Runner, Some(row))).collect();
        let operator = identity(TokenKind::Admin, None);
        Self { fleet, clock, runtimes: Arc::new(runtimes), operator }
    }

    /// Heartbeats a second with many callers, as fast as they are answered.
    async fn round(&self) -> f64 {
        let started = Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let (fleet, runtimes, next) = (self.fleet.clone(), Arc::clone(&self.runtimes), Arc::clone(&next));
            callers.spawn(async move {
                while started.elapsed() < ROUND {
                    let at = next.fetch_add(1, Ordering::Relaxed) % runtimes.len();
                    beat(&fleet, &runtimes[at]).await;
                }
            });
        }
        callers.join_all().await;
        next.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64()
    }
}

async fn beat(fleet: &Fleet, who: &Identity) {
    let report =
        Report { active_tasks: Some(1), uptime_s: Some(60), error_rate: Some(0.0), ..Report::default() };
    fleet.runtimes.heartbeat(who, report).await.expect("a heartbeat is heard");
}

async fn rates() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let grouped =
        Bed::on(open(folder.path(), "grouped.db", SqliteOptions::default().max_group).await, SMALL).await;
    let single = Bed::on(open(folder.path(), "single.db", 1).await, SMALL).await;
    let postgres = match Environment::of_process().get("WARREN_TEST_POSTGRES") {
        Some(url) => Some(Bed::on(warren_store_sql::open(url).await.expect("Postgres answers"), SMALL).await),
        None => None,
    };
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        rates[0].push(grouped.round().await);
        rates[1].push(single.round().await);
        if let Some(postgres) = &postgres {
            rates[2].push(postgres.round().await);
        }
    }
    println!(
        "durable heartbeats, {CALLERS} callers, {SMALL} workspaces, {ROUNDS} rounds of {ROUND:?} (goal: 20000/s)"
    );
    println!("{:<34} {:>10} {:>10} {:>10}", "", "median/s", "lowest", "highest");
    let [grouped_rates, single_rates, postgres_rates] = rates;
    let ratio =
        told("sqlite, grouped commits", grouped_rates) / told("sqlite, one commit each", single_rates);
    if postgres.is_some() {
        told("postgres", postgres_rates);
    } else {
        println!("postgres: not measured, WARREN_TEST_POSTGRES is not set");
    }
    println!("grouped / one commit each: {ratio:.1}x");
}

fn told(label: &str, mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    println!("{label:<34} {median:>10.0} {:>10.0} {:>10.0}", rates[0], rates[rates.len() - 1]);
    median
}

async fn large() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let bed = Bed::on(open(folder.path(), "large.db", SqliteOptions::default().max_group).await, LARGE).await;
    println!();
    println!("{LARGE} workspaces");
    paced(&bed).await;
    pages(&bed).await;
    sweeps(&bed).await;
}

/// Reports at the pace of the whole fleet: each workspace every 30 s.
async fn paced(bed: &Bed) {
    let cpu = cpu_seconds();
    let started = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let mut sent = 0;
    let mut calls = tokio::task::JoinSet::new();
    while sent < REPORTS_PER_SECOND * PACED_SECONDS {
        ticks.tick().await;
        let due = (started.elapsed().as_secs_f64() * REPORTS_PER_SECOND as f64) as usize;
        while sent < due {
            let (fleet, runtimes) = (bed.fleet.clone(), Arc::clone(&bed.runtimes));
            // A stride that is prime to the size: neighbours in time are no neighbours on disk.
            let at = sent * 7_919 % runtimes.len();
            calls.spawn(async move { beat(&fleet, &runtimes[at]).await });
            sent += 1;
        }
        while calls.try_join_next().is_some() {}
    }
    calls.join_all().await;
    let cores = (cpu_seconds() - cpu) / started.elapsed().as_secs_f64();
    println!("a report each every 30 s ({REPORTS_PER_SECOND}/s): {cores:.2} cores (goal: under 0.5)");
}

async fn pages(bed: &Bed) {
    let mut after = None;
    let mut times = Vec::new();
    for _ in 0..200 {
        let query = WorkspaceQuery { after, ..WorkspaceQuery::all(100) };
        let started = Instant::now();
        let page = bed.fleet.workspaces.list(&bed.operator, query).await.expect("a page is read");
        bed.fleet.workspaces.vitals_of(&page.rows).await.expect("their reports are read");
        times.push(started.elapsed());
        after = page.next;
    }
    times.sort();
    let ms = |at: usize| times[at].as_secs_f64() * 1_000.0;
    println!("a page of 100: p50 {:.2} ms, p99 {:.2} ms (goal: under 10)", ms(100), ms(198));
}

async fn sweeps(bed: &Bed) {
    let run = async |label: &str, name: &str| {
        let started = Instant::now();
        let report = bed.fleet.sweeps.run(&bed.operator, name).await.expect("the sweep runs");
        let outcome = report.last_run.map(|run| run.outcome);
        println!("{label}: {:.0} ms, {outcome:?}", started.elapsed().as_secs_f64() * 1_000.0);
    };
    run("sweep liveness, nothing due (goal: under 1000)", "liveness").await;
    bed.clock.advance_ms(91_000);
    // All but a hundred report.
    let mut calls = tokio::task::JoinSet::new();
    for at in 100..bed.runtimes.len() {
        let (fleet, runtimes) = (bed.fleet.clone(), Arc::clone(&bed.runtimes));
        calls.spawn(async move { beat(&fleet, &runtimes[at]).await });
        if calls.len() > 2_000 {
            calls.join_next().await;
        }
    }
    calls.join_all().await;
    run("sweep liveness, the silent ones of 100 due", "liveness").await;
    bed.clock.advance_ms(91_000);
    run("sweep liveness, all due and silent", "liveness").await;
}

fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("the kernel tells");
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

async fn open(folder: &Path, name: &str, max_group: usize) -> Arc<dyn Store> {
    let options = SqliteOptions { max_group, ..SqliteOptions::default() };
    Arc::new(SqliteStore::open(folder.join(name), options).await.expect("the database opens"))
}

fn workspace(entropy: &dyn Entropy, clock: &dyn Clock, number: usize) -> Workspace {
    let now = clock.now();
    let provider = ProviderConfig::Memory(MemoryConfig::default());
    // One after the other, as they are made in a life: rows made together have ids that lie together.
    let id = entropy.id(now.plus_ms(i64::try_from(number).unwrap_or(i64::MAX)));
    Workspace {
        id,
        org_id: OrgId::DEFAULT,
        parent_id: None,
        name: format!("w{number}").parse().expect("a good name"),
        spec: WorkspaceSpec {
            runtime: Runtime::External,
            ..WorkspaceSpec::new(provider, CapabilitySet::EMPTY)
        },
        generation: 1,
        observed_generation: 1,
        secrets_since: None,
        version: 1,
        status: Status::Online,
        reason: None,
        reference: None,
        created_at: now,
        updated_at: now,
        provisioning_started_at: Some(now),
        provision_deadline: None,
        mending: Mending::default(),
        removed_at: None,
        is_purged: false,
    }
}

fn identity(
    entropy: &dyn Entropy,
    clock: &dyn Clock,
    kind: TokenKind,
    workspace: Option<&Workspace>,
) -> Identity {
    let principal = workspace.map_or_else(|| Principal::system("bench"), |row| Principal::workspace(row.id));
    let token = Token {
        id: entropy.id(clock.now()),
        kind,
        hash: TokenHash(entropy.secret()),
        prefix: String::new(),
        name: "bench".into(),
        owner: principal.clone(),
        org_id: OrgId::DEFAULT,
        workspace_id: workspace.map(|row| row.id),
        scopes: ScopeSet::EMPTY,
        created_at: clock.now(),
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        used_at: None,
    };
    Identity { principal, ..Identity::new(token) }
}

//! Durable workspace updates per second with 64 concurrent callers, each an `update_workspace` with its event:
//! grouped commits against one commit each, in one run, rounds interleaved; and Postgres for orientation.
//!
//! `cargo bench -p warren-store-sql`; the goals are 5 times and 20,000 a second. Postgres is measured when
//! `WARREN_TEST_POSTGRES` names a server (`scripts/postgres.sh start` prints one).
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warren_doors::{Entropy, Environment, OsEntropy};
use warren_model::event::WorkspaceStatusChanged;
use warren_model::{
    CapabilitySet, LocalConfig, Mending, NewEvent, OrgId, Principal, ProviderConfig, Status, Timestamp,
    Workspace, WorkspaceSpec,
};
use warren_store::{Error, Store};
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

const CALLERS: usize = 64;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(2);
const NOW: Timestamp = Timestamp::from_micros(1_763_200_000_000_000);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(compare());
}

async fn compare() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let grouped = Bed::on(open(folder.path(), "grouped.db", SqliteOptions::default().max_group).await).await;
    let single = Bed::on(open(folder.path(), "single.db", 1).await).await;
    let postgres = match Environment::of_process().get("WARREN_TEST_POSTGRES") {
        Some(url) => Some(Bed::on(warren_store_sql::open(url).await.expect("Postgres answers")).await),
        None => None,
    };
    let (mut grouped_rates, mut single_rates, mut postgres_rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        grouped_rates.push(grouped.round().await);
        single_rates.push(single.round().await);
        if let Some(postgres) = &postgres {
            postgres_rates.push(postgres.round().await);
        }
    }
    println!(
        "durable workspace updates with one event each, {CALLERS} callers, {ROUNDS} rounds of {ROUND:?}"
    );
    println!("{:<28} {:>10} {:>10} {:>10}", "", "median/s", "lowest", "highest");
    let grouped_median = report("sqlite, grouped", grouped_rates);
    let single_median = report("sqlite, one commit each", single_rates);
    if postgres.is_some() {
        report("postgres", postgres_rates);
    } else {
        println!("postgres: not measured, WARREN_TEST_POSTGRES is not set");
    }
    println!("grouped / one commit each: {:.1}x (goal 5x, and 20000/s)", grouped_median / single_median);
    for bed in [Some(grouped), Some(single), postgres].into_iter().flatten() {
        bed.store.close().await;
    }
}

fn report(label: &str, mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    println!("{label:<28} {median:>10.0} {:>10.0} {:>10.0}", rates[0], rates[rates.len() - 1]);
    median
}

async fn open(folder: &Path, name: &str, max_group: usize) -> Arc<dyn Store> {
    let options = SqliteOptions { max_group, ..SqliteOptions::default() };
    Arc::new(SqliteStore::open(folder.join(name), options).await.expect("the database opens"))
}

/// A store with one workspace for each caller.
struct Bed {
    store: Arc<dyn Store>,
    workspaces: Vec<Workspace>,
    /// The version of each workspace: what a caller would have read.
    versions: Vec<Arc<AtomicU64>>,
}

impl Bed {
    async fn on(store: Arc<dyn Store>) -> Self {
        let workspaces: Vec<_> = (0..CALLERS).map(|_| workspace()).collect();
        for workspace in workspaces.clone() {
            let inserted: Result<(), Error> = store.write(move |tx| tx.insert_workspace(&workspace)).await;
            inserted.expect("a workspace is inserted");
        }
        Self { store, workspaces, versions: (0..CALLERS).map(|_| Arc::new(AtomicU64::new(1))).collect() }
    }

    /// Updates per second over one round.
    async fn round(&self) -> f64 {
        let started = Instant::now();
        let mut callers = tokio::task::JoinSet::new();
        for (workspace, version) in self.workspaces.iter().zip(&self.versions) {
            callers.spawn(update_until(
                started + ROUND,
                Arc::clone(&self.store),
                workspace.clone(),
                Arc::clone(version),
            ));
        }
        let mut updates = 0;
        while let Some(count) = callers.join_next().await {
            updates += count.expect("a caller ends well");
        }
        updates as f64 / started.elapsed().as_secs_f64()
    }
}

async fn update_until(
    end: Instant,
    store: Arc<dyn Store>,
    workspace: Workspace,
    version: Arc<AtomicU64>,
) -> u64 {
    let workspace = Arc::new(workspace);
    let mut updates = 0;
    while Instant::now() < end {
        let (row, expected) = (Arc::clone(&workspace), version.load(Ordering::Relaxed));
        let written: Result<u64, Error> = store
            .write(move |tx| {
                let next = tx.update_workspace(&row, expected)?;
                tx.append_event(&status_changed(&row, next))?;
                Ok(next)
            })
            .await;
        version.store(written.expect("an update is acknowledged"), Ordering::Relaxed);
        updates += 1;
    }
    updates
}

fn status_changed(workspace: &Workspace, generation: u64) -> NewEvent {
    NewEvent {
        at: NOW,
        org_id: workspace.org_id,
        workspace_id: Some(workspace.id),
        principal: Principal::system("reconciler"),
        data: WorkspaceStatusChanged {
            from: Status::Provisioning,
            to: Status::Online,
            reason: None,
            generation,
        }
        .into(),
    }
}

fn workspace() -> Workspace {
    let entropy: &dyn Entropy = &OsEntropy;
    let id = entropy.id(NOW);
    Workspace {
        id,
        org_id: OrgId::DEFAULT,
        parent_id: None,
        name: format!("build box {id}").parse().expect("a good name"),
        spec: WorkspaceSpec::new(ProviderConfig::Local(LocalConfig::default()), CapabilitySet::EMPTY),
        generation: 1,
        observed_generation: 1,
        secrets_since: None,
        version: 1,
        status: Status::Online,
        reason: None,
        reference: None,
        created_at: NOW,
        updated_at: NOW,
        provisioning_started_at: Some(NOW),
        provision_deadline: None,
        mending: Mending::default(),
        removed_at: None,
        is_purged: false,
    }
}

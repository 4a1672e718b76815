//! Carriers of the lifecycle: what `rules` decides is written and brought about here.
//!
//! Every change follows one shape, `load → decide → compare-and-set + event`, in one transaction. What must
//! happen afterwards (open, close, delete) is found again from the row itself, so that a crash between the two
//! loses nothing: the next start asks the same question and gets the same answer.

mod audit;
mod budgets;
mod bundles;
mod identity;
mod imports;
mod journal;
mod lifecycle;
mod losses;
mod peers;
mod probes;
mod reconcile;
mod refs;
mod refusals;
mod registration;
mod removal;
mod replicas;
mod residents;
mod schedules;
mod secrets;
mod sweeps;
mod templates;
mod tree;
mod uploads;
mod workspaces;

pub use budgets::{Budget, require_budget};
pub use identity::{MintToken, Minted};
pub use imports::{Import, ImportReport, ImportedNode};
pub use journal::Use;
pub use lifecycle::Terms;
pub use losses::StoredLosses;
pub use probes::{NoProber, Prober};
pub use refs::StoredRefs;
pub use registration::{Heard, Register, Registered};
pub use removal::{Collapse, Removal, RemovalCounts};
pub use replicas::Replica;
pub use residents::RunnerDoor;
pub use secrets::{Rotation, SecretScope, SecretSummary};
pub use sweeps::{LastRun, SweepOutcome, SweepReport};
pub use templates::{MAX_TEMPLATE_PAGE, PutTemplate, StoredTemplate};
pub use uploads::{FileRefusal, HandedFile, IncomingFile, LandedFile, Landing};
/// The one access rule, for those who ask it through an `Identity`.
pub use warren_rules::access;
/// How fast one caller may ask.
pub use warren_rules::access::rate;
/// What a probe of a runtime finds.
pub use warren_rules::lifecycle::probes as probe_rules;
/// How long things are kept.
pub use warren_rules::lifecycle::sweeps::Retention;
/// What a template leads to.
pub use warren_rules::lifecycle::templates as template_rules;
/// What a runtime says, and how it is judged.
pub use warren_rules::lifecycle::vitals;
/// When schedules fire.
pub use warren_rules::messages::schedules as schedule_rules;
/// What files may be called that come with messages.
pub use warren_rules::messages::uploads as upload_rules;
pub use warren_service::{
    Actor, Error, FixedKeys, Identity, Key, KeyError, KeyFile, KeySource, Keyring, Keys,
};
pub use workspaces::{CreateWorkspace, PatchWorkspace, Traits};

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, broadcast};
use warren_doors::{Clock, Entropy};
use warren_model::{ErrorCode, EventKind, Limits, NewEvent, OrgId, Principal};
use warren_service::{Context, Redactors, Sealer};
use warren_store::{Store, StoreHealth};
use warren_workspace::{RefusalLog, Registry};

/// How long a stop waits for workspaces to close; what is left, the reaper of the next start finishes.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// What the fleet is made of. Everything comes from outside; two fleets can live in one process.
#[derive(Debug, Clone)]
pub struct Parts {
    pub context: Context,
    pub registry: Registry,
    /// What secrets are sealed with.
    pub keys: Keys,
    pub terms: Terms,
    /// How runtimes that can be called are asked whether they are there.
    pub prober: Arc<dyn Prober>,
    /// This Warren among those on the same database.
    pub replica: Replica,
}

/// The control plane. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Fleet(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Parts,
    sealer: Sealer,
    redactors: Redactors,
    under_way: reconcile::UnderWay,
    residents: residents::Residents,
    sweeps: sweeps::Board,
    probes: Semaphore,
    /// Changes of secrets that are being rolled out.
    rolling_out: AtomicUsize,
    started_meanwhile: secrets::StartedMeanwhile,
    /// Digests that the watcher of images has seen.
    images: Mutex<warren_rules::lifecycle::images::Memory>,
    /// Taken at the stop, so that what is owed is written before the database closes.
    refusals: Mutex<Option<RefusalLog>>,
    refusal_windows: audit::RefusalWindows,
    upload_accounts: uploads::Accounts,
}

impl Fleet {
    pub fn new(parts: Parts) -> Self {
        let sink = refusals::RefusalEvents::new(parts.context.clone());
        let sealer = Sealer::new(parts.keys.clone(), Arc::clone(parts.context.entropy()));
        let redactors = Redactors::new(parts.context.clone(), sealer.clone());
        Self(Arc::new(Inner {
            refusals: Mutex::new(Some(RefusalLog::new(Arc::new(sink)))),
            parts,
            sealer,
            redactors,
            under_way: reconcile::UnderWay::default(),
            residents: residents::Residents::default(),
            refusal_windows: audit::RefusalWindows::default(),
            upload_accounts: uploads::Accounts::default(),
            sweeps: sweeps::Board::default(),
            probes: Semaphore::new(probes::AT_ONCE),
            images: Mutex::default(),
            rolling_out: AtomicUsize::new(0),
            started_meanwhile: secrets::StartedMeanwhile::default(),
        }))
    }

    pub fn context(&self) -> &Context {
        &self.0.parts.context
    }

    pub fn sealer(&self) -> &Sealer {
        &self.0.sealer
    }

    pub fn redactors(&self) -> &Redactors {
        &self.0.redactors
    }

    /// Takes up what an earlier process left: known workspaces are declared to the registry, unfinished changes go
    /// on. Returns when every workspace is known; the unfinished work runs in the background.
    pub async fn start(&self, version: &str) -> Result<(), Error> {
        self.join_replicas().await?;
        self.take_up_workspaces().await?;
        self.append(self.server_event(EventKind::ServerStarted, version)).await?;
        let fleet = self.clone();
        self.context().spawn(tracing::Span::none(), async move {
            if let Err(error) = fleet.resume_rotation().await {
                tracing::warn!(%error, "secrets could not be looked through");
            }
        });
        self.start_sweeps();
        Ok(())
    }

    /// Stops taking up work, waits for what is under way, and closes all workspaces.
    pub async fn stop(&self, version: &str) {
        self.context().begin_stop();
        if let Err(error) = self.append(self.server_event(EventKind::ServerStopping, version)).await {
            tracing::warn!(%error, "the stop could not be recorded");
        }
        drop(self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.context().wait_for_background_work().await;
        self.0.residents.close();
        let report = self.registry().shut_down(CLOSE_LIMIT).await;
        self.leave_replicas().await;
        if report.left_to_reaper > 0 {
            tracing::warn!(count = report.left_to_reaper, "some workspaces did not close in time");
        }
        self.store().close().await;
    }

    pub fn registry(&self) -> &Registry {
        &self.0.parts.registry
    }

    /// Where refused tool calls are noted; gone once the fleet stops.
    pub fn refusals(&self) -> Result<RefusalLog, Error> {
        let log = self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone();
        log.ok_or_else(|| Error::new(ErrorCode::ShuttingDown))
    }

    /// Events that are not stored, from now on.
    pub fn live_events(&self) -> broadcast::Receiver<Arc<NewEvent>> {
        self.context().live_events()
    }

    pub fn limits(&self) -> &Limits {
        self.context().limits()
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        self.context().store()
    }

    pub async fn store_health(&self) -> Result<StoreHealth, Error> {
        Ok(self.store().health().await?)
    }

    fn clock(&self) -> &dyn Clock {
        &**self.context().clock()
    }

    fn entropy(&self) -> &dyn Entropy {
        &**self.context().entropy()
    }

    async fn append(&self, event: NewEvent) -> Result<(), Error> {
        self.context().append(event).await
    }

    fn server_event(&self, kind: EventKind, version: &str) -> NewEvent {
        NewEvent {
            at: self.clock().now(),
            kind,
            org_id: OrgId::DEFAULT,
            workspace_id: None,
            principal: Principal::system("server"),
            data: serde_json::json!({ "version": version }),
        }
    }
}

//! Where the services of the fleet are put together, started and stopped.
//!
//! ```text
//!   Audit ─▶ WorkspaceAccess ─▶ Tokens ─▶ Residents ─▶ Reconciler ─┬─▶ Workspaces ─▶ Imports ─▶ Bundles
//!                 ▲               Signals ─▶ every one that changes a status ├─▶ Lifecycle
//!             Replicas            SecretValues ─▶ Residents                  ├─▶ Rollout ─▶ Secrets
//!                                                                            └─▶ Sweeps
//! ```
//!
//! An arrow means: is needed by. There is no way back.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use warren_model::event::{ServerStarted, ServerStopping};
use warren_model::{EventData, NewEvent, OrgId, Principal, SecretName};
use warren_service::{Context, Error, Keys, Redactors, Sealer};
use warren_workspace::Registry;

use crate::access::WorkspaceAccess;
use crate::lifecycle::Signals;
use crate::reconciler::{Reconciler, ReconcilerParts};
use crate::replicas::Replicas;
use crate::residents::ResidentParts;
use crate::runtimes::Probes;
use crate::secrets::{FreshProcesses, Rollout, RolloutParts, SecretValues};
use crate::sweeps::SweepParts;
use crate::{
    Audit, Backups, BoxHolders, Budgets, Bundles, Config, EventLog, ImageLogins, Imports, Invitations,
    Journal, KeyRotation, Lifecycle, Orgs, Positions, Replica, Residents, RuntimeProbe, Runtimes, Secrets,
    Sweeps, Templates, Throttle, Tokens, ToolRefusals, Uploads, Users, Workspaces,
};

/// How long a stop waits for workspaces to close; what is left, the reaper of the next start finishes.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// Removals that a listener may be behind before it misses some.
const REMOVALS_BUFFER: usize = 1_024;

/// What the fleet is made of. Everything comes from outside; two fleets can live in one process.
#[derive(Debug, Clone)]
pub struct Parts {
    pub context: Context,
    pub registry: Registry,
    /// What secrets are sealed with.
    pub keys: Keys,
    pub config: Config,
    /// How runtimes that can be called are asked whether they are there.
    pub probe: Arc<dyn RuntimeProbe>,
    /// This Warren among those on the same database.
    pub replica: Replica,
    /// Where the files of workspaces are, and whatever else a backup takes along.
    pub data_folder: PathBuf,
    /// Names of secrets that Warren itself uses, such as the keys of model providers. No box gets one of them (A81).
    pub kept_from_boxes: BTreeSet<SecretName>,
}

/// The control plane: one service per noun. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Fleet(Arc<Services>);

/// The services, by their nouns.
#[derive(Debug)]
pub struct Services {
    pub context: Context,
    pub registry: Registry,
    pub sealer: Sealer,
    pub redactors: Redactors,
    pub audit: Audit,
    pub box_holders: BoxHolders,
    pub backups: Backups,
    pub budgets: Budgets,
    pub bundles: Bundles,
    pub event_log: EventLog,
    pub image_logins: ImageLogins,
    pub imports: Imports,
    pub invitations: Invitations,
    pub journal: Journal,
    pub key_rotation: KeyRotation,
    pub lifecycle: Lifecycle,
    pub orgs: Orgs,
    pub positions: Positions,
    pub residents: Residents,
    pub runtimes: Runtimes,
    pub secrets: Secrets,
    pub sweeps: Sweeps,
    pub templates: Templates,
    pub throttle: Throttle,
    pub tokens: Tokens,
    pub tool_refusals: ToolRefusals,
    pub uploads: Uploads,
    pub users: Users,
    pub workspaces: Workspaces,
    replicas: Replicas,
    reconciler: Reconciler,
}

impl Deref for Fleet {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}

impl Fleet {
    pub fn new(parts: Parts) -> Self {
        let Parts { context, registry, keys, config, probe, replica, data_folder, kept_from_boxes } = parts;
        let kept_from_boxes = Arc::new(kept_from_boxes);
        let sealer = Sealer::new(keys, Arc::clone(context.entropy()));
        let redactors = Redactors::new(context.clone(), sealer.clone());
        let signals = Signals::new(context.clone(), config);
        let audit = Audit::new(context.clone());
        let journal = Journal::new(context.clone());
        let box_holders = BoxHolders::new(replica.clone(), registry.clone());
        let replicas = Replicas::new(context.clone(), replica, registry.clone());
        let access = WorkspaceAccess::new(context.clone(), audit.clone(), replicas.clone());
        let tokens = Tokens::new(context.clone(), access.clone());
        let fresh_processes = Arc::new(FreshProcesses::default());
        let values =
            SecretValues::new(context.clone(), sealer.clone(), Arc::clone(&fresh_processes), kept_from_boxes);
        let residents = Residents::new(ResidentParts {
            context: context.clone(),
            registry: registry.clone(),
            replicas: replicas.clone(),
            tokens: tokens.clone(),
            values: values.clone(),
        });
        let reconciler = Reconciler::new(ReconcilerParts {
            context: context.clone(),
            config,
            signals: signals.clone(),
            registry: registry.clone(),
            replicas: replicas.clone(),
            residents: residents.clone(),
        });
        let rollout = Rollout::new(RolloutParts {
            context: context.clone(),
            registry: registry.clone(),
            replicas: replicas.clone(),
            reconciler: reconciler.clone(),
            fresh_processes,
        });
        let workspaces = Workspaces {
            context: context.clone(),
            config,
            access: access.clone(),
            signals: signals.clone(),
            registry: registry.clone(),
            replicas: replicas.clone(),
            reconciler: reconciler.clone(),
            removed: broadcast::channel(REMOVALS_BUFFER).0,
        };
        let imports = Imports::new(
            context.clone(),
            signals.clone(),
            workspaces.clone(),
            values.clone(),
            redactors.clone(),
        );
        let probes = Probes::new(context.clone(), signals.clone(), registry.clone(), probe);
        let sweeps = Sweeps::new(SweepParts {
            context: context.clone(),
            config,
            signals: signals.clone(),
            registry: registry.clone(),
            replicas: replicas.clone(),
            reconciler: reconciler.clone(),
            probes: probes.clone(),
            rollout: rollout.clone(),
        });
        Self(Arc::new(Services {
            backups: Backups::new(context.clone(), sealer.clone(), data_folder),
            budgets: Budgets::new(context.clone(), access.clone()),
            bundles: Bundles::new(context.clone(), access.clone(), imports.clone(), redactors.clone()),
            image_logins: ImageLogins::new(context.clone(), sealer.clone()),
            invitations: Invitations::new(context.clone()),
            orgs: Orgs::new(context.clone()),
            users: Users::new(context.clone(), tokens.clone()),
            key_rotation: KeyRotation::new(context.clone(), sealer.clone()),
            lifecycle: Lifecycle::new(
                context.clone(),
                access.clone(),
                signals,
                registry.clone(),
                reconciler.clone(),
            ),
            positions: Positions::new(context.clone(), access.clone()),
            runtimes: Runtimes::new(context.clone(), config, redactors.clone(), probes),
            secrets: Secrets::new(
                context.clone(),
                access,
                sealer.clone(),
                values,
                rollout,
                residents.clone(),
            ),
            templates: Templates::new(context.clone(), config),
            event_log: EventLog::new(context.clone()),
            throttle: Throttle::new(context.clone()),
            tool_refusals: ToolRefusals::new(context.clone()),
            uploads: Uploads::new(context.clone(), registry.clone(), replicas.clone(), journal.clone()),
            context,
            registry,
            sealer,
            redactors,
            audit,
            box_holders,
            imports,
            journal,
            residents,
            sweeps,
            tokens,
            workspaces,
            replicas,
            reconciler,
        }))
    }

    /// Takes up what an earlier process left: known workspaces are declared to the registry, unfinished changes go
    /// on. Returns when every workspace is known; the unfinished work runs in the background. A replica that only serves
    /// clients takes up nothing.
    pub async fn start(&self, version: &str) -> Result<(), Error> {
        self.backups.delete_leftovers();
        self.replicas.join().await?;
        if !self.box_holders.role().opens_boxes() {
            return self
                .context
                .append(self.server_event(ServerStarted { version: version.to_owned() }))
                .await;
        }
        self.reconciler.take_up_all().await?;
        self.context.append(self.server_event(ServerStarted { version: version.to_owned() })).await?;
        let rotation = self.key_rotation.clone();
        self.context.spawn(tracing::info_span!("fleet.key_rotation.resume"), async move {
            if let Err(error) = rotation.resume().await {
                tracing::warn!(%error, "secrets could not be looked through");
            }
        });
        if !self.box_holders.is_alone() {
            self.reconciler.follow_others_in_background();
        }
        self.sweeps.start();
        Ok(())
    }

    /// Stops taking up work, waits for what is under way, and closes all workspaces.
    pub async fn stop(&self, version: &str) {
        self.context.begin_stop();
        let stopping = self.server_event(ServerStopping { version: version.to_owned() });
        if let Err(error) = self.context.append(stopping).await {
            tracing::warn!(%error, "the stop could not be recorded");
        }
        self.tool_refusals.close();
        self.context.wait_for_background_work().await;
        self.residents.drop_gateway();
        let report = self.registry.shut_down(CLOSE_LIMIT).await;
        self.replicas.leave().await;
        if report.left_to_reaper > 0 {
            tracing::warn!(count = report.left_to_reaper, "some workspaces did not close in time");
        }
        self.context.store().close().await;
    }

    fn server_event(&self, data: impl Into<EventData>) -> NewEvent {
        NewEvent {
            at: self.context.now(),
            org_id: OrgId::DEFAULT,
            workspace_id: None,
            principal: Principal::system("server"),
            data: data.into(),
        }
    }
}

//! The provider: makes, finds, ends and sweeps containers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use warren_doors::{Clock, Entropy, Environment};
use warren_init::SpawnLimits;
use warren_model::{
    Capability, CapabilitySet, DockerConfig, ErrorCode, MIB, ProviderConfig, ProviderKind, Ref, WorkspaceId,
};
use warren_workspace::{Error, OpenRequest, Opened, Provider, ReapReport, Workspace};

use super::container::{Entered, Maker};
use super::daemon::{Daemon, Patience};
use super::folders::{Folders, is_root};
use super::held::HeldBoxes;
use super::host::Host;
use super::image::Image;
use super::workspace::{Boxed, DockerWorkspace};
use super::{reaper, relax};
use crate::boxes::disk::{self, DiskKeeper, DiskMeter, HiddenBytes};
use crate::boxes::shell::{BoxParts, BoxRules, BoxShell, spill_opener};
use crate::boxes::{mounts, syscalls};
use crate::directory::{DirectoryFs, FileLimits, Owner, Place, Root, blocking, errno};
use crate::process;

const SCHEMA_VERSION: u32 = 1;

/// What is the same for all containers of a Warren.
#[derive(Debug, Clone, Default)]
pub struct DockerSettings {
    /// Where the daemon is, as in `DOCKER_HOST`; absent: its usual socket.
    pub host: Option<String>,
    pub patience: Patience,
    /// Folders of Warren's own that no mount may reach.
    pub private: Vec<PathBuf>,
}

#[derive(Debug)]
pub struct DockerProvider {
    maker: Maker,
    held: HeldBoxes,
    disks: DiskKeeper,
    environment: Arc<Environment>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    workspace: WorkspaceId,
}

impl DockerProvider {
    /// Keeps workspaces below `base`, which is made if it is missing. Works without a daemon too, until one is needed.
    pub fn new(
        base: &Path,
        settings: DockerSettings,
        environment: Environment,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self, Error> {
        let folders = Folders::open(base, entropy)?;
        let daemon = Daemon::new(Host::parse(settings.host.as_deref())?, settings.patience);
        let private = settings.private.into_iter().chain([folders.base.clone()]);
        Ok(Self {
            maker: Maker {
                private: private.collect(),
                daemon: Arc::new(daemon),
                folders: Arc::new(folders),
                seccomp: syscalls::docker_profile().to_string().into(),
            },
            held: HeldBoxes::default(),
            disks: DiskKeeper::default(),
            environment: Arc::new(environment),
            clock,
        })
    }

    async fn workspace(
        &self,
        id: WorkspaceId,
        config: &DockerConfig,
        owner: Owner,
        declared: CapabilitySet,
    ) -> Result<Arc<dyn Workspace>, Error> {
        let folder = self.maker.folders.files(id);
        let root = Root::open(&folder)
            .map_err(|errno| errno::opening(errno, "the workspace's folder cannot be opened"))?;
        let limits = FileLimits::from_mb(config.max_file_mb, config.max_grep_file_mb);
        let staging = Arc::clone(&self.maker.folders.staging);
        let meter = self.disks.meter_of(id, &folder, config.limits.disk_mb);
        let place = Place::new(root, staging, limits, is_root().then_some(owner)).with_room(meter.room());
        let place = Arc::new(place);
        let (boxed, confinement) = if declared.contains(Capability::Shell) {
            let opening = self.held.begin(id);
            let entered = self.maker.enter(id, config, owner).await?;
            opening.finish(&entered.id);
            let confinement = confinement(config, owner, &entered);
            (Some(self.boxed(config, entered, Arc::clone(&place), meter)), confinement)
        } else {
            (None, serde_json::Value::Null)
        };
        audit(id, config);
        Ok(Arc::new(DockerWorkspace {
            id,
            fs: declared.contains(Capability::Fs).then(|| DirectoryFs::new(Arc::clone(&place))),
            place,
            boxed,
            config: config.clone(),
            confinement,
        }))
    }

    fn boxed(
        &self,
        config: &DockerConfig,
        entered: Entered,
        place: Arc<Place>,
        meter: Arc<DiskMeter>,
    ) -> Boxed {
        let daemon = Arc::clone(&self.maker.daemon);
        let end_box = killer(Arc::clone(&daemon), entered.id.clone(), entered.channel.clone());
        let hidden = hidden_bytes(entered.process);
        self.disks.watch(Arc::clone(&meter), entered.channel.clone(), Arc::clone(&end_box), hidden);
        let shell = BoxShell::new(BoxParts {
            channel: entered.channel.clone(),
            rules: BoxRules {
                pass_env: config.pass_env.clone(),
                max_timeout_ms: config.max_timeout_ms,
                max_output_bytes: config.max_output_bytes,
                limits: SpawnLimits {
                    file_bytes: Some(u64::from(config.limits.disk_mb) * MIB),
                    ..SpawnLimits::default()
                },
            },
            environment: Arc::clone(&self.environment),
            clock: Arc::clone(&self.clock),
            open_spill: spill_opener(place),
            end_box,
        })
        .with_disk(meter);
        Boxed { shell, channel: entered.channel, container: entered.id, daemon, held: self.held.clone() }
    }

    /// Containers that belong to nobody, and what is left of their boxes on the host.
    async fn reap_boxes(&self, live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        let mut report = ReapReport::default();
        let folders = &self.maker.folders;
        let known = folders.boxes().unwrap_or_default();
        // A host without Docker, or one that has not used it, is not asked every minute.
        if known.is_empty() {
            return Ok(report);
        }
        let listed = self.maker.daemon.list(&folders.instance).await;
        let listed = listed.map_err(|error| error.into_opening("listing containers"))?;
        // After the listing: what is begun from here on is not in it.
        let held = self.held.snapshot();
        let mut removed = BTreeSet::new();
        for id in reaper::left_over(&listed, live, &held) {
            match self.maker.daemon.remove(id).await {
                Ok(()) => drop(removed.insert(id)),
                Err(error) => {
                    tracing::warn!(%error, "a left-over container could not be removed");
                    report.problems.push("a left-over container could not be removed".into());
                }
            }
        }
        report.removed += u32::try_from(removed.len()).unwrap_or(u32::MAX);
        let has_container = |workspace: &WorkspaceId| {
            listed
                .iter()
                .any(|one| one.identity.workspace == *workspace && !removed.contains(one.id.as_str()))
        };
        for workspace in known {
            let is_needed =
                live.contains(&workspace) || held.contains_key(&workspace) || has_container(&workspace);
            if !is_needed && let Err(errno) = folders.delete_box(workspace) {
                report.problems.push(format!("a left-over socket folder could not be deleted: {errno}"));
            }
        }
        Ok(report)
    }
}

/// Knobs that relax the container are told whenever one is opened with them (W74).
fn audit(id: WorkspaceId, config: &DockerConfig) {
    let relaxed = relax::named(&config.relax);
    if !relaxed.is_empty() {
        tracing::warn!(
            workspace.id = %id, relaxed = relaxed.join("; "), "docker.container.relaxed: a container is weaker than the hardened one"
        );
    }
}

/// What really holds, for `describe()`.
fn confinement(config: &DockerConfig, owner: Owner, entered: &Entered) -> serde_json::Value {
    let by = |limit: &str| match entered.unenforced.iter().any(|name| name == limit) {
        true => "nothing: this host cannot",
        false => "control groups",
    };
    serde_json::json!({
        "by": "docker",
        "image": config.image,
        "container": entered.id.get(..12),
        "generation": entered.generation,
        "reconnected": entered.is_reconnected,
        "outer_user": owner.uid,
        "user_of_its_own": is_root() && config.relax.user.is_none(),
        "relaxed": relax::named(&config.relax),
        "network": "none",
        "root": "read-only",
        "seccomp": entered.facts.seccomp_mode == 2,
        "landlock_abi": entered.facts.landlock_abi,
        "capabilities": if entered.facts.bounding_capabilities == 0 { "none" } else { "see relaxed" },
        "limits": {
            "memory": { "mb": config.limits.memory_mb, "enforced_by": by("Memory") },
            "swap": { "enforced_by": by("MemorySwap") },
            "cpu": { "cpus": config.limits.cpus, "enforced_by": by("NanoCpus") },
            "pids": { "count": config.limits.pids, "enforced_by": by("PidsLimit") },
            "tmp": { "mb": config.limits.tmp_mb, "enforced_by": "tmpfs size" },
            "disk": { "mb": config.limits.disk_mb, "enforced_by": "measured each second; per file by rlimit" },
        },
    })
}

#[async_trait]
impl Provider for DockerProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Docker
    }

    fn capabilities(&self) -> CapabilitySet {
        [Capability::Fs, Capability::Shell].into_iter().collect()
    }

    async fn availability(&self) -> Result<(), Error> {
        match self.maker.daemon.version().await {
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::debug!(%error, "the Docker daemon was asked for its version");
                let detail = "no Docker daemon answers: install it with `apt-get install docker.io`, start it, and let \
                              Warren's user use its socket";
                Err(Error::transient(ErrorCode::ProviderUnavailable, detail))
            }
        }
    }

    fn check(&self, config: &ProviderConfig) -> Result<(), Error> {
        let config = config_of(config)?;
        process::check_pass_env(&config.pass_env)?;
        Image::parse(&config.image)?;
        mounts::check(&config.mounts)?;
        let problem = config
            .limits
            .problem()
            .or_else(|| relax::problem(&config.relax, config.limits.memory_mb, &config.mounts));
        match problem {
            Some(problem) => Err(Error::permanent(ErrorCode::InvalidConfig, problem)),
            None => Ok(()),
        }
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let config = config_of(&request.config)?;
        self.check(&request.config)?;
        let missing = request.declared.without(self.capabilities());
        if !missing.is_empty() {
            let detail = format!("the provider `docker` does not offer {missing}");
            return Err(Error::permanent(ErrorCode::CapabilityMissing, detail));
        }
        let id = request.workspace_id;
        let owner = self.maker.folders.make_files(id, user_of(config))?;
        let workspace = self.workspace(id, config, owner, request.declared).await.inspect_err(|_| {
            // Nobody has a ref to it yet. One that holds files is not removed by this.
            let _ = std::fs::remove_dir(self.maker.folders.files(id));
        })?;
        let payload = serde_json::to_value(Payload { workspace: id })
            .map_err(|error| Error::permanent(ErrorCode::Internal, error.to_string()))?;
        let provider = ProviderKind::Docker.as_str().to_owned();
        let reference =
            Ref { provider, schema_version: SCHEMA_VERSION, capabilities: request.declared, payload };
        Ok(Opened { workspace, reference })
    }

    async fn resolve(
        &self,
        workspace_id: WorkspaceId,
        config: &ProviderConfig,
        reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.check(config)?;
        let config = config_of(config)?;
        let id = read_payload(reference, workspace_id)?.workspace;
        let owner = self.maker.folders.find_files(id, user_of(config))?;
        self.workspace(id, config, owner, reference.capabilities).await
    }

    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        let id = read_payload(reference, workspace_id)?.workspace;
        // Files without a container can go without a daemon.
        if reference.capabilities.contains(Capability::Shell) {
            let containers = self.maker.containers_of(id).await?;
            self.maker.remove_all(&containers).await?;
        }
        self.disks.forget(id);
        let folders = Arc::clone(&self.maker.folders);
        blocking(move || {
            let failed = |errno| errno::opening(errno, "the workspace's files cannot be deleted");
            folders.delete_box(id).map_err(failed)?;
            folders.delete_files(id).map_err(failed)
        })
        .await
    }

    /// Directories of workspaces are never guessed to be garbage: they go by `destroy` alone.
    async fn reap(&self, live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        let mut report = self.reap_boxes(live).await?;
        let staging = Arc::clone(&self.maker.folders.staging);
        let (removed, problems) = blocking(move || {
            staging.sweep(|_| {}).map_err(|errno| errno::opening(errno, "leftovers cannot be listed"))
        })
        .await?;
        report.removed += removed;
        report.problems.extend(problems);
        Ok(report)
    }
}

fn user_of(config: &DockerConfig) -> Option<Owner> {
    let (uid, gid) = config.relax.user.as_deref().and_then(relax::parse_user)?;
    Some(Owner { uid, gid })
}

/// What the box holds of a device besides what its folder shows. Where its processes cannot be seen nobody can tell.
fn hidden_bytes(process: Option<u32>) -> HiddenBytes {
    Arc::new(move |device| process.map_or(0, |process| disk::deleted_bytes(disk::family_of(process), device)))
}

/// Ends the whole container, now; its channel ends with it, or at once.
fn killer(
    daemon: Arc<Daemon>,
    container: String,
    channel: crate::boxes::channel::Channel,
) -> crate::boxes::shell::EndBox {
    Arc::new(move || {
        channel.shut();
        let (daemon, container) = (Arc::clone(&daemon), container.clone());
        tokio::spawn(async move {
            if let Err(error) = daemon.kill(&container).await {
                tracing::warn!(%error, "a container could not be killed; the reaper will see to it");
            }
        });
    })
}

fn config_of(config: &ProviderConfig) -> Result<&DockerConfig, Error> {
    match config {
        ProviderConfig::Docker(config) => Ok(config),
        _ => Err(Error::permanent(
            ErrorCode::InvalidConfig,
            format!("kind: the docker provider was given a config for `{}`", config.kind()),
        )),
    }
}

fn read_payload(reference: &Ref, workspace_id: WorkspaceId) -> Result<Payload, Error> {
    let unreadable = |detail: String| Error::permanent(ErrorCode::RefUnreadable, detail);
    let payload: Payload = reference
        .read(ProviderKind::Docker.as_str(), SCHEMA_VERSION)
        .map_err(|error| unreadable(error.to_string()))?;
    if payload.workspace != workspace_id {
        return Err(unreadable("the ref belongs to another workspace".into()));
    }
    Ok(payload)
}

//! The provider: makes, finds, ends and sweeps containers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use warren_confined_fs::{Owner, Root};
use warren_doors::{Clock, Entropy, Environment};
use warren_init::SpawnLimits;
use warren_model::{
    Capability, CapabilitySet, DockerConfig, ErrorCode, ProviderConfig, ProviderKind, Ref, Reuse, WorkspaceId,
};
use warren_workspace::{
    Error, ListedRegistries, OpenRequest, Opened, Provider, PullGate, ReapReport, Workspace,
};

use super::container::{ContainerMaker, RunningContainer};
use super::daemon::{Daemon, DaemonError, DaemonTimeouts};
use super::folders::{Folders, is_root};
use super::host::{Access, Host};
use super::identity::{OwnVolume, VolumeContents};
use super::image::Image;
use super::open_boxes::OpenBoxes;
use super::spec::{PROGRAMS, RUNNER};
use super::workspace::{Boxed, DockerWorkspace, Files};
use super::{reaper, relax};
use crate::boxes::config::{BoxConfig, check_offered};
use crate::boxes::disk::{self, DiskKeeper, DiskMeter, LookForHidden, MEASURED};
use crate::boxes::files::BoxFs;
use crate::boxes::hidden_files::{HiddenFiles, family_of, hidden_files};
use crate::boxes::memory_limit::MemoryLimit;
use crate::boxes::not_held::not_held;
use crate::boxes::shell::{BoxParts, BoxShell, EndBox, OpenSpill, spill_opener};
use crate::boxes::{program, reference, syscalls};
use crate::directory::{DirectoryFs, OpenDirectory, blocking, errno};

/// What is the same for all containers of a Warren.
#[derive(Debug, Clone)]
pub struct DockerSettings {
    /// Where the daemon is, as in `DOCKER_HOST`; absent: its usual socket.
    pub host: Option<String>,
    /// A folder with `ca.pem`, `cert.pem` and `key.pem`; with it, a daemon behind TCP is spoken to by TLS.
    pub certificates: Option<PathBuf>,
    /// Whether a daemon on another machine may be spoken to in the clear.
    pub allow_plain_tcp: bool,
    pub patience: DaemonTimeouts,
    /// Folders of Warren's own that no mount may reach.
    pub private: Vec<PathBuf>,
    /// Decides where images may be pulled from.
    pub pull_gate: Arc<dyn PullGate>,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            host: None,
            certificates: None,
            allow_plain_tcp: false,
            patience: DaemonTimeouts::default(),
            private: Vec::new(),
            pull_gate: Arc::new(ListedRegistries::default()),
        }
    }
}

impl DockerSettings {
    pub(super) fn read_host(&self) -> Result<Host, String> {
        let access =
            Access { certificates: self.certificates.clone(), allow_plain_tcp: self.allow_plain_tcp };
        Host::parse(self.host.as_deref(), &access)
    }
}

#[derive(Debug)]
pub struct DockerProvider {
    maker: ContainerMaker,
    open_boxes: OpenBoxes,
    disks: DiskKeeper,
    environment: Arc<Environment>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    workspace: WorkspaceId,
    /// Its files are in a volume of a daemon elsewhere, not in a folder here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_volume: bool,
}

impl reference::Payload for Payload {
    const KIND: ProviderKind = ProviderKind::Docker;
    const SCHEMA_VERSION: u32 = 1;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }
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
        // Whoever uses another provider does not need this one.
        let host = settings.read_host().inspect_err(|problem| {
            tracing::warn!(problem, "the provider `docker` cannot be used");
        });
        let daemon = Daemon::new(host, settings.patience);
        let private = settings.private.into_iter().chain([folders.base.clone()]);
        Ok(Self {
            maker: ContainerMaker {
                private: private.collect(),
                daemon: Arc::new(daemon),
                folders: Arc::new(folders),
                seccomp: syscalls::docker_profile().to_string().into(),
                filling: Arc::default(),
                pull_gate: settings.pull_gate,
            },
            open_boxes: OpenBoxes::default(),
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
        let is_remote = self.maker.daemon.is_remote();
        let entered = if is_remote || declared.contains(Capability::Shell) {
            let opening = self.open_boxes.begin(id);
            let entered = self.maker.enter(id, config, owner).await?;
            opening.finish(&entered.id);
            Some(entered)
        } else {
            None
        };
        let confinement = entered
            .as_ref()
            .map_or(serde_json::Value::Null, |entered| confinement(config, owner, entered, is_remote));
        let (files, boxed) = match entered {
            Some(entered) if is_remote => self.elsewhere(config, entered),
            entered => self.here(id, config, owner, entered)?,
        };
        audit(id, config);
        let boxed = boxed.map(|boxed| Boxed { has_shell: declared.contains(Capability::Shell), ..boxed });
        Ok(Arc::new(DockerWorkspace {
            id,
            files,
            has_fs: declared.contains(Capability::Fs),
            boxed,
            config: config.clone(),
            confinement,
        }))
    }

    /// Files in a folder here, whose sum is measured here.
    fn here(
        &self,
        id: WorkspaceId,
        config: &DockerConfig,
        owner: Owner,
        entered: Option<RunningContainer>,
    ) -> Result<(Files, Option<Boxed>), Error> {
        let folder = self.maker.folders.files(id);
        let root = Root::open(&folder)
            .map_err(|errno| errno::opening(errno, "the workspace's folder cannot be opened"))?;
        let meter = self.disks.meter_of(id, &folder, config.limits.disk_mb);
        let staging = Arc::clone(&self.maker.folders.staging);
        let limits = BoxConfig::from(config).file_limits();
        let place = OpenDirectory::new(root, staging, limits, is_root().then_some(owner))
            .with_space_check(meter.room());
        let place = Arc::new(place);
        let boxed = entered.map(|entered| {
            let end_box = self.killer(&entered);
            let hidden = look_for_hidden(entered.process);
            self.disks.watch(Arc::clone(&meter), entered.channel.end(), end_box, hidden);
            self.boxed(config, entered, spill_opener(Arc::clone(&place)), Some(meter))
        });
        let fs = DirectoryFs::new(Arc::clone(&place));
        Ok((Files::Here(place, fs), boxed))
    }

    /// Files in a volume of the daemon, reached through the box.
    fn elsewhere(&self, config: &DockerConfig, entered: RunningContainer) -> (Files, Option<Boxed>) {
        let bounds = BoxConfig::from(config);
        let fs = BoxFs::new(entered.channel.clone(), bounds.file_limits(), bounds.disk_bytes());
        let boxed = self.boxed(config, entered, fs.spill_opener(), None);
        (Files::Elsewhere(fs), Some(boxed))
    }

    fn boxed(
        &self,
        config: &DockerConfig,
        entered: RunningContainer,
        open_spill: OpenSpill,
        meter: Option<Arc<DiskMeter>>,
    ) -> Boxed {
        let shell = BoxShell::new(BoxParts {
            channel: entered.channel.clone(),
            rules: BoxConfig::from(config).rules(SpawnLimits::default()),
            environment: Arc::clone(&self.environment),
            clock: Arc::clone(&self.clock),
            open_spill,
            end_box: self.killer(&entered),
            runner: RUNNER,
            programs: PROGRAMS,
            memory: MemoryLimit::untold(config.limits.memory_mb),
        });
        let shell = match meter {
            Some(meter) => shell.with_disk(meter),
            None => shell,
        };
        let (daemon, open_boxes) = (Arc::clone(&self.maker.daemon), self.open_boxes.clone());
        Boxed { shell, has_shell: true, channel: entered.channel, container: entered.id, daemon, open_boxes }
    }

    /// Ends the whole container, now; its channel ends with it, or at once.
    fn killer(&self, entered: &RunningContainer) -> EndBox {
        let daemon = Arc::clone(&self.maker.daemon);
        let (container, end) = (entered.id.clone(), entered.channel.end());
        Arc::new(move || {
            end.cancel();
            let (daemon, container) = (Arc::clone(&daemon), container.clone());
            tokio::spawn(async move {
                if let Err(error) = daemon.kill(&container).await {
                    tracing::warn!(%error, "a container could not be killed; the reaper will see to it");
                }
            });
        })
    }

    fn volume_of(&self, workspace: WorkspaceId) -> OwnVolume {
        OwnVolume { instance: self.maker.folders.instance.clone(), holds: VolumeContents::Files(workspace) }
    }

    /// A ref that was made with a daemon of the other sort leads to files that this one does not have.
    async fn check_files(&self, payload: &Payload) -> Result<(), Error> {
        let gone = |detail: &str| Error::permanent(ErrorCode::WorkspaceFailed, detail);
        match (payload.in_volume, self.maker.daemon.is_remote()) {
            (true, false) => Err(gone(
                "the workspace's files are in a volume of a Docker daemon behind TCP, and `docker.host` names none",
            )),
            (false, true) => Err(gone(
                "the workspace's files are in a folder of this machine, which the Docker daemon that `docker.host` names \
                 does not see",
            )),
            (true, true) => {
                let has_volume = self.maker.daemon.has_volume(&self.volume_of(payload.workspace)).await;
                match has_volume.map_err(|error| error.into_opening("looking for the volume"))? {
                    true => Ok(()),
                    false => Err(gone("the workspace's volume is gone from the Docker daemon")),
                }
            }
            (false, false) => Ok(()),
        }
    }

    /// Volumes of a daemon elsewhere that belong to nobody. Those that are left are told.
    async fn reap_volumes(
        &self,
        live: &BTreeSet<WorkspaceId>,
        report: &mut ReapReport,
    ) -> Result<BTreeSet<WorkspaceId>, Error> {
        let (daemon, folders) = (&self.maker.daemon, &self.maker.folders);
        if !daemon.is_remote() {
            return Ok(BTreeSet::new());
        }
        let listed = daemon.volumes(&folders.instance).await;
        let listed = listed.map_err(|error| error.into_opening("listing volumes"))?;
        let open_boxes = self.open_boxes.snapshot();
        let is_kept = |workspace| folders.files(workspace).exists();
        let mut left: BTreeSet<WorkspaceId> = listed.iter().filter_map(OwnVolume::workspace).collect();
        for volume in reaper::left_over_volumes(&listed, live, &open_boxes, is_kept, &program::mark()) {
            match daemon.remove_volume(volume).await {
                Ok(()) => {
                    report.removed += 1;
                    left.retain(|workspace| Some(*workspace) != volume.workspace());
                }
                // A container has it still.
                Err(DaemonError::Conflict(_)) => {}
                Err(error) => {
                    tracing::warn!(%error, "a left-over volume could not be removed");
                    report.problems.push("a left-over volume could not be removed".into());
                }
            }
        }
        Ok(left)
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
        let open_boxes = self.open_boxes.snapshot();
        let mut removed = BTreeSet::new();
        for id in reaper::left_over(&listed, live, &open_boxes) {
            match self.maker.daemon.remove(id).await {
                Ok(()) => drop(removed.insert(id)),
                Err(error) => {
                    tracing::warn!(%error, "a left-over container could not be removed");
                    report.problems.push("a left-over container could not be removed".into());
                }
            }
        }
        report.removed += u32::try_from(removed.len()).unwrap_or(u32::MAX);
        let with_volume = self.reap_volumes(live, &mut report).await?;
        let has_container = |workspace: &WorkspaceId| {
            listed
                .iter()
                .any(|one| one.identity.workspace == *workspace && !removed.contains(one.id.as_str()))
        };
        for workspace in known {
            let is_needed = live.contains(&workspace)
                || open_boxes.contains_key(&workspace)
                || with_volume.contains(&workspace)
                || has_container(&workspace);
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
fn confinement(
    config: &DockerConfig,
    owner: Owner,
    entered: &RunningContainer,
    is_remote: bool,
) -> serde_json::Value {
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
        "files": if is_remote { "a volume of the daemon" } else { "a folder of this machine" },
        "outer_user": owner.uid,
        "user_of_its_own": is_root() && config.relax.user.is_none(),
        "relaxed": relax::named(&config.relax),
        "not_held": not_held("", is_root() && config.relax.user.is_none()),
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
            "disk": disk::told(&config.limits, if is_remote { "per file by rlimit; not in all" } else { MEASURED }),
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
            Err(DaemonError::Misconfigured(problem)) => {
                Err(Error::permanent(ErrorCode::ProviderUnavailable, problem))
            }
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
        BoxConfig::from(config).check()?;
        Image::parse(&config.image)?;
        let problem = relax::problem(&config.relax, config.limits.memory_mb, &config.mounts)
            .or_else(|| self.maker.daemon.is_remote().then(|| unshared(config)).flatten());
        match problem {
            Some(problem) => Err(Error::permanent(ErrorCode::InvalidConfig, problem)),
            None => Ok(()),
        }
    }

    async fn is_prepared(&self, config: &ProviderConfig) -> Result<bool, Error> {
        let config = config_of(config)?;
        self.maker.has_image(config).await
    }

    async fn prepare(&self, config: &ProviderConfig) -> Result<(), Error> {
        let config = config_of(config)?;
        self.maker.fetch_image(config).await
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let config = config_of(&request.config)?;
        self.check(&request.config)?;
        check_offered(self.kind(), request.declared, self.capabilities())?;
        let id = request.workspace_id;
        let owner = self.maker.folders.make_files(id, user_of(config))?;
        let workspace = self.workspace(id, config, owner, request.declared).await.inspect_err(|_| {
            // Nobody has a ref to it yet. One that holds files is not removed by this.
            let _ = std::fs::remove_dir(self.maker.folders.files(id));
        })?;
        let payload = Payload { workspace: id, in_volume: self.maker.daemon.is_remote() };
        let reference = reference::write(&payload, request.declared)?;
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
        let payload: Payload = reference::read(reference, workspace_id)?;
        self.check_files(&payload).await?;
        let id = payload.workspace;
        let owner = self.maker.folders.find_files(id, user_of(config))?;
        self.workspace(id, config, owner, reference.capabilities).await
    }

    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        let payload: Payload = reference::read(reference, workspace_id)?;
        let id = payload.workspace;
        // Files without a container can go without a daemon.
        if payload.in_volume || reference.capabilities.contains(Capability::Shell) {
            let containers = self.maker.containers_of(id).await?;
            self.maker.remove_all(&containers).await?;
        }
        if payload.in_volume {
            let removed = self.maker.daemon.remove_volume(&self.volume_of(id)).await;
            removed.map_err(|error| error.into_opening("removing the volume"))?;
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

    async fn refresh_image(&self, config: &ProviderConfig) -> Result<Option<String>, Error> {
        let ProviderConfig::Docker(config) = config else { return Ok(None) };
        let image = Image::parse(&config.image)?;
        self.maker.refresh(&image, config.pull_policy).await.map(Some)
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
fn look_for_hidden(process: Option<u32>) -> LookForHidden {
    Arc::new(move |device| {
        process.map_or(HiddenFiles::default(), |process| hidden_files(|| family_of(process), device))
    })
}

/// What a config asks for that only a daemon on this machine can do.
fn unshared(config: &DockerConfig) -> Option<String> {
    if !config.mounts.is_empty() {
        return Some("mounts: a Docker daemon behind TCP does not see the paths of this machine".to_owned());
    }
    (config.reuse == Reuse::Reconnect)
        .then(|| "reuse: `reconnect` needs a Docker daemon behind a local socket; use `recreate`".to_owned())
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

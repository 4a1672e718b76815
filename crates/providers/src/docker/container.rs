//! Makes a workspace's container, or finds the one that is there (W74, W75).
//!
//! ```text
//!   recreate   remove what is there ─▶ image ─▶ create ─▶ compare ─▶ start ─▶ connect ─▶ judge ─▶ in use
//!   reconnect  what runs there ─▶ compare ─▶ connect ─▶ in use         nothing runs: as above
//! ```
//!
//! Every step that fails leaves a container that the next try, or the reaper, finds by its labels.

use std::time::Duration;

use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use warren_confined_fs::Owner;
use warren_init::Facts as BoxFacts;
use warren_model::{DockerConfig, ErrorCode, PullPolicy, Reuse, WorkspaceId};
use warren_workspace::{Error, PullGate};

use super::config_drift::{self, ConfigDrift};
use super::connect::{self, ConnectedInit};
use super::daemon::{Daemon, DaemonError, ImageFacts};
use super::folders::Folders;
use super::identity::Identity;
use super::image::Image;
use super::reaper::Listed;
use super::spec::{self, BoxSource, CheckedMount};
use crate::boxes::channel::{Channel, ChannelError};
use crate::boxes::mounts;
use crate::directory::blocking;

/// How long a started container's process 1 may take to listen.
const SOCKET_PATIENCE: Duration = Duration::from_secs(15);

/// What making a container needs to know of the provider.
#[derive(Debug, Clone)]
pub(super) struct ContainerMaker {
    pub(super) daemon: std::sync::Arc<Daemon>,
    pub(super) folders: std::sync::Arc<Folders>,
    pub(super) seccomp: std::sync::Arc<str>,
    /// Folders of Warren's own that no mount may reach.
    pub(super) private: std::sync::Arc<[std::path::PathBuf]>,
    /// Held while volumes are filled: what one replaces, another may be about to start.
    pub(super) filling: std::sync::Arc<tokio::sync::Mutex<()>>,
    pub(super) pull_gate: std::sync::Arc<dyn PullGate>,
}

/// A container whose process 1 answers.
#[derive(Debug)]
pub(super) struct RunningContainer {
    pub(super) id: String,
    pub(super) generation: u64,
    pub(super) channel: Channel,
    /// Process 1, by the number that it has here; absent where it cannot be seen from here.
    pub(super) process: Option<u32>,
    pub(super) facts: BoxFacts,
    /// Names of limits that this host does not enforce.
    pub(super) unenforced: Vec<String>,
    pub(super) is_reconnected: bool,
}

impl ContainerMaker {
    pub(super) async fn enter(
        &self,
        workspace: WorkspaceId,
        config: &DockerConfig,
        owner: Owner,
    ) -> Result<RunningContainer, Error> {
        let image = Image::parse(&config.image)?;
        let grants = self.grants(config).await?;
        let there = self.containers_of(workspace).await?;
        let plan = Plan { maker: self, workspace, config, image: &image, owner, grants: &grants };
        if config.reuse == Reuse::Reconnect
            && let Some(running) =
                there.iter().filter(|one| one.is_running).max_by_key(|one| one.identity.generation)
            && let Some(entered) = plan.reconnect(running).await?
        {
            let others: Vec<_> = there.into_iter().filter(|one| one.id != entered.id).collect();
            self.remove_all(&others).await?;
            return Ok(entered);
        }
        // Before anything is ended: a config that names no image must not cost what is there.
        let facts = self.provide_image(&image, config.pull_policy).await?;
        self.remove_all(&there).await?;
        // On the heap: it is many steps long, and openings are many at once.
        Box::pin(plan.make(&facts)).await
    }

    async fn grants(&self, config: &DockerConfig) -> Result<Vec<CheckedMount>, Error> {
        let (wanted, private) = (config.mounts.clone(), std::sync::Arc::clone(&self.private));
        blocking(move || {
            let private: Vec<_> = private.iter().map(std::path::PathBuf::as_path).collect();
            let granted = mounts::open(&wanted, &private)?.into_iter().map(|grant| CheckedMount {
                source: grant.source.to_string_lossy().into_owned(),
                target: grant.target,
                is_writable: grant.is_writable,
            });
            Ok(granted.collect())
        })
        .await
    }

    pub(super) async fn containers_of(&self, workspace: WorkspaceId) -> Result<Vec<Listed>, Error> {
        let mut listed = self
            .daemon
            .list(&self.folders.instance)
            .await
            .map_err(|error| error.into_opening("listing containers"))?;
        listed.retain(|container| container.identity.workspace == workspace);
        Ok(listed)
    }

    pub(super) async fn remove_all(&self, containers: &[Listed]) -> Result<(), Error> {
        for container in containers {
            self.daemon
                .remove(&container.id)
                .await
                .map_err(|error| error.into_opening("removing an earlier container"))?;
        }
        Ok(())
    }

    /// Whether a box of this config can be made without a pull.
    pub(super) async fn has_image(&self, config: &DockerConfig) -> Result<bool, Error> {
        match config.pull_policy {
            PullPolicy::Never => Ok(true),
            PullPolicy::Always => Ok(false),
            PullPolicy::Missing => Ok(self.look_for(&Image::parse(&config.image)?).await?.is_some()),
        }
    }

    pub(super) async fn fetch_image(&self, config: &DockerConfig) -> Result<(), Error> {
        self.provide_image(&Image::parse(&config.image)?, config.pull_policy).await.map(drop)
    }

    /// `Never` makes no call that leaves this machine, and neither does `Missing` when the image is here.
    async fn provide_image(&self, image: &Image, policy: PullPolicy) -> Result<ImageFacts, Error> {
        if policy != PullPolicy::Always
            && let Some(facts) = self.look_for(image).await?
        {
            return Ok(facts);
        }
        if policy == PullPolicy::Never {
            let detail = format!(
                "the image `{image}` is not here, and `pull_policy` is `never`: run `docker pull {image}` first"
            );
            return Err(Error::permanent(ErrorCode::ImageNotFound, detail));
        }
        // Before the daemon calls anybody: the name was written by whoever made the workspace.
        let login = self.pull_gate.admit(image.registry()).await?;
        let has_login = login.is_some();
        tracing::info!(%image, has_login, "pulling an image");
        self.daemon.pull(image, login).await.map_err(|error| pull_failure(image, has_login, error))?;
        self.look_for(image).await?.ok_or_else(|| {
            let detail = format!("the image `{image}` is not here after its pull");
            Error::permanent(ErrorCode::ImageNotFound, detail)
        })
    }

    /// Pulls, unless nothing may leave this machine, and answers with what the name stands for then.
    pub(super) async fn refresh(&self, image: &Image, policy: PullPolicy) -> Result<String, Error> {
        let policy = if policy == PullPolicy::Never { PullPolicy::Never } else { PullPolicy::Always };
        self.provide_image(image, policy).await.map(|facts| facts.digest)
    }

    async fn look_for(&self, image: &Image) -> Result<Option<ImageFacts>, Error> {
        self.daemon.image(image).await.map_err(|error| error.into_opening("looking for the image"))
    }
}

/// Daemons answer "there is no such image" with status 404 or 500, depending on version and registry.
fn says_not_found(message: &str) -> bool {
    ["manifest unknown", "not found", "does not exist", "access denied", "name unknown"]
        .iter()
        .any(|phrase| message.contains(phrase))
}

/// The registry wants to know who asks, or does not like the answer.
fn says_refused(message: &str) -> bool {
    ["no basic auth credentials", "unauthorized", "authentication required", "incorrect username or password"]
        .iter()
        .any(|phrase| message.contains(phrase))
}

fn pull_failure(image: &Image, has_login: bool, error: DaemonError) -> Error {
    let error = match error {
        DaemonError::Refused { message, .. } if says_refused(&message) => {
            tracing::warn!(%image, message, "a registry refuses");
            let detail = match has_login {
                true => format!("the registry refuses Warren's login for the image `{image}`; set it anew"),
                false => format!(
                    "the registry asks for a sign-in for the image `{image}`, and Warren has no login there"
                ),
            };
            return Error::permanent(ErrorCode::RegistryRefused, detail);
        }
        DaemonError::Refused { message, .. } if says_not_found(&message) => DaemonError::NotFound(message),
        other => other,
    };
    match error {
        DaemonError::NotFound(message) => {
            tracing::warn!(%image, message, "an image was not found");
            let detail = format!(
                "no registry gives out the image `{image}`; check its name, or set a login for the registry"
            );
            Error::permanent(ErrorCode::ImageNotFound, detail)
        }
        DaemonError::Slow => {
            let detail = format!("pulling the image `{image}` takes too long; it is tried again");
            Error::transient(ErrorCode::ProviderUnavailable, detail)
        }
        other => other.into_opening("pulling the image"),
    }
}

/// One workspace's container.
pub(super) struct Plan<'a> {
    pub(super) maker: &'a ContainerMaker,
    pub(super) workspace: WorkspaceId,
    pub(super) config: &'a DockerConfig,
    pub(super) image: &'a Image,
    pub(super) owner: Owner,
    pub(super) grants: &'a [CheckedMount],
}

impl Plan<'_> {
    fn request(&self, identity: &Identity, image: &ImageFacts) -> ContainerCreateBody {
        let folders = &self.maker.folders;
        if self.maker.daemon.is_remote() {
            let [files, program] = self.volumes().map(|volume| volume.name());
            let source = BoxSource::Volumes { files: &files, program: &program };
            return spec::request(self.config, &self.facts(identity, image, source));
        }
        let (files, run) = (folders.files(self.workspace), folders.run(self.workspace));
        let source =
            BoxSource::Folders { files: &files, run: &run, init: &folders.init, runner: &folders.runner };
        spec::request(self.config, &self.facts(identity, image, source))
    }

    pub(super) fn facts<'b>(
        &'b self,
        identity: &'b Identity,
        image: &'b ImageFacts,
        source: BoxSource<'b>,
    ) -> spec::Facts<'b> {
        spec::Facts {
            identity,
            image: self.image,
            image_volumes: &image.volumes,
            owner: self.owner,
            seccomp: &self.maker.seccomp,
            source,
            grants: self.grants,
        }
    }

    /// Absent: it has ended in the meantime.
    async fn reconnect(&self, running: &Listed) -> Result<Option<RunningContainer>, Error> {
        let daemon = &self.maker.daemon;
        let step = |error: DaemonError| error.into_opening("looking at the living container");
        let Some(real) = daemon.inspect(&running.id).await.map_err(step)? else {
            return Ok(None);
        };
        let image = daemon.image(self.image).await.map_err(step)?;
        let image = image.unwrap_or(ImageFacts { volumes: Vec::new(), digest: String::new() });
        let drift = config_drift::between(&self.request(&running.identity, &image), &real);
        if !drift.fields.is_empty() {
            tracing::warn!(workspace.id = %self.workspace, fields = ?drift.fields, "a living container has drifted");
            let detail = format!(
                "the living container is not what the config asks for: {} differ; change the config back, or set \
                 `reuse: recreate`, which ends it and its processes",
                drift.fields.join(", ")
            );
            return Err(Error::permanent(ErrorCode::WorkspaceFailed, detail));
        }
        let run = self.maker.folders.run(self.workspace);
        // One that was made but given to nobody has its socket folder open still.
        self.maker.folders.lock_run(self.workspace)?;
        let stream = match connect::try_connect(&run).await {
            Ok(Some(stream)) => stream,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::warn!(%error, "the socket of a living container cannot be used");
                return Ok(None);
            }
        };
        match connect::greet(stream).await {
            Ok(met) => Ok(Some(self.entered(running, met, drift, true))),
            Err(ChannelError::Gone | ChannelError::Silent) => Ok(None),
            Err(ChannelError::Version | ChannelError::TooLong) => {
                let detail = "process 1 of the living container is of another version of Warren; set `reuse: recreate`, \
                              which ends it and its processes";
                Err(Error::permanent(ErrorCode::WorkspaceFailed, detail))
            }
        }
    }

    async fn make(&self, image: &ImageFacts) -> Result<RunningContainer, Error> {
        let folders = &self.maker.folders;
        match self.maker.daemon.is_remote() {
            true => {
                folders.make_box(self.workspace)?;
                self.make_volumes().await?;
            }
            false => folders.make_run(self.workspace, self.box_user())?,
        }
        let identity = Identity {
            instance: folders.instance.clone(),
            workspace: self.workspace,
            generation: folders.next_generation(self.workspace),
        };
        let request = self.request(&identity, image);
        let id = self.create(&identity, &request).await?;
        let made = Listed { id, identity, is_running: true };
        match self.start(&made, &request, image).await {
            Ok(entered) => Ok(entered),
            Err(error) => {
                if let Err(left) = self.maker.daemon.remove(&made.id).await {
                    tracing::warn!(error = %left, "a container that failed is left to the reaper");
                }
                Err(error)
            }
        }
    }

    /// Who process 1 runs as.
    pub(super) fn box_user(&self) -> Owner {
        let relaxed = self.config.relax.user.as_deref().and_then(super::relax::parse_user);
        relaxed.map_or(self.owner, |(uid, gid)| Owner { uid, gid })
    }

    /// A name that is taken is an earlier try of ours whose answer was lost.
    pub(super) async fn create(
        &self,
        identity: &Identity,
        request: &ContainerCreateBody,
    ) -> Result<String, Error> {
        let daemon = &self.maker.daemon;
        let failed = |error: DaemonError| match error {
            DaemonError::NotFound(_) => {
                let detail = format!("the image `{}` was removed just now", self.image);
                Error::transient(ErrorCode::ImageNotFound, detail)
            }
            other => other.into_opening("creating the container"),
        };
        match daemon.create(identity, request).await {
            Ok(id) => return Ok(id),
            Err(DaemonError::Conflict(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        tracing::info!(workspace.id = %self.workspace, "a container whose creation was not answered is made anew");
        let lost = self.maker.containers_of(self.workspace).await?;
        self.maker.remove_all(&lost).await?;
        daemon.create(identity, request).await.map_err(failed)
    }

    async fn start(
        &self,
        made: &Listed,
        request: &ContainerCreateBody,
        image: &ImageFacts,
    ) -> Result<RunningContainer, Error> {
        let daemon = &self.maker.daemon;
        let step = |error: DaemonError| error.into_opening("starting the container");
        let real = daemon.inspect(&made.id).await.map_err(step)?.ok_or_else(gone)?;
        let drift = config_drift::between(request, &real);
        if !drift.fields.is_empty() {
            tracing::error!(fields = ?drift.fields, "the Docker daemon made another container than was asked for");
            let detail = format!(
                "the Docker daemon made another container than was asked for: {}",
                drift.fields.join(", ")
            );
            return Err(Error::permanent(ErrorCode::ProviderUnavailable, detail));
        }
        let met = match daemon.is_remote() {
            true => {
                self.fill_volumes(&made.id, image).await?;
                self.start_elsewhere(&made.id).await?
            }
            false => self.start_here(&made.id).await?,
        };
        self.judge(&met.greeting.facts)?;
        if let Err(error) = self.maker.folders.record_generation(self.workspace, made.identity.generation) {
            // The number is for people; names stay unique, since earlier containers are removed first.
            tracing::warn!(%error, "a container's number could not be recorded");
        }
        Ok(self.entered(made, met, drift, false))
    }

    async fn start_here(&self, id: &str) -> Result<ConnectedInit, Error> {
        let daemon = &self.maker.daemon;
        daemon.start(id).await.map_err(|error| error.into_opening("starting the container"))?;
        let run = self.maker.folders.run(self.workspace);
        let is_alive = || async {
            match daemon.inspect(id).await {
                Ok(inspected) => inspected.as_ref().is_some_and(is_running),
                // Unknown: the patience bounds it.
                Err(_) => true,
            }
        };
        let stream = connect::wait_for(&run, SOCKET_PATIENCE, is_alive).await.map_err(|error| {
            tracing::warn!(%error, "the socket of a new container cannot be used");
            gone()
        })?;
        let Some(stream) = stream else {
            return Err(self.post_mortem(id).await);
        };
        let met = connect::greet(stream).await.map_err(|error| {
            tracing::warn!(%error, "process 1 of a new container does not answer");
            gone()
        })?;
        self.maker.folders.lock_run(self.workspace)?;
        Ok(met)
    }

    /// Its input and output are taken before there is anything to miss.
    async fn start_elsewhere(&self, id: &str) -> Result<ConnectedInit, Error> {
        let daemon = &self.maker.daemon;
        let step = |error: DaemonError| error.into_opening("starting the container");
        let (reading, writing) = daemon.attach(id).await.map_err(step)?;
        daemon.start(id).await.map_err(step)?;
        match connect::greet_through_daemon(reading, writing).await {
            Ok(met) => Ok(met),
            Err(error) => {
                tracing::warn!(%error, "process 1 of a new container does not answer");
                Err(self.post_mortem(id).await)
            }
        }
    }

    /// Whether the box is as tight as it was asked to be, seen from inside, before any program runs in it.
    fn judge(&self, facts: &BoxFacts) -> Result<(), Error> {
        let mut wrong = Vec::new();
        let mut expect = |holds: bool, what: &'static str| {
            if !holds {
                wrong.push(what);
            }
        };
        expect(facts.is_process_1, "process 1");
        expect(facts.no_new_privileges, "no new privileges");
        expect(facts.seccomp_mode == 2, "a system call filter");
        expect(facts.user == self.box_user().uid, "the user");
        if self.config.relax.cap_add.is_empty() {
            expect(facts.effective_capabilities == 0, "no effective capabilities");
            expect(facts.bounding_capabilities == 0, "no capabilities to gain");
        }
        if wrong.is_empty() {
            return Ok(());
        }
        tracing::error!(?facts, "a container is not as tight as it was asked to be");
        let detail = format!("the container does not have what was asked for: {}", wrong.join(", "));
        Err(Error::permanent(ErrorCode::ProviderUnavailable, detail))
    }

    /// Why a container's process 1 never answered.
    async fn post_mortem(&self, id: &str) -> Error {
        let state = self.maker.daemon.inspect(id).await.ok().flatten().and_then(|inspected| inspected.state);
        let (code, message) = state.map_or((None, None), |state| (state.exit_code, state.error));
        tracing::warn!(?code, ?message, "process 1 of a container did not come up");
        let detail = match code {
            Some(code) if code != 0 => format!("process 1 of the container ended with exit code {code}"),
            _ => "process 1 of the container did not come up in time".to_owned(),
        };
        Error::transient(ErrorCode::WorkspaceFailed, detail)
    }

    fn entered(
        &self,
        container: &Listed,
        met: ConnectedInit,
        drift: ConfigDrift,
        is_reconnected: bool,
    ) -> RunningContainer {
        if !drift.unenforced.is_empty() {
            tracing::warn!(limits = ?drift.unenforced, "this host does not enforce some of a container's limits");
        }
        RunningContainer {
            id: container.id.clone(),
            generation: container.identity.generation,
            channel: met.channel,
            process: met.process,
            facts: met.greeting.facts,
            unenforced: drift.unenforced,
            is_reconnected,
        }
    }
}

fn is_running(inspected: &ContainerInspectResponse) -> bool {
    inspected.state.as_ref().and_then(|state| state.running).unwrap_or(false)
}

fn gone() -> Error {
    Error::transient(ErrorCode::WorkspaceFailed, "the container ended before it could be used")
}

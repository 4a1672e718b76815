//! The Docker daemon, as this provider uses it: few calls, each with a deadline, each failure sorted by what can be done
//! about it.
//!
//! The client is made when it is first needed and thrown away when the daemon does not answer, so that a daemon that comes
//! back, perhaps as another version, is met afresh.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bollard::auth::DockerCredentials;
use bollard::container::LogOutput;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummaryStateEnum, ImageInspect,
    VolumeCreateRequest,
};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, ContainerArchiveInfoOptionsBuilder, CreateContainerOptionsBuilder,
    CreateImageOptionsBuilder, InspectContainerOptions, KillContainerOptions, ListContainersOptionsBuilder,
    ListVolumesOptionsBuilder, RemoveContainerOptionsBuilder, RemoveVolumeOptions, StartContainerOptions,
    UploadToContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use futures_util::StreamExt as _;
use tokio::time::timeout;
use warren_model::ErrorCode;
use warren_workspace::{Error, RegistryLogin};

use super::host::{Host, Transport};
use super::identity::{INSTANCE, Identity, OwnVolume};
use super::image::Image;
use super::reaper::Listed;
use crate::boxes::channel::{Reading, Writing};

/// How long the daemon may take.
#[derive(Debug, Clone, Copy)]
pub struct DaemonTimeouts {
    /// For one call.
    pub call: Duration,
    /// For a pull to say anything.
    pub pull_silence: Duration,
    /// For a pull altogether.
    pub pull: Duration,
}

impl Default for DaemonTimeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(30),
            pull_silence: Duration::from_secs(60),
            pull: Duration::from_secs(900),
        }
    }
}

/// Between two looks at a container that is being removed by somebody else.
const REMOVAL_PAUSE: Duration = Duration::from_millis(50);
/// Of a message of the daemon's that is passed on.
const MAX_MESSAGE_CHARS: usize = 300;

/// Why the daemon did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum DaemonError {
    /// Nothing was tried.
    #[error("the daemon's address cannot be used: {0}")]
    Misconfigured(String),
    #[error("the daemon does not answer")]
    Down(#[source] bollard::errors::Error),
    #[error("the daemon did not answer in time")]
    Slow,
    #[error("the daemon knows no such thing: {0}")]
    NotFound(String),
    #[error("the daemon has that already, or is busy with it: {0}")]
    Conflict(String),
    #[error("the daemon refused with status {status}: {message}")]
    Refused { status: u16, message: String },
}

impl DaemonError {
    /// For whoever opens a workspace. What the daemon said may hold host paths, and goes to the log only.
    pub(super) fn into_opening(self, step: &str) -> Error {
        let unavailable = |detail: String| Error::transient(ErrorCode::ProviderUnavailable, detail);
        match self {
            Self::Misconfigured(problem) => Error::permanent(ErrorCode::ProviderUnavailable, problem),
            Self::Down(cause) => {
                tracing::warn!(%cause, step, "the Docker daemon does not answer");
                unavailable(format!(
                    "the Docker daemon does not answer ({step}); it is tried again, and `warren doctor` says more"
                ))
            }
            Self::Slow => unavailable(format!("the Docker daemon did not answer in time ({step})")),
            Self::Refused { message, .. } if message.contains("no space left on device") => {
                tracing::warn!(message, step, "the Docker daemon has no space left");
                Error::transient(ErrorCode::StorageFull, "the Docker daemon has no space left on its disk")
            }
            Self::Refused { status: status @ 500.., message } => {
                tracing::warn!(message, status, step, "the Docker daemon failed");
                unavailable(format!("the Docker daemon failed ({step}); its message is in the log"))
            }
            Self::NotFound(message) | Self::Conflict(message) | Self::Refused { message, .. } => {
                tracing::warn!(message, step, "the Docker daemon refused");
                let detail = format!("the Docker daemon refused ({step}); its message is in the log");
                Error::permanent(ErrorCode::WorkspaceFailed, detail)
            }
        }
    }
}

/// What is known of an image that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImageFacts {
    /// What the name stands for.
    pub(super) digest: String,
    pub(super) volumes: Vec<String>,
}

/// What lies at a path of a container that need not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathFacts {
    pub(super) bytes: u64,
    pub(super) permissions: u32,
}

#[derive(Debug)]
pub(super) struct Daemon {
    /// Or why there is none to be used.
    host: Result<Host, String>,
    patience: DaemonTimeouts,
    client: Mutex<Option<Docker>>,
}

impl Daemon {
    pub(super) fn new(host: Result<Host, String>, patience: DaemonTimeouts) -> Self {
        Self { host, patience, client: Mutex::default() }
    }

    /// Whether it shares no directory with us.
    pub(super) fn is_remote(&self) -> bool {
        self.host.as_ref().is_ok_and(Host::is_remote)
    }

    /// Its version, for people.
    pub(super) async fn version(&self) -> Result<String, DaemonError> {
        let version = self.call(|client| async move { client.version().await }).await?;
        Ok(version.version.unwrap_or_default())
    }

    /// Absent: it is not here.
    pub(super) async fn image(&self, image: &Image) -> Result<Option<ImageFacts>, DaemonError> {
        let name = image.to_string();
        match self.call(|client| async move { client.inspect_image(&name).await }).await {
            Ok(inspected) => {
                let digest = inspected.id.clone().unwrap_or_default();
                Ok(Some(ImageFacts { digest, volumes: volumes_of(inspected) }))
            }
            Err(DaemonError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn pull(&self, image: &Image, login: Option<RegistryLogin>) -> Result<(), DaemonError> {
        let client = self.client().await?;
        let credentials = login.map(|login| DockerCredentials {
            username: Some(login.username),
            password: Some(login.password.reveal().to_owned()),
            serveraddress: Some(login.registry),
            ..DockerCredentials::default()
        });
        let options =
            CreateImageOptionsBuilder::default().from_image(image.name()).tag(image.version()).build();
        let pulling = async {
            let mut progress = std::pin::pin!(client.create_image(Some(options), None, credentials));
            while let Some(step) =
                timeout(self.patience.pull_silence, progress.next()).await.map_err(|_| DaemonError::Slow)?
            {
                step.map_err(|error| self.sort(error))?;
            }
            Ok(())
        };
        timeout(self.patience.pull, pulling).await.unwrap_or(Err(DaemonError::Slow))
    }

    /// The new container's id.
    pub(super) async fn create(
        &self,
        identity: &Identity,
        request: &ContainerCreateBody,
    ) -> Result<String, DaemonError> {
        let options = CreateContainerOptionsBuilder::default().name(&identity.name()).build();
        let request = request.clone();
        let created =
            self.call(|client| async move { client.create_container(Some(options), request).await }).await?;
        for warning in &created.warnings {
            tracing::warn!(warning, "the Docker daemon warns about a container");
        }
        Ok(created.id)
    }

    pub(super) async fn start(&self, id: &str) -> Result<(), DaemonError> {
        self.call(|client| async move { client.start_container(id, None::<StartContainerOptions>).await })
            .await
    }

    pub(super) async fn inspect(&self, id: &str) -> Result<Option<ContainerInspectResponse>, DaemonError> {
        let options = None::<InspectContainerOptions>;
        match self.call(|client| async move { client.inspect_container(id, options).await }).await {
            Ok(inspected) => Ok(Some(inspected)),
            Err(DaemonError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn kill(&self, id: &str) -> Result<(), DaemonError> {
        self.call(|client| async move { client.kill_container(id, None::<KillContainerOptions>).await }).await
    }

    /// With its anonymous volumes, running or not; gone already is success. Returns when it is gone.
    pub(super) async fn remove(&self, id: &str) -> Result<(), DaemonError> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        let removal = async {
            loop {
                let options = options.clone();
                match self
                    .call(|client| async move { client.remove_container(id, Some(options)).await })
                    .await
                {
                    Ok(()) | Err(DaemonError::NotFound(_)) => return Ok(()),
                    // Somebody else is at it: another close, or the reaper.
                    Err(DaemonError::Conflict(_)) => tokio::time::sleep(REMOVAL_PAUSE).await,
                    Err(error) => return Err(error),
                }
            }
        };
        timeout(self.patience.call, removal).await.unwrap_or(Err(DaemonError::Slow))
    }

    /// All containers of an instance, running or not. What only claims to be one is left out.
    pub(super) async fn list(&self, instance: &str) -> Result<Vec<Listed>, DaemonError> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{INSTANCE}={instance}")])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let summaries =
            self.call(|client| async move { client.list_containers(Some(options)).await }).await?;
        let listed = summaries.into_iter().filter_map(|summary| {
            let identity = Identity::read(
                instance,
                &summary.names.unwrap_or_default(),
                &summary.labels.unwrap_or_default(),
            )?;
            let is_running = matches!(
                summary.state,
                Some(ContainerSummaryStateEnum::RUNNING | ContainerSummaryStateEnum::PAUSED)
            );
            Some(Listed { id: summary.id?, identity, is_running })
        });
        Ok(listed.collect())
    }

    /// Made unless it is there.
    pub(super) async fn create_volume(&self, volume: &OwnVolume) -> Result<(), DaemonError> {
        let request = VolumeCreateRequest {
            name: Some(volume.name()),
            labels: Some(volume.labels()),
            ..VolumeCreateRequest::default()
        };
        self.call(|client| async move { client.create_volume(request).await }).await.map(drop)
    }

    pub(super) async fn has_volume(&self, volume: &OwnVolume) -> Result<bool, DaemonError> {
        let name = volume.name();
        match self.call(|client| async move { client.inspect_volume(&name).await }).await {
            Ok(_) => Ok(true),
            Err(DaemonError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gone already is success; one that a container has is a conflict.
    pub(super) async fn remove_volume(&self, volume: &OwnVolume) -> Result<(), DaemonError> {
        let name = volume.name();
        let options = None::<RemoveVolumeOptions>;
        match self.call(|client| async move { client.remove_volume(&name, options).await }).await {
            Err(DaemonError::NotFound(_)) => Ok(()),
            other => other,
        }
    }

    /// All volumes of an instance. What only claims to be one is left out.
    pub(super) async fn volumes(&self, instance: &str) -> Result<Vec<OwnVolume>, DaemonError> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{INSTANCE}={instance}")])]);
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let listed = self.call(|client| async move { client.list_volumes(Some(options)).await }).await?;
        let volumes = listed.volumes.unwrap_or_default().into_iter();
        Ok(volumes.filter_map(|volume| OwnVolume::read(instance, &volume.name, &volume.labels)).collect())
    }

    /// Unpacks a tar archive at the root of a container, also into its volumes.
    pub(super) async fn upload(&self, id: &str, archive: Vec<u8>) -> Result<(), DaemonError> {
        let options = UploadToContainerOptionsBuilder::default().path("/").build();
        let body = bollard::body_full(archive.into());
        self.call(|client| async move { client.upload_to_container(id, Some(options), body).await }).await
    }

    /// Absent: nothing lies there.
    pub(super) async fn look_at(&self, id: &str, path: &str) -> Result<Option<PathFacts>, DaemonError> {
        let options = ContainerArchiveInfoOptionsBuilder::default().path(path).build();
        let looked =
            self.call(|client| async move { client.get_container_archive_info(id, Some(options)).await });
        match looked.await {
            Ok(facts) => Ok(Some(PathFacts {
                bytes: u64::try_from(facts.size).unwrap_or(0),
                permissions: facts.file_mode & 0o777,
            })),
            Err(DaemonError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The container's input and output. Taken before it is started, they miss nothing.
    pub(super) async fn attach(&self, id: &str) -> Result<(Reading, Writing), DaemonError> {
        let options = AttachContainerOptionsBuilder::default().stream(true).stdin(true).stdout(true).build();
        let attached =
            self.call(|client| async move { client.attach_container(id, Some(options)).await }).await?;
        let output = attached.output.map(|piece| match piece {
            Ok(LogOutput::StdOut { message }) => Ok(message),
            Ok(_) => Err(std::io::ErrorKind::InvalidData.into()),
            Err(error) => Err(std::io::Error::other(error)),
        });
        Ok((Box::new(tokio_util::io::StreamReader::new(output)), Box::new(attached.input)))
    }

    async fn call<T, F: Future<Output = Result<T, bollard::errors::Error>>>(
        &self,
        operation: impl FnOnce(Docker) -> F,
    ) -> Result<T, DaemonError> {
        let calling = async {
            let client = self.client().await?;
            operation(client).await.map_err(|error| self.sort(error))
        };
        timeout(self.patience.call, calling).await.unwrap_or(Err(DaemonError::Slow))
    }

    async fn client(&self) -> Result<Docker, DaemonError> {
        if let Some(client) = self.cached().clone() {
            return Ok(client);
        }
        let client = self.connect()?.map_err(|error| self.sort(error))?;
        let client = client.negotiate_version().await.map_err(|error| self.sort(error))?;
        *self.cached() = Some(client.clone());
        Ok(client)
    }

    fn connect(&self) -> Result<Result<Docker, bollard::errors::Error>, DaemonError> {
        let host = self.host.as_ref().map_err(|problem| DaemonError::Misconfigured(problem.clone()))?;
        let seconds = self.patience.call.as_secs().max(1);
        Ok(match host {
            Host::Local { socket } => Docker::connect_with_unix(socket, seconds, API_DEFAULT_VERSION),
            Host::Remote { address, transport: Transport::Plain } => {
                Docker::connect_with_http(address, seconds, API_DEFAULT_VERSION)
            }
            Host::Remote { address, transport: Transport::Tls(folder) } => {
                let [key, certificate, authority] =
                    ["key.pem", "cert.pem", "ca.pem"].map(|name| folder.join(name));
                let version = API_DEFAULT_VERSION;
                Docker::connect_with_ssl(address, &key, &certificate, &authority, seconds, version)
            }
        })
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, Option<Docker>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sort(&self, error: bollard::errors::Error) -> DaemonError {
        use bollard::errors::Error as Cause;
        match error {
            Cause::DockerResponseServerError { status_code: 404, message } => {
                DaemonError::NotFound(short(&message))
            }
            Cause::DockerResponseServerError { status_code: 409, message } => {
                DaemonError::Conflict(short(&message))
            }
            Cause::DockerResponseServerError { status_code: status, message } => {
                DaemonError::Refused { status, message: short(&message) }
            }
            // A pull fails in the middle of an answer that began well.
            Cause::DockerStreamError { error } => {
                DaemonError::Refused { status: 500, message: short(&error) }
            }
            Cause::RequestTimeoutError => DaemonError::Slow,
            cause => {
                *self.cached() = None;
                DaemonError::Down(cause)
            }
        }
    }
}

fn volumes_of(image: ImageInspect) -> Vec<String> {
    let mut volumes = image.config.and_then(|config| config.volumes).unwrap_or_default();
    volumes.sort();
    volumes
}

/// One line of bounded length.
fn short(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_MESSAGE_CHARS).collect()
}

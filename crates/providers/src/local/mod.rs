//! `local`: files and commands in a host directory, as the host user (W71). For trusted input: a command can read what
//! the host user can. Unix only (Linux today).
//!
//! ```text
//!   <base>/<workspace id>/     one workspace
//!   <base>/shared/<share id>/  files that several workspaces share, where their configs say so (W5)
//!   <base>/.staging, .trash    see `confined_fs::Staging`
//! ```
//!
//! The files API is held inside the directory by the kernel (`directory`); commands are not.

mod shell;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use warren_confined_fs::{Root, Staging, make_folder};
use warren_doors::{Clock, Entropy, Environment};
use warren_model::{
    Capability, CapabilitySet, ErrorCode, LocalConfig, ProviderConfig, ProviderKind, Ref, WorkspaceId,
    max_timeout_problem,
};
use warren_workspace::{Error, OpenRequest, Opened, Provider, ReapReport, Workspace};

use crate::directory::{FileLimits, OpenDirectory, blocking, errno, open_staging};
use crate::process;
use workspace::LocalWorkspace;

const SCHEMA_VERSION: u32 = 1;
const MAX_SHARE_ID_BYTES: usize = 64;

#[derive(Debug)]
pub struct LocalProvider {
    base: PathBuf,
    staging: Arc<Staging>,
    doors: process::Doors,
}

/// The payload of a ref: which directory below the base. Never a host path, so that the data folder can move.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "place", rename_all = "snake_case")]
enum Payload {
    Own { workspace: WorkspaceId },
    Shared { share: String },
}

impl LocalProvider {
    /// Keeps workspaces below `base`, which is made if it is missing. `environment` is what `pass_env` may draw from.
    pub fn new(
        base: &Path,
        environment: Environment,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(base).map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            errno::opening(errno, "the workspaces directory cannot be made")
        })?;
        // Absolute, since commands get their HOME from it.
        let base = base.canonicalize().map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            errno::opening(errno, "the workspaces directory cannot be found")
        })?;
        let instance = process::random_mark(entropy.as_ref());
        let staging = open_staging(&base, instance.clone())
            .map_err(|errno| errno::opening(errno, "the workspaces directory cannot be used"))?;
        Ok(Self {
            base,
            staging: Arc::new(staging),
            doors: process::Doors {
                instance: instance.into(),
                environment: Arc::new(environment),
                clock,
                entropy,
            },
        })
    }

    fn directory_of(&self, payload: &Payload) -> PathBuf {
        match payload {
            Payload::Own { workspace } => self.base.join(workspace.to_string()),
            Payload::Shared { share } => self.base.join("shared").join(share),
        }
    }

    fn workspace(
        &self,
        id: WorkspaceId,
        directory: &Path,
        config: &LocalConfig,
        declared: CapabilitySet,
    ) -> Result<Arc<dyn Workspace>, Error> {
        process::check_pass_env(&config.pass_env)?;
        let root = Root::open(directory).map_err(|errno| match errno {
            Errno::NOENT => Error::permanent(
                ErrorCode::WorkspaceFailed,
                "the workspace's directory is gone from the host",
            ),
            other => errno::opening(other, "the workspace's directory cannot be opened"),
        })?;
        let limits = FileLimits::from_mb(config.max_file_mb, config.max_grep_file_mb);
        let place = Arc::new(OpenDirectory::new(root, Arc::clone(&self.staging), limits, None));
        Ok(Arc::new(LocalWorkspace::new(id, place, directory, config.clone(), declared, self.doors.clone())))
    }
}

#[async_trait]
impl Provider for LocalProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Local
    }

    fn capabilities(&self) -> CapabilitySet {
        [Capability::Fs, Capability::Shell].into_iter().collect()
    }

    fn check(&self, config: &ProviderConfig) -> Result<(), Error> {
        let config = config_of(config)?;
        process::check_pass_env(&config.pass_env)?;
        if let Some(problem) = max_timeout_problem(config.max_timeout_ms) {
            return Err(Error::permanent(ErrorCode::InvalidConfig, problem));
        }
        match &config.share {
            Some(sharing) => check_share_id(&sharing.id),
            None => Ok(()),
        }
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let config = config_of(&request.config)?;
        self.check(&request.config)?;
        let missing = request.declared.without(self.capabilities());
        if !missing.is_empty() {
            let detail = format!("the provider `local` does not offer {missing}");
            return Err(Error::permanent(ErrorCode::CapabilityMissing, detail));
        }
        let payload = payload_for(request.workspace_id, config)?;
        let directory = self.directory_of(&payload);
        if let Payload::Shared { .. } = payload {
            make_directory(&self.base.join("shared"))?;
        }
        make_directory(&directory)?;
        let workspace = self.workspace(request.workspace_id, &directory, config, request.declared)?;
        let payload = serde_json::to_value(&payload)
            .map_err(|error| Error::permanent(ErrorCode::Internal, error.to_string()))?;
        Ok(Opened {
            workspace,
            reference: Ref {
                provider: ProviderKind::Local.as_str().to_owned(),
                schema_version: SCHEMA_VERSION,
                capabilities: request.declared,
                payload,
            },
        })
    }

    async fn resolve(
        &self,
        workspace_id: WorkspaceId,
        config: &ProviderConfig,
        reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        let config = config_of(config)?;
        let payload = read_payload(reference, workspace_id)?;
        // Sharing may have been forbidden since the ref was written.
        if let Payload::Shared { .. } = payload
            && payload != payload_for(workspace_id, config)?
        {
            let detail = "the workspace's files are shared, and its config no longer says so";
            return Err(Error::permanent(ErrorCode::SharingRefused, detail));
        }
        self.workspace(workspace_id, &self.directory_of(&payload), config, reference.capabilities)
    }

    /// Shared files stay: other workspaces may use them.
    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        let Payload::Own { workspace } = read_payload(reference, workspace_id)? else {
            return Ok(());
        };
        let (base, staging) = (self.base.clone(), Arc::clone(&self.staging));
        blocking(move || {
            let failed = |errno| errno::opening(errno, "the workspace's files cannot be deleted");
            let base = Root::open(&base).map_err(failed)?;
            // Renamed first: a crash from here on is finished by the reaper, and nobody opens half a workspace.
            match staging.discard(base.handle(), workspace.to_string().as_ref()) {
                Ok(discarded) => staging.delete_discarded(&discarded).map_err(failed),
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(failed(errno)),
            }
        })
        .await
    }

    /// Directories of workspaces are never guessed to be garbage: they go by `destroy` alone.
    async fn reap(&self, _live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        let staging = Arc::clone(&self.staging);
        blocking(move || {
            let (removed, problems) = staging
                .sweep(end_processes_of)
                .map_err(|errno| errno::opening(errno, "leftovers cannot be listed"))?;
            Ok(ReapReport { removed, problems })
        })
        .await
    }
}

fn config_of(config: &ProviderConfig) -> Result<&LocalConfig, Error> {
    match config {
        ProviderConfig::Local(config) => Ok(config),
        _ => Err(Error::permanent(
            ErrorCode::InvalidConfig,
            format!("kind: the local provider was given a config for `{}`", config.kind()),
        )),
    }
}

fn payload_for(workspace: WorkspaceId, config: &LocalConfig) -> Result<Payload, Error> {
    let Some(sharing) = &config.share else {
        return Ok(Payload::Own { workspace });
    };
    if !sharing.share_across_sessions {
        let detail =
            format!("`share.id` names `{}`, but `share.share_across_sessions` is not true", sharing.id);
        return Err(Error::permanent(ErrorCode::SharingRefused, detail));
    }
    check_share_id(&sharing.id)?;
    Ok(Payload::Shared { share: sharing.id.clone() })
}

/// One spelling per place, and none that is a path.
fn check_share_id(id: &str) -> Result<(), Error> {
    let is_taken = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if id.is_empty() || id.len() > MAX_SHARE_ID_BYTES || !id.bytes().all(is_taken) {
        let detail = "share.id: expected 1 to 64 of the characters a-z, 0-9 and -";
        return Err(Error::permanent(ErrorCode::InvalidConfig, detail));
    }
    Ok(())
}

fn read_payload(reference: &Ref, workspace_id: WorkspaceId) -> Result<Payload, Error> {
    let unreadable = |detail: String| Error::permanent(ErrorCode::RefUnreadable, detail);
    let payload: Payload = reference
        .read(ProviderKind::Local.as_str(), SCHEMA_VERSION)
        .map_err(|error| unreadable(error.to_string()))?;
    match &payload {
        Payload::Own { workspace } if *workspace != workspace_id => {
            Err(unreadable("the ref belongs to another workspace".into()))
        }
        Payload::Own { .. } => Ok(payload),
        Payload::Shared { share } => check_share_id(share).map(|()| payload),
    }
}

fn make_directory(directory: &Path) -> Result<(), Error> {
    make_folder(directory).map_err(|errno| errno::opening(errno, "the workspace's directory cannot be made"))
}

/// The commands of a dead process are on nobody's leash any more.
fn end_processes_of(instance: &str) {
    let ended = process::end_all_of(instance);
    if ended > 0 {
        tracing::info!(count = ended, "ended processes that a dead Warren had left running");
    }
}

//! An open `docker` workspace: files by the directory, commands by the container's process 1.

use std::sync::Arc;

use async_trait::async_trait;
use warren_model::{DockerConfig, Reuse, WorkspaceId};
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, Workspace};

use super::daemon::Daemon;
use super::held::HeldBoxes;
use crate::boxes::channel::Channel;
use crate::boxes::shell::{BoxShell, MAX_OUTPUT_BYTES};
use crate::directory::{DirectoryFs, Place};

#[derive(Debug)]
pub(super) struct DockerWorkspace {
    pub(super) id: WorkspaceId,
    pub(super) place: Arc<Place>,
    pub(super) fs: Option<DirectoryFs>,
    pub(super) boxed: Option<Boxed>,
    pub(super) config: DockerConfig,
    /// How the box is shut, for `limits()`.
    pub(super) confinement: serde_json::Value,
}

#[derive(Debug)]
pub(super) struct Boxed {
    pub(super) shell: BoxShell,
    pub(super) channel: Channel,
    pub(super) container: String,
    pub(super) daemon: Arc<Daemon>,
    pub(super) held: HeldBoxes,
}

#[async_trait]
impl Workspace for DockerWorkspace {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        self.fs.as_ref().map(|fs| fs as &dyn Fs)
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.boxed.as_ref().map(|boxed| &boxed.shell as &dyn Shell)
    }

    fn limits(&self) -> serde_json::Value {
        serde_json::json!({
            "isolation": match self.boxed {
                Some(_) => "a hardened container: no network, no capabilities, read-only root",
                None => "none needed: the workspace has files only",
            },
            "box": self.confinement,
            "path_resolution": self.place.root().resolution().as_str(),
            "process_cleanup": "by process 1 of the box; all of them with the box",
            "max_file_mb": self.config.max_file_mb,
            "max_grep_file_mb": self.config.max_grep_file_mb,
            "max_timeout_ms": self.config.max_timeout_ms,
            "max_output_bytes": self.config.max_output_bytes.min(MAX_OUTPUT_BYTES),
            "max_spill_bytes": crate::process::MAX_SPILL_BYTES,
            "background_output_bytes": warren_init::BACKGROUND_OUTPUT_BYTES,
            "pass_env": self.config.pass_env,
        })
    }

    fn loss(&self) -> Option<&'static str> {
        self.boxed.as_ref().filter(|boxed| boxed.channel.is_gone()).map(|_| "the container has ended")
    }

    /// `recreate` takes the container away; `reconnect` leaves it running for whoever opens the workspace next.
    async fn close(&self) -> Result<(), Error> {
        self.place.close();
        let Some(boxed) = &self.boxed else {
            return Ok(());
        };
        boxed.shell.begin_closing();
        let removed = match self.config.reuse {
            Reuse::Recreate => boxed.daemon.remove(&boxed.container).await,
            Reuse::Reconnect => Ok(()),
        };
        boxed.shell.close().await;
        boxed.channel.shut();
        removed.map_err(|error| error.into_opening("removing the container"))
    }
}

impl Drop for DockerWorkspace {
    fn drop(&mut self) {
        if let Some(boxed) = &self.boxed {
            boxed.held.release(self.id, &boxed.container);
        }
    }
}

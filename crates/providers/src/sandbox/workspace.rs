//! An open `sandbox` workspace: files by the directory, commands by the box.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use warren_model::{SandboxConfig, WorkspaceId};
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, Presence, Workspace};

use super::live_box::LiveBox;
use crate::boxes::config::{BoxConfig, BoxDescription};
use crate::boxes::shell::BoxShell;
use crate::directory::{DirectoryFs, OpenDirectory};

/// How long closing waits for a killed box; past it the undertaker goes on alone.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct SandboxWorkspace {
    pub(super) id: WorkspaceId,
    pub(super) place: Arc<OpenDirectory>,
    pub(super) fs: Option<DirectoryFs>,
    pub(super) boxed: Option<Boxed>,
    pub(super) config: SandboxConfig,
    /// How the box is shut, for `limits()`.
    pub(super) confinement: serde_json::Value,
}

#[derive(Debug)]
pub(super) struct Boxed {
    pub(super) shell: BoxShell,
    pub(super) live: LiveBox,
}

#[async_trait]
impl Workspace for SandboxWorkspace {
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
        BoxConfig::from(&self.config).told(BoxDescription {
            isolation: match self.boxed {
                Some(_) => "bubblewrap: no network, no host files, no privileges; see `box`",
                None => "no box: the workspace has files only",
            },
            confinement: &self.confinement,
            path_resolution: self.place.root().resolution().as_str(),
        })
    }

    fn loss(&self) -> Option<&'static str> {
        self.boxed.as_ref().filter(|boxed| boxed.live.has_ended()).map(|_| "the box has ended")
    }

    async fn presence(&self) -> Presence {
        match (self.loss(), &self.boxed) {
            (Some(detail), _) => Presence::Gone(detail),
            (None, Some(boxed)) => boxed.live.channel.presence("the box has ended").await,
            (None, None) => Presence::Here,
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.place.close();
        let Some(boxed) = &self.boxed else {
            return Ok(());
        };
        boxed.shell.begin_closing();
        boxed.live.kill();
        boxed.shell.close().await;
        if tokio::time::timeout(CLOSE_PATIENCE, boxed.live.ended()).await.is_err() {
            tracing::warn!(workspace = %self.id, "a box takes long to end; it is being seen to");
        }
        Ok(())
    }
}

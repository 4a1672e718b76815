//! An open `docker` workspace: files by the directory, or by the container where there is none in common; commands by the
//! container's process 1.

use std::sync::Arc;

use async_trait::async_trait;
use warren_model::{DockerConfig, Reuse, WorkspaceId};
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, Presence, Workspace};

use super::daemon::Daemon;
use super::open_boxes::OpenBoxes;
use crate::boxes::channel::Channel;
use crate::boxes::config::{BoxConfig, BoxDescription};
use crate::boxes::files::BoxFs;
use crate::boxes::shell::BoxShell;
use crate::directory::{DirectoryFs, OpenDirectory};

#[derive(Debug)]
pub(super) struct DockerWorkspace {
    pub(super) id: WorkspaceId,
    pub(super) files: Files,
    /// Whether the config declares them.
    pub(super) has_fs: bool,
    pub(super) boxed: Option<Boxed>,
    pub(super) config: DockerConfig,
    /// How the box is shut, for `limits()`.
    pub(super) confinement: serde_json::Value,
}

/// How the workspace's files are reached.
#[derive(Debug)]
pub(super) enum Files {
    Here(Arc<OpenDirectory>, DirectoryFs),
    /// Through the container.
    Elsewhere(BoxFs),
}

#[derive(Debug)]
pub(super) struct Boxed {
    pub(super) shell: BoxShell,
    /// Whether the config declares it; files alone may need a container too.
    pub(super) has_shell: bool,
    pub(super) channel: Channel,
    pub(super) container: String,
    pub(super) daemon: Arc<Daemon>,
    pub(super) open_boxes: OpenBoxes,
}

#[async_trait]
impl Workspace for DockerWorkspace {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        self.has_fs.then_some(match &self.files {
            Files::Here(_, fs) => fs as &dyn Fs,
            Files::Elsewhere(fs) => fs,
        })
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.boxed.as_ref().filter(|boxed| boxed.has_shell).map(|boxed| &boxed.shell as &dyn Shell)
    }

    fn limits(&self) -> serde_json::Value {
        BoxConfig::from(&self.config).told(BoxDescription {
            isolation: match self.boxed {
                Some(_) => "a hardened container: no network, no capabilities, read-only root",
                None => "none needed: the workspace has files only",
            },
            confinement: &self.confinement,
            path_resolution: match &self.files {
                Files::Here(place, _) => place.root().resolution().as_str(),
                Files::Elsewhere(_) => "in the container, by its kernel",
            },
        })
    }

    fn loss(&self) -> Option<&'static str> {
        self.boxed.as_ref().filter(|boxed| boxed.channel.is_gone()).map(|_| "the container has ended")
    }

    async fn image(&self) -> Option<String> {
        let boxed = self.boxed.as_ref()?;
        boxed.daemon.inspect(&boxed.container).await.ok().flatten()?.image
    }

    /// Asked through the container's own process 1 and not the daemon: a daemon that is down says nothing of the box.
    async fn presence(&self) -> Presence {
        match (self.loss(), &self.boxed) {
            (Some(detail), _) => Presence::Gone(detail),
            (None, Some(boxed)) => boxed.channel.presence("the container has ended").await,
            (None, None) => Presence::Here,
        }
    }

    /// `recreate` takes the container away; `reconnect` leaves it running for whoever opens the workspace next.
    async fn close(&self) -> Result<(), Error> {
        if let Files::Here(place, _) = &self.files {
            place.close();
        }
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
            boxed.open_boxes.release(self.id, &boxed.container);
        }
    }
}

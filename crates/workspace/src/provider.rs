//! Providers and the workspaces they open.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use warren_model::{CapabilitySet, ProviderConfig, ProviderKind, Ref, WorkspaceId};

use crate::Error;
use crate::fs::Fs;
use crate::shell::Shell;

/// What backs workspaces of one kind (W1).
#[async_trait]
pub trait Provider: Send + Sync + std::fmt::Debug {
    fn kind(&self) -> ProviderKind;

    /// The most a workspace of this provider can do.
    fn capabilities(&self) -> CapabilitySet;

    /// Whether this host has what it takes; else a failure that names the missing part and the remedy.
    async fn availability(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether this config could ever be opened: what can be told without touching anything is told before the
    /// workspace is accepted. A breach is a permanent failure that names the field.
    fn check(&self, config: &ProviderConfig) -> Result<(), Error>;

    /// Whether all is here that `prepare` would fetch.
    async fn is_prepared(&self, _config: &ProviderConfig) -> Result<bool, Error> {
        Ok(true)
    }

    /// Fetches what takes long and is no part of the place itself, such as an image. Whoever opens need not have called it.
    async fn prepare(&self, _config: &ProviderConfig) -> Result<(), Error> {
        Ok(())
    }

    /// Makes the place. The answer's modules must be exactly the declared capabilities.
    async fn open(&self, request: OpenRequest) -> Result<Opened, Error>;

    /// Finds a place made earlier, possibly by another process. `config` is the workspace's current one.
    /// `Error::Evicted` means that what the ref points at exists no more; the registry then does as its policy for
    /// lost places says.
    async fn resolve(
        &self,
        workspace_id: WorkspaceId,
        config: &ProviderConfig,
        reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error>;

    /// Deletes for good what a ref points at: files, boxes, temp directories. Gone already is success.
    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error>;

    /// Fetches anew the image that this config names, as its policy for pulls allows, and answers with what its tag stands
    /// for now (F52). Absent: workspaces of this provider are not made from images.
    async fn refresh_image(&self, _config: &ProviderConfig) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Lets go of what the provider holds besides open workspaces: boxes kept ready, threads. Called once, after all of
    /// them are closed; nothing is opened after.
    async fn shut_down(&self) {}

    /// Finishes what earlier closes and dead processes left behind; never touches what is `live` (W16).
    async fn reap(&self, live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error>;
}

#[derive(Debug, Clone)]
pub struct OpenRequest {
    pub workspace_id: WorkspaceId,
    pub config: ProviderConfig,
    pub declared: CapabilitySet,
}

#[derive(Debug, Clone)]
pub struct Opened {
    pub workspace: Arc<dyn Workspace>,
    pub reference: Ref,
}

/// What a pass of the reaper did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReapReport {
    pub removed: u32,
    /// Public sentences about what could not be removed.
    pub problems: Vec<String>,
}

/// What a look at an open workspace showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Here,
    /// For good; how is said in words.
    Gone(&'static str),
    /// It could not be asked, or did not answer in time.
    Unknown,
}

/// An open workspace (W2). A module is present exactly when its capability was declared.
#[async_trait]
pub trait Workspace: Send + Sync + std::fmt::Debug {
    fn id(&self) -> WorkspaceId;

    fn fs(&self) -> Option<&dyn Fs>;

    fn shell(&self) -> Option<&dyn Shell>;

    /// Limits and guarantees as they really are, for `describe()`.
    fn limits(&self) -> serde_json::Value;

    /// What has ended it, where that is known without asking: a box that is gone. Absent: nothing is known against it.
    fn loss(&self) -> Option<&'static str> {
        None
    }

    /// The image that its box was made from, by its digest; absent where there is none, or it cannot be asked.
    async fn image(&self) -> Option<String> {
        None
    }

    /// Looks whether it is really there, also where nobody uses it (F20). A look that cannot be made is no verdict.
    async fn presence(&self) -> Presence {
        self.loss().map_or(Presence::Here, Presence::Gone)
    }

    /// Ends processes and lets go of resources; files stay. Idempotent.
    async fn close(&self) -> Result<(), Error>;
}

impl dyn Workspace {
    /// The capabilities whose modules are here.
    pub fn present(&self) -> CapabilitySet {
        let fs = self.fs().map(|_| warren_model::Capability::Fs);
        let shell = self.shell().map(|_| warren_model::Capability::Shell);
        fs.into_iter().chain(shell).collect()
    }
}

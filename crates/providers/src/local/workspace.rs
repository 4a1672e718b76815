//! An open `local` workspace.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use warren_model::{Capability, CapabilitySet, LocalConfig, WorkspaceId};
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, Workspace};

use super::shell::{LocalShell, MAX_OUTPUT_BYTES};
use crate::directory::{DirectoryFs, OpenDirectory};
use crate::process::Doors;

#[derive(Debug)]
pub(super) struct LocalWorkspace {
    id: WorkspaceId,
    place: Arc<OpenDirectory>,
    fs: Option<DirectoryFs>,
    shell: Option<LocalShell>,
    config: LocalConfig,
}

impl LocalWorkspace {
    pub(super) fn new(
        id: WorkspaceId,
        place: Arc<OpenDirectory>,
        directory: &Path,
        config: LocalConfig,
        declared: CapabilitySet,
        doors: Doors,
    ) -> Self {
        let shell = declared
            .contains(Capability::Shell)
            .then(|| LocalShell::new(Arc::clone(&place), directory, &config, doors));
        Self {
            id,
            fs: declared.contains(Capability::Fs).then(|| DirectoryFs::new(Arc::clone(&place))),
            shell,
            place,
            config,
        }
    }
}

#[async_trait]
impl Workspace for LocalWorkspace {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        self.fs.as_ref().map(|fs| fs as &dyn Fs)
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.shell.as_ref().map(|shell| shell as &dyn Shell)
    }

    fn limits(&self) -> serde_json::Value {
        serde_json::json!({
            "isolation": "none: commands run as the host user; for trusted input",
            "path_resolution": self.place.root().resolution().as_str(),
            "process_cleanup": "process group, then by mark and ancestry; best effort",
            "max_file_mb": self.config.max_file_mb,
            "max_grep_file_mb": self.config.max_grep_file_mb,
            "max_timeout_ms": self.config.max_timeout_ms,
            "max_output_bytes": self.config.max_output_bytes.min(MAX_OUTPUT_BYTES),
            "max_spill_bytes": crate::process::MAX_SPILL_BYTES,
            "max_background_processes": crate::process::MAX_RUNNING,
            "background_output_bytes": crate::process::RING_BYTES,
            "pass_env": self.config.pass_env,
        })
    }

    async fn close(&self) -> Result<(), Error> {
        self.place.close();
        if let Some(shell) = &self.shell {
            shell.close().await;
        }
        Ok(())
    }
}

//! `memory`: files that live and die with this process (W70). For tests and short work.
//!
//! The provider keeps each place until it is destroyed, so that a workspace which was evicted or closed opens
//! again with its files while the process lives. A ref carries the provider's own random mark: one written by
//! another process fails for good, since its files died with that process.

mod files;
mod tree;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use warren_doors::{Clock, Entropy};
use warren_model::{
    Capability, CapabilitySet, ErrorCode, MIB, MemoryConfig, ProviderConfig, ProviderKind, Ref, WorkspaceId,
};
use warren_workspace::fs::{Change, Fs};
use warren_workspace::shell::Shell;
use warren_workspace::{Error, OpenRequest, Opened, Provider, ReapReport, Workspace};

use tree::Tree;

const SCHEMA_VERSION: u32 = 1;
/// Changes a slow watcher may be behind before it is told that it lagged.
const WATCH_BUFFER: usize = 1_024;

#[derive(Debug)]
pub struct MemoryProvider {
    /// Drawn at start: tells this process's places from those of another.
    instance: String,
    places: Mutex<HashMap<WorkspaceId, Arc<MemoryFiles>>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct MemoryFiles {
    tree: Mutex<Tree>,
    /// Made by the first watch: its buffer is 60 kB, which a place that nobody watches does without.
    changes: OnceLock<broadcast::Sender<Change>>,
    /// How many handles are open; a place with none may be reaped.
    open: Mutex<u32>,
}

/// The payload of a ref.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    instance: String,
}

impl MemoryProvider {
    pub fn new(clock: Arc<dyn Clock>, entropy: &dyn Entropy) -> Self {
        let mut mark = [0; 16];
        entropy.fill(&mut mark);
        Self {
            instance: mark.iter().map(|byte| format!("{byte:02x}")).collect(),
            places: Mutex::default(),
            clock,
        }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Arc<MemoryFiles>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(
        &self,
        id: WorkspaceId,
        place: Arc<MemoryFiles>,
        config: &MemoryConfig,
        declared: CapabilitySet,
    ) -> Arc<dyn Workspace> {
        *place.open.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Arc::new(MemoryWorkspace {
            id,
            place,
            has_fs: declared.contains(Capability::Fs),
            max_file_bytes: u64::from(config.max_file_mb) * MIB,
            max_grep_file_bytes: u64::from(config.max_grep_file_mb) * MIB,
            max_total_bytes: u64::from(config.max_total_mb) * MIB,
            is_closed: AtomicBool::new(false),
            clock: Arc::clone(&self.clock),
        })
    }
}

fn config_of(config: &ProviderConfig) -> Result<&MemoryConfig, Error> {
    match config {
        ProviderConfig::Memory(config) => Ok(config),
        _ => Err(Error::permanent(
            ErrorCode::InvalidConfig,
            format!("kind: the memory provider was given a config for `{}`", config.kind()),
        )),
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Memory
    }

    fn capabilities(&self) -> CapabilitySet {
        [Capability::Fs].into_iter().collect()
    }

    fn check(&self, config: &ProviderConfig) -> Result<(), Error> {
        let config = config_of(config)?;
        let max = MemoryConfig::MAX_TOTAL_MB;
        for (field, value) in [("max_total_mb", config.max_total_mb), ("max_file_mb", config.max_file_mb)] {
            if value > max {
                let detail = format!("{field}: at most {max}, since these files live in the server's memory");
                return Err(Error::permanent(ErrorCode::InvalidConfig, detail));
            }
        }
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let config = config_of(&request.config)?;
        let missing = request.declared.without(self.capabilities());
        if !missing.is_empty() {
            let detail = format!("the provider `memory` does not offer {missing}");
            return Err(Error::permanent(ErrorCode::CapabilityMissing, detail));
        }
        let place = Arc::clone(self.places().entry(request.workspace_id).or_insert_with(|| {
            Arc::new(MemoryFiles { tree: Mutex::default(), changes: OnceLock::new(), open: Mutex::new(0) })
        }));
        let payload = serde_json::json!({ "instance": self.instance });
        Ok(Opened {
            workspace: self.handle(request.workspace_id, place, config, request.declared),
            reference: Ref {
                provider: ProviderKind::Memory.as_str().to_owned(),
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
        let payload = read_payload(reference)?;
        let place = self.places().get(&workspace_id).cloned();
        match place.filter(|_| payload.instance == self.instance) {
            Some(place) => Ok(self.handle(workspace_id, place, config, reference.capabilities)),
            None => Err(Error::permanent(
                ErrorCode::WorkspaceFailed,
                "this workspace was kept in memory, and its files died with the process that held them",
            )),
        }
    }

    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        if read_payload(reference)?.instance == self.instance {
            self.places().remove(&workspace_id);
        }
        Ok(())
    }

    async fn reap(&self, live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        let mut places = self.places();
        let before = places.len();
        places.retain(|id, place| {
            live.contains(id) || *place.open.lock().unwrap_or_else(PoisonError::into_inner) > 0
        });
        Ok(ReapReport {
            removed: u32::try_from(before - places.len()).unwrap_or(u32::MAX),
            problems: Vec::new(),
        })
    }
}

fn read_payload(reference: &Ref) -> Result<Payload, Error> {
    reference
        .read(ProviderKind::Memory.as_str(), SCHEMA_VERSION)
        .map_err(|error| Error::permanent(ErrorCode::RefUnreadable, error.to_string()))
}

#[derive(Debug)]
pub(crate) struct MemoryWorkspace {
    id: WorkspaceId,
    place: Arc<MemoryFiles>,
    has_fs: bool,
    max_file_bytes: u64,
    max_grep_file_bytes: u64,
    max_total_bytes: u64,
    is_closed: AtomicBool,
    clock: Arc<dyn Clock>,
}

impl MemoryWorkspace {
    fn let_go(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            *self.place.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        }
    }
}

impl Drop for MemoryWorkspace {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[async_trait]
impl Workspace for MemoryWorkspace {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        self.has_fs.then_some(self as &dyn Fs)
    }

    fn shell(&self) -> Option<&dyn Shell> {
        None
    }

    fn limits(&self) -> serde_json::Value {
        let used = self.place.tree.lock().unwrap_or_else(PoisonError::into_inner).used();
        serde_json::json!({
            "isolation": "in memory: no host files, no processes",
            "durability": "none: files die with the process",
            "max_file_mb": self.max_file_bytes / MIB,
            "max_grep_file_mb": self.max_grep_file_bytes / MIB,
            "max_total_mb": self.max_total_bytes / MIB,
            "used_bytes": used,
        })
    }

    async fn close(&self) -> Result<(), Error> {
        self.let_go();
        Ok(())
    }
}

//! W7: `docker` passes the public suite.

use std::sync::Arc;

use tempfile::TempDir;
use warren_model::{DockerConfig, ProviderConfig};
use warren_providers::docker::DaemonTimeouts;
use warren_workspace::Provider;
use warren_workspace::contract::Harness;

use super::daemon::{config, provider_at, remove_all_of, shared};

struct Docker(TempDir);

impl Docker {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Harness for Docker {
    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(provider_at(shared(), self.0.path(), DaemonTimeouts::default()))
    }

    fn config(&self) -> ProviderConfig {
        ProviderConfig::Docker(DockerConfig { max_file_mb: 2, max_grep_file_mb: 1, ..config() })
    }

    fn is_durable(&self) -> bool {
        true
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        remove_all_of(shared(), self.0.path());
    }
}

warren_workspace::contract_tests!(Docker::new(), [provider, fs, shell]);

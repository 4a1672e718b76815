//! W7: the providers pass the public suite for what they offer.

use std::sync::Arc;

use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{LocalConfig, MemoryConfig, ProviderConfig, SandboxConfig};
use warren_providers::{LocalProvider, MemoryProvider, SandboxProvider, SandboxSettings};
use warren_workspace::Provider;
use warren_workspace::contract::Harness;

struct Memory;

impl Harness for Memory {
    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(MemoryProvider::new(Arc::new(SystemClock), &OsEntropy))
    }

    fn config(&self) -> ProviderConfig {
        ProviderConfig::Memory(MemoryConfig { max_file_mb: 2, max_grep_file_mb: 1, max_total_mb: 64 })
    }

    fn is_durable(&self) -> bool {
        false
    }
}

struct Local(tempfile::TempDir);

impl Local {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Harness for Local {
    fn provider(&self) -> Arc<dyn Provider> {
        let planted: Environment = [("API_KEY", "planted")].into_iter().collect();
        let clock = Arc::new(SystemClock);
        Arc::new(LocalProvider::new(self.0.path(), planted, clock, Arc::new(OsEntropy)).unwrap())
    }

    fn config(&self) -> ProviderConfig {
        ProviderConfig::Local(LocalConfig {
            max_file_mb: 2,
            max_grep_file_mb: 1,
            max_timeout_ms: 60_000,
            ..LocalConfig::default()
        })
    }

    fn is_durable(&self) -> bool {
        true
    }
}

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Harness for Sandbox {
    fn provider(&self) -> Arc<dyn Provider> {
        let planted: Environment = [("API_KEY", "planted")].into_iter().collect();
        let settings = SandboxSettings::default();
        let provider =
            SandboxProvider::new(self.0.path(), settings, planted, Arc::new(SystemClock), &OsEntropy);
        Arc::new(provider.unwrap())
    }

    fn config(&self) -> ProviderConfig {
        ProviderConfig::Sandbox(SandboxConfig {
            max_file_mb: 2,
            max_grep_file_mb: 1,
            max_timeout_ms: 60_000,
            ..SandboxConfig::default()
        })
    }

    fn is_durable(&self) -> bool {
        true
    }
}

mod sandbox {
    warren_workspace::contract_tests!(super::Sandbox::new(), [provider, fs, shell]);
}

mod memory {
    warren_workspace::contract_tests!(super::Memory, [provider, fs]);
}

mod local {
    warren_workspace::contract_tests!(super::Local::new(), [provider, fs, shell]);
}

// W22, W70: all files together, parallel writers included.
#[tokio::test]
async fn memory_is_bounded_in_total_and_counts_empty_files_too() {
    use warren_workspace::OpenRequest;
    let provider = MemoryProvider::new(Arc::new(SystemClock), &OsEntropy);
    let opened = provider
        .open(OpenRequest {
            workspace_id: crate::fixture::new_id(),
            config: ProviderConfig::Memory(MemoryConfig {
                max_file_mb: 10,
                max_grep_file_mb: 10,
                max_total_mb: 1,
            }),
            declared: provider.capabilities(),
        })
        .await
        .unwrap();
    let fs = opened.workspace.fs().unwrap();
    let put = |name: String, bytes: usize| async move {
        let contents = crate::fixture::contents(vec![b'x'; bytes]);
        fs.write(&crate::fixture::path(&name), contents, Default::default()).await
    };
    let writes = (0..8).map(|number| put(format!("f{number}"), 200 << 10));
    let results = futures_util::future::join_all(writes).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 5);
    let full = results.into_iter().find_map(Result::err).unwrap();
    assert_eq!(full.code(), warren_model::ErrorCode::StorageFull);
    fs.rm(&crate::fixture::path("f0"), false).await.ok();
    let mut made = 0;
    while put(format!("empty{made}"), 0).await.is_ok() {
        made += 1;
        assert!(made < 10_000, "empty files are free");
    }
}

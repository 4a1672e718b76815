//! Tools through the registry.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use warren_doors::{SeededEntropy, SystemClock};
use warren_model::{CapabilitySet, ErrorCode, MemoryConfig, ProviderConfig, ProviderKind, Ref, WorkspaceId};

use super::fake::{Fake, both, context, id};
use crate::registry::{
    Declaration, DiscardRefs, IgnoreLosses, LostPolicy, OpenGates, Registry, RegistryConfig, RegistryParts,
};
use crate::tools::{ToolCall, ToolContext, ToolError};
use crate::{Error, NoMetrics, OpenRequest, Opened, Provider, ReapReport, Workspace};

#[derive(Debug, Default)]
struct OneFake {
    fake: Arc<Fake>,
    opens: AtomicU32,
}

#[async_trait]
impl Provider for OneFake {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Memory
    }
    fn capabilities(&self) -> CapabilitySet {
        both()
    }
    fn check(&self, _: &ProviderConfig) -> Result<(), Error> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let reference = Ref {
            provider: "memory".into(),
            schema_version: 1,
            capabilities: request.declared,
            payload: json!({}),
        };
        let workspace = self.resolve(request.workspace_id, &request.config, &reference).await?;
        Ok(Opened { workspace, reference })
    }
    async fn resolve(
        &self,
        _: WorkspaceId,
        _: &ProviderConfig,
        _: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.opens.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::clone(&self.fake) as Arc<dyn Workspace>)
    }
    async fn destroy(&self, _: WorkspaceId, _: &Ref) -> Result<(), Error> {
        Ok(())
    }
    async fn reap(&self, _: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        Ok(ReapReport::default())
    }
}

fn registry() -> (Registry, Arc<OneFake>) {
    let provider = Arc::new(OneFake::default());
    let parts = RegistryParts {
        providers: vec![Arc::clone(&provider) as Arc<dyn Provider>],
        gates: OpenGates::default(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SeededEntropy::new(1)),
        metrics: Arc::new(NoMetrics),
        refs: Arc::new(DiscardRefs),
        losses: Arc::new(IgnoreLosses),
    };
    let registry = Registry::new(parts, RegistryConfig::default());
    let declaration = Declaration {
        config: ProviderConfig::Memory(MemoryConfig::default()),
        capabilities: both(),
        reference: None,
        on_lost: LostPolicy::Fail,
    };
    registry.declare(id(), declaration).unwrap();
    (registry, provider)
}

async fn call_through(
    registry: &Registry,
    context: &ToolContext,
    name: &str,
    arguments: Value,
) -> Result<Value, ToolError> {
    let (result, _) = ToolCall::check(context, name, arguments)?.run(registry, context).await?;
    Ok(result.answer)
}

// W61, W64
#[tokio::test]
async fn wrong_arguments_and_refusals_are_answered_without_opening_the_workspace() {
    let (registry, provider) = registry();
    let (context, audit) = context(&["ls"]);
    let calls = [
        ("workspace_nothing", json!({}), ErrorCode::ToolNotFound),
        ("workspace_ls", json!({"colour": 1}), ErrorCode::InvalidRequest),
        ("workspace_run", json!({"argv": ["curl"]}), ErrorCode::CommandRefused),
    ];
    for (name, arguments, code) in calls {
        let error = call_through(&registry, &context, name, arguments).await.unwrap_err();
        assert_eq!(error.code(), code);
    }
    assert_eq!(provider.opens.load(Ordering::SeqCst), 0);
    assert_eq!(audit.0.lock().unwrap().len(), 1);
}

// W13, W64
#[tokio::test]
async fn a_tool_call_survives_an_eviction() {
    let (registry, provider) = registry();
    *provider.fake.evictions.lock().unwrap() = 2;
    let (context, _) = context(&["ls"]);
    let answer = call_through(&registry, &context, "workspace_ls", json!({})).await;
    assert_eq!(answer.unwrap()["entries"], json!([]));
    assert_eq!(provider.opens.load(Ordering::SeqCst), 3);
    *provider.fake.evictions.lock().unwrap() = u32::MAX;
    let error = call_through(&registry, &context, "workspace_ls", json!({})).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::WorkspaceEvicted);
}

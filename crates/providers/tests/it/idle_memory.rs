//! P15: what an idle open workspace takes of Warren's heap, counted by the allocator.
//!
//! The runner gives each test a process of its own, so what is counted is this test's alone. The benchmark
//! `open_workspaces` measures the same up to 10,000 by resident memory, sandboxes included.

#![expect(unsafe_code, reason = "an allocator is `unsafe` to write; it hands every call to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{LocalConfig, MemoryConfig, ProviderConfig};
use warren_providers::MemoryProvider;
use warren_workspace::registry::{
    Declaration, DiscardRefs, IgnoreLosses, LostPolicy, OpenGates, RegistryConfig, RegistryParts,
};
use warren_workspace::{NoMetrics, Provider, Registry};

use crate::fixture::{self, new_id};

/// The goal for each workspace.
const GOAL_BYTES: usize = 20_000;

struct CountingAllocator;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// SAFETY: every call is the system allocator's, with the arguments it was given; counting touches no memory of theirs.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn registry(provider: Arc<dyn Provider>) -> Registry {
    let parts = RegistryParts {
        providers: vec![provider],
        gates: OpenGates::default(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        metrics: Arc::new(NoMetrics),
        refs: Arc::new(DiscardRefs),
        losses: Arc::new(IgnoreLosses),
    };
    Registry::new(parts, RegistryConfig::default())
}

async fn open(registry: &Registry, config: &ProviderConfig, count: usize) {
    let capabilities = registry.offered(config.kind()).unwrap();
    for _ in 0..count {
        let id = new_id();
        let declaration =
            Declaration { config: config.clone(), capabilities, reference: None, on_lost: LostPolicy::Fail };
        registry.declare(id, declaration).unwrap();
        registry.acquire(id).await.unwrap();
    }
}

/// Heap bytes of each of `count` further workspaces.
async fn heap_bytes_each(registry: &Registry, config: &ProviderConfig, count: usize) -> usize {
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    open(registry, config, count).await;
    LIVE_BYTES.load(Ordering::Relaxed).saturating_sub(before) / count
}

/// A `local` workspace keeps its root open.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum.map_or(4_096, |most| most.min(4_096));
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum }).unwrap();
}

async fn assert_cheap(provider: Arc<dyn Provider>, config: ProviderConfig) {
    let registry = registry(provider);
    // What the runtime and the provider make once is not a workspace's.
    open(&registry, &config, 10).await;
    let of_the_first = heap_bytes_each(&registry, &config, 90).await;
    let of_the_next = heap_bytes_each(&registry, &config, 900).await;
    for bytes in [of_the_first, of_the_next] {
        // Less than a declaration takes would mean that nothing was counted.
        assert!((200..GOAL_BYTES).contains(&bytes), "{of_the_first} and then {of_the_next} bytes each");
    }
}

// P15
#[tokio::test]
async fn an_idle_workspace_takes_less_than_twenty_kilobytes_of_heap_however_many_there_are() {
    raise_descriptor_limit();
    let memory = MemoryProvider::new(Arc::new(SystemClock), &OsEntropy);
    assert_cheap(Arc::new(memory), ProviderConfig::Memory(MemoryConfig::default())).await;
    let folder = tempfile::tempdir().unwrap();
    let local = fixture::provider(Path::new(folder.path()), Environment::default());
    assert_cheap(Arc::new(local), ProviderConfig::Local(LocalConfig::default())).await;
}

// control: P15
#[test]
fn what_is_kept_on_the_heap_is_counted() {
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    let kept = vec![1u8; 1 << 20];
    let during = LIVE_BYTES.load(Ordering::Relaxed);
    assert!(during - before >= kept.len());
    drop(kept);
    assert!(LIVE_BYTES.load(Ordering::Relaxed) < during);
}

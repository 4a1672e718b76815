//! P15: what an idle open workspace costs Warren, from 10 to 10,000 of them in one registry, by the growth of resident
//! memory. The goal is less than 20 kB each, with no thread of its own. A sandbox's two processes are not counted: they
//! are the box's, and limited with it.
//!
//! `cargo bench -p warren-providers --bench open_workspaces`. Each count runs in a process of its own, so that what one
//! left behind does not serve the next.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{LocalConfig, MemoryConfig, ProviderConfig, SandboxConfig, WorkspaceId};
use warren_providers::{LocalProvider, MemoryProvider, SandboxProvider, SandboxSettings};
use warren_workspace::registry::{
    Declaration, DiscardRefs, IgnoreLosses, LostPolicy, OpenGates, RegistryConfig, RegistryParts,
};
use warren_workspace::{NoMetrics, Provider, Registry};

const COUNTS: [usize; 4] = [10, 100, 1_000, 10_000];
/// Each is two processes of the host besides.
const BOXES: [usize; 3] = [10, 100, 300];
/// A workspace may keep its root open; standard descriptors, the runtime and the provider need some too.
const DESCRIPTORS: u64 = 10_000 + 500;

fn main() {
    // `cargo bench` hands its own flags over; a child is told by two plain words.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let [kind, count] = arguments.as_slice() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let count = count.parse().expect("a count");
        runtime.expect("a runtime starts").block_on(measure(kind, count));
        return;
    }
    println!("idle open workspaces in one registry (goal: less than 20 kB each)");
    println!(
        "{:<10} {:>8} {:>10} {:>10} {:>9} {:>11} {:>12} {:>8}",
        "provider", "open", "before MB", "after MB", "kB each", "\u{b5}s an open", "descriptors", "threads"
    );
    for (kind, counts) in [("local", &COUNTS[..]), ("memory", &COUNTS), ("sandbox", &BOXES)] {
        for count in counts {
            run_child(kind, *count);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "measures each count in a process of its own")]
fn run_child(kind: &str, count: usize) {
    let program = std::env::current_exe().expect("this program has a path");
    let status = Command::new(program).args([kind, &count.to_string()]).stdin(Stdio::null()).status();
    assert!(status.expect("the child starts").success(), "{kind} {count}");
}

async fn measure(kind: &str, count: usize) {
    raise_descriptor_limit();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let environment: Environment = [("PATH", "/usr/bin"), ("LANG", "C")].into_iter().collect();
    let clock = Arc::new(SystemClock);
    let (provider, config): (Arc<dyn Provider>, _) = match kind {
        "local" => {
            let local = LocalProvider::new(folder.path(), environment, clock, Arc::new(OsEntropy));
            (Arc::new(local.expect("the provider starts")), ProviderConfig::Local(LocalConfig::default()))
        }
        "sandbox" => {
            let settings = SandboxSettings::default();
            let boxes = SandboxProvider::new(folder.path(), settings, environment, clock, &OsEntropy);
            (Arc::new(boxes.expect("the provider starts")), ProviderConfig::Sandbox(SandboxConfig::default()))
        }
        _ => {
            let memory = MemoryProvider::new(clock, &OsEntropy);
            (Arc::new(memory), ProviderConfig::Memory(MemoryConfig::default()))
        }
    };
    let parts = RegistryParts {
        providers: vec![Arc::clone(&provider)],
        gates: OpenGates::default(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        metrics: Arc::new(NoMetrics),
        refs: Arc::new(DiscardRefs),
        losses: Arc::new(IgnoreLosses),
    };
    let registry = Registry::new(parts, RegistryConfig::default());
    let capabilities = registry.offered(config.kind()).expect("the provider is there");
    // The runtime's threads and the allocator's first pages are not a workspace's.
    for _ in 0..10 {
        open(&registry, &config, capabilities).await;
    }
    let before = Usage::now();
    let started = Instant::now();
    for _ in 0..count {
        open(&registry, &config, capabilities).await;
    }
    let elapsed = started.elapsed();
    let after = Usage::now();
    let grown = after.resident_bytes.saturating_sub(before.resident_bytes);
    println!(
        "{kind:<10} {count:>8} {:>10.1} {:>10.1} {:>9.1} {:>11.0} {:>12.2} {:>8}",
        as_f64(before.resident_bytes) / 1e6,
        as_f64(after.resident_bytes) / 1e6,
        as_f64(grown) / 1e3 / as_f64(count as u64),
        elapsed.as_secs_f64() * 1e6 / as_f64(count as u64),
        as_f64(after.descriptors - before.descriptors) / as_f64(count as u64),
        after.threads,
    );
    // Boxes and their control groups end here, not somewhere behind the process's back.
    provider.shut_down().await;
}

async fn open(registry: &Registry, config: &ProviderConfig, capabilities: warren_model::CapabilitySet) {
    let id: WorkspaceId = (&OsEntropy as &dyn Entropy).id(SystemClock.now());
    let declaration =
        Declaration { config: config.clone(), capabilities, reference: None, on_lost: LostPolicy::Fail };
    registry.declare(id, declaration).expect("the declaration holds");
    registry.acquire(id).await.expect("the workspace opens");
}

struct Usage {
    resident_bytes: u64,
    descriptors: u64,
    threads: usize,
}

impl Usage {
    fn now() -> Self {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc is mounted");
        let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a page count");
        let entries = |folder| std::fs::read_dir(folder).expect("/proc is mounted").count();
        Self {
            resident_bytes: pages * rustix::param::page_size() as u64,
            descriptors: entries("/proc/self/fd") as u64,
            threads: entries("/proc/self/task"),
        }
    }
}

fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum.map(|most| most.max(DESCRIPTORS)), maximum: limit.maximum };
    setrlimit(Resource::Nofile, wanted).expect("the limit can be raised to its maximum");
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
const fn as_f64(number: u64) -> f64 {
    number as f64
}

//! P15: what an idle open workspace costs Warren, from 10 to 10,000 of them in one registry, by the growth of resident
//! memory. The goal is less than 20 kB each, with no thread of its own. A sandbox's two processes are not counted: they
//! are the box's, and limited with it; what they take of the machine is told for itself, and how many are opened depends
//! on it.
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
const BOXES: [usize; 3] = [10, 100, 1_000];
/// What a box takes of the machine, as a guess that is high enough: the last count is what fits, up to 10,000.
const BOX_BYTES: u64 = 3_500_000;
/// What a box takes of the numbers that the kernel has for processes.
const BOX_PROCESSES: u64 = 2;
/// A workspace may keep its root open, a box's three; the runtime and the provider need some too.
const DESCRIPTORS_EACH: u64 = 3;
const DESCRIPTORS: u64 = 500;

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
        "{:<10} {:>8} {:>10} {:>10} {:>9} {:>11} {:>12} {:>8} {:>14}",
        "provider",
        "open",
        "before MB",
        "after MB",
        "kB each",
        "\u{b5}s an open",
        "descriptors",
        "threads",
        "machine kB each"
    );
    let boxes: Vec<usize> = BOXES.into_iter().chain([most_boxes()]).collect();
    for (kind, counts) in [("local", &COUNTS[..]), ("memory", &COUNTS), ("sandbox", &boxes)] {
        for count in counts {
            run_child(kind, *count);
        }
    }
}

/// As many boxes as this machine holds, up to 10,000.
fn most_boxes() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/kernel/pid_max").expect("/proc is mounted");
    let processes: u64 = limit.trim().parse().expect("a number");
    let descriptors = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let most = (available_bytes() / BOX_BYTES)
        .min(processes.saturating_sub(2_000) / BOX_PROCESSES)
        .min(descriptors.saturating_sub(DESCRIPTORS) / DESCRIPTORS_EACH);
    usize::try_from(most).unwrap_or(usize::MAX).min(10_000)
}

fn available_bytes() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").expect("/proc is mounted");
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:")).expect("the kernel tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1_000
}

#[expect(clippy::disallowed_methods, reason = "measures each count in a process of its own")]
fn run_child(kind: &str, count: usize) {
    let program = std::env::current_exe().expect("this program has a path");
    let status = Command::new(program).args([kind, &count.to_string()]).stdin(Stdio::null()).status();
    assert!(status.expect("the child starts").success(), "{kind} {count}");
}

async fn measure(kind: &str, count: usize) {
    raise_descriptor_limit(count as u64);
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
    let (before, machine_before) = (Usage::now(), available_bytes());
    let started = Instant::now();
    for _ in 0..count {
        open(&registry, &config, capabilities).await;
    }
    let elapsed = started.elapsed();
    let (after, machine_after) = (Usage::now(), available_bytes());
    let grown = after.resident_bytes.saturating_sub(before.resident_bytes);
    println!(
        "{kind:<10} {count:>8} {:>10.1} {:>10.1} {:>9.1} {:>11.0} {:>12.2} {:>8} {:>14.0}",
        as_f64(before.resident_bytes) / 1e6,
        as_f64(after.resident_bytes) / 1e6,
        as_f64(grown) / 1e3 / as_f64(count as u64),
        elapsed.as_secs_f64() * 1e6 / as_f64(count as u64),
        as_f64(after.descriptors - before.descriptors) / as_f64(count as u64),
        after.threads,
        as_f64(machine_before.saturating_sub(machine_after)) / 1e3 / as_f64(count as u64),
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

fn raise_descriptor_limit(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    let needed = count * DESCRIPTORS_EACH + DESCRIPTORS;
    let current = limit.maximum.map_or(needed, |most| most.min(needed));
    let wanted = Rlimit { current: Some(current), maximum: limit.maximum };
    setrlimit(Resource::Nofile, wanted).expect("the limit can be raised to its maximum");
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
const fn as_f64(number: u64) -> f64 {
    number as f64
}

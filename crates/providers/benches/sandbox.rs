//! P1 and P2: a command in an open sandbox against a plain fork and exec and against `bwrap … true`; opening a sandbox
//! and running its first command, from nothing and from the pool. One run, rounds interleaved.
//!
//! `cargo bench -p warren-providers --bench sandbox`
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "the baselines are plain processes")]

use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{Capability, ProviderConfig, SandboxConfig, WorkspaceId};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_workspace::shell::Command;
use warren_workspace::{OpenRequest, Provider as _, Workspace};

const WARM_UP: usize = 50;
const RUNS: usize = 1_000;
const OPENS: usize = 200;
/// Longer than the pool waits before it is filled again, and the making of a box.
const SETTLE: Duration = Duration::from_millis(75);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    // A task, as whoever uses a workspace in Warren is: the main thread would be woken by another one each time.
    runtime.block_on(async { tokio::spawn(compare()).await.expect("it compares") });
}

async fn compare() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let cold = provider(&folder.path().join("cold"), 0);
    let pooled = provider(&folder.path().join("pooled"), 4);
    let open_box = open(&cold).await;
    let (mut ours, mut plain, mut bwrap) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM_UP + RUNS {
        let times = (timed(run(&open_box)).await, baseline(&["/bin/true"]), wrapped(round));
        if round >= WARM_UP {
            ours.push(times.0);
            plain.push(times.1);
            bwrap.extend(times.2);
        }
    }
    println!("## P1: `true` in an open sandbox\n");
    heading();
    let ours = row("in an open sandbox, through the library", ours);
    let plain = row("fork and exec, no isolation", plain);
    let bwrap_one = row("`bwrap … true`", bwrap);
    println!("\nagainst fork and exec: {:.2}x (goal at most 1.5x)", ratio(ours, plain));
    println!("faster than bwrap: {:.1}x (goal at least 4x)", ratio(bwrap_one, ours));

    let (mut cold_times, mut pool_times, mut plain, mut bwrap) = (vec![], vec![], vec![], vec![]);
    pooled.fill_pool().await.expect("the pool fills");
    for round in 0..OPENS {
        cold_times.push(open_and_run(&cold).await);
        bwrap.extend(wrapped(round * 10));
        settle().await;
        // Right before the pool's, so that both find the processor in the same state.
        plain.push(baseline(&["/bin/true"]));
        pool_times.push(open_and_run(&pooled).await);
    }
    println!("\n## P2: open a sandbox and run the first command\n");
    heading();
    let whole = |times: &[(Duration, Duration)]| times.iter().map(|(_, whole)| *whole).collect();
    let opening = |times: &[(Duration, Duration)]| times.iter().map(|(opening, _)| *opening).collect();
    let from_nothing = row("from nothing", whole(&cold_times));
    row("… of which to open", opening(&cold_times));
    let from_pool = row("from the pool", whole(&pool_times));
    row("… of which to open", opening(&pool_times));
    let plain = row("fork and exec, no isolation", plain);
    let bwrap = row("`bwrap … true`", bwrap);
    println!("\nagainst bwrap: {:.2}x (goal at most 1.5x)", ratio(from_nothing, bwrap));
    println!("from the pool: {} (goal under 1 ms)", shown(from_pool));
    println!("from the pool, against fork and exec: {:.2}x", ratio(from_pool, plain));
    open_box.close().await.expect("it closes");
}

fn provider(base: &std::path::Path, pool_size: usize) -> SandboxProvider {
    let settings = SandboxSettings { pool_size, ..SandboxSettings::default() };
    SandboxProvider::new(base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy)
        .expect("the provider can be made")
}

async fn open(provider: &SandboxProvider) -> Arc<dyn Workspace> {
    let workspace_id: WorkspaceId = (&OsEntropy as &dyn Entropy).id(SystemClock.now());
    let config = ProviderConfig::Sandbox(SandboxConfig::default());
    let declared = [Capability::Fs, Capability::Shell].into_iter().collect();
    provider.open(OpenRequest { workspace_id, config, declared }).await.expect("the box opens").workspace
}

async fn run(workspace: &Arc<dyn Workspace>) {
    let shell = workspace.shell().expect("there is a shell");
    let result = shell.run(Command::argv(["/bin/true"])).await.expect("it runs");
    assert_eq!(result.exit_code, Some(0));
}

/// How long it took to open, and until the command had run.
async fn open_and_run(provider: &SandboxProvider) -> (Duration, Duration) {
    let started = Instant::now();
    let workspace = open(provider).await;
    let opened = started.elapsed();
    run(&workspace).await;
    let whole = started.elapsed();
    workspace.close().await.expect("it closes");
    settle().await;
    (opened, whole)
}

/// What was closed goes away and the pool is filled again while nothing is measured.
async fn settle() {
    tokio::time::sleep(SETTLE).await;
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

fn baseline(words: &[&str]) -> Duration {
    let started = Instant::now();
    let mut process = Process::new(words[0]);
    process.args(&words[1..]).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert!(process.output().expect("it starts").status.success());
    started.elapsed()
}

/// Every tenth round, since it takes so much longer.
fn wrapped(round: usize) -> Option<Duration> {
    let words = [
        "/usr/bin/bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--dir",
        "/workspace",
        "true",
    ];
    round.is_multiple_of(10).then(|| baseline(&words))
}

fn heading() {
    println!("| | p50 | p95 | lowest |\n|---|---|---|---|");
}

fn row(name: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!("| {name} | {} | {} | {} |", shown(at(50)), shown(at(95)), shown(times[0]));
    at(50)
}

fn ratio(of: Duration, to: Duration) -> f64 {
    of.as_secs_f64() / to.as_secs_f64()
}

fn shown(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1_000.0)
}

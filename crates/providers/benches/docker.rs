//! P3: a command in an open container against `docker exec` in the same container; and what opening one costs, against
//! `docker run`. One run, rounds interleaved.
//!
//! `WARREN_TEST_DOCKER=$(scripts/docker.sh start) cargo bench -p warren-providers --bench docker`
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "the baselines are the `docker` command")]

use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{Capability, DockerConfig, ProviderConfig, PullPolicy, WorkspaceId};
use warren_providers::{DockerProvider, DockerSettings};
use warren_workspace::shell::Command;
use warren_workspace::{OpenRequest, Provider as _, Workspace};

const IMAGE: &str = "warren-test:busybox";
const WARM_UP: usize = 50;
const RUNS: usize = 1_000;
/// `docker exec` is measured every so many rounds, since it takes so much longer.
const ROUNDS_PER_EXEC: usize = 10;
const OPENS: usize = 20;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(compare());
}

async fn compare() {
    let environment = Environment::of_process();
    let host = environment
        .get("WARREN_TEST_DOCKER")
        .expect("WARREN_TEST_DOCKER names a daemon (scripts/docker.sh start)");
    let folder = tempfile::tempdir().expect("a folder");
    let settings = DockerSettings { host: Some(host.to_owned()), ..DockerSettings::default() };
    let clock = Arc::new(SystemClock);
    let provider = DockerProvider::new(folder.path(), settings, Environment::default(), clock, &OsEntropy)
        .expect("the provider can be made");

    let workspace = open(&provider).await;
    let label = format!("label=dev.warren.workspace={}", workspace.id());
    let container = docker(host, &["ps", "--quiet", "--filter", &label]);
    let (mut ours, mut exec) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + RUNS {
        let time = timed(run(&workspace)).await;
        if round < WARM_UP {
            continue;
        }
        ours.push(time);
        if round.is_multiple_of(ROUNDS_PER_EXEC) {
            exec.push(baseline(host, &["exec", container.trim(), "/bin/true"]));
        }
    }
    workspace.close().await.expect("it closes");
    println!("## P3: `true` in an open container\n");
    heading();
    let ours = row("in an open container, through the library", ours);
    let exec = row("`docker exec … true` in the same container", exec);
    println!("\nfaster than docker exec: {:.1}x (goal at least 20x)", ratio(exec, ours));

    let (mut opened, mut ran) = (Vec::new(), Vec::new());
    for _ in 0..OPENS {
        let started = Instant::now();
        let workspace = open(&provider).await;
        run(&workspace).await;
        opened.push(started.elapsed());
        workspace.close().await.expect("it closes");
        ran.push(baseline(host, &["run", "--rm", "--network", "none", IMAGE, "/bin/true"]));
    }
    println!("\n## Open a container and run the first command\n");
    heading();
    let opened = row("open, then `true`", opened);
    let ran = row("`docker run --rm … true`", ran);
    println!("\nagainst docker run: {:.2}x", ratio(opened, ran));
}

async fn open(provider: &DockerProvider) -> Arc<dyn Workspace> {
    let workspace_id: WorkspaceId = (&OsEntropy as &dyn Entropy).id(SystemClock.now());
    let config =
        DockerConfig { image: IMAGE.into(), pull_policy: PullPolicy::Never, ..DockerConfig::default() };
    let request = OpenRequest {
        workspace_id,
        config: ProviderConfig::Docker(config),
        declared: [Capability::Fs, Capability::Shell].into_iter().collect(),
    };
    provider.open(request).await.expect("the container opens").workspace
}

async fn run(workspace: &Arc<dyn Workspace>) {
    let shell = workspace.shell().expect("there is a shell");
    let result = shell.run(Command::argv(["/bin/true"])).await.expect("it runs");
    assert_eq!(result.exit_code, Some(0));
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

fn docker(host: &str, words: &[&str]) -> String {
    let output = Process::new("docker").arg("--host").arg(host).args(words).stdin(Stdio::null()).output();
    let output = output.expect("the Debian package docker.io is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn baseline(host: &str, words: &[&str]) -> Duration {
    let started = Instant::now();
    docker(host, words);
    started.elapsed()
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

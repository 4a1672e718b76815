//! The watcher of images as it runs by itself: the fleet's own schedule on time that the test moves, and a real Docker
//! daemon whose tags change under it (F52).

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_fleet::Config as FleetConfig;
use warren_model::{Status, WorkspaceId};
use warren_providers::{DockerProvider, DockerSettings};
use warren_testkit::Warren;

use crate::fleet::{create, events, status};
use crate::residents::docker_daemon;

const TICK: Duration = Duration::from_secs(300);

/// Timers stand still until the test moves them.
///
/// Surprise: tokio's paused clock leaps to the next timer whenever everybody waits, also for a daemon; every patience with
/// one would be over at once. It does not leap while a blocking task runs, so that there is one.
struct StoppedTime {
    /// Ends the blocking task with this value.
    _held: mpsc::Sender<()>,
}

impl StoppedTime {
    fn stop() -> Self {
        tokio::time::pause();
        let (held, end) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || end.recv());
        Self { _held: held }
    }

    async fn pass(&self, duration: Duration) {
        tokio::time::advance(duration).await;
    }

    /// Looks again until it is so; timers go along with real time meanwhile, for those that poll a daemon.
    async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        const STEP: Duration = Duration::from_millis(10);
        for _ in 0..3_000 {
            if is_so().await {
                return;
            }
            tokio::task::spawn_blocking(|| really_wait(STEP)).await.unwrap();
            self.pass(STEP).await;
        }
        panic!("did not happen: {what}");
    }
}

/// Real time, since the simulated one is ours to move.
#[expect(
    clippy::disallowed_methods,
    reason = "a real daemon works in real time, and tokio's clock stands still"
)]
fn really_wait(duration: Duration) {
    std::thread::sleep(duration);
}

#[expect(clippy::disallowed_methods, reason = "tags are moved as an operator moves them")]
fn docker(host: &str, arguments: &[&str]) -> String {
    let said = std::process::Command::new("docker").arg("--host").arg(host).args(arguments).output();
    let said = said.expect("install the Debian package docker.io");
    assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// The only container of a workspace: its id, and the image that it was made from.
fn container(host: &str, id: WorkspaceId) -> (String, String) {
    let label = format!("label=dev.warren.workspace={id}");
    let found = docker(host, &["ps", "--all", "--quiet", "--no-trunc", "--filter", &label]);
    assert_eq!(found.lines().count(), 1, "{found}");
    let image = docker(host, &["inspect", "--format", "{{.Image}}", &found]);
    (found, image)
}

/// Has a tag stand for an image that nobody has seen; answers with its digest.
fn move_tag(host: &str, tag: &str, from: &str) -> String {
    let change = format!("LABEL moved={}", unique());
    docker(host, &["commit", "--change", &change, from, tag])
}

fn unique() -> String {
    let id: WorkspaceId =
        (&OsEntropy as &dyn warren_doors::Entropy).id(warren_doors::Clock::now(&SystemClock));
    id.to_string()
}

async fn report(warren: &Warren) -> Value {
    let all = warren.get("/api/v1/admin/sweeps").await.json();
    all["items"].as_array().unwrap().iter().find(|sweep| sweep["name"] == "images").unwrap().clone()
}

/// Waits for so many runs; answers with how the last one ended: (looked at, acted on, failed).
async fn ran(time: &StoppedTime, warren: &Warren, runs: u64) -> (u64, u64, u64) {
    time.until("the watcher has run", async || report(warren).await["runs"] == runs).await;
    let outcome = report(warren).await["last_run"]["outcome"].clone();
    let of = |name: &str| outcome[name].as_u64().unwrap();
    (of("looked_at"), of("acted_on"), of("failed"))
}

async fn boxed(warren: &Warren, image: &str) -> WorkspaceId {
    let config = json!({ "kind": "docker", "image": image, "pull_policy": "never" });
    let id = create(warren, &json!({ "name": "boxed", "provider": config })).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

async fn refreshes(warren: &Warren, id: WorkspaceId) -> Vec<Value> {
    let all = events(warren, Some(id)).await;
    let refreshed = all.into_iter().filter(|event| event["kind"] == "workspace.image.refreshed");
    refreshed.map(|event| event["data"].clone()).collect()
}

// F52
#[tokio::test]
async fn the_watcher_looks_at_its_interval_seeds_first_and_makes_anew_what_moved_in_a_real_daemon() {
    let (host, mut daemon) = docker_daemon();
    let (moving, vanishing) =
        (format!("warren-test:w1-{}", unique()), format!("warren-test:w2-{}", unique()));
    for tag in [&moving, &vanishing] {
        docker(&host, &["tag", "warren-test:busybox", tag]);
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = DockerSettings { host: Some(host.clone()), ..DockerSettings::default() };
    let base = folder.path().join("docker");
    let clock = Arc::new(SystemClock);
    let provider = DockerProvider::new(&base, settings, Environment::default(), clock, &OsEntropy).unwrap();
    let config = FleetConfig { watches_images: true, ..FleetConfig::default() };
    let warren = Warren::builder().provider(Arc::new(provider)).fleet_config(config).start().await;
    let (a, b) = (boxed(&warren, &moving).await, boxed(&warren, &vanishing).await);
    let (first_a, first_b) = (container(&host, a), container(&host, b));
    // It moves before the watcher has looked at all: what it finds first is what it remembers.
    move_tag(&host, &moving, &first_a.0);

    let time = StoppedTime::stop();
    time.pass(TICK - Duration::from_secs(5)).await;
    assert_eq!(report(&warren).await["runs"], 0, "not before its time");
    time.pass(Duration::from_secs(5)).await;
    assert_eq!(ran(&time, &warren, 1).await, (2, 0, 0), "the first look only seeds");
    assert_eq!(container(&host, a), first_a);

    let second = move_tag(&host, &moving, &first_a.0);
    docker(&host, &["rmi", &vanishing]);
    time.pass(TICK).await;
    assert_eq!(ran(&time, &warren, 2).await, (2, 1, 1), "one failed look blocks no other");
    time.until("its box is made anew", async || {
        status(&warren, a).await == "online" && container_is(&host, a, &second)
    })
    .await;
    assert_eq!(container(&host, b), first_b, "the other is left alone");
    let told = json!([{ "image": moving, "from": first_a.1, "to": second }]);
    assert_eq!(json!(refreshes(&warren, a).await), told);

    time.pass(TICK).await;
    assert_eq!(ran(&time, &warren, 3).await, (2, 0, 1), "once is enough, and the other is looked at again");
    let third = move_tag(&host, &vanishing, &first_b.0);
    time.pass(TICK).await;
    assert_eq!(ran(&time, &warren, 4).await, (2, 1, 0), "what could not be seen was not forgotten");
    time.until("the other is made anew", async || {
        status(&warren, b).await == "online" && container_is(&host, b, &third)
    })
    .await;

    for id in [a, b] {
        assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.status, 200);
    }
    tokio::time::resume();
    warren.stop().await;
    for tag in [&moving, &vanishing] {
        docker(&host, &["rmi", "--force", tag]);
    }
    if let Some(daemon) = &mut daemon {
        drop(daemon.stdin.take());
        daemon.wait().unwrap();
    }
}

/// There is exactly one container, and it was made from this.
fn container_is(host: &str, id: WorkspaceId, image: &str) -> bool {
    let label = format!("label=dev.warren.workspace={id}");
    let found = docker(host, &["ps", "--all", "--quiet", "--no-trunc", "--filter", &label]);
    found.lines().count() == 1 && docker(host, &["inspect", "--format", "{{.Image}}", &found]) == image
}

// F52: opt-in
#[tokio::test]
async fn nobody_looks_at_images_unless_the_operator_wants_it() {
    let warren = Warren::start().await;
    let time = StoppedTime::stop();
    for _ in 0..4 {
        time.pass(TICK).await;
    }
    let orphans = async || {
        let all = warren.get("/api/v1/admin/sweeps").await.json();
        let all = all["items"].as_array().unwrap().clone();
        all.iter().find(|sweep| sweep["name"] == "orphans").unwrap()["runs"].as_u64().unwrap()
    };
    time.until("the others run", async || orphans().await > 1).await;
    assert_eq!(report(&warren).await["runs"], 0);
    tokio::time::resume();
    warren.stop().await;
}

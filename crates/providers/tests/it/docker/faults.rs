//! A daemon that is slow, wrong or gone (D11, D12), and images that are not there.

use std::time::{Duration, Instant};

use warren_model::{DockerConfig, ErrorCode, PullPolicy};
use warren_providers::docker::DaemonTimeouts;
use warren_workspace::shell::Command;
use warren_workspace::{Presence, Provider as _};

use super::daemon::{Daemon, Docker, brief, config, containers_of, run_in, shared, text};
use super::proxy::{Mischief, Proxy};

fn is_pull(line: &str) -> bool {
    line.contains("/images/create")
}

// W74
#[tokio::test]
async fn never_makes_no_network_call_and_missing_none_for_an_image_that_is_here() {
    let proxy = Proxy::before(shared());
    let docker = Docker::behind(&proxy.host, shared(), DaemonTimeouts::default());
    for policy in [PullPolicy::Never, PullPolicy::Missing] {
        let opened = docker.open_with(DockerConfig { pull_policy: policy, ..config() }).await.unwrap();
        assert_eq!(text(&opened.run("echo hi").await), "hi");
        opened.workspace.close().await.unwrap();
    }
    let absent = DockerConfig { image: "warren-test:no-such-tag".into(), ..config() };
    let error = docker.open_with(absent.clone()).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ImageNotFound);
    assert!(
        !error.is_transient() && error.to_string().contains("docker pull warren-test:no-such-tag"),
        "{error}"
    );
    let seen = proxy.seen();
    assert!(seen.len() > 5 && !seen.iter().any(|line| is_pull(line)), "{seen:?}");

    // The control: the other two policies do ask.
    for policy in [PullPolicy::Missing, PullPolicy::Always] {
        let before = proxy.seen().iter().filter(|line| is_pull(line)).count();
        docker.open_with(DockerConfig { pull_policy: policy, ..absent.clone() }).await.err().unwrap();
        assert_eq!(proxy.seen().iter().filter(|line| is_pull(line)).count(), before + 1, "{policy:?}");
    }
}

// W12
#[tokio::test]
async fn no_daemon_is_transient_and_its_return_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("docker.sock");
    let docker = Docker::behind(&format!("unix://{}", socket.display()), shared(), brief());
    let error = docker.open_with(config()).await.err().unwrap();
    assert!(error.is_transient() && error.code() == ErrorCode::ProviderUnavailable, "{error:?}");
    assert!(!error.to_string().contains(folder.path().to_str().unwrap()), "host paths are not told: {error}");
    let unavailable = docker.provider.availability().await.unwrap_err();
    assert!(unavailable.to_string().contains("apt-get install docker.io"), "{unavailable}");
    std::os::unix::fs::symlink(shared().trim_start_matches("unix://"), &socket).unwrap();
    docker.provider.availability().await.unwrap();
    let opened = docker.open().await;
    assert_eq!(text(&opened.run("echo back").await), "back");
    opened.workspace.close().await.unwrap();
}

// D12
#[tokio::test]
async fn every_wait_for_a_slow_daemon_has_an_end() {
    let proxy = Proxy::before(shared());
    let docker = Docker::behind(&proxy.host, shared(), brief());
    for about in ["/version", "/containers/json", "/images/", "/containers/create", "/start"] {
        proxy.set(about, Mischief::Silence);
        let began = Instant::now();
        let error = docker.open_with(config()).await.err().unwrap();
        assert!(error.is_transient(), "{about}: {error:?}");
        assert!(error.to_string().contains("in time"), "{about}: {error}");
        assert!(began.elapsed() < Duration::from_secs(60), "{about}: {:?}", began.elapsed());
        proxy.behave();
    }
    let opened = docker.open().await;
    // Commands do not pass the daemon.
    proxy.set("/", Mischief::Silence);
    assert_eq!(text(&opened.run("echo quick").await), "quick");
    let error = opened.workspace.close().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    proxy.behave();
    opened.workspace.close().await.unwrap();
    assert!(containers_of(shared(), opened.id).is_empty());
}

// D12
#[tokio::test]
async fn a_daemon_that_fails_is_transient_and_what_it_says_stays_in_the_log() {
    let proxy = Proxy::before(shared());
    let docker = Docker::behind(&proxy.host, shared(), brief());
    for about in ["/containers/create", "/start", "/containers/json"] {
        proxy.set(about, Mischief::Failure);
        let error = docker.open_with(config()).await.err().unwrap();
        assert!(error.is_transient(), "{about}: {error:?}");
        assert!(!error.to_string().contains("/secret/x"), "{error}");
    }
    proxy.behave();
    docker.open().await.workspace.close().await.unwrap();
}

// W76: the daemon made it, and nobody was told.
#[tokio::test]
async fn a_container_whose_creation_was_not_answered_is_found_by_the_retry_and_by_the_reaper() {
    let proxy = Proxy::before(shared());
    let docker = Docker::behind(&proxy.host, shared(), brief());
    let (retried, abandoned) = (crate::fixture::new_id(), crate::fixture::new_id());
    for id in [retried, abandoned] {
        proxy.set("/containers/create", Mischief::LostAnswer);
        let error = docker.open_as(id, config()).await.err().unwrap();
        assert!(error.is_transient(), "{error:?}");
        assert_eq!(containers_of(shared(), id).len(), 1, "the daemon did what it was asked");
        proxy.behave();
    }
    let opened = docker.open_as(retried, config()).await.unwrap();
    assert_eq!(text(&opened.run("echo there").await), "there");
    assert_eq!(containers_of(shared(), retried).len(), 1, "one workspace, one container");
    let live = [retried].into();
    let report = docker.provider.reap(&live).await.unwrap();
    assert_eq!((report.removed, report.problems), (1, vec![]));
    assert!(containers_of(shared(), abandoned).is_empty());
    assert_eq!(text(&opened.run("echo untouched").await), "untouched");
}

// D11
#[tokio::test]
async fn a_daemon_that_is_killed_and_comes_back_is_lived_through() {
    let daemon = Daemon::start(&[]);
    let docker = Docker::at(&daemon.host, DaemonTimeouts::default());
    let opened = docker.open().await;
    opened.run("echo kept > file").await;
    daemon.kill();
    // The container is there still, and commands never passed the daemon.
    assert_eq!(text(&opened.run("cat file").await), "kept");
    // F20: nor does the look at it; a daemon that is down is no verdict about the box.
    assert_eq!(opened.workspace.presence().await, Presence::Here);
    let error = docker.open_with(config()).await.err().unwrap();
    assert!(error.is_transient(), "{error:?}");
    daemon.restart();
    // Without live-restore the daemon has ended the container by now.
    let ended = Instant::now();
    loop {
        match opened.shell().run(Command::argv(["true"])).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) if error.is_evicted() => break,
            Err(error) => assert_eq!(error.code(), ErrorCode::WorkspaceEvicted, "{error}"),
        }
        assert!(ended.elapsed() < Duration::from_secs(30), "the container's end was not noticed");
    }
    assert!(matches!(opened.workspace.presence().await, Presence::Gone(_)));
    let again = docker.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(text(&run_in(again.as_ref(), "cat file").await), "kept");
    assert_eq!(containers_of(&daemon.host, opened.id).len(), 1, "no double start");
    again.close().await.unwrap();
    let report = docker.provider.reap(&Default::default()).await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

// D11
#[tokio::test]
async fn with_live_restore_a_container_outlives_its_daemon() {
    let daemon = Daemon::start(&["--live-restore"]);
    let docker = Docker::at(&daemon.host, DaemonTimeouts::default());
    let opened = docker.open().await;
    let container = containers_of(&daemon.host, opened.id);
    daemon.kill();
    daemon.restart();
    assert_eq!(text(&opened.run("echo lives").await), "lives");
    assert_eq!(containers_of(&daemon.host, opened.id), container);
    opened.workspace.close().await.unwrap();
    assert!(containers_of(&daemon.host, opened.id).is_empty());
}

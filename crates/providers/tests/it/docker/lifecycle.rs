//! Opening again, ending, destroying: `recreate` and `reconnect` (W75), and what is said when something is wrong.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;
use warren_model::{DockerConfig, DockerRelaxations, ErrorCode, Mount, MountMode, ProviderConfig, Reuse};
use warren_workspace::shell::{
    Command, CommandKey, Poll, ProcessState, RunEvent, RunResult, RunStream, Start,
};
use warren_workspace::{Error, Provider as _};

use super::daemon::{Docker, IMAGE, config, containers_of, docker_says, run_in, text};

fn reconnecting() -> DockerConfig {
    DockerConfig { reuse: Reuse::Reconnect, ..config() }
}

const SLEEPER: &str = "echo begun; while [ ! -e go ]; do sleep 0.1; done; echo went on";

async fn poll(workspace: &dyn warren_workspace::Workspace, offset: u64) -> warren_workspace::shell::Polled {
    let process = warren_workspace::shell::ProcessId(1);
    let wait = Poll { offset, max_bytes: 1_000, wait_ms: 10_000 };
    workspace.shell().unwrap().poll(process, wait).await.unwrap()
}

// W75
#[tokio::test]
async fn recreate_gives_a_new_container_over_the_kept_files() {
    let docker = Docker::new();
    let first = docker.open().await;
    first.run("echo kept > file; cd /tmp && touch gone").await;
    let before = containers_of(&docker.host, first.id);
    let again = docker.restarted();
    let second = again.resolve(first.id, &first.config, &first.reference).await.unwrap();
    let seen = run_in(second.as_ref(), "cat file; ls /tmp").await;
    assert_eq!(text(&seen), "kept");
    let after = containers_of(&docker.host, first.id);
    assert_eq!((before.len(), after.len()), (1, 1), "the old one is removed");
    assert_ne!(before, after);
    assert_eq!(second.limits()["box"]["generation"], 2);
    second.close().await.unwrap();
    assert!(containers_of(&docker.host, first.id).is_empty(), "closing takes it away");
}

// W75, W30
#[tokio::test]
async fn reconnect_finds_the_living_container_its_processes_and_their_output() {
    let docker = Docker::new();
    let opened = docker.open_with(reconnecting()).await.unwrap();
    let start = Start { command: Command::script(SLEEPER), pty: None };
    opened.shell().start(start).await.unwrap();
    assert_eq!(poll(opened.workspace.as_ref(), 0).await.bytes, "begun\n");
    let container = containers_of(&docker.host, opened.id);
    // As a Warren that was killed: nothing is closed, the connection just ends.
    drop(opened.workspace);

    let again = docker.restarted();
    let found = again.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(containers_of(&docker.host, opened.id), container, "it is the same one");
    assert_eq!(found.limits()["box"]["reconnected"], true);
    let replayed = poll(found.as_ref(), 0).await;
    assert_eq!((replayed.bytes.as_ref(), replayed.state), (b"begun\n".as_ref(), ProcessState::Running));
    run_in(found.as_ref(), "touch go").await;
    let rest = poll(found.as_ref(), replayed.next_offset).await;
    assert_eq!(rest.bytes, "went on\n");
    found.close().await.unwrap();
    assert_eq!(containers_of(&docker.host, opened.id), container, "closing leaves it");
    again.destroy(opened.id, &opened.reference).await.unwrap();
    assert!(containers_of(&docker.host, opened.id).is_empty());
    assert!(!docker.base().join(opened.id.to_string()).exists());
}

/// Everything that a stream has to tell.
async fn to_the_end(events: RunStream) -> RunResult {
    let events: Vec<_> = events.collect().await;
    match events.into_iter().last() {
        Some(Ok(RunEvent::Finished(result))) => result,
        other => panic!("{other:?}"),
    }
}

// A4, W75: as after a kill (nothing is closed), and as after an orderly stop
#[tokio::test]
async fn a_command_with_a_key_is_taken_up_again_in_the_living_container() {
    for is_closed in [false, true] {
        let docker = Docker::new();
        let opened = docker.open_with(reconnecting()).await.unwrap();
        let key = CommandKey { name: "session/call".to_owned(), leave: CancellationToken::new() };
        let script =
            "echo begun; until [ -e go ]; do sleep 0.05; done; echo went on; echo x >> times; exit 5";
        let command = Command { key: Some(key.clone()), ..Command::script(script) };
        let mut events = opened.shell().stream(command).await.unwrap();
        assert_eq!(events.next().await.unwrap().unwrap(), RunEvent::Stdout("begun\n".into()));
        assert!(opened.shell().knows(&key).await.unwrap());
        key.leave.cancel();
        if is_closed {
            opened.workspace.close().await.unwrap();
        }
        drop(events);
        drop(opened.workspace);

        let again = docker.restarted();
        let found = again.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
        let shell = found.shell().unwrap();
        let fresh = CommandKey { leave: CancellationToken::new(), ..key.clone() };
        let other = CommandKey { name: "another".to_owned(), ..fresh.clone() };
        assert!(!shell.knows(&other).await.unwrap() && shell.attach(&other).await.unwrap().is_none());
        assert!(shell.knows(&fresh).await.unwrap());
        run_in(found.as_ref(), "touch go").await;
        for _ in 0..2 {
            let result = to_the_end(shell.attach(&fresh).await.unwrap().unwrap()).await;
            assert_eq!((text(&result).as_str(), result.exit_code), ("begun\nwent on", Some(5)));
        }
        assert_eq!(text(&run_in(found.as_ref(), "cat times").await), "x", "it ran once");
        // Whoever does not want it any more ends it, as with every command.
        let long = CommandKey { name: "long".to_owned(), ..fresh };
        let command = Command { key: Some(long.clone()), ..Command::script("echo up; sleep 300") };
        let mut events = shell.stream(command).await.unwrap();
        assert_eq!(events.next().await.unwrap().unwrap(), RunEvent::Stdout("up\n".into()));
        drop(events);
        let gone = run_in(found.as_ref(), "while pidof sleep; do usleep 10000; done; echo gone").await;
        assert!(text(&gone).ends_with("gone"));
        assert!(!shell.knows(&long).await.unwrap());
        again.destroy(opened.id, &opened.reference).await.unwrap();
    }
}

// W75
#[tokio::test]
async fn a_living_container_that_drifted_is_refused_and_the_fields_are_named() {
    let docker = Docker::new();
    let opened = docker.open_with(reconnecting()).await.unwrap();
    let container = containers_of(&docker.host, opened.id).remove(0);
    docker_says(&docker.host, &["update", "--pids-limit", "1000", &container]);
    drop(opened.workspace);
    let refused = docker.restarted().resolve(opened.id, &opened.config, &opened.reference).await.unwrap_err();
    assert!(matches!(refused, Error::Failed { transient: false, .. }), "{refused:?}");
    assert!(
        refused.to_string().contains("HostConfig.PidsLimit") && refused.to_string().contains("recreate"),
        "{refused}"
    );
    assert_eq!(containers_of(&docker.host, opened.id), [container], "it is left as it is");

    let recreated = ProviderConfig::Docker(config());
    let fresh = docker.restarted().resolve(opened.id, &recreated, &opened.reference).await.unwrap();
    assert_eq!(text(&run_in(fresh.as_ref(), "echo fine").await), "fine");
}

// W75
#[tokio::test]
async fn reconnect_makes_a_new_container_where_none_lives() {
    let docker = Docker::new();
    let opened = docker.open_with(reconnecting()).await.unwrap();
    opened.run("echo kept > file").await;
    let container = containers_of(&docker.host, opened.id).remove(0);
    docker_says(&docker.host, &["kill", &container]);
    let found = docker.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(text(&run_in(found.as_ref(), "cat file").await), "kept");
    assert_ne!(containers_of(&docker.host, opened.id), [container]);
}

// W13
#[tokio::test]
async fn a_container_killed_from_outside_is_an_eviction_that_resolving_cures() {
    let docker = Docker::new();
    let opened = docker.open().await;
    opened.run("echo kept > file").await;
    let container = containers_of(&docker.host, opened.id).remove(0);
    docker_says(&docker.host, &["kill", &container]);
    let evicted = loop {
        match opened.shell().run(Command::argv(["true"])).await {
            Err(error) if error.is_evicted() => break error,
            // The command that was under way when it happened is told apart.
            Err(error) => assert_eq!(error.code(), ErrorCode::WorkspaceEvicted, "{error}"),
            Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    assert_eq!(evicted.code(), ErrorCode::WorkspaceEvicted);
    let resolved = docker.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(text(&run_in(resolved.as_ref(), "cat file").await), "kept");
    // The late closing of the old one takes nothing from the new one.
    opened.workspace.close().await.unwrap();
    assert_eq!(text(&run_in(resolved.as_ref(), "echo still here").await), "still here");
}

// W74
#[tokio::test]
async fn bad_configs_are_refused_with_the_field_before_anything_is_made() {
    let docker = Docker::new();
    let outside = docker.folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/usr", outside.join("link")).unwrap();
    let linked = outside.join("link").to_str().unwrap().to_owned();
    let base = docker.base().canonicalize().unwrap().to_str().unwrap().to_owned();
    let mount =
        |source: &str| vec![Mount { source: source.into(), target: "/data".into(), mode: MountMode::Ro }];
    let limits = config().limits;
    for (told, bad) in [
        ("image:", DockerConfig { image: "a b".into(), ..config() }),
        ("image:", DockerConfig { image: "--privileged".into(), ..config() }),
        (
            "limits.memory_mb",
            DockerConfig { limits: warren_model::BoxLimits { memory_mb: 0, ..limits.clone() }, ..config() },
        ),
        (
            "limits.cpus",
            DockerConfig { limits: warren_model::BoxLimits { cpus: 0.0, ..limits.clone() }, ..config() },
        ),
        (
            "limits.pids",
            DockerConfig { limits: warren_model::BoxLimits { pids: 0, ..limits.clone() }, ..config() },
        ),
        ("mounts[0].source", DockerConfig { mounts: mount("relative"), ..config() }),
        ("mounts[0].source", DockerConfig { mounts: mount("/no/such/folder"), ..config() }),
        ("mounts[0].source", DockerConfig { mounts: mount(&linked), ..config() }),
        ("mounts[0].source", DockerConfig { mounts: mount(&base), ..config() }),
        ("mounts[0].source", DockerConfig { mounts: mount("/run/docker.sock"), ..config() }),
        (
            "relax.cap_add[0]",
            DockerConfig {
                relax: Box::new(DockerRelaxations {
                    cap_add: vec!["SYS_ADMIN".into()],
                    ..Default::default()
                }),
                ..config()
            },
        ),
        (
            "relax.user",
            DockerConfig {
                relax: Box::new(DockerRelaxations { user: Some("root".into()), ..Default::default() }),
                ..config()
            },
        ),
    ] {
        let id = crate::fixture::new_id();
        let error = docker.open_as(id, bad).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidConfig, "{error}");
        assert!(!error.is_transient() && error.to_string().starts_with(told), "{told}: {error}");
        assert!(containers_of(&docker.host, id).is_empty());
    }
}

// W73
#[tokio::test]
async fn granted_paths_are_seen_read_only_or_writable_as_the_config_says() {
    let docker = Docker::new();
    let folder = docker.folder.path().canonicalize().unwrap();
    for name in ["read", "write"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join("file"), name).unwrap();
    }
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.join("write"), open_to_all).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mount = |name: &str, mode| Mount {
        source: folder.join(name).to_str().unwrap().into(),
        target: format!("/{name}"),
        mode,
    };
    let mounts = vec![mount("read", MountMode::Ro), mount("write", MountMode::Rw)];
    let opened = docker.open_with(DockerConfig { mounts, ..config() }).await.unwrap();
    let seen = opened.run("cat /read/file /write/file; echo new > /write/new; touch /read/new").await;
    assert_eq!(text(&seen), "readwrite");
    assert_ne!(seen.exit_code, Some(0), "a read-only grant was written to");
    assert_eq!(std::fs::read_to_string(folder.join("write/new")).unwrap(), "new\n");
    assert!(!folder.join("read/new").exists());
}

// W74
#[tokio::test]
async fn knobs_relax_what_they_name_and_are_told() {
    let docker = Docker::new();
    let relax = DockerRelaxations {
        cap_add: vec!["CHOWN".into()],
        tmpfs: vec![warren_model::TmpfsMount { target: "/cache".into(), size_mb: 4 }],
        user: Some("7:8".into()),
        ..Default::default()
    };
    let opened = docker.open_with(DockerConfig { relax: Box::new(relax), ..config() }).await.unwrap();
    let seen =
        opened.run("id -u; id -g; echo x > /cache/file && cat /cache/file; echo mine > own && cat own").await;
    assert_eq!(text(&seen), "7\n8\nx\nmine");
    let told = opened.workspace.limits()["box"]["relaxed"].to_string();
    assert!(
        told.contains("cap_add: CHOWN") && told.contains("tmpfs: /cache") && told.contains("user: 7:8"),
        "{told}"
    );
}

// W77
#[tokio::test]
async fn an_image_with_nothing_in_it_has_a_process_1_all_the_same() {
    let docker = Docker::new();
    let opened =
        docker.open_with(DockerConfig { image: "warren-test:empty".into(), ..config() }).await.unwrap();
    let missing = opened.shell().run(Command::argv(["true"])).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::ProgramNotFound, "{missing}");
    // A program that the workspace brings runs.
    let program = docker.base().join(".program/warren-init");
    let bytes = std::fs::read(program).unwrap();
    let fs = opened.workspace.fs().unwrap();
    fs.write(&crate::fixture::path("tool"), crate::fixture::contents(bytes), Default::default())
        .await
        .unwrap();
    std::fs::set_permissions(
        docker.base().join(opened.id.to_string()).join("tool"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let ran = opened.shell().run(Command::argv(["./tool", "--nonsense"])).await.unwrap();
    assert!(ran.exit_code.is_some_and(|code| code != 0), "{ran:?}");
}

// W74: files alone need neither container nor daemon.
#[tokio::test]
async fn a_workspace_with_files_only_needs_no_container() {
    let docker = Docker::at("unix:///nonexistent/docker.sock", super::daemon::brief());
    let request = warren_workspace::OpenRequest {
        workspace_id: crate::fixture::new_id(),
        config: ProviderConfig::Docker(DockerConfig { image: IMAGE.into(), ..config() }),
        declared: [warren_model::Capability::Fs].into_iter().collect(),
    };
    let id = request.workspace_id;
    let opened = docker.provider.open(request).await.unwrap();
    assert!(opened.workspace.shell().is_none());
    let put = crate::fixture::contents("x");
    opened.workspace.fs().unwrap().write(&crate::fixture::path("f"), put, Default::default()).await.unwrap();
    docker.provider.destroy(id, &opened.reference).await.unwrap();
    assert!(!docker.base().join(id.to_string()).exists());
}

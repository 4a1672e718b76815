//! Input that cannot be served, and boxes that end by themselves: a clear error, the right state, and nothing left.

use std::sync::Arc;

use warren_doors::{OsEntropy, SystemClock};
use warren_model::{Capability, DockerConfig, ErrorCode, Mount, MountMode, ProviderConfig};
use warren_workspace::registry::{
    Declaration, DiscardRefs, IgnoreLosses, LostPolicy, OpenGates, Registry, RegistryConfig, RegistryParts,
};
use warren_workspace::shell::Command;
use warren_workspace::{Error, Workspace};

use super::case::{Case, Kind, Shape};
use super::in_each_box;
use super::oracles::BoxProcesses;
use super::outside::Mounted;
use crate::docker::daemon;
use crate::fixture::new_id;

in_each_box!(
    mounts_and_limits_that_cannot_be_are_refused_by_name,
    commands_that_are_too_long_are_refused_and_binary_output_is_whole,
    a_box_that_is_killed_from_outside_is_replaced_by_the_next_command,
);

// W73
async fn mounts_and_limits_that_cannot_be_are_refused_by_name(case: Case) {
    let real = case.beside("real");
    std::os::unix::fs::symlink(&real, case.beside("links").join("link")).unwrap();
    let linked = case.beside("links").join("link");
    let sources = [
        ("relative/path", "absolute"),
        ("/no/such/folder", "does not exist"),
        (linked.to_str().unwrap(), "symbolic link"),
    ];
    for (source, told) in sources {
        let mut shape = Shape::default();
        shape.mounts.push(Mount { source: source.into(), target: "/data".into(), mode: MountMode::Rw });
        assert_invalid(&case.open_with(&shape).await.err().unwrap(), told);
    }
    // Warren's own folder would open every other workspace.
    let shape = Shape::default().with_mount(&case.base(), "/data", MountMode::Ro);
    assert_invalid(&case.open_with(&shape).await.err().unwrap(), "Warren's own");
    // By another name too, and what it lies in.
    for (name, folder) in [("alias", case.base()), ("above", case.base().parent().unwrap().to_owned())] {
        let alias = case.beside(name);
        let mounted = Mounted::again(&folder, &alias);
        let shape = Shape::default().with_mount(&alias, "/data", MountMode::Ro);
        assert_invalid(&case.open_with(&shape).await.err().unwrap(), "Warren's own");
        drop(mounted);
    }
    let mut config = case.config(&Shape::default());
    match &mut config {
        ProviderConfig::Sandbox(config) => config.max_timeout_ms = 0,
        ProviderConfig::Docker(config) => config.max_timeout_ms = 0,
        other => panic!("{other:?}"),
    }
    assert_invalid(&case.open_as(new_id(), config).await.err().unwrap(), "max_timeout_ms");
    for (name, shape) in [
        ("limits.memory_mb", Shape::limited(|limits| limits.memory_mb = 0)),
        ("limits.pids", Shape::limited(|limits| limits.pids = 0)),
        ("limits.cpus", Shape::limited(|limits| limits.cpus = 0.0)),
        ("limits.tmp_mb", Shape::limited(|limits| limits.tmp_mb = 0)),
        ("limits.disk_mb", Shape::limited(|limits| limits.disk_mb = 0)),
    ] {
        assert_invalid(&case.open_with(&shape).await.err().unwrap(), name);
    }
    let left: Vec<_> =
        std::fs::read_dir(case.base()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter().all(|name| name.to_string_lossy().starts_with('.')),
        "no folder of a workspace: {left:?}"
    );
    case.outside.assert_untouched();
}

#[track_caller]
fn assert_invalid(error: &Error, told: &str) {
    assert_eq!(error.code(), ErrorCode::InvalidConfig, "{error}");
    assert!(!error.is_transient() && error.to_string().contains(told), "{error}");
}

// W74
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_does_not_exist_is_named_and_leaves_no_container() {
    let case = Case::docker();
    let config = DockerConfig { image: "warren-test:no-such".into(), ..daemon::config() };
    let id = new_id();
    let error = case.open_as(id, ProviderConfig::Docker(config)).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ImageNotFound);
    assert!(error.to_string().contains("warren-test:no-such") && !error.is_transient(), "{error}");
    assert_eq!(daemon::containers_of(daemon::shared(), id), [""; 0]);
}

// sec/T09
async fn commands_that_are_too_long_are_refused_and_binary_output_is_whole(case: Case) {
    let boxed = case.open().await;
    let long = "x".repeat(2 << 20);
    for command in [
        Command::script(format!("echo {long}")),
        Command::argv(["echo".to_owned(), long]),
        Command::argv((0..100_000).map(|number| number.to_string())),
        Command::argv(["echo", "a\0b"]),
        Command::argv(Vec::<String>::new()),
    ] {
        let error = boxed.shell().run(command).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidCommand, "{error}");
    }
    let bytes: Vec<u8> = (0..=255).collect();
    let command = Command { stdin: bytes.clone().into(), ..Command::argv(["cat"]) };
    assert_eq!(boxed.shell().run(command).await.unwrap().stdout.bytes, bytes);
    assert_eq!(boxed.says("echo fine").await, "fine");
}

fn registry(case: &Case) -> Registry {
    let parts = RegistryParts {
        providers: vec![Arc::clone(&case.provider)],
        gates: OpenGates::default(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        metrics: Arc::new(warren_workspace::NoMetrics),
        refs: Arc::new(DiscardRefs),
        losses: Arc::new(IgnoreLosses),
    };
    Registry::new(parts, RegistryConfig::default())
}

async fn says(workspace: &dyn Workspace, script: &str) -> Result<String, Error> {
    let result = workspace.shell().unwrap().run(Command::script(script)).await?;
    Ok(String::from_utf8_lossy(&result.stdout.bytes).trim().to_owned())
}

// W13
async fn a_box_that_is_killed_from_outside_is_replaced_by_the_next_command(case: Case) {
    let registry = registry(&case);
    let id = new_id();
    let declaration = Declaration {
        config: case.config(&Shape::default()),
        capabilities: [Capability::Fs, Capability::Shell].into_iter().collect(),
        reference: None,
        on_lost: LostPolicy::Fail,
    };
    registry.declare(id, declaration).unwrap();
    let run = |script: &'static str| {
        let registry = &registry;
        async move {
            registry
                .with(id, |workspace| async move { says(workspace.as_ref(), script).await })
                .await
                .map_err(|error: Error| error.to_string())
        }
    };
    let namespace = run("echo kept > file; readlink /proc/self/ns/pid").await.unwrap();
    let user =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(case.base().join(id.to_string())).unwrap());
    let processes = BoxProcesses::named(namespace.clone().into(), user);
    match case.kind {
        Kind::Sandbox => {
            for number in processes.alive() {
                let process = rustix::process::Pid::from_raw(number).unwrap();
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        }
        Kind::Docker => {
            let container = daemon::containers_of(daemon::shared(), id).remove(0);
            daemon::docker_says(daemon::shared(), &["kill", &container]);
        }
    }
    processes.assert_gone().await;
    // The same call as before: the box is a new one, the files are the old ones.
    let said = run("cat file; readlink /proc/self/ns/pid").await.unwrap();
    let (kept, new) = said.split_once('\n').unwrap();
    assert_eq!(kept, "kept");
    assert!(new.starts_with("pid:["), "{said}");
    registry.close(id).await.unwrap();
    BoxProcesses::named(new.into(), user).assert_gone().await;
}

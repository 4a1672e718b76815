//! Left-over containers are removed, others never (W76); and nothing is left over (leak check).

use std::collections::BTreeSet;

use warren_model::{DockerConfig, Reuse};
use warren_providers::docker::DaemonTimeouts;
use warren_workspace::Provider as _;
use warren_workspace::shell::{Command, Start};

use super::daemon::{Daemon, Docker, IMAGE, config, containers_of, docker_says, run_in, text};

fn foreign(host: &str, arguments: &[&str]) -> String {
    let words: Vec<&str> = ["create", "--network", "none"]
        .into_iter()
        .chain(arguments.iter().copied())
        .chain([IMAGE, "sleep", "1000"])
        .collect();
    docker_says(host, &words)
}

// W76
#[tokio::test]
async fn only_our_own_containers_of_no_live_workspace_are_removed() {
    let docker = Docker::new();
    let reconnecting = DockerConfig { reuse: Reuse::Reconnect, ..config() };
    let open = docker.open().await;
    let (live, orphan) = (
        docker.open_with(reconnecting.clone()).await.unwrap(),
        docker.open_with(reconnecting).await.unwrap(),
    );
    let (live_id, orphan_id) = (live.id, orphan.id);
    // As after kill -9: nothing was closed.
    drop((live.workspace, orphan.workspace));

    let label = |key: &str, value: &str| format!("dev.warren.{key}={value}");
    let (mine, stranger) = (label("instance", &docker.instance()), label("instance", "0000000000000000"));
    let (workspace, generation) = (label("workspace", &orphan_id.to_string()), label("generation", "1"));
    let strangers = [
        foreign(&docker.host, &["--label", "somebody=else"]),
        foreign(&docker.host, &["--label", &stranger, "--label", &workspace, "--label", &generation]),
        // It bears our label, and a name that we never give.
        foreign(&docker.host, &["--label", &mine, "--label", &workspace, "--label", &generation]),
    ];

    let report = docker.provider.reap(&BTreeSet::from([live_id])).await.unwrap();
    assert_eq!((report.removed, report.problems), (1, vec![]));
    let left = docker_says(&docker.host, &["ps", "--all", "--quiet", "--no-trunc"]);
    assert!(strangers.iter().all(|id| left.contains(id.as_str())), "a stranger's container was removed");
    assert_eq!(containers_of(&docker.host, live_id).len(), 1);
    assert_eq!(text(&open.run("echo open").await), "open");
    assert_eq!(containers_of(&docker.host, orphan_id).iter().filter(|id| !strangers.contains(id)).count(), 0);
    assert!(docker.base().join(orphan_id.to_string()).exists(), "files go by destroy alone");

    for id in strangers {
        docker_says(&docker.host, &["rm", "--force", &id]);
    }
}

// W76, W16: the instance is known again after the process died.
#[tokio::test]
async fn what_a_killed_warren_left_is_found_after_a_restart() {
    let docker = Docker::new();
    let opened = docker.open_with(DockerConfig { reuse: Reuse::Reconnect, ..config() }).await.unwrap();
    drop(opened.workspace);
    let restarted = docker.restarted();
    assert_eq!(restarted.reap(&BTreeSet::from([opened.id])).await.unwrap().removed, 0);
    assert_eq!(restarted.reap(&BTreeSet::new()).await.unwrap().removed, 1);
    assert!(containers_of(&docker.host, opened.id).is_empty());
    assert!(!docker.base().join(".boxes").join(opened.id.to_string()).exists());
}

/// Everything that could be left over: processes, mounts, containers, volumes, folders.
fn census(daemon: &Daemon, docker: &Docker) -> Vec<String> {
    let names = |folder: &std::path::Path| {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names.join(" ")
    };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let folder = daemon.host.trim_start_matches("unix://").trim_end_matches("/run/docker.sock").to_owned();
    let of_daemon = mounts.lines().filter(|line| line.contains(&folder)).count();
    vec![
        format!("containers: {}", docker_says(&daemon.host, &["ps", "--all", "--quiet"])),
        format!("volumes: {}", docker_says(&daemon.host, &["volume", "ls", "--quiet"])),
        format!("mounts: {of_daemon}"),
        format!("processes: {}", boxed_processes(daemon)),
        format!("shims: {}", shims(&folder)),
        format!("base: {}", names(&docker.base())),
        format!("boxes: {}", names(&docker.base().join(".boxes"))),
        format!("trash: {}", names(&docker.base().join(".trash"))),
    ]
}

fn living() -> impl Iterator<Item = std::path::PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:")) && !status.contains("State:\tZ")
    })
}

/// Processes in containers of this daemon: all of them are below its own control group.
fn boxed_processes(daemon: &Daemon) -> usize {
    let command = std::fs::read(format!("/proc/{}/cmdline", daemon.pid())).unwrap();
    let command = String::from_utf8(command).unwrap();
    let group = command.split('\0').skip_while(|word| *word != "--cgroup-parent").nth(1).unwrap().to_owned();
    living()
        .filter(|path| {
            std::fs::read_to_string(path.join("cgroup")).is_ok_and(|groups| groups.contains(&group))
        })
        .count()
}

fn shims(folder: &str) -> usize {
    living()
        .filter(|path| {
            let command = std::fs::read(path.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).into_owned();
            command.contains("containerd-shim") && command.contains(folder)
        })
        .count()
}

async fn cycle(daemon: &Daemon, docker: &Docker, turn: u32) {
    let reuse = if turn.is_multiple_of(2) { Reuse::Recreate } else { Reuse::Reconnect };
    let opened = docker.open_with(DockerConfig { reuse, ..config() }).await.unwrap();
    assert_eq!(text(&opened.run("echo hi; echo x > file").await), "hi");
    let start = Start { command: Command::script("sleep 1000 & sleep 1000"), pty: None };
    opened.shell().start(start).await.unwrap();
    match turn % 5 {
        // Killed from outside, and opened again.
        1 => {
            docker_says(&daemon.host, &["kill", &containers_of(&daemon.host, opened.id)[0]]);
            let again = docker.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
            assert_eq!(text(&run_in(again.as_ref(), "cat file").await), "x");
            again.close().await.unwrap();
            opened.workspace.close().await.unwrap();
        }
        // Nobody closes it: the reaper does.
        2 => {
            drop(opened.workspace);
            docker.provider.reap(&BTreeSet::new()).await.unwrap();
        }
        _ => opened.workspace.close().await.unwrap(),
    }
    docker.provider.destroy(opened.id, &opened.reference).await.unwrap();
}

// I9
#[tokio::test]
async fn fifty_cycles_of_open_run_kill_and_close_leave_nothing() {
    let daemon = Daemon::start(&[]);
    let docker = Docker::at(&daemon.host, DaemonTimeouts::default());
    let before = census(&daemon, &docker);
    for begin in (0..50).step_by(5) {
        let turns = (begin..begin + 5).map(|turn| cycle(&daemon, &docker, turn));
        futures_util::future::join_all(turns).await;
    }
    assert_eq!(census(&daemon, &docker), before);
}

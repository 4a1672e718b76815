//! A supervisor that is killed in the middle of a run: its boxes end with it.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use warren_doors::Environment;
use warren_workspace::shell::{Command, Start};

use super::case::{Case, Kind};
use super::oracles::BoxProcesses;
use super::outside::program;
use crate::docker::daemon;
use crate::fixture::number_from_env;

const ROLE: &str = "WARREN_SECURITY_ROLE";
const OWN: &str = "security::supervisor::a_supervisor_that_is_killed_leaves_no_process";

// sec/S17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_is_killed_leaves_no_process() {
    match Environment::of_process().get(ROLE) {
        Some("sandbox") => supervise(Case::sandbox()).await,
        Some(_) => supervise(Case::docker()).await,
        None => {
            let sandboxes = number_from_env("WARREN_SECURITY_KILLS", 10);
            for _ in 0..sandboxes {
                kill_one("sandbox").await;
            }
            let containers = number_from_env("WARREN_SECURITY_CONTAINER_KILLS", 3);
            for _ in 0..containers {
                kill_one("docker").await;
            }
            println!(
                "sec/S17: {sandboxes} of {sandboxes} sandboxes and {containers} of {containers} containers left no process"
            );
        }
    }
}

/// In a process of its own: says where its box is, and runs until it is killed.
async fn supervise(case: Case) {
    let boxed = case.open().await;
    let namespace = boxed.says("readlink /proc/self/ns/pid").await;
    let script = "(setsid sleep 600 &); sleep 600 & sleep 600";
    boxed.shell().start(Start { command: Command::script(script), pty: None }).await.unwrap();
    println!("\nbox {namespace} {} {}", boxed.outer_user(), case.base().display());
    let _ = boxed.run("sleep 600").await;
}

async fn kill_one(role: &str) {
    let mut supervisor = program(std::env::current_exe().unwrap())
        .args([OWN, "--exact", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    let told =
        lines.map(Result::unwrap).find_map(|line| line.strip_prefix("box ").map(str::to_owned)).unwrap();
    let mut words = told.split(' ');
    let (namespace, user) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
    let base = PathBuf::from(words.next().unwrap());
    let processes = BoxProcesses::named(namespace.into(), user);
    // Its processes are there before: otherwise their absence afterwards would say nothing.
    let until = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while processes.alive().len() < 4 {
        assert!(tokio::time::Instant::now() < until, "{:?}", processes.alive());
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    processes.assert_gone().await;
    clean_up(&base, role).await;
}

/// What the next start of Warren finds and removes: groups of a sandbox, a container that has ended.
async fn clean_up(base: &std::path::Path, role: &str) {
    let kind = if role == "sandbox" { Kind::Sandbox } else { Kind::Docker };
    let folder = tempfile::TempDir::new().unwrap();
    let (mine, theirs) = (folder.path().join("base"), base.parent().unwrap());
    std::fs::rename(base, &mine).unwrap();
    std::fs::remove_dir_all(theirs).unwrap();
    let case = Case::below(kind, Environment::default(), folder);
    case.provider.reap(&Default::default()).await.unwrap();
    if role == "docker" {
        let instance = std::fs::read_to_string(mine.join(".instance")).unwrap();
        let label = format!("label=dev.warren.instance={instance}");
        let left = daemon::docker_says(daemon::shared(), &["ps", "--all", "--quiet", "--filter", &label]);
        assert_eq!(left, "", "the reaper has left a container");
    }
}

// control: sec/S17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_box_processes_outlive_a_supervisor_that_is_killed() {
    // A shell stands for the supervisor, and its child for a run that hid.
    let mut supervisor = program("sh")
        .args(["-c", "setsid sleep 600 & echo $!; wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(supervisor.stdout.take().unwrap()).read_line(&mut line).unwrap();
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let left = rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    rustix::process::test_kill_process(left).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}

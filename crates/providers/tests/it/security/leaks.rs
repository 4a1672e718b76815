//! Opening, running, killing and closing leaves nothing: no process, no mount, no control group, no folder, no container.

use std::collections::BTreeSet;
use std::path::Path;

use warren_workspace::shell::{Command, Start};

use super::case::{Case, Kind};
use super::in_each_box;
use super::oracles::BoxProcesses;
use crate::docker::daemon;
use crate::fixture::number_from_env;

in_each_box!(cycles_of_open_run_kill_and_close_leave_nothing);

/// What there is of this test's on the host. Others test at the same time, so that only what can be told apart counts.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    descriptors: usize,
    children: usize,
    threads: usize,
    mounts: BTreeSet<String>,
    groups: BTreeSet<String>,
    folders: BTreeSet<String>,
    containers: BTreeSet<String>,
}

impl Traces {
    fn of(case: &Case) -> Self {
        let base = case.base();
        let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        Self {
            descriptors: entries("/proc/self/fd"),
            children: children.split_whitespace().count(),
            threads: entries("/proc/self/task"),
            mounts: lines_of("/proc/self/mountinfo", base.parent().unwrap()),
            groups: groups_of(&base),
            folders: names(&base)
                .chain(names(&base.join(".boxes")))
                .chain(names(&base.join(".trash")))
                .collect(),
            containers: containers_of(case),
        }
    }
}

fn lines_of(file: &str, naming: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter(|line| line.contains(naming.to_str().unwrap())).map(str::to_owned).collect()
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().display().to_string())
}

/// Control groups of the sandboxes below `base`, in every hierarchy. The one that waits for the next box is counted as
/// one, whatever its number.
fn groups_of(base: &Path) -> BTreeSet<String> {
    let stat = rustix::fs::stat(base).unwrap();
    let name = format!("warren-box-{:x}-{:x}", stat.st_dev, stat.st_ino);
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let mut found = BTreeSet::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap(), parts.next().unwrap());
        let group =
            Path::new("/sys/fs/cgroup").join(controllers).join(path.trim_start_matches('/')).join(&name);
        let count = std::fs::read_dir(&group)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .count();
        found.insert(format!("{controllers}: {count}"));
    }
    found
}

fn containers_of(case: &Case) -> BTreeSet<String> {
    if case.kind == Kind::Sandbox {
        return BTreeSet::new();
    }
    let label = format!(
        "label=dev.warren.instance={}",
        std::fs::read_to_string(case.base().join(".instance")).unwrap()
    );
    let listed = daemon::docker_says(daemon::shared(), &["ps", "--all", "--quiet", "--filter", &label]);
    listed.lines().map(str::to_owned).collect()
}

async fn cycle(case: &Case, number: u64) {
    let boxed = case.open().await;
    let processes = BoxProcesses::of(&boxed).await;
    let background = Start { command: Command::script("(setsid sleep 600 &); sleep 600"), pty: None };
    boxed.shell().start(background).await.unwrap();
    boxed.run("echo x > file; dd if=/dev/zero of=/tmp/f bs=1024 count=64 2>/dev/null").await;
    // Every other one dies by itself, or rather by a hand from outside.
    if number.is_multiple_of(2) && case.kind == Kind::Sandbox {
        for process in processes.alive() {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    } else if number.is_multiple_of(2) {
        let container = daemon::containers_of(daemon::shared(), boxed.id).remove(0);
        daemon::docker(daemon::shared(), &["kill", &container]);
    }
    boxed.close().await;
    processes.assert_gone().await;
    case.provider.destroy(boxed.id, &boxed.reference).await.unwrap();
}

// W16
async fn cycles_of_open_run_kill_and_close_leave_nothing(case: Case) {
    // The first makes what is made once.
    cycle(&case, 0).await;
    cycle(&case, 1).await;
    case.provider.reap(&Default::default()).await.unwrap();
    let before = Traces::of(&case);
    let cycles = number_from_env("WARREN_SECURITY_CYCLES", if case.kind == Kind::Sandbox { 20 } else { 5 });
    for number in 0..cycles {
        cycle(&case, number).await;
    }
    case.provider.reap(&Default::default()).await.unwrap();
    // Threads that wait for more work, and connections that are being closed, have a moment.
    let mut after = Traces::of(&case);
    for _ in 0..500 {
        if after.descriptors <= before.descriptors
            && after.groups == before.groups
            && after.threads <= before.threads
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        after = Traces::of(&case);
    }
    println!("leak check: {cycles} cycles of {:?}: before {before:?}, after {after:?}", case.kind);
    assert!(after.descriptors <= before.descriptors, "{} {}", before.descriptors, after.descriptors);
    assert!(after.threads <= before.threads, "{} {}", before.threads, after.threads);
    let rest =
        |traces: Traces| (traces.children, traces.mounts, traces.groups, traces.folders, traces.containers);
    assert_eq!(rest(after), rest(before));
}

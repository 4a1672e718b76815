//! Ways around the wall that are no system call of the table: descriptors that are handed over, files of process 1, control
//! groups, second names, and groups of the host.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use warren_model::MountMode;
use warren_workspace::shell::{Command, Poll, Start};

use super::case::{Boxed, Case, Shape};
use super::in_each_box;
use super::oracles::{SECRET, assert_no_canary};
use super::outside::{as_user, program, require_root, says};
use super::probe::{self, results};

in_each_box!(
    no_directory_is_handed_from_box_to_box,
    process_1_shows_and_takes_nothing,
    no_control_group_can_be_left,
    nothing_outside_of_the_workspace_gets_a_second_name_in_it,
    no_program_of_the_hosts_groups_can_be_made_in_a_shared_folder,
    a_crash_hands_nothing_to_the_hosts_handler_of_core_dumps,
);

/// Listens in a box; answers once it does.
async fn listening(boxed: &Boxed, address: &str) {
    let start = Start { command: Command::argv([probe::IN_BOX, "listen", address]), pty: None };
    let started = boxed.shell().start(start).await.unwrap();
    let poll = Poll { offset: 0, max_bytes: 100, wait_ms: 10_000 };
    let said = boxed.shell().poll(started.id, poll).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&said.bytes).trim(), "listen ok", "{address}");
}

// sec/B09
async fn no_directory_is_handed_from_box_to_box(case: Case) {
    let shared = case.beside("shared");
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
    let shape = Shape::default().with_mount(&shared, "/shared", MountMode::Rw);
    let (one, other) = (case.open_with(&shape).await.unwrap(), case.open_with(&shape).await.unwrap());
    one.run(&format!("echo {SECRET} > canary-file; echo here > /shared/note")).await;
    assert_eq!(other.says("cat /shared/note").await, "here", "the folder is shared");
    for address in ["unix:/shared/socket", "abstract:box-to-box", "unix:/workspace/socket"] {
        listening(&one, address).await;
        // The control: within one box it is handed over, and shows what is there.
        let own = one.probe(&["take", address]).await;
        assert!(own.contains("found canary-file") && own.contains("take ok"), "{address}: {own}");
        let told = other.probe(&["take", address]).await;
        assert!(!told.contains("canary-file") && !told.contains("take ok"), "{address}: {told}");
    }
}

// sec/B10
async fn process_1_shows_and_takes_nothing(case: Case) {
    let boxed = case.open().await;
    let reading = "for f in mem maps environ auxv fd/0 fd/3 fd/4 cwd/. root/. exe map_files/. task/1/mem task/1/environ; do \
                   head -c 1 /proc/1/$f >/dev/null 2>&1 && echo read $f; done; for f in /proc/1/fd/* /proc/1/cwd/* /proc/1/root/*; do [ -e $f ] && echo found $f; done; \
                   for f in mem oom_score_adj clear_refs comm uid_map gid_map setgroups autogroup timerslack_ns; do \
                   (echo 1 > /proc/1/$f) 2>/dev/null && echo wrote $f; done; true";
    let said = boxed.says(reading).await;
    assert_eq!(said, "", "of process 1");
    // The control: a process of its own is open to it.
    let own = reading.replace("/proc/1/", "/proc/self/");
    let own = boxed.says(&own).await;
    assert!(own.contains("read maps") && own.contains("read environ"), "{own}");
}

// sec/B11
async fn no_control_group_can_be_left(case: Case) {
    let boxed = case.open().await;
    let look = "for f in $(find / -xdev -name 'cgroup.*' 2>/dev/null; find /sys -name 'cgroup.*' -o -name tasks 2>/dev/null); do \
                (echo 0 > $f) 2>/dev/null && echo wrote $f; done; mkdir /sys/fs/cgroup/own 2>/dev/null && echo made; \
                mount -t cgroup2 none /tmp 2>/dev/null && echo mounted; true";
    assert_eq!(boxed.says(look).await, "");
    assert_eq!(
        boxed.says("grep -c . /proc/self/cgroup").await.parse::<u32>().map(|lines| lines > 0),
        Ok(true)
    );
}

// control: sec/B11
#[test]
fn outside_of_a_box_root_moves_between_control_groups() {
    require_root("writes the list of its own control group");
    // To where it is already: allowed, and without effect.
    let places = [
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/pids/cgroup.procs",
        "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/unified/cgroup.procs",
    ];
    let writable = places.iter().filter(|place| std::fs::OpenOptions::new().append(true).open(place).is_ok());
    assert!(writable.count() > 0, "no control group of the host can be written");
}

// sec/B12
async fn nothing_outside_of_the_workspace_gets_a_second_name_in_it(case: Case) {
    let folder = case.beside("readable");
    std::fs::write(folder.join("file"), SECRET).unwrap();
    let shape = Shape::default().with_mount(&folder, "/readable", MountMode::Ro);
    let boxed = case.open_with(&shape).await.unwrap();
    let links = "for f in /readable/file /probe /etc/passwd /bin/busybox /usr/bin/env /proc/self/exe /proc/1/exe /.warren/*; do \
                 ln $f /workspace/$(echo $f | tr / _) 2>/dev/null && echo linked $f; \
                 ln -L $f /tmp/$(echo $f | tr / _) 2>/dev/null && echo linked $f; done; true";
    assert_eq!(boxed.says(links).await, "");
    for file in [folder.join("file"), probe::path().to_owned()] {
        let names = std::fs::metadata(&file).unwrap().nlink();
        // Cargo gives what it builds two names of its own.
        assert!(names <= 2, "{}: {names}", file.display());
    }
    // The control: what is its own gets one.
    assert_eq!(boxed.says("echo x > own; ln own again && cat again").await, "x");
}

// sec/B13
async fn no_program_of_the_hosts_groups_can_be_made_in_a_shared_folder(case: Case) {
    require_root("makes a folder of another group");
    const GROUP: u32 = 54_321;
    let shared = case.beside("shared");
    std::os::unix::fs::chown(&shared, None, Some(GROUP)).unwrap();
    // What is made there is of its group.
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o2777)).unwrap();
    let shape = Shape::default().with_mount(&shared, "/shared", MountMode::Rw);
    let boxed = case.open_with(&shape).await.unwrap();
    boxed
        .run(
            "cd /shared; cp /probe made; chmod 2755 made; chmod 6777 made; cp /probe later; mkdir folder; chmod 2777 folder; \
             cp /probe folder/deep; chmod g+s folder/deep; chgrp 0 later; chmod 6755 later",
        )
        .await;
    for name in ["made", "later", "folder/deep"] {
        let facts = std::fs::metadata(shared.join(name)).unwrap();
        let takes_a_group = facts.mode() & 0o2010 == 0o2010 && facts.gid() < 100_000;
        assert!(!takes_a_group, "{name} is of group {} with mode {:o}", facts.gid(), facts.mode());
        let takes_a_user = facts.mode() & 0o4000 != 0 && facts.uid() < 100_000;
        assert!(!takes_a_user, "{name} is of user {} with mode {:o}", facts.uid(), facts.mode());
    }
    assert_no_canary(&boxed.says("cat /shared/../outside/secret").await, SECRET);
}

// control: sec/B13
#[test]
fn a_member_of_the_group_can_make_such_a_program() {
    const GROUP: u32 = 54_321;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let made = folder.path().join("made");
    let script = format!("cp /bin/true {0} && chmod 2755 {0}", made.display());
    says(as_user(GROUP, "sh").arg("-c").arg(script));
    assert_eq!(std::fs::metadata(&made).unwrap().mode() & 0o2010, 0o2010);
}

/// The kernel pipes a core dump to the host's handler whatever the limit is, but for this one. The handler itself cannot be
/// tried here: `kernel.core_pattern` is one for the whole host, and other tests crash programs too.
const NOTHING_IS_PIPED: &str = "1 1";

// sec/B14
async fn a_crash_hands_nothing_to_the_hosts_handler_of_core_dumps(case: Case) {
    let boxed = case.open().await;
    let told = results(&boxed.probe(&["cores"]).await);
    assert_eq!(told.len(), 12, "{told:?}");
    for (way, limit) in told {
        assert_eq!(limit, NOTHING_IS_PIPED, "{way}");
    }
    // Those who want no core file are not kept from their work, and other limits are theirs to lower.
    let said = boxed.says("set -e; ulimit -c 0; ulimit -n 77; ulimit -n").await;
    assert_eq!(said, "77");
    // Of a process that somebody started, and of one that process 1 did not start itself.
    let said = boxed.says("sh -c 'grep \"Max core\" /proc/self/limits'").await;
    assert_eq!(said.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["1", "1"], "{said}");
}

// control: sec/B14
#[test]
fn outside_of_a_box_a_program_lowers_the_limit_to_the_one_with_which_its_core_is_piped() {
    let mut command = program("prlimit");
    let told = results(&says(command.args(["--core=1:1", "--"]).arg(probe::path()).arg("cores")));
    assert_eq!(told["setrlimit_nothing"], "0 1");
    assert_eq!(told["prlimit_nothing_high"], "0 1");
}

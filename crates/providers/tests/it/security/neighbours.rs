//! Two workspaces of one Warren: neither knows of the other.

use warren_workspace::shell::{Command, Poll, ProcessState, Start};

use super::case::Case;
use super::in_each_box;
use super::oracles::{SECRET, assert_no_canary};
use super::probe::results;

in_each_box!(
    a_second_workspace_sees_nothing_of_the_first_and_cannot_harm_it,
    system_v_objects_end_with_the_last_command,
);

const KEY: &str = "77123";
const SYSTEM_V: [&str; 3] = ["shared_memory", "message_queue", "semaphores"];

// sec/S20
async fn a_second_workspace_sees_nothing_of_the_first_and_cannot_harm_it(case: Case) {
    let (first, second) = (case.open().await, case.open().await);
    first
        .run(&format!(
            "for file in f /tmp/f /dev/shm/f; do echo {SECRET} > $file; chmod 777 $file; done; chmod 777 ."
        ))
        .await;
    // While a process lives, so do System V objects.
    let sleeper = Start { command: Command::argv(["sleep", "600"]), pty: None };
    let sleeper = first.shell().start(sleeper).await.unwrap();
    let made = results(&first.probe(&["ipc", "make", KEY]).await);
    assert_eq!(made["shared_memory"], "ok", "{made:?}");
    let outer = first.root.display();
    for script in [
        format!("cat {outer}/f"),
        format!("cat /proc/1/root{outer}/f /proc/*/root/f /proc/*/cwd/f"),
        format!("ls -R {outer}/.. ; cat /workspace/../{}/f", first.id),
        "cat /tmp/f /dev/shm/f; ls -laR /tmp /dev/shm".into(),
        "cat /proc/*/cmdline /proc/*/environ; ps; cat /proc/sysvipc/*".into(),
        "cat /dev/mem /dev/kmem /dev/sd* /dev/vd* /proc/kcore | head -c 1000".into(),
        "ln -s / r; cat r/../f; find / -xdev -name f -type f -exec cat {} +".into(),
    ] {
        assert_no_canary(&second.says(&script).await, SECRET);
    }
    for (name, result) in results(&second.probe(&["ipc", "find", KEY]).await) {
        assert_ne!(result, "ok", "{name}");
    }
    // Everything that it may signal is its own.
    second.run("kill -9 -1").await;
    second.run("i=2; while [ $i -lt 5000 ]; do kill -9 $i; i=$((i+1)); done 2>/dev/null").await;
    let listed = first.shell().list().await.unwrap();
    let state = &listed.iter().find(|one| one.id == sleeper.id).unwrap().state;
    assert_eq!(*state, ProcessState::Running, "the neighbour's process was signalled");
    assert_eq!(first.says("cat f").await, SECRET);
    case.outside.assert_untouched();
}

// control: sec/S20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_commands_of_one_workspace_see_each_other() {
    for case in [Case::sandbox(), Case::docker()] {
        let boxed = case.open().await;
        boxed.run(&format!("echo {SECRET} > /tmp/f")).await;
        let sleeper = Start { command: Command::argv(["sleep", "600"]), pty: None };
        let sleeper = boxed.shell().start(sleeper).await.unwrap();
        boxed.probe(&["ipc", "make", KEY]).await;
        assert_eq!(boxed.says("cat /tmp/f").await, SECRET);
        let found = results(&boxed.probe(&["ipc", "find", KEY]).await);
        for kind in SYSTEM_V {
            assert_eq!(found[kind], "ok", "{kind}");
        }
        boxed.run("kill -9 -1").await;
        // Its end is told as soon as process 1 has heard of it.
        let wait = Poll { offset: 0, max_bytes: 1, wait_ms: 20_000 };
        let polled = boxed.shell().poll(sleeper.id, wait).await.unwrap();
        assert_ne!(polled.state, ProcessState::Running);
    }
}

// sec/S15, W32: they take memory that nobody could give back. Its control is above: while a process lives they stay.
async fn system_v_objects_end_with_the_last_command(case: Case) {
    let boxed = case.open().await;
    for _ in 0..3 {
        let made = results(&boxed.probe(&["ipc", "make", KEY]).await);
        let found = results(&boxed.probe(&["ipc", "find", KEY]).await);
        for kind in SYSTEM_V {
            assert_eq!((made[kind].as_str(), found[kind].as_str()), ("ok", "ENOENT"), "{kind}");
        }
    }
    // One by one, as many as there may be.
    let many =
        "i=1; while [ $i -lt 60 ]; do /probe ipc make $i; i=$((i+1)); done; tail -n +2 -q /proc/sysvipc/*";
    assert!(boxed.says(many).await.lines().filter(|line| line.starts_with(' ')).count() > 150);
    assert_eq!(boxed.says("tail -n +2 -q /proc/sysvipc/*").await, "");
}

//! Two workspaces of one Warren: neither knows of the other.

use warren_workspace::shell::{Command, Poll, ProcessState, Start};

use super::case::Case;
use super::in_each_box;
use super::oracles::{SECRET, assert_no_canary};
use super::probe::results;

in_each_box!(a_second_workspace_sees_nothing_of_the_first_and_cannot_harm_it);

const KEY: &str = "77123";

// sec/S20
async fn a_second_workspace_sees_nothing_of_the_first_and_cannot_harm_it(case: Case) {
    let (first, second) = (case.open().await, case.open().await);
    first
        .run(&format!(
            "for file in f /tmp/f /dev/shm/f; do echo {SECRET} > $file; chmod 777 $file; done; chmod 777 ."
        ))
        .await;
    let made = results(&first.probe(&["ipc", "make", KEY]).await);
    assert_eq!(made["shared_memory"], "ok", "{made:?}");
    let sleeper = Start { command: Command::argv(["sleep", "600"]), pty: None };
    let sleeper = first.shell().start(sleeper).await.unwrap();
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
        boxed.probe(&["ipc", "make", KEY]).await;
        assert_eq!(boxed.says("cat /tmp/f").await, SECRET);
        assert_eq!(results(&boxed.probe(&["ipc", "find", KEY]).await)["message_queue"], "ok");
        let sleeper = Start { command: Command::argv(["sleep", "600"]), pty: None };
        let sleeper = boxed.shell().start(sleeper).await.unwrap();
        boxed.run("kill -9 -1").await;
        // Its end is told as soon as process 1 has heard of it.
        let wait = Poll { offset: 0, max_bytes: 1, wait_ms: 20_000 };
        let polled = boxed.shell().poll(sleeper.id, wait).await.unwrap();
        assert_ne!(polled.state, ProcessState::Running);
    }
}

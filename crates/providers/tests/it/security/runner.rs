//! The runner of a resident agent, which has the user of the programs in its box and a line to Warren that they have not.

use std::time::Duration;

use futures_util::StreamExt as _;
use warren_workspace::shell::{Command, Dialog, RunEvent};

use super::case::{Boxed, Case};
use super::in_each_box;
use super::oracles::SECRET;
use super::probe::{self, results};

in_each_box!(programs_get_nothing_of_the_runner_that_they_wait_for);

const STARTS: usize = 5;

/// Starts the runner as Warren does, gives it a token, and waits until it asks Warren to register with it.
async fn start_runner(boxed: &Boxed) -> Dialog {
    let runner = boxed.shell().runner().unwrap();
    let command = Command::argv([runner, "run", "--", "/bin/cat"]);
    let mut talk = boxed.shell().open_dialog(command).await.unwrap();
    talk.input.send(format!("{SECRET}\n").into()).await.unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"\n") {
        match talk.events.next().await.unwrap().unwrap() {
            RunEvent::Stdout(piece) => said.extend_from_slice(&piece),
            other => panic!("{other:?}"),
        }
    }
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("/registry/register") && said.contains(SECRET), "it has its token: {said}");
    talk
}

// sec/B15
async fn programs_get_nothing_of_the_runner_that_they_wait_for(case: Case) {
    let boxed = case.open().await;
    let name = boxed.shell().runner().unwrap().rsplit('/').next().unwrap();
    // It is there before the first runner, and tries each from its first moment on.
    let starts = async {
        for _ in 0..STARTS {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let talk = start_runner(&boxed).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            drop(talk);
        }
    };
    let attack = ["steal", name, "6000"];
    let (told, ()) = tokio::join!(boxed.probe(&attack), starts);
    let taken = results(&told);
    assert!(taken["seen"].parse::<usize>().unwrap() >= STARTS, "{told}");
    for way in ["input", "output", "memory", "variables", "handed"] {
        assert_eq!(taken[way], "0", "{told}");
    }
    let _talk = start_runner(&boxed).await;
    let files = format!("grep -rl {SECRET} /tmp /var/tmp /workspace /dev/shm 2>/dev/null; true");
    assert_eq!(boxed.says(&files).await, "", "its token is in no file");
    let runner = boxed.shell().runner().unwrap();
    let copied = boxed.says(&format!("cp {runner} copy 2>/dev/null; ls copy 2>/dev/null; true")).await;
    assert_eq!(copied, "", "a copy that could be read would be open to them");
}

// control: sec/B15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_does_not_hide_is_open_to_others_of_its_box() {
    for case in [Case::sandbox(), Case::docker()] {
        let boxed = case.open().await;
        let told = boxed.says(&format!("sleep 3 | cat & {} steal sleep 1500; wait", probe::IN_BOX)).await;
        let taken = results(&told);
        for way in ["seen", "output", "variables"] {
            assert_ne!(taken[way], "0", "{told}");
        }
    }
}

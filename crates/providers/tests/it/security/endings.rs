//! Commands that do not want to end, and commands that say too much.

use std::time::Duration;

use tokio::time::Instant;
use warren_model::ProviderConfig;
use warren_workspace::shell::{Command, RunResult};

use super::case::{Boxed, Case, Shape};
use super::in_each_box;
use super::oracles::BoxProcesses;
use super::outside::program;
use super::probe::{self, results};
use crate::fixture::{new_id, number_from_env, resident_bytes};

in_each_box!(
    a_program_that_holds_process_1_gains_no_time,
    a_signal_that_claims_to_come_from_outside_does_not_end_the_box,
    programs_that_refuse_to_end_are_gone_soon_after_their_deadline,
    endless_output_is_capped_and_costs_no_memory,
    a_callers_timeout_is_clamped_to_the_configured_one,
);

const DEADLINE_MS: u64 = 500;
/// What the case allows past a deadline, and as much again for a busy machine.
const GRACE: Duration = Duration::from_secs(4);

async fn run_to_its_deadline(boxed: &Boxed, script: &str) -> RunResult {
    let began = Instant::now();
    let result = boxed.run_within(script, DEADLINE_MS).await;
    let late = began.elapsed().saturating_sub(Duration::from_millis(DEADLINE_MS));
    assert!(late < GRACE, "{script}: {late:?} after its deadline");
    assert!(result.timed_out, "{script}: {result:?}");
    result
}

// W32
async fn a_callers_timeout_is_clamped_to_the_configured_one(case: Case) {
    let mut config = case.config(&Shape::default());
    match &mut config {
        ProviderConfig::Sandbox(config) => config.max_timeout_ms = DEADLINE_MS,
        ProviderConfig::Docker(config) => config.max_timeout_ms = DEADLINE_MS,
        other => panic!("{other:?}"),
    }
    let boxed = case.open_as(new_id(), config).await.unwrap();
    for timeout_ms in [None, Some(3_600_000), Some(u64::MAX)] {
        let command = Command { timeout_ms, ..Command::argv(["sleep", "3600"]) };
        let result = boxed.shell().run(command).await.unwrap();
        assert!(result.timed_out && result.duration_ms < 60_000, "{timeout_ms:?}: {result:?}");
    }
}

// sec/S13
async fn a_signal_that_claims_to_come_from_outside_does_not_end_the_box(case: Case) {
    let boxed = case.open().await;
    let processes = BoxProcesses::of(&boxed).await;
    let before = processes.alive();
    let tried = results(&boxed.probe(&["forge", "1"]).await);
    assert_eq!(tried.len(), 13, "{tried:?}");
    assert_eq!(boxed.says("echo alive").await, "alive");
    assert!(before.iter().all(|process| processes.alive().contains(process)), "it is the same box");
}

// control: sec/S13: to a process that does not look at who asks, the same signals are its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_signals_end_another_process_of_the_box() {
    for case in [Case::sandbox(), Case::docker()] {
        let boxed = case.open().await;
        let said = boxed.says("sleep 60 & /probe forge $! > /dev/null; wait $!; echo $?").await;
        // The shell says so in words too, before or after.
        assert!(said.lines().any(|line| line == "143"), "{said}");
    }
}

// sec/S13
async fn a_program_that_holds_process_1_gains_no_time(case: Case) {
    let boxed = case.open().await;
    let processes = BoxProcesses::of(&boxed).await;
    let result = run_to_its_deadline(&boxed, "/probe hold 1").await;
    let said = results(&String::from_utf8_lossy(&result.stdout.bytes));
    assert_eq!((said["seize"].as_str(), said["attach"].as_str()), ("EPERM", "EPERM"));
    // The same by a debugger's own way in, and by closing time nothing is left.
    run_to_its_deadline(&boxed, "(kill -STOP 1; kill -KILL 1; echo 1 > /proc/1/comm) 2>/dev/null; sleep 100")
        .await;
    boxed.close().await;
    processes.assert_gone().await;
}

// control: sec/S13
#[test]
fn outside_of_a_box_process_1_of_a_namespace_can_be_held() {
    let script = format!(
        "sleep 30 & {} hold $! & sleep 0.3; grep ^State /proc/$!/../$(pgrep -o sleep)/status; kill %1 %2",
        probe::path().display()
    );
    let mut command = program("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", &script]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("seize ok") && said.contains("interrupt ok"), "{said} {output:?}");
}

// sec/S18
async fn programs_that_refuse_to_end_are_gone_soon_after_their_deadline(case: Case) {
    let boxed = case.open_with(&Shape::limited(|limits| limits.pids = 2_000)).await.unwrap();
    let processes = BoxProcesses::of(&boxed).await;
    let at_rest = processes.alive().len();
    for script in [
        "trap '' TERM INT HUP QUIT; while :; do sleep 1; done",
        "kill -STOP $$",
        "sleep 100 & kill -STOP $!; trap '' TERM; wait",
        "/probe crowd dead 1000",
        "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & (setsid sleep 100 &) ; sleep 100",
    ] {
        run_to_its_deadline(&boxed, script).await;
        processes.assert_at_most(at_rest).await;
        assert_eq!(boxed.says("echo fine").await, "fine");
    }
    boxed.close().await;
    processes.assert_gone().await;
}

// control: sec/S18
#[test]
fn outside_of_a_box_such_a_program_outlives_a_polite_request() {
    let mut child = program("sh")
        .args(["-c", "trap '' TERM; echo ready; exec sleep 60"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // It is asked again and again, and is still there each time.
    for _ in 0..50 {
        std::thread::yield_now();
        assert!(child.try_wait().unwrap().is_none());
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

// sec/S19
async fn endless_output_is_capped_and_costs_no_memory(case: Case) {
    const CAP: u64 = 64 << 10;
    let megabytes = number_from_env("WARREN_SECURITY_OUTPUT_MB", 256);
    let boxed = case.open_with(&Shape { max_output_bytes: CAP, ..Shape::default() }).await.unwrap();
    boxed.run("true").await;
    let before = resident_bytes();
    let script = format!("dd if=/dev/zero bs=1048576 count={megabytes} 2>/dev/null");
    let command = Command { timeout_ms: Some(120_000), ..Command::script(script) };
    let result = boxed.shell().run(command).await.unwrap();
    assert_eq!((result.exit_code, result.stdout.total_bytes), (Some(0), megabytes << 20));
    // Head, tail, and the line that says what is missing.
    assert!(result.stdout.truncated && (result.stdout.bytes.len() as u64) < CAP + 256);
    let result =
        boxed.run("yes | head -n 1000000; yes >&2 | head -n 1 & sleep 0.1; kill $! 2>/dev/null; true").await;
    assert!(result.stdout.total_bytes >= 2_000_000, "{}", result.stdout.total_bytes);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 32 << 20, "the supervisor has grown by {} MB", grown >> 20);
    println!("sec/S19: {megabytes} MB said, {CAP} bytes kept, supervisor + {} kB", grown >> 10);
}

// control: sec/S19
#[test]
fn a_supervisor_that_keeps_everything_grows_with_the_output() {
    let before = resident_bytes();
    let output = program("dd").args(["if=/dev/zero", "bs=1048576", "count=64"]).output().unwrap();
    let grown = resident_bytes().saturating_sub(before);
    assert!(output.stdout.len() == 64 << 20 && grown > 32 << 20, "{grown}");
}

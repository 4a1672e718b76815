//! W30–W33 on the host: nothing is left behind, nothing leaks, nothing grows.

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use warren_doors::Environment;
use warren_model::{ErrorCode, LocalConfig, ProviderConfig};
use warren_workspace::shell::{Command, Poll, ProcessState, RunEvent, Start};
use warren_workspace::{OpenRequest, Provider};

use crate::fixture::{Local, assert_code, new_id, path, resident_bytes};

/// A nap that no other run of these tests takes, as an argument of `sleep` by which it can be found.
fn nap(number: u32) -> String {
    format!("{number}.{}", std::process::id())
}

/// Oracle C: processes whose command line holds `needle`, other than zombies.
fn processes_with(needle: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let directory = entry.ok()?.path();
            let command = std::fs::read(directory.join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).into_owned();
            command.contains(needle).then_some(command)
        })
        .collect()
}

async fn assert_gone(needle: &str) {
    for _ in 0..100 {
        if processes_with(needle).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("still there: {:?}", processes_with(needle));
}

// W32: each of these survives a plain kill of the child; none survives us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_leaves_no_child_however_it_hides() {
    let local = Local::open().await;
    for (case, script) in [
        ("in the background", "sleep 7001 & wait"),
        ("in its own session", "setsid sleep 7001 & wait"),
        ("daemonized", "(setsid sleep 7001 >/dev/null 2>&1 </dev/null &) ; sleep 7001"),
        ("ignoring signals", "trap '' TERM INT HUP; while :; do sleep 7001; done"),
        ("stopped", "sh -c 'kill -STOP $$; sleep 7001' & wait"),
        ("deep", "sh -c 'sh -c \"setsid sh -c \\\"sleep 7001\\\" & wait\" & wait' & wait"),
        ("without environment", "env -i setsid sleep 7001 & wait"),
    ] {
        let script = script.replace("7001", &nap(7001));
        let command = Command { timeout_ms: Some(300), ..Command::script(script) };
        let started = Instant::now();
        let result = local.shell().run(command).await.unwrap();
        assert!(result.timed_out, "{case}");
        assert!(started.elapsed() < Duration::from_secs(20), "{case}");
        assert_eq!(processes_with(&nap(7001)), Vec::<String>::new(), "{case}");
    }
}

// W32: also what a command leaves behind when it ends by itself.
#[tokio::test]
async fn a_command_that_ends_leaves_nothing_behind() {
    let local = Local::open().await;
    let script = "(setsid sleep 7002 >/dev/null 2>&1 </dev/null &); sleep 7002 & echo done";
    let script = script.replace("7002", &nap(7002));
    let result = local.shell().run(Command::script(script)).await.unwrap();
    assert_eq!((result.exit_code, result.stdout.bytes.as_ref()), (Some(0), &b"done\n"[..]));
    assert!(processes_with(&nap(7002)).is_empty());
}

// W32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stops_waiting_ends_the_command() {
    let local = Local::open().await;
    let script = "setsid sleep 7003 & sleep 7003".replace("7003", &nap(7003));
    let run = local.shell().run(Command::script(script));
    assert!(tokio::time::timeout(Duration::from_millis(500), run).await.is_err());
    assert_gone(&nap(7003)).await;
}

/// The control: without us, a child in its own session does survive its parent.
#[tokio::test]
async fn control_a_child_in_its_own_session_survives_a_group_kill() {
    let local = Local::open().await;
    let start = Start {
        command: Command::script(
            "setsid sh -c 'echo $$; exec sleep 7004' & wait".replace("7004", &nap(7004)),
        ),
        pty: None,
    };
    let info = local.shell().start(start).await.unwrap();
    let poll = Poll { offset: 0, max_bytes: 100, wait_ms: 10_000 };
    let polled = local.shell().poll(info.id, poll).await.unwrap();
    let child: i32 = String::from_utf8_lossy(&polled.bytes).trim().parse().unwrap();
    let child = rustix::process::Pid::from_raw(child).unwrap();
    let group = rustix::process::getpgid(Some(child)).unwrap();
    assert_eq!(group, child, "it leads a group of its own, which a kill of its parent's group misses");
    local.workspace.close().await.unwrap();
    assert!(processes_with(&nap(7004)).is_empty());
}

// W32
#[tokio::test]
async fn a_callers_timeout_is_clamped_to_the_configured_one() {
    let config = LocalConfig { max_timeout_ms: 200, ..LocalConfig::default() };
    let local = Local::open_with(config, Environment::default()).await;
    for timeout_ms in [None, Some(3_600_000), Some(u64::MAX)] {
        let command = Command { timeout_ms, ..Command::argv(["sleep", "7005"]) };
        let result = local.shell().run(command).await.unwrap();
        assert!(result.timed_out && result.duration_ms < 30_000);
    }
}

// W31, S19 (security): 100 MB of output, in memory for its head and tail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_of_output_are_counted_and_not_kept() {
    let local = Local::open().await;
    let before = resident_bytes();
    let command = Command::script("head -c 104857600 /dev/zero | tr '\\0' x");
    let result = local.shell().run(command).await.unwrap();
    assert_eq!(result.stdout.total_bytes, 100 << 20);
    assert!(result.stdout.truncated && result.stdout.bytes.len() < 70_000);
    assert!(resident_bytes().saturating_sub(before) < 64 << 20, "memory grew with the output");
}

// W30: a reader that does not read stops the program, not the memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_of_a_stream_slows_the_command() {
    let local = Local::open().await;
    let command = Command::script("head -c 52428800 /dev/zero; echo end > finished");
    let mut stream = local.shell().stream(command).await.unwrap();
    stream.next().await.unwrap().unwrap();
    let before = resident_bytes();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(resident_bytes().saturating_sub(before) < 40 << 20);
    assert_code(local.get("finished").await, ErrorCode::FileNotFound);
    let mut total = 0;
    while let Some(event) = stream.next().await {
        if let RunEvent::Finished(result) = event.unwrap() {
            total = result.stdout.total_bytes;
        }
    }
    assert_eq!(total, 52_428_800);
}

// W33, S04 (security): a planted secret is nowhere in what a command can see of itself.
#[tokio::test]
async fn host_secrets_do_not_leak_by_default() {
    let planted: Environment =
        [("CANARY", "canary-7f3a"), ("AWS_SECRET_ACCESS_KEY", "canary-7f3a"), ("ALLOWED", "may be seen")]
            .into_iter()
            .collect();
    let config = LocalConfig { pass_env: vec!["ALLOWED".into()], ..LocalConfig::default() };
    let local = Local::open_with(config, planted).await;
    let look = "env; cat /proc/self/environ /proc/$$/environ /proc/$$/cmdline | tr '\\0' '\\n'";
    let result = local.shell().run(Command::script(look)).await.unwrap();
    let seen = String::from_utf8_lossy(&result.stdout.bytes).into_owned();
    assert!(!seen.contains("canary-7f3a"), "{seen}");
    assert!(seen.contains("ALLOWED=may be seen"), "{seen}");
    assert!(seen.contains(&format!("HOME={}", local.root().canonicalize().unwrap().display())), "{seen}");
}

// W33, S05 (security): descriptors that Warren itself was started with do not pass through.
#[tokio::test]
async fn a_command_has_no_descriptors_but_its_own_three() {
    let local = Local::open().await;
    let held = std::fs::File::open(local.outside().join("secret")).unwrap();
    // As if inherited: not close-on-exec. The control is that the flag really is off.
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
    assert!(rustix::io::fcntl_getfd(&held).unwrap().is_empty());
    let look = format!("ls /proc/$$/fd; cat <&{} || true", held.as_raw_fd());
    let result = local.shell().run(Command::script(look)).await.unwrap();
    let seen = String::from_utf8_lossy(&result.stdout.bytes).into_owned();
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2"]);
}

// W33
#[tokio::test]
async fn warrens_own_variables_cannot_be_passed() {
    let local = Local::open().await;
    let config = LocalConfig { pass_env: vec!["OK".into(), "WARREN_TOKEN".into()], ..LocalConfig::default() };
    let request = OpenRequest {
        workspace_id: new_id(),
        config: ProviderConfig::Local(config),
        declared: local.provider.capabilities(),
    };
    let error = local.provider.open(request).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfig);
    assert!(error.to_string().contains("pass_env[1]"), "{error}");
}

// W30
#[tokio::test]
async fn background_processes_are_bounded_and_finished_ones_are_forgotten_in_order() {
    let local = Local::open().await;
    let shell = local.shell();
    let sleep = format!("sleep {}", nap(7006));
    let start = |script: &str, timeout_ms| Start {
        command: Command { timeout_ms, ..Command::script(script) },
        pty: None,
    };
    let late = shell.start(start(&sleep, Some(200))).await.unwrap();
    let poll = Poll { offset: 0, max_bytes: 10, wait_ms: 20_000 };
    let polled = shell.poll(late.id, poll).await.unwrap();
    assert!(matches!(polled.state, ProcessState::Exited { timed_out: true, signal: Some(9), .. }));
    for _ in 0..64 {
        shell.start(start(&sleep, None)).await.unwrap();
    }
    assert_code(shell.start(start("true", None)).await, ErrorCode::TooManyRequests);
    assert_eq!(shell.list().await.unwrap().len(), 65);
    local.workspace.close().await.unwrap();
    assert!(processes_with(&nap(7006)).is_empty());
    assert_eq!(shell.list().await.unwrap().len(), 64, "the oldest finished one is forgotten");
    assert_code(shell.poll(late.id, poll).await, ErrorCode::ProcessNotFound);
}

// W30: only the latest output of an endless process is kept, and a late reader is told where it begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_poller_is_told_where_the_kept_output_begins() {
    let local = Local::open().await;
    let start = Start {
        command: Command::script("head -c 5000000 /dev/zero; sleep 7007".replace("7007", &nap(7007))),
        pty: None,
    };
    let id = local.shell().start(start).await.unwrap().id;
    let deadline = Instant::now() + Duration::from_secs(20);
    while local.shell().list().await.unwrap()[0].output_bytes < 5_000_000 {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let poll = Poll { offset: 0, max_bytes: 10, wait_ms: 0 };
    let polled = local.shell().poll(id, poll).await.unwrap();
    assert_eq!((polled.offset, polled.next_offset), (5_000_000 - (1 << 20), 5_000_010 - (1 << 20)));
    drop(local);
    assert_gone(&nap(7007)).await;
}

// W30, S24 (security): a working directory cannot be named through /proc, and one that is swapped cannot lead out.
#[tokio::test]
async fn a_working_directory_is_a_directory_of_the_workspace() {
    let local = Local::open().await;
    local.put("file", "x").await;
    for (cwd, code) in [
        ("proc/self/fd/7", ErrorCode::FileNotFound),
        ("file", ErrorCode::NotADirectory),
        ("absent", ErrorCode::FileNotFound),
    ] {
        let command = Command { cwd: path(cwd), ..Command::script("pwd") };
        assert_code(local.shell().run(command).await, code);
    }
}

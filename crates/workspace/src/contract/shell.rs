//! Cases for the `shell` capability (W30–W33). They need `sh`, `cat`, `sleep` and `env` in the workspace's PATH.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use warren_model::ErrorCode;

use super::{Harness, assert_code, files, get, open, path, put};
use crate::shell::{
    Command, Poll, Polled, ProcessId, ProcessState, PtySize, RunEvent, RunResult, Shell, Signal, Start,
};
use crate::{Error, Workspace};

fn shell(workspace: &Arc<dyn Workspace>) -> &dyn Shell {
    workspace.shell().expect("the provider offers shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn script(workspace: &Arc<dyn Workspace>, script: &str) -> RunResult {
    shell(workspace).run(Command::script(script)).await.unwrap()
}

// W30
pub async fn a_command_tells_its_output_and_exit_code(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let result = script(&workspace, "echo out; echo err >&2; exit 7").await;
    assert_eq!((result.exit_code, result.signal, result.timed_out), (Some(7), None, false));
    assert_eq!((text(&result.stdout.bytes), text(&result.stderr.bytes)), ("out\n".into(), "err\n".into()));
    assert!(!result.stdout.truncated && result.stdout.total_bytes == 4);
    let words = Command::argv(["echo", "a b", "$HOME", "*"]);
    let result = shell(&workspace).run(words).await.unwrap();
    assert_eq!(text(&result.stdout.bytes), "a b $HOME *\n", "no shell reads argv");
}

// W30
pub async fn a_signal_is_told_apart_from_an_exit_code(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let result = script(&workspace, "kill -TERM $$").await;
    assert_eq!((result.exit_code, result.signal), (None, Some(15)));
}

// W30
pub async fn input_environment_and_directory_reach_the_command(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    files(&workspace).mkdir(&path("inner/dir")).await.unwrap();
    let command = Command {
        cwd: path("inner/dir"),
        env: BTreeMap::from([("GREETING".into(), "hi there".into())]),
        stdin: "input".into(),
        ..Command::script("cat; echo \" $GREETING\"; pwd")
    };
    let result = shell(&workspace).run(command).await.unwrap();
    let shown = text(&result.stdout.bytes);
    assert!(shown.starts_with("input hi there\n") && shown.ends_with("/inner/dir\n"), "{shown}");
    let absent = Command { cwd: path("absent"), ..Command::script("true") };
    assert_code(shell(&workspace).run(absent).await, ErrorCode::FileNotFound);
    // Input larger than a pipe, to a program that does not read it.
    let unread = Command { stdin: vec![b'x'; 1 << 20].into(), ..Command::script("exit 3") };
    assert_eq!(shell(&workspace).run(unread).await.unwrap().exit_code, Some(3));
}

// W33
pub async fn the_environment_holds_nothing_of_the_host(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let result = shell(&workspace).run(Command::argv(["env"])).await.unwrap();
    let shown = text(&result.stdout.bytes);
    for line in shown.lines() {
        let name = line.split('=').next().unwrap();
        assert!(
            ["PATH", "HOME", "LANG", "WARREN_RUN_ID", "PWD", "SHLVL", "_"].contains(&name),
            "{name} was passed"
        );
    }
    assert!(shown.contains("PATH="), "{shown}");
}

// W33
pub async fn reserved_variables_are_refused(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    for name in ["LD_PRELOAD", "BASH_ENV", "WARREN_TOKEN", "PATH"] {
        let command =
            Command { env: BTreeMap::from([(name.to_owned(), "x".to_owned())]), ..Command::argv(["true"]) };
        assert_code(shell(&workspace).run(command).await, ErrorCode::CommandRefused);
    }
}

// W30, T09 (security)
pub async fn commands_without_sense_are_refused(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let none: [&str; 0] = [];
    for command in [
        Command::argv(none),
        Command::argv([""]),
        Command::argv(["a\0b"]),
        Command::argv(["echo".to_owned(), "x".repeat(2 << 20)]),
        Command::argv(vec!["x"; 100_000]),
        Command::script(""),
        Command::script("echo \0"),
    ] {
        assert_code(shell(&workspace).run(command.clone()).await, ErrorCode::InvalidCommand);
        let start = Start { command, pty: None };
        assert_code(shell(&workspace).start(start).await, ErrorCode::InvalidCommand);
    }
}

// W30
pub async fn a_missing_program_is_named(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let error = shell(&workspace).run(Command::argv(["no-such-program-anywhere"])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProgramNotFound);
    assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    super::put(files(&workspace), "plain", "just text").await;
    assert_code(shell(&workspace).run(Command::argv(["./plain"])).await, ErrorCode::ProgramNotFound);
}

// W31
pub async fn long_output_keeps_head_and_tail(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let result = script(
        &workspace,
        "echo first; i=0; while [ $i -lt 40000 ]; do echo 0123456789; i=$((i+1)); done; echo last",
    )
    .await;
    let shown = text(&result.stdout.bytes);
    assert!(shown.starts_with("first\n") && shown.ends_with("last\n"));
    assert!(result.stdout.truncated && shown.contains("bytes left out]"));
    assert_eq!(result.stdout.total_bytes, 6 + 5 + 40_000 * 11);
    let limit = workspace.limits()["max_output_bytes"].as_u64().unwrap();
    assert!(result.stdout.bytes.len() as u64 <= limit + 100);
}

// W31
pub async fn the_whole_output_is_spilled_on_request(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let command = Command {
        spill_to: Some(path("logs/out")),
        ..Command::script("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done")
    };
    let result = shell(&workspace).run(command).await.unwrap();
    assert!(result.stdout.truncated);
    let spilled = get(files(&workspace), "logs/out").await.unwrap();
    assert_eq!(spilled.len() as u64, result.stdout.total_bytes);
    assert!(spilled.chunks(11).all(|line| line == b"0123456789\n"));
}

// W31, W20
pub async fn a_spill_does_not_cut_short_whoever_reads_the_old_file(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let old = vec![b'o'; 1 << 20];
    put(files(&workspace), "log", &old).await;
    let reading = files(&workspace).read(&path("log"), Default::default()).await.unwrap();
    let (promised, mut stream) = (reading.length, reading.stream);
    let mut read = stream.next().await.unwrap().unwrap().to_vec();
    let command = Command { spill_to: Some(path("log")), ..Command::script("echo new") };
    shell(&workspace).run(command).await.unwrap();
    while let Some(piece) = stream.next().await {
        read.extend_from_slice(&piece.unwrap());
    }
    assert_eq!(
        (read.len() as u64, read == old),
        (promised, true),
        "as long as was told, and the old contents"
    );
    assert_eq!(get(files(&workspace), "log").await.unwrap(), b"new\n");
}

// W32
pub async fn a_timeout_ends_the_command(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let command = Command {
        timeout_ms: Some(300),
        ..Command::script("trap '' TERM INT; echo begun; while :; do sleep 60; done")
    };
    let started = Instant::now();
    let result = shell(&workspace).run(command).await.unwrap();
    assert!(result.timed_out && result.exit_code.is_none());
    assert_eq!(result.signal, Some(9));
    assert_eq!(text(&result.stdout.bytes), "begun\n");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

// W30
pub async fn a_stream_tells_output_and_then_one_end(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let command = Command::script("echo one; echo two >&2; exit 4");
    let mut stream = shell(&workspace).stream(command).await.unwrap();
    let (mut out, mut err, mut end) = (Vec::new(), Vec::new(), None);
    while let Some(event) = stream.next().await {
        assert!(end.is_none(), "nothing comes after the end");
        match event.unwrap() {
            RunEvent::Stdout(bytes) => out.extend_from_slice(&bytes),
            RunEvent::Stderr(bytes) => err.extend_from_slice(&bytes),
            RunEvent::Finished(result) => end = Some(result),
        }
    }
    let end = end.expect("the end was told");
    assert_eq!((text(&out), text(&err), end.exit_code), ("one\n".into(), "two\n".into(), Some(4)));
    assert_eq!(text(&end.stdout.bytes), "one\n");
}

// W32: a second command asks the kernel whether the first is there. That it does nothing for a while would prove little:
// so does a command on a machine that is stalled.
pub async fn a_dropped_stream_ends_its_command(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let command = Command::script("echo $$ > leader; sleep 600 & echo $! > child; echo begun; wait");
    let mut stream = shell(&workspace).stream(command).await.unwrap();
    stream.next().await.unwrap().unwrap();
    let alive = || async {
        let script = "for one in leader child; do kill -0 $(cat $one) 2>/dev/null && echo $one; done; true";
        text(&shell(&workspace).run(Command::script(script)).await.unwrap().stdout.bytes)
    };
    assert_eq!(alive().await, "leader\nchild\n", "while somebody reads, both run");
    drop(stream);
    let mut still_alive = String::new();
    for _ in 0..100 {
        still_alive = alive().await;
        if still_alive.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the command still runs: {still_alive}");
}

async fn start(workspace: &Arc<dyn Workspace>, text: &str, pty: Option<PtySize>) -> ProcessId {
    let command = Command::script(text);
    let info = shell(workspace).start(Start { command, pty }).await.unwrap();
    assert_eq!(info.has_pty, pty.is_some());
    info.id
}

async fn poll(workspace: &Arc<dyn Workspace>, id: ProcessId, offset: u64) -> Result<Polled, Error> {
    let poll = Poll { offset, max_bytes: 1 << 16, wait_ms: 20_000 };
    shell(workspace).poll(id, poll).await
}

/// All output until `wanted` is in it or the process has ended, and the last state.
async fn output(workspace: &Arc<dyn Workspace>, id: ProcessId, wanted: &str) -> (String, ProcessState) {
    let (mut all, mut offset) = (Vec::new(), 0);
    loop {
        let polled = poll(workspace, id, offset).await.unwrap();
        assert_eq!(polled.offset, offset);
        all.extend_from_slice(&polled.bytes);
        offset = polled.next_offset;
        let has_ended = polled.state != ProcessState::Running;
        if has_ended || text(&all).contains(wanted) {
            return (text(&all), polled.state);
        }
    }
}

// W30
pub async fn a_background_process_is_polled_by_offset(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let id = start(&workspace, "echo one; echo two >&2; sleep 0.2; echo three; exit 5", None).await;
    let (all, state) = output(&workspace, id, "no such text").await;
    for line in ["one\n", "two\n", "three\n"] {
        assert!(all.contains(line), "{all}");
    }
    let exited = ProcessState::Exited { exit_code: Some(5), signal: None, timed_out: false };
    assert_eq!(state, exited);
    let again = poll(&workspace, id, 4).await.unwrap();
    assert_eq!(text(&again.bytes), all[4..], "output can be read again");
    let listed = shell(&workspace).list().await.unwrap();
    assert_eq!((listed[0].id, &listed[0].state, listed[0].output_bytes), (id, &exited, 14));
    assert_eq!(listed[0].program, "sh");
}

// W30
pub async fn output_and_errors_of_a_process_keep_their_order(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let script = "for n in 1 2 3 4 5 6 7 8 9; do echo out $n; echo err $n >&2; done";
    let id = start(&workspace, script, None).await;
    let wanted: String = (1..=9).map(|n| format!("out {n}\nerr {n}\n")).collect();
    let (text, _) = output(&workspace, id, &wanted).await;
    assert_eq!(text, wanted);
}

// W30
pub async fn a_background_process_takes_input(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let id = start(&workspace, "read line; echo \"got $line\"; cat; echo end", None).await;
    let shell = shell(&workspace);
    shell.write_stdin(id, "hello\n".into(), false).await.unwrap();
    output(&workspace, id, "got hello").await;
    shell.write_stdin(id, "more".into(), true).await.unwrap();
    let (all, state) = output(&workspace, id, "no such text").await;
    assert_eq!(all, "got hello\nmoreend\n");
    assert!(matches!(state, ProcessState::Exited { exit_code: Some(0), .. }), "{state:?}");
    assert_code(shell.write_stdin(id, "x".into(), false).await, ErrorCode::ProcessNotFound);
}

// W30
pub async fn a_terminal_is_a_terminal(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let size = PtySize { rows: 33, columns: 99 };
    let id = start(
        &workspace,
        "test -t 0 && test -t 1 && echo is a tty; stty size; read x; stty size; exit 0",
        Some(size),
    )
    .await;
    let (first, _) = output(&workspace, id, "33 99").await;
    assert!(first.contains("is a tty"), "{first}");
    let shell = shell(&workspace);
    shell.resize(id, PtySize { rows: 40, columns: 120 }).await.unwrap();
    shell.write_stdin(id, "\n".into(), false).await.unwrap();
    let (all, _) = output(&workspace, id, "40 120").await;
    assert!(all.contains("40 120"), "{all}");
    let plain = start(&workspace, "cat", None).await;
    assert_code(shell.resize(plain, size).await, ErrorCode::InvalidRequest);
}

// W30
pub async fn a_killed_process_tells_its_signal(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    for (signal, number) in [(Signal::Terminate, 15), (Signal::Kill, 9)] {
        let id = start(&workspace, "echo up; exec sleep 100", None).await;
        output(&workspace, id, "up").await;
        shell(&workspace).kill(id, signal).await.unwrap();
        let (_, state) = output(&workspace, id, "no such text").await;
        let killed = ProcessState::Exited { exit_code: None, signal: Some(number), timed_out: false };
        assert_eq!(state, killed);
        shell(&workspace).kill(id, signal).await.expect("ended already is success");
    }
}

// W30
pub async fn unknown_processes_are_not_found(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let id = ProcessId(77);
    assert_code(poll(&workspace, id, 0).await, ErrorCode::ProcessNotFound);
    let shell = shell(&workspace);
    assert_code(shell.kill(id, Signal::Kill).await, ErrorCode::ProcessNotFound);
    assert_code(shell.write_stdin(id, "x".into(), false).await, ErrorCode::ProcessNotFound);
}

// W2, W30
pub async fn closing_ends_background_processes(harness: &dyn Harness) {
    let opened = open(harness).await;
    let workspace = opened.workspace;
    let id = start(
        &workspace,
        "trap '' TERM HUP; echo up; while :; do sleep 0.02; echo tick >> ticks; done",
        None,
    )
    .await;
    output(&workspace, id, "up").await;
    workspace.close().await.unwrap();
    let polled = poll(&workspace, id, 0).await.unwrap();
    assert!(matches!(polled.state, ProcessState::Exited { signal: Some(9), .. }), "{polled:?}");
    let error = shell(&workspace).run(Command::script("true")).await.unwrap_err();
    assert!(error.is_evicted(), "{error:?}");
}

// W16, W32
pub async fn closing_ends_commands_that_somebody_waits_for(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let mut stream = shell(&workspace).stream(Command::script("echo begun; sleep 600")).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(RunEvent::Stdout(_)))), "the command is under way");
    let waiting = {
        let workspace = Arc::clone(&workspace);
        tokio::spawn(async move { shell(&workspace).run(Command::script("touch begun; sleep 600")).await })
    };
    while files(&workspace).stat(&path("begun")).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    workspace.close().await.unwrap();
    let ended =
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it ends with the workspace");
    assert_eq!(ended.unwrap().unwrap_err().code(), ErrorCode::WorkspaceNotReady);
    let last = tokio::time::timeout(Duration::from_secs(20), stream.collect::<Vec<_>>()).await;
    let last = last.expect("the stream ends too").pop();
    assert!(matches!(last, Some(Err(error)) if error.code() == ErrorCode::WorkspaceNotReady));
}

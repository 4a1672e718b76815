//! W30 under a Warren that a script started with `&`: what it ignores, its commands do not.

#![expect(unsafe_code, reason = "sets how this process takes signals, which has no safe interface")]

use warren_workspace::shell::{Command, Poll, ProcessId, ProcessState, PtySize, Signal, Start};

use crate::fixture::Local;

const SIZE: PtySize = PtySize { rows: 24, columns: 80 };

/// As a script leaves it, and then some. Each test is a process of its own, so that none other is touched.
fn be_deaf() {
    // SAFETY: no handler is installed, and the set is filled before it is read.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1] {
            assert_ne!(libc::signal(signal, libc::SIG_IGN), libc::SIG_ERR);
        }
        let mut blocked = std::mem::zeroed();
        libc::sigemptyset(&mut blocked);
        libc::sigaddset(&mut blocked, libc::SIGINT);
        libc::sigaddset(&mut blocked, libc::SIGUSR2);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, std::ptr::null_mut()), 0);
    }
}

/// The masks of signals of whoever reads this.
const MASKS: &str = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
const NO_MASKS: &str = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";

async fn start(local: &Local, script: &str, pty: Option<PtySize>) -> ProcessId {
    let start = Start { command: Command::script(script), pty };
    let id = local.shell().start(start).await.unwrap().id;
    let poll = Poll { offset: 0, max_bytes: 100, wait_ms: 20_000 };
    let polled = local.shell().poll(id, poll).await.unwrap();
    assert!(polled.bytes.starts_with(b"up"), "{polled:?}");
    id
}

async fn end_of(local: &Local, id: ProcessId) -> ProcessState {
    let mut offset = 0;
    for _ in 0..10 {
        let polled = local.shell().poll(id, Poll { offset, max_bytes: 1_000, wait_ms: 5_000 }).await.unwrap();
        offset = polled.next_offset;
        if polled.state != ProcessState::Running {
            return polled.state;
        }
    }
    ProcessState::Running
}

// W30
#[test]
fn commands_take_signals_however_warren_was_started() {
    be_deaf();
    // The runtime's threads inherit what was set.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(!own.contains("SigIgn:\t0000000000000000"), "{own}");
        let local = Local::open().await;
        let told = local.shell().run(Command::script(MASKS)).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&told.stdout.bytes), NO_MASKS);

        let interrupted = ProcessState::Exited { exit_code: None, signal: Some(2), timed_out: false };
        for pty in [None, Some(SIZE)] {
            let id = start(&local, "echo up; exec sleep 100", pty).await;
            local.shell().kill(id, Signal::Interrupt).await.unwrap();
            assert_eq!(end_of(&local, id).await, interrupted, "{pty:?}");
        }
        let id = start(&local, "echo up; exec sleep 100", Some(SIZE)).await;
        local.shell().write_stdin(id, "\x03".into(), false).await.unwrap();
        assert_eq!(end_of(&local, id).await, interrupted, "the key of the terminal");
    });
}

//! How long `true` takes through init, next to a plain fork and exec (P1).
//!
//! ```text
//! cargo build -p warren-init --bin warren-init --profile init
//! cargo run -p warren-init --example latency -- target/init/warren-init
//! ```

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};
use warren_init::{Call, CallAnswer, FrameReader, PROTOCOL_VERSION, Reply, Request, Spawn, encode};

const ROUNDS: usize = 2_000;

#[expect(clippy::disallowed_methods, reason = "measured beside the real thing")]
#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn main() {
    let init = std::env::args().nth(1).expect("the path of warren-init");
    let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let theirs = OwnedFd::from(theirs);
    fcntl_setfd(&theirs, FdFlags::empty()).expect("a handle to pass on");
    let channel = format!("fd:{}", theirs.as_raw_fd());
    let mut child = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "--kill-child=KILL", &init])
        .args(["--channel", &channel, "--root", "/tmp"])
        .spawn()
        .expect("unshare of util-linux");
    drop(theirs);
    let mut reader = FrameReader::default();
    round(&mut ours, &mut reader, Call::Hello { version: PROTOCOL_VERSION });
    let spawn = Spawn {
        argv: vec![b"true".to_vec()],
        env: vec![(b"PATH".to_vec(), b"/usr/bin".to_vec())],
        ..Spawn::default()
    };
    let ping = median(|| round(&mut ours, &mut reader, Call::Ping));
    // In turns, so that a busy machine is busy for both.
    let (mut through, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        through.push(timed(|| round(&mut ours, &mut reader, Call::Run(spawn.clone()))));
        plain.push(timed(|| {
            let mut command = Command::new("/usr/bin/true");
            command.env_clear().stdin(Stdio::null()).output().expect("true");
        }));
    }
    println!("ping {ping:?}");
    for (name, mut times) in [("true through init", through), ("true, std::process", plain)] {
        times.sort_unstable();
        println!("{name}: p50 {:?}, p99 {:?}", times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn timed(act: impl FnOnce()) -> Duration {
    let started = Instant::now();
    act();
    started.elapsed()
}

fn median(mut act: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS).map(|_| timed(&mut act)).collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn round(stream: &mut UnixStream, reader: &mut FrameReader, call: Call) {
    let frame = encode(&Request { id: 1, call }).expect("a small frame");
    stream.write_all(&frame).expect("init listens");
    let mut buffer = [0; 4096];
    loop {
        if let Some(reply) = reader.next::<Reply>().expect("init speaks the protocol") {
            match reply.answer {
                CallAnswer::Exited(exit) => return assert_eq!(exit.exit_code, Some(0)),
                CallAnswer::Done | CallAnswer::Hello(_) => return,
                other => panic!("{other:?}"),
            }
        }
        let count = stream.read(&mut buffer).expect("init answers");
        assert!(count > 0, "init has gone");
        reader.push(&buffer[..count]);
    }
}

//! Output and input in any amount, with memory that stays as it is (W30; sec/S19).

use warren_init::{BACKGROUND_OUTPUT_BYTES, Call, CallAnswer, OUTPUT_WINDOW_BYTES, Spawn, output_cost};

use crate::fixture::{Inside, eventually, pause, shell};

/// Kilobytes of memory that init holds.
fn resident_kb(inside: &Inside) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", inside.init_pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

// sec/S19
#[test]
fn a_gigabyte_of_output_takes_no_memory() {
    let mut inside = Inside::start();
    let before = resident_kb(&inside);
    let run = inside.owner.send(Call::Run(shell("head -c 1073741824 /dev/zero")));
    let (mut bytes_read, mut highest) = (0u64, 0);
    let exit = loop {
        match inside.owner.reply(run) {
            CallAnswer::Output { bytes, .. } => {
                bytes_read += bytes.len() as u64;
                let granted = u32::try_from(output_cost(bytes.len())).unwrap();
                inside.owner.send_as(run, Call::Grant { bytes: granted });
                if bytes_read % (64 << 20) < bytes.len() as u64 {
                    highest = highest.max(resident_kb(&inside));
                }
            }
            CallAnswer::Exited(exit) => break exit,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((bytes_read, exit.exit_code), (1 << 30, Some(0)));
    assert!(highest < before + 8_192, "{before} kB grew to {highest} kB");
}

// sec/S19
#[test]
fn endless_background_output_keeps_the_latest() {
    let mut inside = Inside::start();
    let process = inside.owner.start("seq 1 3000000; echo last");
    eventually("it ends", || inside.owner.list()[0].exit.is_some());
    let total = inside.owner.list()[0].output_bytes;
    assert!(total > 20 << 20);
    let mut kept = Vec::new();
    let first = inside.owner.poll(process, 0);
    let mut offset = first.offset;
    assert_eq!(offset, total - BACKGROUND_OUTPUT_BYTES as u64);
    loop {
        let polled = inside.owner.poll(process, offset);
        assert_eq!(polled.offset, offset);
        offset += polled.bytes.len() as u64;
        kept.extend(polled.bytes);
        if polled.exit.is_some() {
            break;
        }
    }
    assert_eq!(kept.len(), BACKGROUND_OUTPUT_BYTES);
    assert!(kept.ends_with(b"3000000\nlast\n"));
    assert!(resident_kb(&inside) < 16_384);
}

// sec/S19: small pieces cost whoever keeps them more than their bytes.
#[test]
fn a_program_that_writes_byte_by_byte_fills_the_window_all_the_same() {
    let mut inside = Inside::start();
    let run = inside.owner.send(Call::Run(shell("while :; do printf x; printf y >&2; done")));
    let mut held = 0;
    while held < OUTPUT_WINDOW_BYTES as usize {
        match inside.owner.reply(run) {
            CallAnswer::Output { bytes, .. } => held += output_cost(bytes.len()),
            other => panic!("{other:?}"),
        }
    }
    assert!(held <= OUTPUT_WINDOW_BYTES as usize + output_cost(0), "{held}");
    assert_eq!(inside.owner.call(Call::Ping), CallAnswer::Done, "and nothing more of it comes");
    inside.owner.send_as(run, Call::Cancel);
    assert_eq!(inside.owner.outcome(run).unwrap().exit.signal, Some(9));
}

// W30: whoever takes nothing holds up nobody else.
#[test]
fn a_stalled_stream_does_not_stall_the_others() {
    let mut inside = Inside::start();
    let stalled = inside.owner.send(Call::Run(shell("yes stalled")));
    let mut held = 0;
    while held < OUTPUT_WINDOW_BYTES as usize {
        match inside.owner.reply(stalled) {
            CallAnswer::Output { bytes, .. } => held += output_cost(bytes.len()),
            other => panic!("{other:?}"),
        }
    }
    assert!(held <= OUTPUT_WINDOW_BYTES as usize + output_cost(0), "not a piece beyond what was granted");
    let other = inside.owner.run("head -c 50000000 /dev/zero");
    assert_eq!(other.stdout.len(), 50_000_000);
    assert_eq!(inside.owner.call(Call::Ping), CallAnswer::Done);
    inside.owner.send_as(stalled, Call::Cancel);
    assert_eq!(inside.owner.outcome(stalled).unwrap().exit.signal, Some(9));
}

// sec/S19: an owner that reads nothing at all: deadlines hold, and what was granted is still there when it reads.
#[test]
fn an_owner_that_does_not_read_blocks_nothing_in_the_box() {
    let mut inside = Inside::start();
    let spawn = Spawn { deadline_ms: 700, ..shell("yes") };
    let runs: Vec<u32> = (0..8).map(|_| inside.owner.send(Call::Run(spawn.clone()))).collect();
    let ticks = inside.path("ticks");
    let process =
        inside.owner.send(Call::Start(shell("while :; do echo tick | tee -a ticks; sleep 0.01; done")));
    eventually("the process goes on", || std::fs::read(&ticks).is_ok_and(|text| text.len() > 200));
    let before = resident_kb(&inside);
    for _ in 0..200 {
        pause();
    }
    assert!(resident_kb(&inside) < before + 8_192);
    for run in runs {
        let outcome = inside.owner.outcome(run).unwrap();
        assert!(outcome.exit.timed_out && outcome.exit.duration_us < 10_000_000, "{:?}", outcome.exit);
        assert!(!outcome.stdout.is_empty(), "what was written is not lost");
    }
    assert!(matches!(inside.owner.reply(process), CallAnswer::Started { .. }));
}

// W30
#[test]
fn input_that_nobody_reads_is_bounded() {
    let mut inside = Inside::start();
    let process = inside.owner.start("sleep 300");
    let mut refused = 0;
    let mut waiting = Vec::new();
    for _ in 0..6 {
        let bytes = vec![b'x'; 512 << 10];
        waiting.push(inside.owner.send(Call::Write { process, bytes, close: false }));
    }
    assert_eq!(inside.owner.call(Call::Ping), CallAnswer::Done);
    for request in &waiting[4..] {
        refused += usize::from(matches!(inside.owner.reply(*request), CallAnswer::Failed(_)));
    }
    assert!(refused >= 1, "more than is kept is refused");
    // One that nobody waits for any more is taken back; those behind it end with the process.
    inside.owner.send_as(waiting[1], Call::Cancel);
    assert!(matches!(inside.owner.reply(waiting[1]), CallAnswer::Failed(_)));
    inside.owner.call(Call::Signal { process, signal: 9 });
    assert!(matches!(inside.owner.reply(waiting[0]), CallAnswer::Failed(_)));
}

// W30
#[test]
fn a_poll_waits_as_long_as_it_may() {
    let mut inside = Inside::start();
    let process = inside.owner.start("read line; echo $line; sleep 300");
    let poll = |wait_ms| Call::Poll { process, offset: 0, max_bytes: 100, wait_ms };
    for wait_ms in [0, 50] {
        match inside.owner.call(poll(wait_ms)) {
            CallAnswer::Polled(polled) => assert!(polled.bytes.is_empty() && polled.exit.is_none()),
            other => panic!("{other:?}"),
        }
    }
    let waiting = inside.owner.send(poll(600_000));
    let also = inside.owner.send(poll(600_000));
    inside.owner.send_as(also, Call::Cancel);
    assert!(matches!(inside.owner.reply(also), CallAnswer::Polled(polled) if polled.bytes.is_empty()));
    inside.owner.call(Call::Write { process, bytes: b"hello\n".to_vec(), close: false });
    assert!(matches!(inside.owner.reply(waiting), CallAnswer::Polled(polled) if polled.bytes == b"hello\n"));
}

// W30: those that ended first are forgotten first.
#[test]
fn a_bounded_number_of_ended_processes_is_kept() {
    let mut inside = Inside::start();
    let first = inside.owner.start("echo first");
    inside.owner.end_of(first);
    let mut last = 0;
    for _ in 0..70 {
        last = inside.owner.start("exit 0");
        inside.owner.end_of(last);
    }
    let listed = inside.owner.list();
    assert_eq!(listed.len(), 64);
    assert!(listed.iter().any(|summary| summary.process == last));
    assert!(listed.iter().all(|summary| summary.process != first));
    let running: Vec<CallAnswer> =
        (0..70).map(|_| inside.owner.call(Call::Start(shell("sleep 300")))).collect();
    let started = running.iter().filter(|answer| matches!(answer, CallAnswer::Started { .. })).count();
    assert_eq!(started, 64, "the rest was refused");
}

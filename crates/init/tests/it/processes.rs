//! Processes that stay when their request ends, and terminals (W30).

use warren_init::{Call, CallAnswer, Failure, FailureKind, TerminalSize};

use crate::fixture::{Connection, Inside, terminal};

fn write(owner: &mut Connection, process: u32, text: &str, close: bool) -> CallAnswer {
    owner.call(Call::Write { process, bytes: text.into(), close })
}

fn is_failed(answer: &CallAnswer, kind: FailureKind) -> bool {
    matches!(answer, CallAnswer::Failed(Failure { kind: found, .. }) if *found == kind)
}

// W30
#[test]
fn a_background_process_is_polled_by_offset() {
    let mut inside = Inside::start();
    let owner = &mut inside.owner;
    let process = owner.start("echo one; echo two >&2; sleep 0.2; echo three; exit 5");
    let (all, exit) = owner.end_of(process);
    assert_eq!(all.len(), 14);
    assert!(["one\n", "two\n", "three\n"].iter().all(|line| all.contains(line)), "{all}");
    assert_eq!((exit.exit_code, exit.signal, exit.timed_out), (Some(5), None, false));
    assert_eq!(owner.poll(process, 4).bytes, all.as_bytes()[4..], "output can be read again");
    let listed = owner.list();
    assert_eq!((listed.len(), listed[0].process, &listed[0].program[..]), (1, process, &b"sh"[..]));
    assert_eq!((listed[0].output_bytes, listed[0].exit), (14, Some(exit)));
}

// W30
#[test]
fn a_background_process_takes_input() {
    let mut inside = Inside::start();
    let owner = &mut inside.owner;
    let process = owner.start("read line; echo \"got $line\"; cat; echo end");
    assert_eq!(write(owner, process, "hello\n", false), CallAnswer::Done);
    owner.output(process, "got hello");
    assert_eq!(write(owner, process, "more", true), CallAnswer::Done);
    let (all, exit) = owner.end_of(process);
    assert_eq!((all.as_str(), exit.exit_code), ("got hello\nmoreend\n", Some(0)));
    assert!(is_failed(&write(owner, process, "x", false), FailureKind::UnknownNumber));
}

// W30
#[test]
fn a_terminal_is_a_terminal() {
    let mut inside = Inside::start();
    let owner = &mut inside.owner;
    let script = "test -t 0 && test -t 1 && echo is a tty; stty size; read x; stty size; tty; cat; echo over";
    let process = owner.start_spawn(terminal(script, 33, 99));
    let (first, _) = owner.output(process, "33 99");
    assert!(first.contains("is a tty"), "{first}");
    let size = TerminalSize { rows: 40, columns: 120 };
    assert_eq!(owner.call(Call::Resize { process, size }), CallAnswer::Done);
    write(owner, process, "\n", false);
    owner.output(process, "/dev/pts");
    assert_eq!(write(owner, process, "", true), CallAnswer::Done, "ends the line-wise reader's input");
    let (all, exit) = owner.end_of(process);
    assert!(all.contains("40 120") && all.contains("over"), "{all}");
    assert_eq!(exit.exit_code, Some(0));
    let plain = owner.start("cat");
    assert!(is_failed(&owner.call(Call::Resize { process: plain, size }), FailureKind::Invalid));
    assert!(owner.list()[0].has_terminal);
}

// W30
#[test]
fn a_terminal_interrupts_what_runs_in_it() {
    let mut inside = Inside::start();
    let owner = &mut inside.owner;
    let process = owner.start_spawn(terminal("exec cat", 24, 80));
    write(owner, process, "x\n", false);
    // Once echoed by the terminal and once by the program: it runs.
    owner.output(process, "x\r\nx\r\n");
    write(owner, process, "\u{3}", false);
    assert_eq!(owner.end_of(process).1.signal, Some(2));
}

// W30
#[test]
fn a_signal_reaches_a_process_and_is_told() {
    let mut inside = Inside::start();
    let owner = &mut inside.owner;
    for signal in [15, 9, 2] {
        let process = owner.start("echo up; exec sleep 100");
        owner.output(process, "up");
        assert_eq!(owner.call(Call::Signal { process, signal }), CallAnswer::Done);
        let (_, exit) = owner.end_of(process);
        assert_eq!((exit.exit_code, exit.signal), (None, Some(signal)));
        assert_eq!(
            owner.call(Call::Signal { process, signal }),
            CallAnswer::Done,
            "ended already is success"
        );
        assert!(is_failed(&owner.call(Call::Signal { process, signal: 700 }), FailureKind::Invalid));
    }
}

// W30
#[test]
fn unknown_processes_are_told() {
    let mut inside = Inside::start();
    let owner = &mut inside.owner;
    let process = 77;
    let size = TerminalSize { rows: 1, columns: 1 };
    for call in [
        Call::Poll { process, offset: 0, max_bytes: 1, wait_ms: 0 },
        Call::Write { process, bytes: vec![1], close: false },
        Call::Signal { process, signal: 9 },
        Call::Resize { process, size },
    ] {
        assert!(is_failed(&owner.call(call), FailureKind::UnknownNumber));
    }
}

// sec/S15: when memory runs out, programs go before process 1.
#[test]
fn a_program_is_ended_for_memory_before_process_1_is() {
    let score = |process: &str| -> i32 {
        std::fs::read_to_string(format!("/proc/{process}/oom_score_adj")).unwrap().trim().parse().unwrap()
    };
    let mut inside = Inside::start();
    let own = score("self");
    let expected = (own + 500).min(1_000).to_string();
    for _ in 0..2 {
        let told = inside.owner.run("cat /proc/self/oom_score_adj; sh -c 'cat /proc/self/oom_score_adj'");
        assert_eq!(told.stdout, format!("{expected}\n{expected}\n").into_bytes(), "children have it too");
        assert_eq!(score(&inside.init_pid().to_string()), own);
    }
    let process = inside.owner.start("cat /proc/self/oom_score_adj");
    assert_eq!(inside.owner.end_of(process).0.trim(), expected);
    // One that cannot be started leaves nothing changed.
    let missing = warren_init::Spawn { argv: vec![b"/nowhere".to_vec()], ..crate::fixture::shell("") };
    let missing = inside.owner.send(Call::Run(missing));
    assert!(inside.owner.outcome(missing).is_err());
    assert_eq!(score(&inside.init_pid().to_string()), own);
}

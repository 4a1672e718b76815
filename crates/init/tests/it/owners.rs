//! The box and its owner: who may come, and what goes with whom (W77; sec/S04, S17).

use std::io::Write;
use std::os::unix::net::UnixStream;

use warren_init::{Call, CallAnswer, Failure, FailureKind, PROTOCOL_VERSION, Request, Spawn, encode};

use crate::fixture::{Connection, Inside, argv, eventually, invoke, shell, start_stdio, wait_for_end};

/// Grows while the process that writes it lives.
const TICKING: &str = "trap '' TERM HUP INT; while :; do echo tick >> ticks; sleep 0.01; done";

fn is_gone(inside: &Inside) -> bool {
    let grown = || std::fs::metadata(inside.path("ticks")).map_or(0, |found| found.len());
    let before = grown();
    for _ in 0..20 {
        crate::fixture::pause();
    }
    grown() == before
}

// W77
#[test]
fn a_greeting_tells_what_holds() {
    let mut inside = Inside::start_silent(&["--landlock", "off"]);
    let greeting = inside.owner.greet();
    assert_eq!(greeting.version, PROTOCOL_VERSION);
    assert!(greeting.facts.is_process_1 && greeting.facts.no_new_privileges);
    assert_eq!(greeting.facts.landlock_abi, 0);
    assert_eq!(greeting.facts.user, rustix::process::getuid().as_raw());
    let status = std::fs::read_to_string(format!("/proc/{}/status", inside.init_pid())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim();
    assert_eq!(format!("{:016x}", greeting.facts.effective_capabilities), mask);
}

// Q8
#[test]
fn another_version_is_refused() {
    for call in [
        Call::Hello { version: PROTOCOL_VERSION + 1 },
        Call::Hello { version: 0 },
        Call::Run(shell("touch started")),
        Call::Ping,
    ] {
        let mut inside = Inside::start_silent(&[]);
        let refused = CallAnswer::Failed(Failure { kind: FailureKind::Version, errno: 0 });
        assert_eq!(inside.owner.call(call), refused);
        assert_eq!(inside.owner.next_reply(), None, "the connection is closed");
        inside.wait_for_end();
        assert!(!inside.path("started").exists());
    }
}

// sec/S05
#[test]
fn init_lets_go_of_what_it_was_started_with() {
    let secret = std::fs::File::open("/etc/hostname").unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let inside = Inside::start();
    let directory = format!("/proc/{}/fd", inside.init_pid());
    let targets: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .flatten()
        .map(|entry| std::fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned())
        .collect();
    let is_expected = |target: &String| {
        target == "/dev/null"
            || target.starts_with("socket:")
            || target.starts_with("anon_inode:")
            || target.ends_with("/children")
            || target.ends_with("/oom_score_adj")
            || *target == inside.root.path().to_string_lossy()
    };
    assert!(targets.iter().all(is_expected), "{targets:?}");
    assert_eq!(targets.iter().filter(|target| target.starts_with("socket:")).count(), 2);
}

// W77, sec/S17
#[test]
fn the_box_ends_with_its_owner() {
    let mut inside = Inside::start();
    inside.owner.start(TICKING);
    inside.owner.send(Call::Run(shell(TICKING)));
    eventually("they run", || inside.path("ticks").exists());
    let (ours, _theirs) = UnixStream::pair().unwrap();
    drop(std::mem::replace(&mut inside.owner, Connection::new(ours)));
    inside.wait_for_end();
    assert!(is_gone(&inside));
}

// W77
#[test]
fn leaving_ends_everything() {
    let mut inside = Inside::start_with(&["--linger-ms", "forever"]);
    inside.owner.start(TICKING);
    eventually("it runs", || inside.path("ticks").exists());
    inside.owner.send(Call::Leave);
    inside.wait_for_end();
    assert!(is_gone(&inside));
}

// W75, W77
#[test]
fn a_box_that_lingers_is_met_again_with_its_processes() {
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "60000"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    let process = owner.start("echo one; read line; echo two; read line");
    owner.output(process, "one");
    let run = owner.send(Call::Run(shell("echo up; sleep 300")));
    assert!(matches!(owner.reply(run), CallAnswer::Output { .. }));
    drop(owner);

    let mut owner = Connection::to(&socket);
    owner.greet();
    assert_eq!(owner.poll(process, 0).bytes, b"one\n", "from the beginning");
    owner.call(Call::Write { process, bytes: b"\n".to_vec(), close: false });
    assert_eq!(owner.poll(process, 4).bytes, b"two\n", "from an offset");
    eventually("what the former owner waited for is gone", || owner.count_processes() == 1);
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

fn keyed(key: &str, script: &str) -> Spawn {
    Spawn { key: key.into(), ..shell(script) }
}

fn attach(key: &str) -> Call {
    Call::Attach { key: key.into() }
}

const UNKNOWN: CallAnswer = CallAnswer::Failed(Failure { kind: FailureKind::UnknownNumber, errno: 0 });
const INVALID: CallAnswer = CallAnswer::Failed(Failure { kind: FailureKind::Invalid, errno: 0 });

// A4, W77
#[test]
fn a_command_with_a_key_goes_on_without_its_owner_and_the_next_one_hears_all_of_it() {
    let (root, mut launcher, socket) = Inside::listening(&["--linger-ms", "60000"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    let run = owner.send(Call::Run(keyed(
        "k",
        "echo one; echo oops >&2; until [ -e go ]; do sleep 0.01; done; echo two; exit 3",
    )));
    assert!(matches!(owner.reply(run), CallAnswer::Output { .. }));
    let ended = owner.send(Call::Run(keyed("ended", "echo short; exit 4")));
    assert_eq!(owner.outcome(ended).unwrap().exit.exit_code, Some(4));
    assert_eq!(owner.call(Call::Run(keyed("k", "true"))), INVALID, "there is one already");
    assert_eq!(owner.call(attach("k")), INVALID, "somebody waits for it");
    drop(owner);

    let mut owner = Connection::to(&socket);
    owner.greet();
    assert_eq!(owner.call(Call::FindRun { key: b"other".to_vec() }), UNKNOWN);
    assert_eq!(owner.call(attach("other")), UNKNOWN);
    assert_eq!(owner.call(Call::FindRun { key: b"k".to_vec() }), CallAnswer::Done);
    std::fs::write(root.path().join("go"), "").unwrap();
    for _ in 0..2 {
        // Also when its end was told already: an owner may be lost before it has noted what it heard.
        let run = owner.send(attach("k"));
        assert_eq!(owner.reply(run), CallAnswer::Attached { missing_stdout: 0, missing_stderr: 0 });
        let outcome = owner.outcome(run).unwrap();
        assert_eq!((outcome.text().as_str(), outcome.exit.exit_code), ("one\ntwo\n", Some(3)));
        assert_eq!(outcome.stderr, b"oops\n");
    }
    let run = owner.send(attach("ended"));
    assert!(matches!(owner.reply(run), CallAnswer::Attached { .. }));
    assert_eq!(owner.outcome(run).unwrap().exit.exit_code, Some(4));
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// A4, W31
#[test]
fn of_much_output_without_an_owner_the_end_is_kept_and_the_rest_is_counted() {
    let (root, mut launcher, socket) = Inside::listening(&["--linger-ms", "60000"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    let script =
        "until [ -e go ]; do sleep 0.01; done; head -c 3000000 /dev/zero; echo; echo last; touch done";
    owner.send(Call::Run(keyed("k", script)));
    assert_eq!(owner.call(Call::Ping), CallAnswer::Done);
    drop(owner);
    std::fs::write(root.path().join("go"), "").unwrap();
    eventually("it ends without an owner", || root.path().join("done").exists());
    let mut owner = Connection::to(&socket);
    owner.greet();
    let run = owner.send(attach("k"));
    let missing = match owner.reply(run) {
        CallAnswer::Attached { missing_stdout, missing_stderr: 0 } => missing_stdout,
        other => panic!("{other:?}"),
    };
    let outcome = owner.outcome(run).unwrap();
    assert_eq!(missing + outcome.stdout.len() as u64, 3_000_006);
    assert_eq!(outcome.stdout.len(), warren_init::KEPT_OUTPUT_BYTES);
    assert!(outcome.stdout.ends_with(b"\nlast\n"));
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// A4, A32
#[test]
fn a_command_with_a_key_ends_when_it_is_cancelled_or_its_input_is_cut_or_its_time_is_over() {
    let (root, mut launcher, socket) = Inside::listening(&["--linger-ms", "60000"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    let cancelled = owner.send(Call::Run(keyed("cancelled", "echo up; sleep 300")));
    assert!(matches!(owner.reply(cancelled), CallAnswer::Output { .. }));
    owner.send_as(cancelled, Call::Cancel);
    assert_eq!(owner.outcome(cancelled).unwrap().exit.signal, Some(9));
    assert_eq!(owner.call(Call::FindRun { key: b"cancelled".to_vec() }), UNKNOWN);
    owner.send(Call::Run(Spawn { has_more_input: true, input: b"a".to_vec(), ..keyed("fed", "cat > fed") }));
    owner.send(Call::Run(Spawn { deadline_ms: 300, ..keyed("timed", "sleep 300; touch overslept") }));
    assert_eq!(owner.call(Call::Ping), CallAnswer::Done);
    drop(owner);

    let mut owner = Connection::to(&socket);
    owner.greet();
    assert_eq!(owner.call(attach("fed")), UNKNOWN, "half of its input is no input");
    let run = owner.send(attach("timed"));
    assert!(matches!(owner.reply(run), CallAnswer::Attached { .. }));
    let exit = owner.outcome(run).unwrap().exit;
    assert!(exit.timed_out && exit.signal == Some(9), "{exit:?}");
    assert!(!root.path().join("overslept").exists());
    assert_eq!(owner.call(Call::Run(keyed(&"k".repeat(257), "true"))), INVALID);
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// A4: what nobody can come back for is not kept, and what is kept is bounded.
#[test]
fn ended_commands_with_keys_are_forgotten_in_their_order() {
    let mut inside = Inside::start();
    let run = inside.owner.send(Call::Run(keyed("k", "true")));
    assert_eq!(inside.owner.outcome(run).unwrap().exit.exit_code, Some(0));
    assert_eq!(inside.owner.call(Call::FindRun { key: b"k".to_vec() }), UNKNOWN);

    let mut lasting = Inside::start_with(&["--linger-ms", "60000"]);
    for number in 0..70 {
        let run = lasting.owner.send(Call::Run(keyed(&format!("k{number}"), "true")));
        assert_eq!(lasting.owner.outcome(run).unwrap().exit.exit_code, Some(0));
    }
    let mut is_known = |number: u32| {
        lasting.owner.call(Call::FindRun { key: format!("k{number}").into() }) == CallAnswer::Done
    };
    let known: Vec<u32> = (0..70).filter(|number| is_known(*number)).collect();
    assert_eq!(known, (6..70).collect::<Vec<_>>());
}

// W77: what the former owner waited for ends later; its number may be the new one's by then.
#[test]
fn a_new_owner_hears_nothing_of_the_former_ones_requests() {
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "forever"]);
    for _ in 0..50 {
        let mut owner = Connection::to(&socket);
        owner.greet();
        for _ in 0..8 {
            owner.send(Call::Run(shell("sleep 300 & setsid sleep 300")));
        }
        assert_eq!(owner.call(Call::Ping), CallAnswer::Done);
    }
    let mut owner = Connection::to(&socket);
    for id in 0..20 {
        owner.send_as(id, Call::Hello { version: PROTOCOL_VERSION });
        assert!(matches!(owner.reply(id), CallAnswer::Hello(_)));
    }
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// W77
#[test]
fn a_box_that_lingered_long_enough_ends() {
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "200"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    owner.start("sleep 300");
    drop(owner);
    wait_for_end(&mut launcher);
}

// W77: a second one is turned away while the first is there.
#[test]
fn there_is_one_owner_at_a_time() {
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "forever"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    let mut second = Connection::to(&socket);
    assert_eq!(second.next_reply(), None);
    assert_eq!(owner.call(Call::Ping), CallAnswer::Done);
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// W77: those in the box see the socket, and are not its owner.
#[test]
fn nobody_in_the_box_becomes_its_owner() {
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "forever"]);
    let mut owner = Connection::to(&socket);
    owner.greet();
    let text = "
import socket, sys, time
while True:
    try:
        one = socket.socket(socket.AF_UNIX); one.settimeout(5); one.connect('owner.sock')
        one.sendall(bytes.fromhex('03000000010001'))
        print('met' if one.recv(100) else 'refused', flush=True)
    except OSError as error: print('refused', flush=True)
    time.sleep(0.001)
";
    let process = owner.start_spawn(argv(&["python3", "-c", text]));
    owner.output(process, "refused");
    for _ in 0..20 {
        drop(owner);
        // Its chance.
        crate::fixture::pause();
        owner = Connection::to(&socket);
        owner.greet();
    }
    let tried = owner.poll_now(process);
    assert!(!String::from_utf8_lossy(&tried).contains("met"), "{}", String::from_utf8_lossy(&tried));
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// W77
#[test]
fn frames_go_over_stdio_and_nothing_else_does() {
    let (root, mut child) = start_stdio(&[]);
    let mut input = child.stdin.take().unwrap();
    let mut owner = Connection::over(child.stdout.take().unwrap());
    let mut send = |id, call| input.write_all(&encode(&Request { id, call }).unwrap()).unwrap();
    send(1, Call::Hello { version: PROTOCOL_VERSION });
    assert!(matches!(owner.reply(1), CallAnswer::Hello(_)));
    send(2, Call::Run(shell("echo noise; echo noise > /proc/1/fd/1; exit 4")));
    assert_eq!(owner.outcome_unpaced(2).exit.exit_code, Some(4));
    // A new owner on the same wire.
    send(3, Call::Run(shell("sleep 300")));
    send(1, Call::Hello { version: PROTOCOL_VERSION });
    assert!(matches!(owner.reply(1), CallAnswer::Hello(_)));
    drop(input);
    eventually("it ends", || child.try_wait().unwrap().is_some());
    drop(root);
}

// W77
#[test]
fn arguments_that_make_no_sense_are_answered_with_a_sentence() {
    for arguments in [&[][..], &["--channel", "nonsense"], &["--shell"], &["--channel", "fd:3", "--root"]] {
        let output = invoke(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("warren-init: ") && said.trim_end().lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty());
    }
    for arguments in [&["--channel", "fd:77"][..], &["--channel", "stdio", "--root", "/no/such/place"]] {
        let output = invoke(arguments);
        assert_eq!((output.status.code(), output.stderr.is_empty()), (Some(70), false), "{arguments:?}");
    }
}

// W72: what is not named cannot be written, by anyone in the box.
#[test]
fn landlock_keeps_writes_in_the_workspace() {
    let other = tempfile::tempdir_in("/var").unwrap();
    let shared = tempfile::tempdir_in("/var").unwrap();
    let place = |directory: &tempfile::TempDir| directory.path().display().to_string();
    let script = format!(
        "echo a > inside && echo in; echo b > {other}/x || echo kept out; echo c > {shared}/y && echo shared; \
         cat /etc/passwd > /dev/null && echo read; mkdir d && mv inside d/ && echo moved; echo z > /dev/null && echo dev",
        other = place(&other),
        shared = place(&shared),
    );
    let mut inside = Inside::start_silent(&["--landlock", "require", "--writable", &place(&shared)]);
    let greeting = inside.owner.greet();
    assert!(greeting.facts.landlock_abi >= 1, "the kernel offers Landlock");
    assert_eq!(inside.owner.run(&script).text(), "in\nkept out\nshared\nread\nmoved\ndev\n");
    assert!(!other.path().join("x").exists());
    // Signals and terminals work as before.
    let process = inside.owner.start_spawn(crate::fixture::terminal("echo up; sleep 300", 24, 80));
    inside.owner.output(process, "up");
    inside.owner.call(Call::Signal { process, signal: 15 });
    assert_eq!(inside.owner.end_of(process).1.signal, Some(15));
    assert_eq!(inside.owner.run("sleep 300 & kill $!; wait $!; echo $?").text(), "143\n");
    // The same without it succeeds: it is Landlock that keeps it out.
    let mut open = Inside::start_with(&["--landlock", "off"]);
    assert_eq!(open.owner.run(&format!("echo b > {}/x && echo written", place(&other))).text(), "written\n");
}

// W77: `docker stop` and the like. From inside it means nothing.
#[test]
fn a_request_from_outside_to_end_is_followed() {
    let mut inside = Inside::start_with(&["--linger-ms", "forever"]);
    inside.owner.run("kill -TERM 1; kill -INT 1; kill -HUP 1");
    assert_eq!(inside.owner.call(Call::Ping), CallAnswer::Done);
    let pid = rustix::process::Pid::from_raw(i32::try_from(inside.init_pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    inside.wait_for_end();
}

// W77: who sent a signal is what its sender says, unless the kernel says it.
#[test]
fn a_request_to_end_that_claims_to_come_from_outside_means_nothing() {
    // Without Landlock, which keeps signals from process 1 altogether where the kernel has it.
    let mut inside = Inside::start_with(&["--landlock", "off", "--linger-ms", "forever"]);
    let forge = format!(
        "for my $code (0, -1, -2, -3, -4, -6) {{ print syscall({}, 1, 15, pack('i32', 15, 0, $code, (0) x 29)), ' ' }}",
        libc::SYS_rt_sigqueueinfo
    );
    let forged = inside.owner.run(&format!("perl -e \"{}\"", forge.replace('$', "\\$")));
    let taken = forged.text();
    assert!(
        taken.split(' ').any(|answer| answer == "0"),
        "no forged signal was taken, so that nothing is shown: {taken}"
    );
    assert_eq!(inside.owner.call(Call::Ping), CallAnswer::Done);
    assert_eq!(inside.owner.run("echo alive").text(), "alive\n");
}

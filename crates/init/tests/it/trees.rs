//! No process of a command outlives it (W32; sec/S13, S14, S18).

use std::time::{Duration, Instant};

use warren_init::{Call, CallAnswer, Spawn};

use crate::fixture::{Inside, argv, eventually, shell, start_plainly};

/// Long enough for a loaded machine, short enough that nothing waits it out: the sleeps below are ten times longer.
const SOON: Duration = Duration::from_secs(30);

/// A Python program, for what a shell cannot do.
fn python(text: &str) -> Spawn {
    argv(&["python3", "-c", text])
}

fn with_deadline(spawn: Spawn, deadline_ms: u64) -> Spawn {
    Spawn { deadline_ms, ..spawn }
}

fn nobody_is_left(inside: &mut Inside) {
    assert_eq!(inside.owner.count_processes(), 0, "{}", inside.owner.run("ps -ef").text());
}

// W32, sec/S18
#[test]
fn a_deadline_ends_what_ignores_signals() {
    let mut inside = Inside::start();
    let script = "trap '' TERM INT HUP; echo begun; while :; do sleep 300; done";
    let started = Instant::now();
    let outcome = inside.owner.run_spawn(with_deadline(shell(script), 300));
    assert_eq!((outcome.exit.signal, outcome.exit.exit_code), (Some(9), None));
    assert!(outcome.exit.timed_out && outcome.text() == "begun\n");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    nobody_is_left(&mut inside);
}

// W32
#[test]
fn children_end_with_the_command_that_left_them() {
    let mut inside = Inside::start();
    let script = "sleep 300 & setsid sleep 300 & (setsid sh -c 'setsid sleep 300 & sleep 300' &) ; echo bye";
    let started = Instant::now();
    let outcome = inside.owner.run(script);
    assert_eq!((outcome.text().as_str(), outcome.exit.exit_code), ("bye\n", Some(0)));
    assert!(started.elapsed() < SOON, "output held open by a child is not waited for");
    nobody_is_left(&mut inside);
}

/// Forks twice, leaves the session, closes everything, and changes its name.
const DAEMON: &str = "
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir('/'); os.closerange(0, 100)
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
time.sleep(300)
";

// W32, sec/S14
#[test]
fn a_daemon_ends_with_the_command_that_made_it() {
    let mut inside = Inside::start();
    for _ in 0..10 {
        let outcome = inside.owner.run_spawn(python(DAEMON));
        assert_eq!(outcome.exit.exit_code, Some(0));
        nobody_is_left(&mut inside);
    }
    let waiting = DAEMON
        .replace("if os.fork(): os._exit(0)\nos.setsid()", "if os.fork(): time.sleep(300)\nos.setsid()");
    let outcome = inside.owner.run_spawn(with_deadline(python(&waiting), 300));
    assert!(outcome.exit.timed_out);
    nobody_is_left(&mut inside);
}

// W32: the program gives up being the one to whom its orphans come.
#[test]
fn a_program_cannot_push_its_children_away() {
    let mut inside = Inside::start();
    let text = "
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid(); os.closerange(0, 100); time.sleep(300)
    os._exit(0)
os.wait(); time.sleep(0.1)
";
    inside.owner.run_spawn(python(text));
    nobody_is_left(&mut inside);
}

// W32: another command's processes are not touched.
#[test]
fn the_end_of_one_command_leaves_the_others() {
    let mut inside = Inside::start();
    let other = inside.owner.start(
        "setsid sleep 300 & (setsid setsid sleep 300 &); sleep 0.2; echo ready; read line; echo got $line",
    );
    inside.owner.output(other, "ready");
    for _ in 0..5 {
        inside.owner.run_spawn(python(DAEMON));
    }
    let living = inside.owner.count_processes();
    assert_eq!(living, 3, "the shell and its two sleepers");
    inside.owner.call(Call::Write { process: other, bytes: b"it\n".to_vec(), close: false });
    let (text, exit) = inside.owner.end_of(other);
    assert_eq!((text.as_str(), exit.exit_code), ("ready\ngot it\n", Some(0)));
    nobody_is_left(&mut inside);
}

// sec/S18
#[test]
fn what_stops_itself_is_ended_at_the_deadline() {
    let mut inside = Inside::start();
    let outcome = inside.owner.run_spawn(with_deadline(shell("kill -STOP $$; echo never"), 300));
    assert!(outcome.exit.timed_out && outcome.stdout.is_empty());
    let script = "sh -c 'kill -STOP $$' & setsid sh -c 'kill -STOP $$' & sleep 0.2; echo bye";
    assert_eq!(inside.owner.run(script).text(), "bye\n");
    nobody_is_left(&mut inside);
}

// sec/S18
#[test]
fn a_flood_of_zombies_is_reaped() {
    let mut inside = Inside::start();
    let text = "
import os
for _ in range(2000):
    if os.fork() == 0:
        os.fork()
        os._exit(0)
";
    let outcome = inside.owner.run_spawn(with_deadline(python(text), 60_000));
    assert_eq!(outcome.exit.exit_code, Some(0), "{:?}", String::from_utf8_lossy(&outcome.stderr));
    nobody_is_left(&mut inside);
}

/// Each forks on and leaves its group, so that no one signal reaches them all.
const BOMB: &str = "
import os, resource, time
resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
";

// sec/S14. The user's limit counts all of its processes, also those outside the box: none may come near it, so that
// the bomb goes up to it and no further.
#[test]
fn a_fork_bomb_ends_at_its_deadline() {
    let mut inside = Inside::start();
    let bomb = BOMB.replace("limit, limit", "150, 150");
    let bomb = if rustix::process::geteuid().is_root() {
        // Root has no such limit, so it becomes somebody whom nobody else is.
        format!("import os\nos.setgid(123456); os.setuid(123456)\n{bomb}")
    } else {
        bomb
    };
    let started = Instant::now();
    let outcome = inside.owner.run_spawn(with_deadline(python(&bomb), 500));
    assert!(outcome.exit.timed_out, "{outcome:?}");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    nobody_is_left(&mut inside);
}

// sec/S14: one that is never two: each forks and ends at once.
#[test]
fn a_chain_of_forks_is_caught() {
    let mut inside = Inside::start();
    let text = "
import os, time
end = time.monotonic() + 60
if os.fork() == 0:
    os.closerange(0, 100)
    while time.monotonic() < end:
        if os.fork(): os._exit(0)
        os.setsid()
";
    let started = Instant::now();
    let outcome = inside.owner.run_spawn(python(text));
    assert_eq!(outcome.exit.exit_code, Some(0));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    nobody_is_left(&mut inside);
}

// sec/S14
#[test]
fn thousands_of_threads_end_with_their_command() {
    let mut inside = Inside::start();
    let text = "
import threading, time
threading.stack_size(65536)
count = 0
try:
    while count < 10000:
        threading.Thread(target=time.sleep, args=(300,), daemon=True).start(); count += 1
except Exception: pass
print('up', flush=True); time.sleep(300)
";
    let outcome = inside.owner.run_spawn(with_deadline(python(text), 4_000));
    assert!(outcome.exit.timed_out);
    nobody_is_left(&mut inside);
}

// sec/S13: nobody may trace process 1, so nobody can stop it.
#[test]
fn process_1_cannot_be_traced_stopped_or_killed() {
    let mut inside = Inside::start();
    let text = "
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
# Nobody's box has these: with them, any process could be traced.
for capability in range(64): libc.prctl(24, capability, 0, 0, 0)
os.setgid(0)
class Header(ctypes.Structure): _fields_ = [('version', ctypes.c_uint32), ('pid', ctypes.c_int)]
data = (ctypes.c_uint32 * 6)()
assert libc.capset(ctypes.byref(Header(0x20080522, 0)), data) == 0
print('traced', libc.ptrace(16, 1, 0, 0), ctypes.get_errno())
for number in (9, 19, 15, 20, 1): os.kill(1, number)
try: open('/proc/1/mem', 'rb')
except OSError as error: print('memory', error.errno)
";
    let outcome = inside.owner.run_spawn(python(text));
    let text = outcome.text();
    assert!(text.contains("traced -1 1") && text.contains("memory 13"), "{text} {outcome:?}");
    assert_eq!(inside.owner.call(Call::Ping), CallAnswer::Done);
}

// W32: a tracer hides the death of the program it traces from everyone but itself.
#[test]
fn a_tracer_cannot_keep_a_command_from_ending() {
    let mut inside = Inside::start();
    let text = "
import ctypes, os, time
libc = ctypes.CDLL(None)
leader = os.getpid()
libc.prctl(0x59616d61, -1, 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    assert libc.ptrace(0x4206, leader, 0, 0) == 0
    print('traced', flush=True)
    time.sleep(300)
time.sleep(300)
";
    let started = Instant::now();
    let outcome = inside.owner.run_spawn(with_deadline(python(text), 3_000));
    assert_eq!((outcome.text().as_str(), outcome.exit.timed_out), ("traced\n", true), "{outcome:?}");
    assert!(started.elapsed() < SOON);
    nobody_is_left(&mut inside);
}

// W32: no pipe is waited for because a stranger holds it.
#[test]
fn output_that_another_command_holds_open_is_not_waited_for() {
    let mut inside = Inside::start();
    let script = "echo $$ > pid; sleep 0.3; echo end";
    let run = inside.owner.send(Call::Run(shell(script)));
    let pid = inside.path("pid");
    eventually("the command tells its number", || {
        std::fs::read(&pid).is_ok_and(|text| text.ends_with(b"\n"))
    });
    let holder = inside.owner.start("exec 5>/proc/$(cat pid)/fd/1; echo holding; sleep 300");
    inside.owner.output(holder, "holding");
    let outcome = inside.owner.outcome(run).unwrap();
    assert_eq!((outcome.text().as_str(), outcome.exit.exit_code), ("end\n", Some(0)));
}

// W32
#[test]
fn a_cancelled_run_ends_with_its_children() {
    let mut inside = Inside::start();
    let run = inside.owner.send(Call::Run(shell("setsid sleep 300 & echo up; yes")));
    assert!(matches!(inside.owner.reply(run), CallAnswer::Output { .. }));
    inside.owner.send_as(run, Call::Cancel);
    let outcome = inside.owner.outcome(run).unwrap();
    assert_eq!((outcome.exit.signal, outcome.exit.timed_out), (Some(9), false));
    nobody_is_left(&mut inside);
}

// W30, W32
#[test]
fn a_process_with_a_deadline_ends_with_its_children() {
    let mut inside = Inside::start();
    let spawn = with_deadline(shell("setsid sleep 300 & echo up; sleep 300"), 300);
    let process = inside.owner.start_spawn(spawn);
    let (text, exit) = inside.owner.end_of(process);
    assert_eq!((text.as_str(), exit.signal, exit.timed_out), ("up\n", Some(9), true));
    nobody_is_left(&mut inside);
}

// W32: not process 1 of a namespace (a box whose launcher stays): orphans come to it all the same.
#[test]
fn daemons_end_also_where_init_is_not_process_1() {
    let (root, mut child, mut owner) = start_plainly(&[]);
    assert!(!owner.greet().facts.is_process_1);
    let mark = format!("warren-{}", root.path().display());
    let mut spawn = python(DAEMON);
    spawn.env.push((b"MARK".to_vec(), mark.clone().into_bytes()));
    let living = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let is_marked = |path: std::path::PathBuf| {
            let environment = std::fs::read(path.join("environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark.as_bytes())
        };
        processes.filter(|entry| is_marked(entry.path())).count()
    };
    assert_eq!(owner.run_spawn(spawn.clone()).exit.exit_code, Some(0));
    assert_eq!(living(), 0);
    // And with the owner, all of them.
    let mut staying = shell("(setsid sleep 300 &); setsid sleep 300 & echo up; sleep 300");
    staying.env = spawn.env;
    let process = owner.start_spawn(staying);
    owner.output(process, "up");
    eventually("all are up", || living() >= 3);
    drop(owner);
    assert!(child.wait().unwrap().success());
    assert_eq!(living(), 0);
}

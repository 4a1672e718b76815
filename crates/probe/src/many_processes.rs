//! Many processes, processes that hide, and a process that is held (sec/S13, S14, S18).

#![expect(unsafe_code, reason = "processes are made by bare forks")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]
#![expect(clippy::disallowed_methods, reason = "the crowd is to be there for a while")]

use std::io::Write as _;
use std::time::Duration;

use libc::c_long;

use crate::system::{at, call, tell};

const LONG: Duration = Duration::from_secs(600);

/// Makes as many as it is let, says how many there are, and goes or stays.
pub(crate) fn gather(kind: &str, count: usize) {
    let made = match kind {
        "threads" => threads(count),
        "dead" => (0..count).take_while(|_| fork(|| {})).count(),
        "daemons" => (0..count).take_while(|_| fork(daemon)).count(),
        _ => (0..count).take_while(|_| fork(|| std::thread::sleep(LONG))).count(),
    };
    println!("made {made}");
    let _ = std::io::stdout().flush();
    if kind == "dead" {
        // Nobody asks after them.
        std::thread::sleep(LONG);
    }
}

fn threads(count: usize) -> usize {
    let start = |_: &usize| {
        std::thread::Builder::new().stack_size(16 << 10).spawn(|| std::thread::sleep(LONG)).is_ok()
    };
    (0..count).take_while(start).count()
}

/// Out of the session and the group, and nobody's child.
fn daemon() {
    // SAFETY: a forked child with one thread.
    unsafe { libc::setsid() };
    fork(|| std::thread::sleep(LONG));
}

/// Whether a child could be made, which does as it is told and ends.
fn fork(child: impl FnOnce()) -> bool {
    // SAFETY: this program has one thread here; the child ends without what the parent has buffered.
    unsafe {
        match libc::fork() {
            0 => {
                child();
                libc::_exit(0)
            }
            number => number > 0,
        }
    }
}

/// Stops a process by every means, and keeps it so.
pub(crate) fn hold(process: usize) {
    let process = c_long::try_from(process).unwrap_or(1);
    const ATTACH: c_long = 16;
    const SEIZE: c_long = 0x4206;
    const INTERRUPT: c_long = 0x4207;
    tell("seize", call(libc::SYS_ptrace, [SEIZE, process, 0, 0, 0, 0]));
    let interrupted = call(libc::SYS_ptrace, [INTERRUPT, process, 0, 0, 0, 0]);
    tell("interrupt", interrupted);
    if interrupted.is_err() {
        tell("attach", call(libc::SYS_ptrace, [ATTACH, process, 0, 0, 0, 0]));
    }
    tell("stop", call(libc::SYS_kill, [process, libc::SIGSTOP.into(), 0, 0, 0, 0]));
    let _ = std::io::stdout().flush();
    std::thread::sleep(LONG);
}

/// Queues `SIGTERM` with a sender of 0, which is how somebody outside of the namespace looks, and every code that a sender
/// may claim.
pub(crate) fn forge(process: usize) {
    let process = c_long::try_from(process).unwrap_or(1);
    let term = c_long::from(libc::SIGTERM);
    for (name, code) in
        [("user", 0), ("queue", -1), ("timer", -2), ("message", -3), ("io", -4), ("thread", -6)]
    {
        // Signal, error, code, padding, sender, user, and nothing more.
        let mut claimed = [0_i32; 32];
        (claimed[0], claimed[2]) = (libc::SIGTERM, code);
        tell(
            &format!("{name}_to_process"),
            call(libc::SYS_rt_sigqueueinfo, [process, term, at(&claimed), 0, 0, 0]),
        );
        let to_thread = [process, process, term, at(&claimed), 0, 0];
        tell(&format!("{name}_to_thread"), call(libc::SYS_rt_tgsigqueueinfo, to_thread));
    }
    tell("kill", call(libc::SYS_kill, [process, term, 0, 0, 0, 0]));
}

use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::warren::Machine;

/// Answers a command's question at a terminal of its own.
fn answer(machine: &Machine, arguments: &[&str], typed: &str) -> Option<i32> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let mut child =
        machine.command(arguments).stdin(theirs()).stderr(theirs()).stdout(Stdio::null()).spawn().unwrap();
    File::from(ours.try_clone().unwrap()).write_all(typed.as_bytes()).unwrap();
    child.wait().unwrap().code()
}

// S11
#[test]
fn a_removal_at_a_terminal_asks_first() {
    let machine = Machine::new();
    let _server = machine.start();
    for name in ["one", "two"] {
        machine.run(&["ws", "create", name, "--provider", "memory"]).expect_ok();
    }
    let left = || machine.run(&["ws", "ls", "--json"]).expect_ok().json().as_array().unwrap().len();
    assert_eq!(answer(&machine, &["ws", "rm", "one"], "n\n"), Some(1));
    assert_eq!(left(), 2);
    assert_eq!(answer(&machine, &["ws", "rm", "one"], "y\n"), Some(0));
    assert_eq!(left(), 1);
    assert_eq!(answer(&machine, &["ws", "rm", "--yes", "two"], ""), Some(0));
    assert_eq!(left(), 0);
}

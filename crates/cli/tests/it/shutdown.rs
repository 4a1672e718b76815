use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use rustix::process::Signal;

use crate::warren::Machine;

// O4
#[test]
fn sigterm_finishes_a_running_request_and_then_stops() {
    let machine = Machine::new();
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut child = machine
        .command(&["ws", "exec", "demo", "--shell", "echo begun; sleep 1; echo done"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");

    server.signal(Signal::TERM);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(0), "done\n"));
    assert_eq!(server.wait(), Some(0));

    let _server = machine.start();
    let events = machine.run(&["events", "--json"]).expect_ok().text();
    assert!(events.contains("server.process.stopping"), "{events}");
}

// O4
#[test]
fn sigint_stops_an_idle_server_and_its_folder_is_free_at_once() {
    let machine = Machine::new();
    for _ in 0..3 {
        let server = machine.start();
        server.signal(Signal::INT);
        assert_eq!(server.wait(), Some(0));
    }
}

// O4
#[test]
fn a_second_signal_does_not_wait() {
    let machine = Machine::new();
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut child = machine
        .command(&["ws", "exec", "demo", "--shell", "echo begun; sleep 60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    server.signal(Signal::TERM);
    // The first one has been taken when the server no longer accepts anybody.
    while std::net::TcpStream::connect(server.address()).is_ok() {}
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(128 + 15));
    child.wait().unwrap();
}

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

// O4: `warren up 2>&1 | head -3` closes both outputs while it serves.
#[test]
fn a_server_whose_output_nobody_reads_serves_on_and_stops_when_it_is_asked_to() {
    let machine = Machine::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = machine.command(&["up", "--json", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    drop(command);
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    // The log may come first.
    while !line.starts_with('{') {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "it ended");
    }
    drop(reader);

    machine.run(&["ws", "create", "demo"]).expect_ok();
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, Signal::TERM).unwrap();
    let mut ended = None;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while ended.is_none() && std::time::Instant::now() < deadline {
        ended = child.try_wait().unwrap();
    }
    // Already gone is fine.
    let _ = child.kill();
    child.wait().unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}

use rustix::process::Signal;

use crate::postgres_server::Database;
use crate::warren::Machine;

// O10, Q20
#[test]
fn a_server_on_postgres_keeps_everything_across_a_stop_and_a_kill() {
    let database = Database::create();
    let machine = Machine::new();
    let start = || machine.start_with(&["--listen", "127.0.0.1:0", "--database", &database.url]);
    let server = start();
    let token = server.token().to_owned();
    let made = machine.run(&["ws", "create", "demo", "--json"]).expect_ok().json();
    let id = made["id"].as_str().unwrap().to_owned();
    machine.run_with_input(&["ws", "files", "put", "demo", "a.txt"], b"hello\n").expect_ok();
    let ran = machine.run(&["ws", "exec", "demo", "--shell", "cat a.txt; echo more >> a.txt; exit 7"]);
    assert_eq!((ran.code, ran.text().as_str()), (Some(7), "hello\n"));
    let before = machine.run(&["events", "--json"]).expect_ok().text();
    assert!(!machine.data().join("warren.db").exists(), "nothing is kept beside it");

    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    start().kill();
    let server = start();
    assert_eq!(server.token(), token, "whoever holds the local token goes on");
    assert_eq!(machine.run(&["ws", "show", "demo", "--json"]).expect_ok().json()["id"], id.as_str());
    assert_eq!(machine.run(&["ws", "files", "cat", "demo", "a.txt"]).expect_ok().stdout, b"hello\nmore\n");
    let after = machine.run(&["events", "--json"]).expect_ok().text();
    assert!(after.starts_with(&before), "the log goes on where it was:\n{before}\n{after}");
    assert_eq!(after.matches("server.process.started").count(), 3, "{after}");
    machine.run(&["ws", "rm", "demo"]).expect_ok();
}

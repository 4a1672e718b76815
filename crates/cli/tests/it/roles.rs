//! `warren up --role`: real processes on one PostgreSQL.

use std::net::TcpListener;

use crate::postgres_server::Database;
use crate::warren::{Machine, Server, wait_until};

// O10
#[test]
fn a_role_is_for_several_warrens_on_one_postgresql() {
    let machine = Machine::new();
    for role in ["api", "worker"] {
        let refused = machine.run(&["up", "--json", "--listen", "127.0.0.1:0", "--role", role]);
        let error = refused.expect_error(1, "config_invalid");
        let cause = error["causes"][0].as_str().unwrap();
        assert!(cause.contains("server.role") && cause.contains("postgres://"), "{error}");
    }
    let refused = machine.run(&["up", "--json", "--role", "boss"]);
    refused.expect_error(1, "config_invalid");
    let refused = machine.run(&["up", "--json", "--replica-url", "http://169.254.169.254"]);
    let error = refused.expect_error(1, "config_invalid");
    assert!(error["causes"][0].as_str().unwrap().contains("server.replica_url"), "{error}");
    assert!(!machine.data().join("warren.db").exists(), "nothing was begun");
    machine.start_with(&["--listen", "127.0.0.1:0", "--role", "all"]).kill();
}

fn start(machine: &Machine, database: &Database, role: &str) -> Server {
    // Others are to know the port before it is bound.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = format!("http://{free}");
    let arguments = ["--listen", &free, "--replica-url", &url, "--database", &database.url, "--role", role];
    machine.start_with(&arguments)
}

// O10
#[test]
fn a_part_of_a_warren_works_with_the_other_part() {
    let database = Database::create();
    let (front, behind) = (Machine::new(), Machine::new());
    let api = start(&front, &database, "api");
    std::fs::create_dir_all(behind.data()).unwrap();
    std::fs::copy(front.data().join("secrets.key"), behind.data().join("secrets.key")).unwrap();
    let worker = start(&behind, &database, "worker");
    let made = front.run(&["ws", "create", "demo", "--provider", "local", "--json"]).expect_ok().json();
    let id = made["id"].as_str().unwrap().to_owned();
    front.run_with_input(&["ws", "files", "put", "demo", "a.txt"], b"hello\n").expect_ok();
    let ran = front.run(&["ws", "exec", "demo", "--shell", "cat a.txt; echo more >> a.txt; exit 7"]);
    assert_eq!((ran.code, ran.text().as_str()), (Some(7), "hello\n"), "{ran:?}");
    let has_files = |machine: &Machine| machine.data().join("workspaces").join(&id).exists();
    assert!(has_files(&behind), "the box is at the worker");
    assert!(!has_files(&front), "and nowhere else");
    let refused = behind.run(&["ws", "ls", "--json", "--url", worker.url(), "--token", api.token()]);
    refused.expect_error(1, "not_served_here");

    worker.kill();
    let refused = front.run(&["ws", "exec", "demo", "--json", "true"]);
    let told = refused.stderr.lines().last().unwrap_or_default().to_owned();
    assert!(told.contains("workspace_elsewhere"), "{refused:?}");
    let worker = start(&behind, &database, "worker");
    wait_until("the same folder goes on", || {
        front.run(&["ws", "files", "cat", "demo", "a.txt"]).stdout == b"hello\nmore\n"
    });
    drop((api, worker));
}

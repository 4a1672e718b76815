//! `warren audit` (F35, sec/U09).

use rusqlite::Connection;

use crate::warren::{Machine, Server};

fn stop(server: Server) {
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
}

// F35
#[test]
fn entries_are_listed_and_filtered() {
    let machine = Machine::new();
    let _server = machine.start();
    for name in ["one", "two"] {
        machine.run(&["ws", "create", name, "--provider", "local"]).expect_ok();
    }
    let text = machine.run(&["audit", "ls", "--action", "workspace.created"]).expect_ok().text();
    assert_eq!(text.lines().count(), 3, "{text}");
    let made = machine.run(&["audit", "ls", "--action", "workspace.created", "--json"]).expect_ok().json();
    let target = format!("workspace:{}", made[0]["target"]["id"].as_str().unwrap());
    let of_one = machine.run(&["audit", "ls", "--target", &target, "--json"]).expect_ok().json();
    assert_eq!(of_one.as_array().unwrap().len(), 2, "made, and without walls: {of_one}");
    let since = made[1]["at"].as_str().unwrap();
    let later = machine.run(&["audit", "ls", "--since", since, "--limit", "1", "--json"]).expect_ok().json();
    assert_eq!(later.as_array().unwrap().len(), 1);
    assert_eq!(later[0]["seq"], made[1]["seq"]);
    machine.run(&["audit", "ls", "--since", "yesterday", "--json"]).expect_error(1, "invalid_request");
}

// F35, sec/U09
#[test]
fn the_log_is_verified_by_server_file_and_database() {
    let machine = Machine::new();
    let server = machine.start();
    for name in ["one", "two", "three"] {
        machine.run(&["ws", "create", name]).expect_ok();
    }
    let noted = machine.run(&["audit", "head"]).expect_ok().text();
    let noted = noted.trim();
    let verified = machine.run(&["audit", "verify", "--head", noted]).expect_ok();
    assert_eq!(verified.text().trim(), noted);
    assert!(verified.stderr.contains("each as it was written"), "{verified:?}");
    let export = machine.path().join("audit.json");
    let listed = machine.run(&["audit", "ls", "--json"]).expect_ok().text();
    std::fs::write(&export, &listed).unwrap();
    let export = export.to_str().unwrap();
    assert_eq!(machine.run(&["audit", "verify", "--file", export]).expect_ok().text().trim(), noted);
    std::fs::write(export, listed.replace("\"one\"", "\"eno\"")).unwrap();
    let told = machine.run(&["audit", "verify", "--file", export, "--json"]);
    let error = told.expect_error(1, "audit_broken");
    assert!(error["causes"][0].as_str().unwrap().contains("something else than when"), "{error}");
    machine.run(&["audit", "verify", "--head", "1", "--json"]).expect_error(2, "invalid_usage");
    stop(server);

    let path = machine.data().join("warren.db");
    let database = format!("sqlite:{}", path.display());
    let offline = |arguments: &[&str]| {
        machine.run(&[&["audit", "verify", "--database", &database, "--json"], arguments].concat())
    };
    offline(&["--head", noted]).expect_ok();
    let guards = "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted";
    Connection::open(&path).unwrap().execute_batch(guards).unwrap();
    let broken = |sql: &str, arguments: &[&str], expected: &str| {
        let copy = std::fs::read(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = offline(arguments).expect_error(1, "audit_broken");
        assert!(error["causes"][0].as_str().unwrap().starts_with(expected), "{sql}: {error}");
        for file in ["warren.db-wal", "warren.db-shm"] {
            let _ = std::fs::remove_file(machine.data().join(file));
        }
        std::fs::write(&path, copy).unwrap();
    };
    broken("UPDATE audit SET principal = 'user:x' WHERE seq = 2", &[], "entry 2:");
    broken("DELETE FROM audit WHERE seq = 3", &[], "entry 3:");
    let last: u64 = noted.split(':').next().unwrap().parse().unwrap();
    let cut = format!(
        "DELETE FROM audit WHERE seq = {last};
         UPDATE audit_head SET newest = newest - 1, hash = (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1)"
    );
    broken(&cut, &["--head", noted], &format!("entry {last}:"));
    // And over the server, which serves what it finds.
    Connection::open(&path).unwrap().execute_batch("UPDATE audit SET action = 'x' WHERE seq = 1").unwrap();
    let _server = machine.start();
    let error = machine.run(&["audit", "verify", "--json"]).expect_error(1, "audit_broken");
    assert!(error["causes"][0].as_str().unwrap().starts_with("entry 1:"), "{error}");
}

//! A database that is lost, damaged or not ours is told, and left as it was.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::warren::Machine;

const UP: [&str; 4] = ["up", "--json", "--listen", "127.0.0.1:0"];

/// One line that names the file, and nothing of the SQL that failed.
#[track_caller]
fn expect_damaged(machine: &Machine) -> Value {
    let error = machine.run(&UP).expect_error(1, "database_damaged");
    let causes = error["causes"].as_array().unwrap();
    let cause = causes[0].as_str().unwrap();
    assert!(causes.len() == 1 && cause.contains("warren.db") && cause.len() < 300, "{error}");
    assert!(!cause.contains('\n') && !cause.contains("CREATE"), "{error}");
    let doctor = machine.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.text().contains("warren.db"), "{doctor:?}");
    error
}

/// A server ran, made a workspace if asked to, and was killed.
fn used_machine(has_workspace: bool) -> Machine {
    let machine = Machine::new();
    let server = machine.start();
    if has_workspace {
        machine.run(&["ws", "create", "demo"]).expect_ok();
    }
    server.kill();
    machine
}

fn remove_if_there(path: &Path) {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
}

// S10, O5
#[test]
fn a_newer_database_is_refused_and_left_as_it_was() {
    let machine = Machine::new();
    machine.start().kill();
    let path = machine.data().join("warren.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let bump = "UPDATE schema_migrations SET version = 9999 \
                WHERE version = (SELECT max(version) FROM schema_migrations)";
    assert_eq!(database.execute(bump, []).unwrap(), 1);
    drop(database);
    let bytes = std::fs::read(&path).unwrap();
    let error = machine.run(&UP).expect_error(1, "database_newer");
    assert!(error["causes"][0].as_str().unwrap().contains("9999"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let checks = machine.run(&["doctor", "--json"]);
    assert_eq!(checks.code, Some(1));
    assert!(checks.text().contains("9999"), "{checks:?}");
}

// S10
#[test]
fn a_lost_database_is_not_replaced_by_an_empty_one() {
    for has_workspace in [true, false] {
        let machine = used_machine(has_workspace);
        for side_file in ["warren.db", "warren.db-wal", "warren.db-shm"] {
            remove_if_there(&machine.data().join(side_file));
        }
        let error = expect_damaged(&machine);
        let sign = if has_workspace { "workspaces" } else { "local_access.json" };
        assert!(error["causes"][0].as_str().unwrap().contains(sign), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("`--data`"), "{error}");
        assert!(!machine.data().join("warren.db").exists(), "nothing was made");
        let elsewhere = machine.path().join("elsewhere");
        std::fs::rename(machine.data(), elsewhere).unwrap();
        machine.start().kill();
    }
}

// S10
#[test]
fn a_database_that_lost_its_log_is_not_started_empty() {
    let machine = used_machine(true);
    let log = machine.data().join("warren.db-wal");
    let kept = std::fs::read(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    remove_if_there(&machine.data().join("warren.db-shm"));
    expect_damaged(&machine);
    std::fs::write(&log, kept).unwrap();
    let _server = machine.start();
    machine.run(&["ws", "show", "demo"]).expect_ok();
}

// S10
#[test]
fn an_emptied_database_is_refused_and_its_log_is_kept() {
    let machine = used_machine(true);
    let database = machine.data().join("warren.db");
    let kept = std::fs::read(&database).unwrap();
    std::fs::write(&database, "").unwrap();
    expect_damaged(&machine);
    for files in ["workspaces", "sandbox"] {
        std::fs::remove_dir_all(machine.data().join(files)).unwrap();
    }
    std::fs::remove_file(machine.data().join("local_access.json")).unwrap();
    let error = expect_damaged(&machine);
    assert!(error["causes"][0].as_str().unwrap().contains("warren.db-wal"), "{error}");
    std::fs::write(&database, kept).unwrap();
    let _server = machine.start();
    machine.run(&["ws", "show", "demo"]).expect_ok();
}

// S10, O2
#[test]
fn a_first_start_that_was_killed_early_is_no_loss() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data().join("workspaces")).unwrap();
    std::fs::write(machine.data().join("warren.lock"), "").unwrap();
    std::fs::write(machine.data().join("warren.db"), "").unwrap();
    machine.start().kill();

    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    let database = rusqlite::Connection::open(machine.data().join("warren.db")).unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    drop(database);
    machine.start().kill();
}

// S10
#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_was() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    let path = machine.data().join("warren.db");
    std::fs::write(&path, "my diary, not a database, and long enough to have a header".repeat(20)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    expect_damaged(&machine);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

// S10
#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    let path = machine.data().join("warren.db");
    let theirs = rusqlite::Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE workspaces (x)").unwrap();
    drop(theirs);
    let bytes = std::fs::read(&path).unwrap();
    expect_damaged(&machine);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// Stops the server as a person would, so that all is in the one file.
fn whole_database(machine: &Machine) -> (PathBuf, Vec<u8>) {
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    let path = machine.data().join("warren.db");
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

// S10
#[test]
fn a_database_with_a_damaged_schema_is_refused() {
    let machine = Machine::new();
    let (path, mut bytes) = whole_database(&machine);
    // All but the header of the file, which says what it is.
    bytes[100..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    expect_damaged(&machine);
}

// S10
#[test]
fn a_database_with_damaged_rows_is_refused_when_they_are_read() {
    let machine = Machine::new();
    let (path, mut bytes) = whole_database(&machine);
    let database = rusqlite::Connection::open(&path).unwrap();
    let question = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master \
                    WHERE name = 'workspaces'";
    let (page, size): (u32, u32) =
        database.query_row(question, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    drop(database);
    let (end, size) = ((page * size) as usize, size as usize);
    bytes[end - size..end].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    machine.run(&UP).expect_error(1, "database_damaged");
}

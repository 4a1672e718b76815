//! `warren webhook`, and what the config lets Warren call (X52, X6).

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use crate::warren::Machine;

fn is_whole(seen: &str) -> bool {
    let Some((head, body)) = seen.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |text| text.parse().unwrap())
}

/// Answers every request with 200 and hands on what it read.
fn receiver() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut buffer, mut seen) = (stream.unwrap(), [0; 4096], String::new());
            while !is_whole(&seen) {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => seen.push_str(&String::from_utf8_lossy(&buffer[..count])),
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            if sender.send(seen).is_err() {
                return;
            }
        }
    });
    (url, received)
}

// X52, X6
#[test]
fn a_webhook_is_made_told_listed_stopped_and_removed_from_the_command_line() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    let config = "[outbound]\nallow_private = [\"127.0.0.0/8\"]\n";
    std::fs::write(machine.data().join("warren.toml"), config).unwrap();
    let _server = machine.start();
    let (url, received) = receiver();
    let made = machine.run(&["webhook", "add", "ops", &url, "--event", "workspace.lifecycle.created"]);
    let made = made.expect_ok();
    assert!(made.text().starts_with("whsec_"), "{made:?}");
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let told = received.recv_timeout(Duration::from_secs(20)).expect("it is told");
    assert!(
        told.contains("webhook-signature: v1,") && told.contains("\"workspace.lifecycle.created\""),
        "{told}"
    );

    let listed = machine.run(&["webhook", "ls", "--json"]).expect_ok().json();
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    assert!(machine.run(&["webhook", "ls"]).expect_ok().text().contains("active"));
    let calls = machine.run(&["webhook", "calls", &id, "--json"]).expect_ok().json();
    let call = calls[0]["id"].as_str().unwrap();
    assert!(told.contains(call), "{told}");
    machine.run(&["webhook", "stop", &id]).expect_ok();
    assert_eq!(machine.run(&["webhook", "ls", "--json"]).expect_ok().json()[0]["is_active"], json!(false));
    machine.run(&["webhook", "start", &id]).expect_ok();
    machine.run(&["webhook", "rm", &id]).expect_ok();
    machine.run(&["webhook", "calls", &id, "--json"]).expect_error(3, "webhook_not_found");

    let opened = machine.run(&["webhook", "open", "demo", "ci", "--json"]).expect_ok().json();
    assert!(opened["secret"].as_str().unwrap().starts_with("whsec_"));
    let door = opened["channel"]["id"].as_str().unwrap();
    assert!(machine.run(&["webhook", "doors", "demo"]).expect_ok().text().contains(door));
    machine.run(&["webhook", "close", "demo", door]).expect_ok();
    machine.run(&["webhook", "close", "demo", door, "--json"]).expect_error(3, "channel_not_found");
}

// X6
#[test]
fn a_private_address_is_refused_until_the_config_opens_it() {
    let machine = Machine::new();
    let _server = machine.start();
    let refused = machine.run(&["webhook", "add", "ops", "http://127.0.0.1:9/", "--json"]);
    refused.expect_error(1, "outbound_refused");
}

// X52
#[test]
fn a_list_says_what_it_does_not_show_and_why() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    for name in ["old", "new"] {
        machine.run(&["webhook", "open", "demo", name]).expect_ok();
    }
    let database = rusqlite::Connection::open(machine.data().join("warren.db")).unwrap();
    database.busy_timeout(Duration::from_secs(20)).unwrap();
    let edit = "UPDATE channels SET created_by = 'moon:1' WHERE name = 'new'";
    assert_eq!(database.execute(edit, []).unwrap(), 1);
    let id: String =
        database.query_row("SELECT id FROM channels WHERE name = 'new'", [], |row| row.get(0)).unwrap();
    let listed = machine.run(&["webhook", "doors", "demo"]).expect_ok();
    assert!(listed.text().contains("old") && !listed.text().contains(&id), "{listed:?}");
    assert!(listed.stderr.contains(&format!("cannot read them: {id}.")), "{listed:?}");
}

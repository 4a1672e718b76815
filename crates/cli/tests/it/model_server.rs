//! `warren model-server`: a scripted model over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::Value;

use crate::warren::Machine;

// A10
#[test]
fn a_built_in_script_is_served_at_the_address_that_is_told() {
    let machine = Machine::new();
    let mut command = machine.command(&["model-server", "--script", "echo", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let body = r#"{"model": "x", "messages": [{"role": "user", "content": "say this"}]}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\nconnection: close\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("say this"), "{answer}");
}

// A10: bad input
#[test]
fn a_script_that_cannot_be_read_is_told_with_its_place() {
    let machine = Machine::new();
    std::fs::write(machine.path().join("bad.yaml"), "turns: [{ text: x, whne: {} }]").unwrap();
    let said = machine.run(&["model-server", "--script", "bad.yaml", "--json"]);
    let error = said.expect_error(2, "invalid_usage");
    assert!(error["causes"][0].as_str().unwrap().contains("turns[0]"), "{error}");
    machine.run(&["model-server", "--script", "nowhere.yaml", "--json"]).expect_error(1, "local_file_failed");
}

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::warren::Machine;

/// Far above the goals (100 ms, 40 MB), which hold for a release build on a quiet machine and are measured by
/// `make bench`: this finds what makes a start slow or large by a multiple.
const GENEROUS_TIME: Duration = Duration::from_secs(10);
const GENEROUS_KB: u64 = 60_000;

fn exchange(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let headers = format!(
        "Host: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}"
    );
    write!(stream, "{head} HTTP/1.1\r\n{headers}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

// S3
#[test]
fn the_first_page_comes_at_once_and_an_idle_server_is_small() {
    let machine = Machine::new();
    let started = Instant::now();
    let server = machine.start();
    let page = exchange(server.address(), "GET /", "");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(started.elapsed() < GENEROUS_TIME, "{:?}", started.elapsed());
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    // What it has made itself. The pages of the program, which are many where it is not optimised, are not counted.
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let own_kb: u64 = own.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(own_kb < GENEROUS_KB, "{own_kb} kB");
}

// S22, sec/W05
#[test]
fn a_server_takes_all_the_descriptors_it_may_and_hands_commands_the_usual_number() {
    let machine = Machine::new();
    let server = machine.start();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.process_id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<_> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "soft and hard: {line}");
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let seen = machine.run(&["ws", "exec", "demo", "--shell", "ulimit -n"]).expect_ok().text();
    assert!(seen.trim().parse::<u64>().unwrap() <= 1_024, "{seen}");
}

// S10
#[test]
fn the_printed_link_signs_a_browser_in_once() {
    let machine = Machine::new();
    let server = machine.start();
    let link = server.ready["link"].as_str().unwrap();
    let secret = link.split_once("#sign-in=").unwrap().1;
    let body = serde_json::json!({ "secret": secret }).to_string();
    let answer = exchange(server.address(), "POST /api/v1/sign-in", &body);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("warren_session="), "{answer}");
    let again = exchange(server.address(), "POST /api/v1/sign-in", &body);
    assert!(again.starts_with("HTTP/1.1 401"), "{again}");
}

// S10
#[test]
fn a_person_is_told_the_folder_the_providers_and_the_link() {
    let machine = Machine::new();
    let server = machine.start_for_people();
    let text = &server.banner;
    for part in ["Warren 0.", "data ", "warren.db", "local ", "No isolation.", "/#sign-in=wrn_login_"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// W83, O1: one provider's bad address is in nobody's way.
#[test]
fn a_docker_address_that_cannot_be_used_does_not_stop_the_server() {
    for host in ["tcp://203.0.113.7:2375", "ssh://nobody@example.com", "nonsense", "tcp://127.0.0.1:9"] {
        let machine = Machine::new();
        std::fs::create_dir_all(machine.data()).unwrap();
        std::fs::write(machine.data().join("warren.toml"), format!("[docker]\nhost = \"{host}\"\n")).unwrap();
        let server = machine.start();
        machine.run(&["ws", "create", "demo"]).expect_ok();
        assert_eq!(machine.run(&["ws", "exec", "demo", "--shell", "echo fine"]).expect_ok().text(), "fine\n");
        let doctor = machine.run(&["doctor", "--json"]).expect_ok().json();
        let checks = doctor["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "docker").unwrap();
        assert_eq!(check["state"], "warn", "{host}: {check}");
        drop(server);
    }
}

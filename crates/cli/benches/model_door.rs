//! P20: the first byte of a model's answer for a program in a box, through the model door, against a direct call of the same
//! server from outside of a box, in turns. The goal is less than 2 ms more in the middle. The model is scripted and
//! instant; `curl` is the program, since it tells when the first byte came.
//!
//! `cargo bench -p warren-cli --bench model_door`
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "runs the program that measures")]

mod measured;

use std::process::Command;
use std::time::Duration;

use measured::{Connection, Server, more_ms, row};
use serde_json::json;
use tokio::net::TcpListener;
use warren_llm::Script;
use warren_llm::server::{ServerOptions, serve};

const WARM_UP: usize = 20;
/// Requests on one connection, so that both ways have the same of those too.
const BATCH: usize = 50;
const BATCHES: usize = 20;

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    let script = Script::built_in("hello").expect("it is built in");
    runtime.spawn(serve(listener, script, ServerOptions::default()));
    let config = folder.path().join("warren.toml");
    let settings = format!(
        "[outbound]\nallow_private = [\"127.0.0.0/8\"]\n\n[models.providers.near]\nwire = \"anthropic\"\nbase_url = \"http://{address}/v1\"\n"
    );
    std::fs::write(&config, settings).expect("the config is written");
    let config = config.to_str().expect("a plain path");
    let server = Server::start(&folder.path().join("server"), &["--config", config]);
    let mut connection = server.connect();
    let wish = json!({
        "name": "bench", "provider": { "kind": "sandbox" }, "doors": { "models": ["near/*"] },
    });
    let made = connection.post("/api/v1/workspaces", &wish);
    let exec = format!("/api/v1/workspaces/{}/exec", made["id"].as_str().expect("it has an id"));
    let direct = format!("http://{address}/v1/messages");
    let door = "http://127.0.0.1:7701/v1/messages";
    in_box(&mut connection, &exec, &request(door, WARM_UP));
    outside(&request(&direct, WARM_UP));
    let (mut by_door, mut by_hand) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        by_hand.extend(outside(&request(&direct, BATCH)));
        by_door.extend(in_box(&mut connection, &exec, &request(door, BATCH)));
    }
    let (direct_line, direct) = row("a direct call, outside of a box", by_hand);
    let (door_line, door) = row("through the model door, out of a sandbox", by_door);
    println!(
        "## P20: the model door of a box, to the first byte\n\n{}\n{direct_line}\n{door_line}",
        measured::HEAD
    );
    println!("\nmore through the door: p50 {:.3} ms (goal under 2 ms)", more_ms(door.p50, direct.p50));
    server.stop();
}

/// So many requests on one connection; one line for each, with the seconds from its beginning to the first byte.
fn request(url: &str, times: usize) -> Vec<String> {
    let body = json!({
        "model": "any", "max_tokens": 100, "stream": true,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let mut words: Vec<String> = ["curl", "-sS", "-H", "anthropic-version: 2023-06-01", "-H", "x-api-key: x"]
        .map(str::to_owned)
        .to_vec();
    words.extend(["-w".into(), "%{stderr}%{http_code} %{time_pretransfer} %{time_starttransfer}\n".into()]);
    words.extend(["-d".into(), body.to_string()]);
    for _ in 0..times {
        words.extend(["-o".into(), "/dev/null".into(), url.to_owned()]);
    }
    words
}

fn outside(words: &[String]) -> Vec<Duration> {
    let ran = Command::new(&words[0]).args(&words[1..]).output().expect("install the Debian package curl");
    read(&String::from_utf8_lossy(&ran.stderr))
}

fn in_box(connection: &mut Connection, path: &str, words: &[String]) -> Vec<Duration> {
    let ran = connection.post(path, &json!({ "argv": words }));
    read(ran["stderr"].as_str().unwrap_or_else(|| panic!("{ran}")))
}

fn read(lines: &str) -> Vec<Duration> {
    let one = |line: &str| {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("200"), "{lines}");
        let mut seconds = || words.next().and_then(|word| word.parse::<f64>().ok()).expect("seconds");
        let (before, after) = (seconds(), seconds());
        Duration::from_secs_f64(after - before)
    };
    lines.lines().map(one).collect()
}

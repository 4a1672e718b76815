//! How long `warren up` takes from the start of the process to the first answered request, on a new data folder and
//! on one that is there already, and how much memory it holds then (S3: under 100 ms, under 40 MB).
//!
//! `cargo bench -p warren-cli --bench start_up`; a plain `cargo test` build gives the figures of a debug build.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;
/// Of S3: from the start of the binary to the first page, on a data folder that is there already or not.
const GOAL_MS: f64 = 100.0;
/// Of S3: what an idle server holds.
const GOAL_MB: f64 = 40.0;
/// After the last request, so that what it needed is let go of.
const IDLE: Duration = Duration::from_millis(500);

struct Measured {
    first_answer: Duration,
    resident_kb: u64,
}

fn main() {
    let (mut fresh, mut again) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let folder =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
        fresh.push(start_once(folder.path()));
        again.push(start_once(folder.path()));
    }
    let bytes = std::fs::metadata(env!("CARGO_BIN_EXE_warren")).expect("the binary is there").len();
    println!(
        "from the start of the process to the first page, {ROUNDS} rounds, and memory after half a second of rest"
    );
    println!("S3 asks for under {GOAL_MS} ms in the median, and under {GOAL_MB} MB in every round");
    println!("{:<24} {:>10} {:>10} {:>10} {:>12}  S3", "", "median ms", "lowest", "highest", "resident MB");
    report("new data folder", &fresh);
    report("existing data folder", &again);
    println!("binary: {:.1} MB", as_f64(bytes) / 1e6);
}

/// Starts, asks for the page once, reads the memory, and stops as a person would.
#[expect(clippy::disallowed_methods, reason = "an idle server is measured")]
fn start_once(data: &Path) -> Measured {
    let started = Instant::now();
    let mut server = spawn(data);
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("the output is piped"))
        .read_line(&mut line)
        .expect("the server prints its address");
    let ready: serde_json::Value = serde_json::from_str(&line).expect("one JSON line");
    let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an http address");
    ask(address, "/");
    let first_answer = started.elapsed();
    for _ in 0..20 {
        ask(address, "/healthz");
    }
    std::thread::sleep(IDLE);
    let resident_kb = resident_kb(server.id());
    let id = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("the server is alive");
    server.wait().expect("the server ends");
    Measured { first_answer, resident_kb }
}

#[expect(clippy::disallowed_methods, reason = "runs the binary under measurement")]
fn spawn(data: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_warren"))
        .args(["up", "--json", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts")
}

fn ask(address: &str, path: &str) {
    let mut stream = TcpStream::connect(address).expect("the server accepts");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

fn resident_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number of kB")
}

fn report(label: &str, measured: &[Measured]) {
    let mut times: Vec<f64> = measured.iter().map(|one| one.first_answer.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    let most_kb = measured.iter().map(|one| one.resident_kb).max().unwrap_or_default();
    let (median, resident_mb) = (times[times.len() / 2], as_f64(most_kb) * 1.024 / 1e3);
    let verdict = |is_met: bool| if is_met { "met" } else { "missed" };
    println!(
        "{label:<24} {median:>10.1} {:>10.1} {:>10.1} {resident_mb:>12.1}  time {}, memory {}",
        times[0],
        times[times.len() - 1],
        verdict(median < GOAL_MS),
        verdict(resident_mb < GOAL_MB),
    );
}

#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^53")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

//! P10: a thousand readers of the event stream and a thousand events a second. Every reader must see every event, in
//! order; the time counts from the event's own time stamp, taken before it is committed, to its arrival at a reader. The
//! goal is p99 under 50 ms.
//!
//! `cargo bench -p warren-cli --bench event_readers`. The readers run on the same cores as Warren.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod measured;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use measured::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use warren_doors::{Clock as _, SystemClock};
use warren_model::Timestamp;

const READERS: usize = 1_000;
const PER_SECOND: u32 = 1_000;
const PRODUCERS: u32 = 20;
const SECONDS: u32 = 10;
const WORKSPACES: usize = 20;

/// When each event came, by its number, in microseconds since the epoch.
type Arrivals = Vec<(u64, i64)>;

#[expect(clippy::disallowed_methods, reason = "waits for readers that tell nobody when they are there")]
fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let server = Server::start(&folder.path().join("events"), &[]);
    let ids: Vec<String> =
        (0..WORKSPACES).map(|number| server.join(&format!("w{number}"), 1, None).0).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let listening = Arc::new(AtomicUsize::new(0));
    let written_at: Arc<Mutex<HashMap<u64, i64>>> = Arc::default();
    let readers: Vec<_> = (0..READERS)
        .map(|number| {
            let reader = Reader {
                address: server.address.clone(),
                token: server.token.clone(),
                listening: Arc::clone(&listening),
                written_at: (number == 0).then(|| Arc::clone(&written_at)),
            };
            runtime.spawn(reader.read())
        })
        .collect();
    while listening.load(Ordering::Relaxed) < READERS {
        std::thread::sleep(Duration::from_millis(10));
    }
    let cpu_before = cpu_of(server.process_id());
    let started = Instant::now();
    produce(&server, &ids);
    let took = started.elapsed();
    let cores = (cpu_of(server.process_id()) - cpu_before) / took.as_secs_f64();
    std::thread::sleep(Duration::from_secs(1));
    server.stop();
    let arrivals: Vec<Arrivals> = runtime.block_on(async {
        let mut all = Vec::new();
        for reader in readers {
            all.push(reader.await.expect("no reader fails"));
        }
        all
    });
    report(&arrivals, &written_at.lock().expect("nobody panicked"), took, cores);
}

#[expect(clippy::disallowed_methods, reason = "keeps a pace")]
fn produce(server: &Server, ids: &[String]) {
    let pause = Duration::from_secs(1) * PRODUCERS / PER_SECOND;
    std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            scope.spawn(move || {
                let mut connection = server.connect();
                let started = Instant::now();
                for number in 0..PER_SECOND / PRODUCERS * SECONDS {
                    std::thread::sleep((started + pause * number).saturating_duration_since(Instant::now()));
                    let id = &ids[(number as usize) % ids.len()];
                    let body = json!({ "message": { "id": format!("{producer}-{number}"), "parts": [{ "text": "work" }] } });
                    let (status, answer) =
                        connection.post_text(&format!("/api/v1/workspaces/{id}/messages"), &body.to_string());
                    assert_eq!(status, 202, "{}", String::from_utf8_lossy(&answer));
                }
            });
        }
    });
}

struct Reader {
    address: String,
    token: String,
    listening: Arc<AtomicUsize>,
    /// One of the readers looks into the events; the others take their numbers.
    written_at: Option<Arc<Mutex<HashMap<u64, i64>>>>,
}

impl Reader {
    async fn read(self) -> Arrivals {
        let mut stream = TcpStream::connect(&self.address).await.expect("it accepts");
        let request = format!(
            "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut arrivals = Vec::with_capacity((PER_SECOND * SECONDS) as usize);
        let mut held = Vec::with_capacity(64 << 10);
        let mut is_listening = false;
        // Until the server stops.
        while stream.read_buf(&mut held).await.is_ok_and(|read| read > 0) {
            let now = SystemClock.now().as_micros();
            let Some(end) = memchr::memrchr(b'\n', &held) else { continue };
            for line in lines(&held[..end]) {
                if let Some(seq) = line.strip_prefix(b"id: ") {
                    arrivals.push((number(seq), now));
                } else if !is_listening && memchr::memmem::find(line, b"caught_up").is_some() {
                    is_listening = true;
                    arrivals.clear();
                    self.listening.fetch_add(1, Ordering::Relaxed);
                } else if let (Some(times), Some(data)) = (&self.written_at, line.strip_prefix(b"data: ")) {
                    note_time(times, data);
                }
            }
            held.drain(..=end);
        }
        arrivals
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    memchr::memchr_iter(b'\n', text).chain(std::iter::once(text.len())).map(move |end| {
        let line = &text[from..end];
        from = end + 1;
        line
    })
}

fn number(digits: &[u8]) -> u64 {
    digits
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

fn note_time(times: &Mutex<HashMap<u64, i64>>, data: &[u8]) {
    let frame: Value = serde_json::from_slice(data).expect("a frame");
    let event = &frame["event"];
    if let (Some(seq), Some(at)) = (event["seq"].as_u64(), event["at"].as_str()) {
        let at = at.parse::<Timestamp>().expect("a time");
        times.lock().expect("nobody panicked").insert(seq, at.as_micros());
    }
}

fn report(arrivals: &[Arrivals], written_at: &HashMap<u64, i64>, took: Duration, cores: f64) {
    let expected: Vec<u64> =
        arrivals[0].iter().map(|(seq, _)| *seq).filter(|seq| written_at.contains_key(seq)).collect();
    let mut times = Vec::new();
    for arrived in arrivals {
        let seen: Vec<u64> =
            arrived.iter().map(|(seq, _)| *seq).filter(|seq| written_at.contains_key(seq)).collect();
        assert_eq!(seen, expected, "every reader sees every event once, in order");
        times.extend(arrived.iter().filter_map(|(seq, at)| written_at.get(seq).map(|written| at - written)));
    }
    times.sort_unstable();
    let at =
        |per_mille: usize| times[(times.len() * per_mille / 1_000).min(times.len() - 1)] as f64 / 1_000.0;
    println!("## P10: {READERS} readers of the event stream\n");
    println!("| | p50 | p99 | p99.9 | longest |\n|---|---|---|---|---|");
    println!(
        "| from an event's own time to a reader | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} ms |",
        at(500),
        at(990),
        at(999),
        at(1_000)
    );
    println!(
        "\n{} events in {:.1} s ({:.0}/s), {} arrivals, none missing or out of order; Warren took {cores:.2} cores. p99 {:.1} ms \
         (goal under 50 ms)",
        expected.len(),
        took.as_secs_f64(),
        expected.len() as f64 / took.as_secs_f64(),
        times.len(),
        at(990)
    );
}

/// Seconds of processor time that a process has used.
fn cpu_of(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("the server is alive");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

//! P11 and P19: the same loop, durable, by Warren and by LangGraph, in turns.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;
use warren_agent::Config;

use crate::bed::{Bed, DATABASE, on_disk};
use crate::{Size, shares};

const SESSIONS: usize = 64;
const ROUNDS: usize = 3;

/// What LangGraph needed for the same.
struct Peer {
    step_ms: f64,
    steps_per_second: f64,
    bytes: u64,
    versions: String,
}

pub(crate) async fn measure(size: Size) {
    let mut alone = Vec::new();
    let mut rates = Vec::new();
    let mut bytes = 0;
    for round in 0..ROUNDS {
        let (times, taken) = one_session(size).await;
        alone.extend(times);
        bytes = if round == 0 { taken } else { bytes };
        rates.push(at_once(size).await);
    }
    let peer = peer(size);
    println!("## P11: a durable step: a model call and a tool call, an instant model\n");
    println!("| | p50 alone | p99 alone | steps a second, {SESSIONS} sessions |\n|---|---|---|---|");
    let ms = shares(&mut alone, &[500, 990]);
    rates.sort_by(f64::total_cmp);
    let rate = rates[rates.len() / 2];
    println!("| Warren, SQLite, synchronous FULL | {:.3} ms | {:.3} ms | {rate:.0} |", ms[0], ms[1]);
    let Some(peer) = peer else {
        println!("\nLangGraph: not measured, see what `scripts/peers.sh langgraph install` says");
        return tell_bytes(size, bytes, None);
    };
    println!(
        "| {}, SQLite, synchronous FULL, durability sync | {:.3} ms | | {:.0} |",
        peer.versions, peer.step_ms, peer.steps_per_second
    );
    println!(
        "\nalone {:.3} ms (goal at most 2 ms), at once {rate:.0}/s (goal 2000/s); against LangGraph: {:.1}x alone, {:.1}x \
         at once (goal 5x)\n",
        ms[0],
        peer.step_ms / ms[0],
        rate / peer.steps_per_second
    );
    tell_bytes(size, bytes, Some(peer.bytes));
}

/// The bytes alone.
pub(crate) async fn weigh(size: Size) {
    let (_, bytes) = one_session(size).await;
    tell_bytes(size, bytes, peer(Size { steps_each: 1, ..size }).map(|peer| peer.bytes));
}

fn tell_bytes(size: Size, bytes: u64, peer: Option<u64>) {
    let mb = |bytes: u64| bytes as f64 / 1_000_000.0;
    println!("\n## P19: a session of {} steps on disk\n", size.steps);
    println!("| | MB | kB a step |\n|---|---|---|");
    let line = |name: &str, bytes: u64| {
        println!("| {name} | {:.2} | {:.2} |", mb(bytes), bytes as f64 / 1_000.0 / f64::from(size.steps));
    };
    line("Warren", bytes);
    if let Some(peer) = peer {
        line("LangGraph", peer);
        println!(
            "\n{:.2} MB (goal at most 2 MB), {:.0} times less than LangGraph\n",
            mb(bytes),
            peer as f64 / bytes as f64
        );
    }
}

/// Times between the beginnings of steps, as they stand in the database, and the bytes that it takes.
async fn one_session(size: Size) -> (Vec<Duration>, u64) {
    let bed = Bed::new(size.steps, Config::default()).await;
    let before = on_disk(bed.path());
    let name = bed.session("steps").await;
    bed.say(&bed.host, &name, "Go.").await;
    let session = bed.wait(&bed.host, &name).await;
    assert_eq!(session.last_step, size.steps + 1, "every step was taken: {:?}", session.phase);
    let taken = on_disk(bed.path()) - before;
    let database = Connection::open(bed.path().join(DATABASE)).expect("the database opens");
    let mut statement =
        database.prepare("SELECT started_at FROM session_steps ORDER BY number").expect("the steps");
    let started = statement.query_map([], |row| row.get(0)).expect("the steps");
    let started: Vec<i64> = started.collect::<Result<_, _>>().expect("their times");
    let times =
        started.windows(2).map(|pair| Duration::from_micros((pair[1] - pair[0]).unsigned_abs())).collect();
    bed.host.stop().await;
    (times, taken)
}

/// Steps a second of many sessions at once.
async fn at_once(size: Size) -> f64 {
    let bed = Bed::new(size.steps_each, Config::default()).await;
    let mut names = Vec::new();
    for _ in 0..SESSIONS {
        names.push(bed.session("steps").await);
    }
    let started = Instant::now();
    let said = names.iter().map(|name| bed.say(&bed.host, name, "Go."));
    futures_util::future::join_all(said).await;
    let ended = futures_util::future::join_all(names.iter().map(|name| bed.wait(&bed.host, name))).await;
    let seconds = started.elapsed().as_secs_f64();
    let steps: u32 = ended.iter().map(|session| session.last_step).sum();
    bed.host.stop().await;
    f64::from(steps) / seconds
}

/// Nothing where it cannot be installed.
#[expect(clippy::disallowed_methods, reason = "runs the program that Warren is compared with")]
fn peer(size: Size) -> Option<Peer> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/peers.sh");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let output = Command::new(script)
        .args(["langgraph", "bench"])
        .arg(folder.path())
        .args([size.steps.to_string(), size.steps_each.min(20).to_string(), SESSIONS.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    let told: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(Peer {
        step_ms: told["step_ms"].as_f64()?,
        steps_per_second: told["steps_per_second"].as_f64()?,
        bytes: told["bytes"].as_u64()?,
        versions: told["versions"].as_str()?.to_owned(),
    })
}

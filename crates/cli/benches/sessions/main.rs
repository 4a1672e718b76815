//! Sessions: a durable step alone and with 64 sessions at once (P11), what a session of 300 steps takes on disk (P19), a
//! session of 1,000 messages resumed (P16), 10,000 suspended sessions (P17), 1,000 streams (P18), a page out of 1,000,000
//! sessions (P14). The services run in this process, durable, on SQLite; the model is scripted and instant. P11 and P19 are
//! measured against LangGraph in the same run, with the same loop (`scripts/peers.sh langgraph`).
//!
//! `cargo bench -p warren-cli --bench sessions`; `WARREN_BENCH_SMALL=1` tries it with small numbers, and words as arguments
//! choose chapters: `-- p16 p18`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod bed;
mod lists;
mod steps;
mod streams;
mod suspended;

use std::time::Duration;

use warren_doors::Environment;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Steps of the session that is alone, and of the one that is weighed.
    steps: u32,
    /// Steps of each of the sessions at once.
    steps_each: u32,
    messages: u32,
    suspended: usize,
    wakes: usize,
    streams: usize,
    stream_seconds: u64,
    many: usize,
    few: usize,
}

const FULL: Size = Size {
    steps: 300,
    steps_each: 100,
    messages: 1_000,
    suspended: 10_000,
    wakes: 2_500,
    streams: 1_000,
    stream_seconds: 10,
    many: 1_000_000,
    few: 1_000,
};
const SMALL: Size = Size {
    steps: 30,
    steps_each: 5,
    messages: 40,
    suspended: 200,
    wakes: 100,
    streams: 50,
    stream_seconds: 2,
    many: 5_000,
    few: 500,
};

fn main() {
    let environment = Environment::of_process();
    let size = if environment.get("WARREN_BENCH_SMALL").is_some() { SMALL } else { FULL };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let [idle, folder] = wanted.as_slice()
        && idle == suspended::IDLE
    {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
        return runtime.block_on(suspended::idle(folder.as_ref()));
    }
    let is_wanted = |chapter: &str| wanted.is_empty() || wanted.iter().any(|word| word == chapter);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        if is_wanted("p11") {
            steps::measure(size).await;
        } else if is_wanted("p19") {
            steps::weigh(size).await;
        }
        if is_wanted("p16") {
            lists::resume(size).await;
        }
        if is_wanted("p17") {
            suspended::measure(size).await;
        }
        if is_wanted("p18") {
            streams::measure(size).await;
        }
        if is_wanted("p14") {
            lists::pages(size).await;
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

/// Times in milliseconds at these shares of them, of a thousand.
fn shares(times: &mut [Duration], of_a_thousand: &[usize]) -> Vec<f64> {
    times.sort_unstable();
    let at = |share: &usize| times[(times.len() * share / 1_000).min(times.len() - 1)];
    of_a_thousand.iter().map(|share| at(share).as_secs_f64() * 1_000.0).collect()
}

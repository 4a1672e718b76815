//! P17: sessions that wait for somebody, and are woken.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use warren_agent::{Config, HandedIn};
use warren_model::session::{SessionName, StreamItem};

use crate::bed::{Bed, idle_host, resident_kb};
use crate::{Size, shares};

/// The argument of the other process.
pub(crate) const IDLE: &str = "idle";
const AT_ONCE: usize = 64;
const PROCESSES: usize = 5;
const WAKES_PER_SECOND: usize = 500;

pub(crate) async fn measure(size: Size) {
    let bed = Arc::new(Bed::new(1, Config::default()).await);
    // What a first session makes Warren keep is not counted with the others.
    for _ in 0..AT_ONCE {
        suspend(&bed).await;
    }
    let mut names = Vec::new();
    let mb = |kilobytes: u64| kilobytes as f64 / 1_000.0;
    let empty = fresh_process(bed.path());
    let (memory, tasks) = (settled_memory().await, alive_tasks());
    while names.len() < size.suspended {
        let some = (0..AT_ONCE).map(|_| suspend(&bed));
        names.extend(futures_util::future::join_all(some).await);
    }
    let (memory_with, tasks_with) = (settled_memory().await, alive_tasks());
    let held = bed.host.engine.working_on() + bed.host.engine.followed();
    let fresh = fresh_process(bed.path());
    let mut delays = wake(&bed, &names[..size.wakes.min(names.len())]).await;
    let ms = shares(&mut delays, &[500, 990, 1_000]);
    bed.host.stop().await;
    println!("## P17: {} suspended sessions\n", names.len());
    println!("| | before | with them |\n|---|---|---|");
    let line = |name: &str, before: u64, with: u64| {
        println!("| resident memory, {name} | {:.1} MB | {:.1} MB |", mb(before), mb(with));
    };
    line("a process that has just started on the database", empty, fresh);
    line("the process that suspended them", memory, memory_with);
    println!("| tasks | {tasks} | {tasks_with} |");
    println!(
        "\n{:+.2} MB (goal under 1 MB), {held} sessions held by the engine (goal 0); {} woken at {WAKES_PER_SECOND}/s, from \
         the answer to the next step: p50 {:.1} ms, p99 {:.1} ms (goal under 50 ms), longest {:.1} ms\n",
        mb(fresh) - mb(empty),
        delays.len(),
        ms[0],
        ms[1],
        ms[2]
    );
}

async fn suspend(bed: &Bed) -> SessionName {
    let name = bed.session("asking").await;
    bed.say(&bed.host, &name, "Ask me.").await;
    bed.wait(&bed.host, &name).await;
    name
}

/// Answers questions at a pace that does not depend on how fast they are taken.
async fn wake(bed: &Arc<Bed>, names: &[SessionName]) -> Vec<Duration> {
    let started = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for (number, name) in names.iter().enumerate() {
        let due = started + Duration::from_secs_f64(number as f64 / WAKES_PER_SECOND as f64);
        tokio::time::sleep_until(due.into()).await;
        let (bed, name) = (Arc::clone(bed), name.clone());
        calls.spawn(async move {
            let session = bed.host.sessions.get(&bed.who, &name).await.expect("it is there");
            let after = session.latest_sequence;
            let (_, mut follower) =
                bed.host.sessions.follow(&bed.who, &name, after).await.expect("it can be followed");
            let answered = Instant::now();
            let answer = HandedIn::Output(json!("yes"));
            let handed_in = bed.host.sessions.hand_in(&bed.who, &name, "call_1_0".to_owned(), answer, None);
            handed_in.await.expect("it is taken");
            loop {
                let entries = follower.next().await.expect("the stream goes on");
                let is_next = |item: &StreamItem| matches!(item, StreamItem::StepStarted { .. });
                if entries.iter().any(|entry| is_next(&entry.item)) {
                    return answered.elapsed();
                }
            }
        });
    }
    calls.join_all().await
}

/// What another process takes that has nothing to do but to look after what is in the database: the middle of a few, since
/// two processes that do the same differ by a megabyte.
fn fresh_process(folder: &Path) -> u64 {
    let mut sizes: Vec<u64> = (0..PROCESSES).map(|_| size_of_process(folder)).collect();
    sizes.sort_unstable();
    sizes[sizes.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "runs this program once more")]
fn size_of_process(folder: &Path) -> u64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg(IDLE).arg(folder).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout).trim().parse();
    told.unwrap_or_else(|_| panic!("it tells its size: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The other process: tells its resident size after it has looked a few times.
pub(crate) async fn idle(folder: &Path) {
    let host = idle_host(folder).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    println!("{}", settled_memory().await);
    host.stop().await;
}

/// What is resident once what was freed is given back.
async fn settled_memory() -> u64 {
    let mut least = u64::MAX;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        least = least.min(resident_kb());
    }
    least
}

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

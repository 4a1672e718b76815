//! P14: a page of sessions, and P16: a long session that is resumed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use warren_agent::{Config, KnownModels, ModelCaller, Models, SessionQuery};
use warren_llm::{AnswerStream, ModelError};
use warren_model::SessionId;
use warren_model::session::{ModelName, ModelRequest, Phase, Session, SessionName, StopReason, TokenUsage};
use warren_rules::sessions::TokenPrice;
use warren_service::Error;

use crate::bed::Bed;
use crate::{Size, shares};

/// Notes when a model is asked, and how much it is shown.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Models>,
    asked: Mutex<Option<(Instant, usize)>>,
}

#[async_trait]
impl Models for Watched {
    async fn start(
        &self,
        caller: ModelCaller,
        request: &ModelRequest,
        resume: Option<serde_json::Value>,
    ) -> Result<AnswerStream, ModelError> {
        *self.asked.lock().expect("nobody fails with it") = Some((Instant::now(), request.turns.len()));
        self.inner.start(caller, request, resume).await
    }

    fn price(&self, model: &ModelName) -> Option<TokenPrice> {
        self.inner.price(model)
    }

    fn cost_micros(&self, model: &ModelName, usage: &TokenUsage) -> u64 {
        self.inner.cost_micros(model, usage)
    }

    async fn known(&self, caller: ModelCaller) -> Result<KnownModels, Error> {
        self.inner.known(caller).await
    }
}

const RESUMED: usize = 30;

/// From a message to a session that nobody has in memory, to the request to its model.
pub(crate) async fn resume(size: Size) {
    let bed = Bed::new(1, Config::default()).await;
    let name = bed.session("echo").await;
    for number in 0..size.messages / 2 {
        bed.say(
            &bed.host,
            &name,
            &format!("Message {number}, which is as long as people write them, more or less."),
        )
        .await;
        bed.wait(&bed.host, &name).await;
    }
    bed.host.stop().await;
    let mut times = Vec::new();
    let mut shown = 0;
    for _ in 0..RESUMED {
        let watched = Arc::new(Watched { inner: bed.scripted(1), asked: Mutex::default() });
        let host = bed.host_with(Arc::clone(&watched) as _, Config::default());
        let started = Instant::now();
        bed.say(&host, &name, "And now?").await;
        bed.wait(&host, &name).await;
        let (asked, turns) = watched.asked.lock().expect("nobody fails with it").expect("it was asked");
        times.push(asked - started);
        shown = turns;
        host.stop().await;
    }
    let ms = shares(&mut times, &[500, 950, 0]);
    println!("## P16: a session of {} messages, resumed to its request to the model\n", size.messages);
    println!("| | p50 | p95 | lowest |\n|---|---|---|---|");
    println!(
        "| from a message to the request, {shown} turns | {:.3} ms | {:.3} ms | {:.3} ms |",
        ms[0], ms[1], ms[2]
    );
    println!("\np50 {:.3} ms (goal under 20 ms)\n", ms[0]);
}

/// A page of 100 out of many sessions, and out of few.
pub(crate) async fn pages(size: Size) {
    let mut figures = Vec::new();
    for count in [size.few, size.many] {
        let bed = Bed::new(1, Config::default()).await;
        fill(&bed, count).await;
        figures.push(page_times(&bed, count).await);
        bed.host.stop().await;
    }
    println!("## P14: a page of 100 sessions\n");
    println!("| | p50 | p99 |\n|---|---|---|");
    for (count, ms) in [size.few, size.many].iter().zip(&figures) {
        println!("| out of {count} | {:.3} ms | {:.3} ms |", ms[0], ms[1]);
    }
    println!(
        "\nout of {}: {:.2}x one out of {} (goal at most 2x)",
        size.many,
        figures[1][0] / figures[0][0],
        size.few
    );
}

async fn page_times(bed: &Bed, count: usize) -> Vec<f64> {
    let mut times: Vec<Duration> = Vec::new();
    // Pages all over the list: each begins behind a session somewhere in it.
    let all = |before| SessionQuery {
        org_id: None,
        workspace_id: None,
        phase: None,
        agent: None,
        before,
        limit: 100,
    };
    let mut before = None;
    for _ in 0..300 {
        let started = Instant::now();
        let page = bed.host.sessions.list(&bed.who, all(before)).await.expect("a page is read");
        times.push(started.elapsed());
        assert!(page.rows.len() == 100 || count < 30_000, "a whole page");
        before = page.next;
    }
    shares(&mut times, &[500, 990])
}

/// Rows as sessions leave them that were completed.
async fn fill(bed: &Bed, count: usize) {
    let name = bed.session("echo").await;
    bed.say(&bed.host, &name, "Say this.").await;
    let model = bed.wait(&bed.host, &name).await;
    let context = bed.fleet.context.clone();
    let mut left = count;
    while left > 0 {
        let part = left.min(2_000);
        left -= part;
        let rows: Vec<Session> = (0..part)
            .map(|_| {
                let id: SessionId = context.new_id();
                Session {
                    id,
                    name: SessionName::from(id),
                    phase: Phase::Completed { finish: StopReason::EndTurn },
                    lineage: Default::default(),
                    lease: None,
                    version: 1,
                    ..model.clone()
                }
            })
            .collect();
        let inserted: Result<(), warren_store::Error> =
            context.store().write(move |tx| rows.iter().try_for_each(|row| tx.insert_session(row))).await;
        inserted.expect("sessions are inserted");
    }
}

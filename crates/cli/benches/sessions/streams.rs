//! P18: many answers that come in pieces at once, each followed by a reader.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::time::Interval;
use warren_agent::{Config, KnownModels, ModelCaller, Models};
use warren_llm::{AnswerEvent, AnswerSource, AnswerStream, ModelAnswer, ModelError};
use warren_model::session::{
    Block, ModelName, ModelOrigin, ModelRequest, SessionName, StopReason, StreamItem, TokenUsage,
};
use warren_rules::sessions::TokenPrice;

use crate::bed::Bed;
use crate::{Size, shares};

const PIECES_PER_SECOND: u64 = 50;

/// A model whose pieces tell when they were given, in microseconds.
#[derive(Debug)]
struct Telling {
    started: Instant,
    pieces: u64,
}

struct Answer {
    origin: ModelOrigin,
    started: Instant,
    ticks: Interval,
    left: u64,
    text: String,
}

#[async_trait]
impl AnswerSource for Answer {
    async fn next(&mut self) -> Result<Option<AnswerEvent>, ModelError> {
        if self.left == 0 {
            let answer = ModelAnswer {
                origin: self.origin.clone(),
                blocks: vec![Block::Text { text: std::mem::take(&mut self.text) }],
                calls: Vec::new(),
                stop_reason: StopReason::EndTurn,
                usage: TokenUsage::default(),
                resume_token: None,
                notes: Vec::new(),
            };
            return Ok(Some(AnswerEvent::Done(Box::new(answer))));
        }
        self.ticks.tick().await;
        self.left -= 1;
        let delta = format!("{} ", self.started.elapsed().as_micros());
        self.text.push_str(&delta);
        Ok(Some(AnswerEvent::Text { block: 0, delta }))
    }
}

#[async_trait]
impl Models for Telling {
    async fn start(
        &self,
        _: ModelCaller,
        request: &ModelRequest,
        _: Option<serde_json::Value>,
    ) -> Result<AnswerStream, ModelError> {
        Ok(AnswerStream::new(Answer {
            origin: ModelOrigin { model: request.model.clone(), account: "bench".to_owned() },
            started: self.started,
            ticks: tokio::time::interval(Duration::from_millis(1_000 / PIECES_PER_SECOND)),
            left: self.pieces,
            text: String::new(),
        }))
    }

    fn price(&self, _: &ModelName) -> Option<TokenPrice> {
        None
    }

    fn cost_micros(&self, _: &ModelName, _: &TokenUsage) -> u64 {
        0
    }

    async fn known(&self, _: ModelCaller) -> Result<KnownModels, warren_service::Error> {
        Ok(KnownModels::default())
    }
}

pub(crate) async fn measure(size: Size) {
    let bed = Arc::new(Bed::new(1, Config::default()).await);
    bed.host.stop().await;
    let started = Instant::now();
    let pieces = PIECES_PER_SECOND * size.stream_seconds;
    let config = Config { max_running: size.streams * 2, ..Config::default() };
    let host = bed.host_with(Arc::new(Telling { started, pieces }), config);
    let mut names = Vec::new();
    for _ in 0..size.streams {
        names.push(bed.session("echo").await);
    }
    let mut readers = tokio::task::JoinSet::new();
    for name in names {
        let (bed, host) = (Arc::clone(&bed), host.clone());
        readers.spawn(async move {
            bed.say(&host, &name, "Speak.").await;
            read(&bed, &host, &name, started).await
        });
        // Spread over a second: a thousand answers do not begin in the same moment.
        tokio::time::sleep(Duration::from_micros(1_000_000 / size.streams as u64)).await;
    }
    let read: Vec<_> = readers.join_all().await;
    let whole = read.iter().filter(|delays| delays.len() as u64 == pieces).count();
    let mut by_second: Vec<Vec<Duration>> = Vec::new();
    for (given, delay) in read.iter().flatten() {
        let second = usize::try_from(given.as_secs()).unwrap_or(usize::MAX);
        by_second.resize_with(by_second.len().max(second + 1), Vec::new);
        by_second[second].push(*delay);
    }
    let mut delays: Vec<Duration> = read.into_iter().flatten().map(|(_, delay)| delay).collect();
    let ms = shares(&mut delays, &[500, 990, 1_000]);
    host.stop().await;
    println!("## P18: {} streams with {PIECES_PER_SECOND} pieces a second\n", size.streams);
    println!("| | p50 | p99 | longest |\n|---|---|---|---|");
    println!(
        "| from the model to a reader, committed before | {:.1} ms | {:.1} ms | {:.1} ms |",
        ms[0], ms[1], ms[2]
    );
    println!(
        "\n{} pieces in {} s, {whole} of {} streams whole; p99 {:.1} ms (goal under 60 ms, of which up to 50 ms are packing)\n",
        delays.len(),
        size.stream_seconds,
        size.streams,
        ms[1]
    );
    // The first second and the last ones are those in which a thousand sessions begin and end.
    println!("| pieces given in second | p50 | p99 | longest |\n|---|---|---|---|");
    for (second, delays) in by_second.iter_mut().enumerate().filter(|(_, delays)| !delays.is_empty()) {
        let ms = shares(delays, &[500, 990, 1_000]);
        println!("| {second} | {:.1} ms | {:.1} ms | {:.1} ms |", ms[0], ms[1], ms[2]);
    }
    println!();
}

/// When each piece was given, and how long it took from the model to here.
async fn read(
    bed: &Bed,
    host: &warren_agent::AgentHost,
    name: &SessionName,
    started: Instant,
) -> Vec<(Duration, Duration)> {
    let (_, mut follower) = host.sessions.follow(&bed.who, name, 0).await.expect("it can be followed");
    let mut delays = Vec::new();
    loop {
        let entries = follower.next().await.expect("the stream goes on");
        let now = started.elapsed();
        for entry in entries {
            match entry.item {
                StreamItem::TextDelta { text, .. } => {
                    let given = text.split_whitespace().filter_map(|word| word.parse().ok());
                    let given = given.map(Duration::from_micros);
                    delays.extend(given.map(|given| (given, now.saturating_sub(given))));
                }
                StreamItem::RunEnded { .. } => return delays,
                _ => {}
            }
        }
    }
}

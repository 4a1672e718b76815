//! Warren at the other end of the runner's own input and output: the way out of a box that has no network.
//!
//! ```text
//!   ask ──▶ whole lines, one after the other ──▶ output
//!   ask ◀── by the id of the request ◀── reader ◀── input
//! ```
//!
//! Several may ask at once: one waits for a message while others tell how theirs goes. Lines are written by a task of their
//! own, so that one who stops waiting in the middle leaves no half of a line behind. Byte streams (`warren_line`) are on the
//! same line; requests go before them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use warren_api::{
    AnswerMessage, Approval, Claim, ClaimMessage, Heartbeat, HeartbeatAnswer, ProgressTaken, RegisterRuntime,
    RegisteredRuntime, ReportProgress, RequestApproval, RunnerAnswer, RunnerRequest, WithdrawApproval,
};

use warren_line::{Multiplexer, Received, Side, is_frame};

use crate::{ApiError, WarrenApi, doors};

/// Longer than any answer takes; a claim waits for less.
const PATIENCE: Duration = Duration::from_secs(90);
/// Lines that wait to be written; whoever comes then waits too.
const MAX_UNWRITTEN: usize = 16;

#[derive(Debug)]
pub struct LineApi {
    requests: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    last_id: AtomicU64,
    streams: Multiplexer,
    ends: [JoinHandle<()>; 2],
}

/// Who waits for which answer; absent: the line has ended, and nobody comes any more.
#[derive(Debug)]
struct Waiting(Mutex<Option<HashMap<u64, oneshot::Sender<RunnerAnswer>>>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<RunnerAnswer>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self, id: u64) -> Result<oneshot::Receiver<RunnerAnswer>, ApiError> {
        let (sender, answer) = oneshot::channel();
        self.lock().as_mut().ok_or(ApiError::Ended)?.insert(id, sender);
        Ok(answer)
    }

    /// One that nobody waits for, or waits for any more, is passed over.
    fn hand_out(&self, answer: RunnerAnswer) {
        let taker = self.lock().as_mut().and_then(|waiting| waiting.remove(&answer.id));
        if let Some(taker) = taker {
            let _ = taker.send(answer);
        }
    }

    fn forget(&self, id: u64) {
        if let Some(waiting) = self.lock().as_mut() {
            waiting.remove(&id);
        }
    }

    /// All who wait are told.
    fn end(&self) {
        *self.lock() = None;
    }
}

/// Takes a request off the list, however the wait for its answer ends.
struct Expected<'a>(&'a Waiting, u64);

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.0.forget(self.1);
    }
}

impl LineApi {
    /// Must be called within the runtime.
    pub fn new<R, W>(answers: R, requests: W) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let (sender, unwritten) = mpsc::channel(MAX_UNWRITTEN);
        let streams = Multiplexer::new(Side::InBox);
        let reading = tokio::spawn(read(answers, Arc::clone(&waiting), streams.clone()));
        let writing = tokio::spawn(write(requests, unwritten, Arc::clone(&waiting), streams.clone()));
        Self { requests: sender, waiting, last_id: AtomicU64::new(0), streams, ends: [reading, writing] }
    }

    /// The byte streams of the line, for the doors of the box.
    pub fn streams(&self) -> &Multiplexer {
        &self.streams
    }

    /// Completes when nobody is at the other end any more.
    pub async fn ended(&mut self) {
        let [reading, _] = &mut self.ends;
        let _ = reading.await;
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        token: &str,
        path: String,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        self.send("POST", token, path, body).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        token: &str,
        path: String,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let unwritable = |error: serde_json::Error| ApiError::Unreachable(error.to_string());
        let body = serde_json::to_value(body).map_err(unwritable)?;
        let request = RunnerRequest { id, method: method.to_owned(), path, token: token.to_owned(), body };
        let mut line = serde_json::to_vec(&request).map_err(unwritable)?;
        line.push(b'\n');
        let answer = self.waiting.expect(id)?;
        let _expected = Expected(&self.waiting, id);
        let exchange = async {
            self.requests.send(line).await.map_err(|_| ApiError::Ended)?;
            answer.await.map_err(|_| ApiError::Ended)
        };
        let answer = tokio::time::timeout(PATIENCE, exchange).await;
        let answer = answer.map_err(|_| ApiError::Unreachable("no answer in time".into()))??;
        if (200..300).contains(&answer.status) {
            return serde_json::from_value(answer.body)
                .map_err(|error| ApiError::Unreachable(format!("an answer that cannot be read: {error}")));
        }
        let code = answer.body.get("code").and_then(Value::as_str).unwrap_or("unknown");
        Err(ApiError::of_status(answer.status, code))
    }
}

impl Drop for LineApi {
    fn drop(&mut self) {
        self.ends.iter().for_each(JoinHandle::abort);
    }
}

/// Waits for nothing but the next line: whoever is slow to take what it brings holds up nobody else.
async fn read(answers: impl AsyncRead + Unpin, waiting: Arc<Waiting>, streams: Multiplexer) {
    let mut lines = BufReader::new(answers).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if is_frame(line.as_bytes()) {
            if let Received::Opened { target, stream } = streams.receive(line.as_bytes()) {
                tokio::spawn(doors::connect(target, stream));
            }
        } else if let Ok(answer) = serde_json::from_str(&line) {
            waiting.hand_out(answer);
        }
    }
    waiting.end();
    streams.end();
}

async fn write(
    mut requests: impl AsyncWrite + Unpin,
    mut unwritten: mpsc::Receiver<Vec<u8>>,
    waiting: Arc<Waiting>,
    streams: Multiplexer,
) {
    loop {
        let line = tokio::select! {
            biased;
            line = unwritten.recv() => line,
            line = streams.next_line() => line,
        };
        let Some(line) = line else { break };
        if requests.write_all(&line).await.is_err() || requests.flush().await.is_err() {
            break;
        }
    }
    waiting.end();
    streams.end();
}

impl WarrenApi for LineApi {
    async fn register(&self, token: &str, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, ApiError> {
        self.ask(token, "/api/v1/registry/register".into(), runtime).await
    }

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, ApiError> {
        self.ask(token, "/api/v1/registry/heartbeat".into(), heartbeat).await
    }

    async fn claim(&self, token: &str, workspace: &str, claim: &ClaimMessage) -> Result<Claim, ApiError> {
        self.ask(token, format!("/api/v1/workspaces/{workspace}/queue/claim"), claim).await
    }

    async fn progress(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, ApiError> {
        self.ask(token, format!("/api/v1/workspaces/{workspace}/queue/{message}/progress"), progress).await
    }

    async fn answer(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        answer: &AnswerMessage,
    ) -> Result<(), ApiError> {
        let path = format!("/api/v1/workspaces/{workspace}/queue/{message}/answer");
        self.ask::<Value>(token, path, answer).await.map(drop)
    }

    async fn ask_approval(
        &self,
        token: &str,
        workspace: &str,
        question: &RequestApproval,
    ) -> Result<Approval, ApiError> {
        self.ask(token, format!("/api/v1/workspaces/{workspace}/approvals"), question).await
    }

    async fn decision(&self, token: &str, approval: &str, wait_ms: u64) -> Result<Approval, ApiError> {
        self.send("GET", token, format!("/api/v1/approvals/{approval}?wait_ms={wait_ms}"), &()).await
    }

    async fn withdraw(
        &self,
        token: &str,
        approval: &str,
        withdrawal: &WithdrawApproval,
    ) -> Result<Approval, ApiError> {
        self.ask(token, format!("/api/v1/approvals/{approval}/withdraw"), withdrawal).await
    }
}

//! Warren at the other end of the runner's own input and output: the way out of a box that has no network.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Lines};
use warren_api::{
    AnswerMessage, Claim, ClaimMessage, Heartbeat, HeartbeatAnswer, ProgressTaken, RegisterRuntime,
    RegisteredRuntime, ReportProgress, RunnerAnswer, RunnerRequest,
};

use crate::{Office, Refusal};

/// Longer than any answer takes; a claim waits for less.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub struct LineOffice<R, W> {
    /// Taken while somebody waits for an answer, who is alone.
    ends: RefCell<Option<Ends<R, W>>>,
    last_id: Cell<u64>,
}

#[derive(Debug)]
struct Ends<R, W> {
    answers: Lines<BufReader<R>>,
    requests: W,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineOffice<R, W> {
    pub fn new(answers: R, requests: W) -> Self {
        let answers = BufReader::new(answers).lines();
        Self { ends: RefCell::new(Some(Ends { answers, requests })), last_id: Cell::new(0) }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        token: &str,
        path: String,
        body: &impl Serialize,
    ) -> Result<T, Refusal> {
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        let body = serde_json::to_value(body).map_err(|error| Refusal::Unreachable(error.to_string()))?;
        let request = RunnerRequest { id, method: "POST".into(), path, token: token.to_owned(), body };
        let mut ends = self.ends.borrow_mut().take().ok_or(Refusal::Ended)?;
        let answer = tokio::time::timeout(PATIENCE, ends.exchange(&request)).await;
        // One that was not waited for may still come; it is told by its id and passed over.
        *self.ends.borrow_mut() = Some(ends);
        let answer = answer.map_err(|_| Refusal::Unreachable("no answer in time".into()))??;
        if (200..300).contains(&answer.status) {
            return serde_json::from_value(answer.body)
                .map_err(|error| Refusal::Unreachable(format!("an answer that cannot be read: {error}")));
        }
        let code = answer.body.get("code").and_then(Value::as_str).unwrap_or("unknown");
        Err(Refusal::of_status(answer.status, code))
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Ends<R, W> {
    async fn exchange(&mut self, request: &RunnerRequest) -> Result<RunnerAnswer, Refusal> {
        let ended = |_| Refusal::Ended;
        let mut line =
            serde_json::to_vec(request).map_err(|error| Refusal::Unreachable(error.to_string()))?;
        line.push(b'\n');
        self.requests.write_all(&line).await.map_err(ended)?;
        self.requests.flush().await.map_err(ended)?;
        loop {
            let line = self.answers.next_line().await.map_err(ended)?.ok_or(Refusal::Ended)?;
            match serde_json::from_str::<RunnerAnswer>(&line) {
                Ok(answer) if answer.id == request.id => return Ok(answer),
                Ok(_) | Err(_) => {}
            }
        }
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Office for LineOffice<R, W> {
    async fn register(&self, token: &str, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, Refusal> {
        self.ask(token, "/api/v1/registry/register".into(), runtime).await
    }

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, Refusal> {
        self.ask(token, "/api/v1/registry/heartbeat".into(), heartbeat).await
    }

    async fn claim(&self, token: &str, workspace: &str, claim: &ClaimMessage) -> Result<Claim, Refusal> {
        self.ask(token, format!("/api/v1/workspaces/{workspace}/queue/claim"), claim).await
    }

    async fn progress(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, Refusal> {
        self.ask(token, format!("/api/v1/workspaces/{workspace}/queue/{message}/progress"), progress).await
    }

    async fn answer(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        answer: &AnswerMessage,
    ) -> Result<(), Refusal> {
        let path = format!("/api/v1/workspaces/{workspace}/queue/{message}/answer");
        self.ask::<Value>(token, path, answer).await.map(drop)
    }
}

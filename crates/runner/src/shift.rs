//! The loop: register, then claim, work, answer, and report from between.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;
use warren_api::{
    AnswerMessage, AnswerOutcome, ClaimMessage, ClaimedMessage, Heartbeat, MessagePart, MessageRole,
    RegisterRuntime, ReportProgress, TaskMessage,
};

use crate::agent::{Ending, Job, Sign};
use crate::{Credentials, Health, Office, Refusal, backoff};

/// A claim that is not renewed for so long is somebody else's.
const LEASE: Duration = Duration::from_secs(60);
/// How often work that moves says so.
const TELL_EVERY: Duration = Duration::from_secs(2);
/// How often work that does not move renews its claim.
const RENEW_EVERY: Duration = Duration::from_secs(15);
const MAX_CLAIM_WAIT: Duration = Duration::from_secs(20);
/// Refusals of the credential in a row, each after it was read again, before a runner gives up.
const MAX_REFUSALS: u32 = 3;
const MAX_ANSWER_TRIES: u32 = 6;

/// What a runner is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The program that works on messages, and its arguments.
    pub command: Vec<String>,
    pub credentials: Credentials,
    /// Phrases of errors that mean a wedge; none: the usual ones.
    pub wedge_signs: Vec<String>,
}

/// Why a runner ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is neither a join token in {join} nor a credential in {credential}")]
    NoCredential { join: PathBuf, credential: PathBuf },
    #[error("Warren does not accept the credential")]
    Unauthorized,
    #[error("Warren refused: {0}")]
    Refused(Refusal),
    #[error("the credential cannot be kept")]
    Keep(#[source] std::io::Error),
    #[error("the line to Warren has ended")]
    LineEnded,
}

/// Works until Warren is gone for good. Dropped, it ends the program that is at work.
pub async fn work<O: Office>(office: &O, settings: &Settings) -> Result<(), Error> {
    let mut shift = Shift::begin(office, settings).await?;
    let mut failures = 0;
    loop {
        match shift.turn().await {
            Ok(()) => failures = 0,
            Err(Refusal::Ended) => return Err(Error::LineEnded),
            Err(Refusal::Unauthorized) if shift.refusals >= MAX_REFUSALS => return Err(Error::Unauthorized),
            // Not now: it is paused, Warren is restarting, the network is away.
            Err(_) => failures += 1,
        }
        tokio::time::sleep(Duration::from_millis(backoff::wait_ms(failures))).await;
    }
}

struct Shift<'a, O> {
    office: &'a O,
    settings: &'a Settings,
    token: String,
    workspace: String,
    /// How often Warren wants to hear something.
    beat_every: Duration,
    health: Health,
    began: Instant,
    last_beat: Instant,
    /// Of the credential, in a row.
    refusals: u32,
}

impl<'a, O: Office> Shift<'a, O> {
    /// With the join token; where that is used up, as after a restart by hand, with the credential that was kept.
    async fn begin(office: &'a O, settings: &'a Settings) -> Result<Self, Error> {
        let files = &settings.credentials;
        let kept = files.read_credential();
        if let Some(join) = files.read_join_token() {
            match register(office, &join).await {
                Ok((token, workspace, beat_every)) => {
                    files.keep(&token).map_err(Error::Keep)?;
                    // It is used up; nothing that looks like a secret is left lying about.
                    let _ = std::fs::remove_file(&files.join_token);
                    return Ok(Self::new(office, settings, token, workspace, beat_every));
                }
                Err(Refusal::Unauthorized) if kept.is_some() => {}
                Err(Refusal::Unauthorized) => return Err(Error::Unauthorized),
                Err(Refusal::Ended) => return Err(Error::LineEnded),
                Err(refusal) => return Err(Error::Refused(refusal)),
            }
        }
        let token = kept.ok_or_else(|| Error::NoCredential {
            join: files.join_token.clone(),
            credential: files.credential.clone(),
        })?;
        match office.heartbeat(&token, &Heartbeat::default()).await {
            Ok(answer) => {
                let beat_every = beat_every(answer.liveness_timeout_ms);
                Ok(Self::new(office, settings, token, answer.workspace_id, beat_every))
            }
            Err(Refusal::Unauthorized) => Err(Error::Unauthorized),
            Err(Refusal::Ended) => Err(Error::LineEnded),
            Err(refusal) => Err(Error::Refused(refusal)),
        }
    }

    fn new(
        office: &'a O,
        settings: &'a Settings,
        token: String,
        workspace: String,
        beat_every: Duration,
    ) -> Self {
        let (health, now) = (Health::new(&settings.wedge_signs), Instant::now());
        Self {
            office,
            settings,
            token,
            workspace,
            beat_every,
            health,
            began: now,
            last_beat: now,
            refusals: 0,
        }
    }

    /// Reports, asks for a message, and sees to it.
    async fn turn(&mut self) -> Result<(), Refusal> {
        self.beat(None).await?;
        let wait = self.beat_every.min(MAX_CLAIM_WAIT);
        let claim = ClaimMessage { wait_ms: millis(wait), lease_ms: Some(millis(LEASE)) };
        let workspace = self.workspace.clone();
        let claim = self.call(async |office, token| office.claim(token, &workspace, &claim).await).await?;
        match claim.claimed {
            Some(message) => self.see_to(message).await,
            None => Ok(()),
        }
    }

    /// A call with the credential. One that is refused is read again from its file, and the call is tried once more; then
    /// it is a failure like any other.
    async fn call<T>(&mut self, ask: impl AsyncFn(&O, &str) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let mut answer = ask(self.office, &self.token).await;
        if matches!(answer, Err(Refusal::Unauthorized)) {
            if let Some(token) = self.settings.credentials.read_credential() {
                self.token = token;
            }
            answer = ask(self.office, &self.token).await;
        }
        match &answer {
            Ok(_) => self.refusals = 0,
            Err(Refusal::Unauthorized) => {
                self.refusals += 1;
                self.health.failed("Warren did not accept the runner's credential");
            }
            Err(_) => {}
        }
        answer
    }

    async fn beat(&mut self, work: Option<&Progress<'_>>) -> Result<(), Refusal> {
        let heartbeat = Heartbeat {
            error_rate: Some(self.health.error_rate()),
            sample_error: Some(self.health.sample_error().to_owned()),
            active_tasks: Some(u32::from(work.is_some())),
            uptime_s: Some(self.began.elapsed().as_secs()),
            current_task: Some(work.map_or_else(String::new, |work| work.task.to_owned())),
            last_progress_at: work.and_then(|work| work.moved_at.clone()),
            runtime_state: Some(self.health.runtime_state().to_owned()),
            runtime_metadata: None,
        };
        self.last_beat = Instant::now();
        self.call(async |office, token| office.heartbeat(token, &heartbeat).await).await.map(drop)
    }

    /// Gives a message to the program and tells what came of it.
    async fn see_to(&mut self, message: ClaimedMessage) -> Result<(), Refusal> {
        let ending = match Job::start(&self.settings.command, &message) {
            Ok(job) => self.attend(job, &message).await?,
            Err(error) => Some(Ending::Failed(format!("the program could not be started: {error}"))),
        };
        // Absent: the message was taken back, and nobody waits for an answer.
        let Some(ending) = ending else { return Ok(()) };
        let (outcome, text) = match ending {
            Ending::Answered(text) => {
                self.health.replied(!text.is_empty());
                (AnswerOutcome::Answered, text)
            }
            Ending::Failed(text) => {
                self.health.failed(&text);
                (AnswerOutcome::Failed, text)
            }
        };
        let answer = AnswerMessage {
            attempt: message.attempt,
            outcome,
            state: None,
            message: said(text),
            artifacts: Vec::new(),
            retry_after_ms: None,
        };
        self.answer(&message, &answer).await
    }

    /// Stays with the program until it ends; absent: its message was taken back.
    async fn attend(&mut self, mut job: Job, message: &ClaimedMessage) -> Result<Option<Ending>, Refusal> {
        let mut progress = Progress::of(&message.task.id);
        let mut told = Instant::now();
        self.beat(Some(&progress)).await?;
        loop {
            let pause = TELL_EVERY.min(self.beat_every);
            match tokio::time::timeout(pause, job.next()).await {
                Ok(Ok(Sign::Ended(ending))) => return Ok(Some(ending)),
                Ok(Ok(Sign::Moved)) => progress.moved_at = Some(crate::utc::now()),
                Ok(Err(error)) => return Ok(Some(Ending::Failed(error.to_string()))),
                Err(_) => {}
            }
            if told.elapsed() >= TELL_EVERY {
                let talk = job.take_talk();
                if talk.is_some() || told.elapsed() >= RENEW_EVERY {
                    told = Instant::now();
                    match self.tell(message, talk).await {
                        Ok(()) | Err(Refusal::Unreachable(_)) => {}
                        Err(Refusal::Withdrawn { .. }) => return Ok(None),
                        Err(refusal) => return Err(refusal),
                    }
                }
            }
            if self.last_beat.elapsed() >= self.beat_every {
                match self.beat(Some(&progress)).await {
                    Ok(()) | Err(Refusal::Unreachable(_)) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
        }
    }

    async fn tell(&mut self, message: &ClaimedMessage, talk: Option<String>) -> Result<(), Refusal> {
        let message_of_agent = talk.and_then(said);
        let report =
            ReportProgress { attempt: message.attempt, message: message_of_agent, artifacts: Vec::new() };
        let workspace = self.workspace.clone();
        let told = self
            .call(async |office, token| office.progress(token, &workspace, &message.queue_id, &report).await)
            .await;
        told.map(drop)
    }

    /// Tried again while the claim may still stand: the work is done, and only its answer is missing.
    async fn answer(&mut self, message: &ClaimedMessage, answer: &AnswerMessage) -> Result<(), Refusal> {
        let workspace = self.workspace.clone();
        let mut tries = 0;
        loop {
            let told = self
                .call(async |office, token| office.answer(token, &workspace, &message.queue_id, answer).await)
                .await;
            match told {
                Err(Refusal::Unreachable(_)) if tries < MAX_ANSWER_TRIES => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(backoff::wait_ms(tries))).await;
                }
                // Somebody else has it by now, or nobody wants it any more.
                Err(Refusal::Withdrawn { .. }) => return Ok(()),
                told => return told,
            }
        }
    }
}

/// What a heartbeat says of the work in hand.
struct Progress<'a> {
    task: &'a str,
    moved_at: Option<String>,
}

impl<'a> Progress<'a> {
    fn of(task: &'a str) -> Self {
        Self { task, moved_at: Some(crate::utc::now()) }
    }
}

async fn register<O: Office>(office: &O, join: &str) -> Result<(String, String, Duration), Refusal> {
    let runtime = RegisterRuntime {
        version: Some(concat!("warren-runner ", env!("CARGO_PKG_VERSION")).to_owned()),
        agent_card: None,
        heartbeat: Some(Heartbeat {
            active_tasks: Some(0),
            runtime_state: Some(String::new()),
            ..Heartbeat::default()
        }),
    };
    let mut failures = 0;
    loop {
        match office.register(join, &runtime).await {
            Ok(taken) => return Ok((taken.token, taken.workspace_id, beat_every(taken.liveness_timeout_ms))),
            Err(Refusal::Unreachable(_)) => {
                failures += 1;
                tokio::time::sleep(Duration::from_millis(backoff::wait_ms(failures))).await;
            }
            Err(refusal) => return Err(refusal),
        }
    }
}

/// Three times as often as silence is suffered, so that one lost report costs nothing.
fn beat_every(liveness_timeout_ms: u64) -> Duration {
    Duration::from_millis((liveness_timeout_ms / 3).clamp(100, 30_000))
}

fn said(text: String) -> Option<TaskMessage> {
    if text.is_empty() {
        return None;
    }
    Some(TaskMessage {
        role: MessageRole::Agent,
        parts: vec![MessagePart::text(text)],
        ..TaskMessage::default()
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

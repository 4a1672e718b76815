//! The loop of a runner: register, then claim, work, answer; heartbeats are sent between these steps.
//!
//! ```text
//!   ask ──▶ a message ──▶ work on it ──▶ answer        as many at once as Warren says; the next is asked for while
//!    ▲                                      │           there is room
//!    └──────────────────────────────────────┘
//! ```
//!
//! All of it is one task: whatever hangs in it stops the heartbeats too.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::Instant;
use warren_api::{
    AnswerMessage, AnswerOutcome, Approval, ApprovalState, ClaimMessage, ClaimedMessage, Heartbeat,
    MessagePart, MessageRole, RegisterRuntime, ReportProgress, RequestApproval, RuntimeMetadata, TaskMessage,
    WithdrawApproval,
};

use crate::a2a::A2aAgent;
use crate::acp::AcpAgent;
use crate::adapter::{Failure, InProgressGuard, Inbox, ProgramAnswer, ProgramOutcome, Progress, ProgressLog};
use crate::settings::{Adapter, Settings};
use crate::{ApiError, Credentials, Health, WarrenApi, backoff, program};

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
/// How long a program may take to let go of a message that was taken back.
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// How long one request waits for a decision; it is asked again.
const DECISION_WAIT_MS: u64 = 20_000;

/// Why a runner ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is neither a join token in {join} nor a credential in {credential}")]
    NoCredential { join: PathBuf, credential: PathBuf },
    #[error("Warren gave it no join token")]
    NoJoinToken,
    #[error("Warren does not accept the credential")]
    Unauthorized,
    #[error("Warren refused: {0}")]
    Refused(ApiError),
    #[error("the credential cannot be kept")]
    Keep(#[source] std::io::Error),
    #[error("the line to Warren has ended")]
    LineEnded,
}

/// Works until Warren is gone for good. Dropped, it ends the programs that are at work.
pub async fn work<O: WarrenApi>(api: &O, settings: &Settings) -> Result<(), Error> {
    let run_loop = RunLoop::begin(api, settings).await?;
    let mut under_way: FuturesUnordered<LocalBoxFuture<'_, Finished>> = FuturesUnordered::new();
    let (mut is_claiming, mut failures) = (false, 0);
    under_way.push(Box::pin(run_loop.try_program()));
    loop {
        if !is_claiming && run_loop.has_room() {
            is_claiming = true;
            under_way.push(Box::pin(run_loop.claim_after(backoff::wait_ms(failures))));
        }
        let done = tokio::select! {
            Some(done) = under_way.next() => done,
            // Warren gives it more at once than before.
            () = run_loop.more_room.notified() => continue,
        };
        let ended = match done {
            Finished::Claim(asked) => {
                is_claiming = false;
                asked.map(|message| {
                    failures = 0;
                    if let Some(message) = message {
                        // In hand from now on, not only from when somebody first looks at it.
                        let guard = InProgressGuard::new(&run_loop.at_work, &message);
                        under_way.push(Box::pin(run_loop.work_on(guard, *message)));
                    }
                })
            }
            Finished::Message(worked) => {
                // Who asks next tells of it; where somebody asks already, nobody would.
                if is_claiming && worked.is_ok() {
                    under_way.push(Box::pin(run_loop.report_after_end()));
                }
                worked
            }
            Finished::Report(told) => told,
        };
        match ended {
            Ok(()) => {}
            Err(ApiError::Ended) => return Err(Error::LineEnded),
            Err(ApiError::Unauthorized) if run_loop.refusals.get() >= MAX_REFUSALS => {
                return Err(Error::Unauthorized);
            }
            // Not now: it is paused, Warren is restarting, the network is away.
            Err(_) => failures += 1,
        }
    }
}

/// A piece of work that ended.
enum Finished {
    Claim(Result<Option<Box<ClaimedMessage>>, ApiError>),
    Message(Result<(), ApiError>),
    Report(Result<(), ApiError>),
}

/// The state of one runner, shared by the futures of its one task: a borrow never lasts over an await.
struct RunLoop<'a, O> {
    api: &'a O,
    settings: &'a Settings,
    token: RefCell<String>,
    workspace: String,
    /// How often Warren wants to hear something.
    beat_every: Duration,
    health: RefCell<Health>,
    began: Instant,
    last_beat: Cell<Instant>,
    /// Of the credential, in a row.
    refusals: Cell<u32>,
    at_work: RefCell<Vec<Progress>>,
    /// Messages at once, as Warren said last.
    max_at_work: Cell<usize>,
    more_room: Notify,
    /// A program that lives on between messages.
    resident: Resident<'a>,
}

/// The program, where it lives on between messages.
enum Resident<'a> {
    None,
    Acp(AcpAgent<'a>),
    A2a(A2aAgent<'a>),
}

/// What Warren answered to the registration.
struct Registered {
    token: String,
    workspace: String,
    beat_every: Duration,
    max_at_work: u32,
    /// The runner before this one was wedged, by this error.
    wedge: Option<String>,
}

impl<'a, O: WarrenApi> RunLoop<'a, O> {
    /// With the join token; where that is used up, as after a restart by hand, with the credential that was kept.
    async fn begin(api: &'a O, settings: &'a Settings) -> Result<Self, Error> {
        let files = &settings.credentials;
        let kept = files.read_credential();
        if let Some(join) = files.read_join_token() {
            match register(api, &join, settings).await {
                Ok(registered) => {
                    files.keep(&registered.token).map_err(Error::Keep)?;
                    return Ok(Self::new(api, settings, registered));
                }
                Err(ApiError::Unauthorized) if kept.is_some() => {}
                Err(ApiError::Unauthorized) => return Err(Error::Unauthorized),
                Err(ApiError::Ended) => return Err(Error::LineEnded),
                Err(refusal) => return Err(Error::Refused(refusal)),
            }
        }
        let token = kept.ok_or_else(|| match files {
            Credentials::Files { join_token, credential } => {
                Error::NoCredential { join: join_token.clone(), credential: credential.clone() }
            }
            Credentials::InMemory { .. } => Error::NoJoinToken,
        })?;
        match api.heartbeat(&token, &Heartbeat::default()).await {
            Ok(answer) => {
                let (beat_every, workspace) = (beat_every(answer.liveness_timeout_ms), answer.workspace_id);
                let max_at_work = answer.max_concurrent_tasks;
                Ok(Self::new(
                    api,
                    settings,
                    Registered { token, workspace, beat_every, max_at_work, wedge: None },
                ))
            }
            Err(ApiError::Unauthorized) => Err(Error::Unauthorized),
            Err(ApiError::Ended) => Err(Error::LineEnded),
            Err(refusal) => Err(Error::Refused(refusal)),
        }
    }

    fn new(api: &'a O, settings: &'a Settings, registered: Registered) -> Self {
        let now = Instant::now();
        let mut health = Health::new(&settings.wedge_signs);
        if let Some(error) = &registered.wedge {
            health.take_over_wedge(error);
        }
        Self {
            api,
            settings,
            token: RefCell::new(registered.token),
            workspace: registered.workspace,
            beat_every: registered.beat_every,
            health: RefCell::new(health),
            began: now,
            last_beat: Cell::new(now),
            refusals: Cell::new(0),
            at_work: RefCell::default(),
            max_at_work: Cell::new(at_least_one(registered.max_at_work)),
            more_room: Notify::new(),
            resident: match settings.adapter {
                Adapter::Stdio | Adapter::Json => Resident::None,
                Adapter::Acp => Resident::Acp(AcpAgent::new(&settings.command, &settings.options)),
                Adapter::A2a => Resident::A2a(A2aAgent::new(&settings.command, &settings.options)),
            },
        }
    }

    fn has_room(&self) -> bool {
        self.at_work.borrow().len() < self.max_at_work.get()
    }

    /// Reports, and asks for a message.
    async fn claim_after(&self, wait_ms: u64) -> Finished {
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        if let Err(refusal) = self.beat().await {
            return Finished::Claim(Err(refusal));
        }
        let wait = self.beat_every.min(MAX_CLAIM_WAIT);
        let claim = ClaimMessage { wait_ms: millis(wait), lease_ms: Some(millis(LEASE)) };
        let claimed = self.call(async |api, token| api.claim(token, &self.workspace, &claim).await).await;
        Finished::Claim(claimed.map(|claim| claim.claimed.map(Box::new)))
    }

    async fn report_after_end(&self) -> Finished {
        Finished::Report(self.beat().await)
    }

    /// A call with the credential. One that is refused is read again from its file, and the call is tried once more; then
    /// it is a failure like any other.
    async fn call<T>(&self, ask: impl AsyncFn(&O, &str) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let token = self.token.borrow().clone();
        let mut answer = ask(self.api, &token).await;
        if matches!(answer, Err(ApiError::Unauthorized)) {
            let token = self.settings.credentials.read_credential().unwrap_or(token);
            self.token.replace(token.clone());
            answer = ask(self.api, &token).await;
        }
        match &answer {
            Ok(_) => self.refusals.set(0),
            Err(ApiError::Unauthorized) => {
                self.refusals.set(self.refusals.get() + 1);
                self.health.borrow_mut().failed("Warren did not accept the runner's credential");
            }
            Err(_) => {}
        }
        answer
    }

    /// The same, again and again while Warren cannot be reached.
    async fn insist<T>(&self, ask: impl AsyncFn(&O, &str) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let mut tries = 0;
        loop {
            match self.call(&ask).await {
                Err(ApiError::Unreachable(_)) => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(backoff::wait_ms(tries))).await;
                }
                answer => return answer,
            }
        }
    }

    async fn beat(&self) -> Result<(), ApiError> {
        let heartbeat = self.report();
        self.last_beat.set(Instant::now());
        let answer = self.call(async |api, token| api.heartbeat(token, &heartbeat).await).await?;
        let max_at_work = at_least_one(answer.max_concurrent_tasks);
        if self.max_at_work.replace(max_at_work) < max_at_work {
            self.more_room.notify_one();
        }
        Ok(())
    }

    /// Of several messages, the one that has not moved for longest: one that hangs is not hidden by others that go on.
    fn report(&self) -> Heartbeat {
        let (health, at_work) = (self.health.borrow(), self.at_work.borrow());
        let stillest = at_work.iter().min_by_key(|progress| progress.moved);
        Heartbeat {
            error_rate: Some(health.error_rate()),
            sample_error: Some(health.sample_error().to_owned()),
            active_tasks: Some(u32::try_from(at_work.len()).unwrap_or(u32::MAX)),
            uptime_s: Some(self.began.elapsed().as_secs()),
            current_task: Some(stillest.map_or_else(String::new, |progress| progress.task.clone())),
            last_progress_at: stillest.map(|progress| progress.moved_at.clone()),
            runtime_state: Some(health.runtime_state().to_owned()),
            runtime_metadata: metadata(self.settings),
        }
    }

    /// Gives a message to the program and tells what came of it.
    async fn work_on(&self, guard: InProgressGuard<'_>, message: ClaimedMessage) -> Finished {
        let progress = ProgressLog::new(&self.at_work, &message);
        let ending = match self.follow(&progress, &message).await {
            Ok(ending) => ending,
            Err(refusal) => return Finished::Message(Err(refusal)),
        };
        // Absent: the message was taken back, and nobody waits for an answer.
        let Some(ending) = ending else { return Finished::Message(Ok(())) };
        let (outcome, answer) = match ending {
            ProgramOutcome::Answered(answer) => {
                let has_content = !answer.text.is_empty() || !answer.artifacts.is_empty();
                self.health.borrow_mut().replied(has_content);
                (AnswerOutcome::Answered, answer)
            }
            ProgramOutcome::Failed(failure) => {
                self.note_failure(&failure);
                (AnswerOutcome::Failed, ProgramAnswer::text(failure.text))
            }
        };
        let answer = AnswerMessage {
            attempt: message.attempt,
            outcome,
            state: answer.state,
            message: agent_message(answer.text),
            artifacts: answer.artifacts,
            retry_after_ms: None,
        };
        let answered = self.answer(&message, &answer).await;
        drop(guard);
        Finished::Message(answered)
    }

    fn note_failure(&self, failure: &Failure) {
        let mut health = self.health.borrow_mut();
        if failure.is_lasting {
            health.wedged(&failure.text);
        }
        health.failed(&failure.text);
    }

    /// Before the first message: whether the program can be spoken with at all.
    async fn try_program(&self) -> Finished {
        let tried = match &self.resident {
            Resident::Acp(agent) => agent.warm_up().await,
            Resident::A2a(agent) => agent.alive().await.map(drop),
            Resident::None => program::check(&self.settings.command).map_err(Failure::lasting),
        };
        if let Err(failure) = tried {
            self.health.borrow_mut().wedged(&failure.text);
            return Finished::Report(self.beat().await);
        }
        Finished::Report(Ok(()))
    }

    async fn give_to_program(&self, progress: &ProgressLog<'_>, message: &ClaimedMessage) -> ProgramOutcome {
        match &self.resident {
            Resident::Acp(agent) => agent.work_on(self, message, progress).await,
            Resident::A2a(agent) => agent.work_on(message, progress).await,
            Resident::None => {
                let is_json = self.settings.adapter == Adapter::Json;
                program::run(&self.settings.command, message, progress, is_json).await
            }
        }
    }

    /// Follows the work until it ends, and tells how it goes. Returns `None` if the message was taken back.
    async fn follow(
        &self,
        progress: &ProgressLog<'_>,
        message: &ClaimedMessage,
    ) -> Result<Option<ProgramOutcome>, ApiError> {
        let mut told = Instant::now();
        self.beat().await?;
        let mut work = std::pin::pin!(self.give_to_program(progress, message));
        loop {
            let pause = TELL_EVERY.min(self.beat_every);
            if let Ok(ending) = tokio::time::timeout(pause, &mut work).await {
                return Ok(Some(ending));
            }
            if told.elapsed() >= TELL_EVERY {
                let talk = progress.take_talk();
                if talk.is_some() || told.elapsed() >= RENEW_EVERY {
                    told = Instant::now();
                    match self.tell(message, talk, progress.take_moved()).await {
                        Ok(()) | Err(ApiError::Unreachable(_)) => {}
                        Err(ApiError::Withdrawn { .. }) => {
                            progress.cancel();
                            let _ = tokio::time::timeout(STOP_PATIENCE, &mut work).await;
                            return Ok(None);
                        }
                        Err(refusal) => return Err(refusal),
                    }
                }
            }
            if self.last_beat.get().elapsed() >= self.beat_every {
                match self.beat().await {
                    Ok(()) | Err(ApiError::Unreachable(_)) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
        }
    }

    async fn tell(
        &self,
        message: &ClaimedMessage,
        talk: Option<String>,
        moved: bool,
    ) -> Result<(), ApiError> {
        let message_of_agent = talk.and_then(agent_message);
        let report = ReportProgress {
            attempt: message.attempt,
            message: message_of_agent,
            artifacts: Vec::new(),
            moved,
        };
        let (workspace, id) = (&self.workspace, &message.queue_id);
        self.call(async |api, token| api.progress(token, workspace, id, &report).await).await.map(drop)
    }

    /// Tried again while the claim may still stand: the work is done, and only its answer is missing.
    async fn answer(&self, message: &ClaimedMessage, answer: &AnswerMessage) -> Result<(), ApiError> {
        let (workspace, id) = (&self.workspace, &message.queue_id);
        let mut tries = 0;
        loop {
            let told = self.call(async |api, token| api.answer(token, workspace, id, answer).await).await;
            match told {
                Err(ApiError::Unreachable(_)) if tries < MAX_ANSWER_TRIES => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(backoff::wait_ms(tries))).await;
                }
                // Somebody else has it by now, or nobody wants it any more.
                Err(ApiError::Withdrawn { .. }) => return Ok(()),
                told => return told,
            }
        }
    }
}

impl<O: WarrenApi> Inbox for RunLoop<'_, O> {
    async fn ask(&self, question: &RequestApproval) -> Result<Approval, ApiError> {
        let workspace = &self.workspace;
        self.insist(async |api, token| api.ask_approval(token, workspace, question).await).await
    }

    async fn decision(&self, approval: &str) -> Result<ApprovalState, ApiError> {
        loop {
            let now =
                self.insist(async |api, token| api.decision(token, approval, DECISION_WAIT_MS).await).await?;
            if now.state != ApprovalState::Pending {
                return Ok(now.state);
            }
        }
    }

    async fn withdraw(&self, approval: &str, why: &str) -> Result<(), ApiError> {
        let withdrawal = WithdrawApproval { note: Some(why.to_owned()) };
        self.insist(async |api, token| api.withdraw(token, approval, &withdrawal).await).await.map(drop)
    }
}

/// What the workspace says about its program, as Warren wants to hear it.
fn metadata(settings: &Settings) -> Option<RuntimeMetadata> {
    let options = &settings.options;
    let says = options.capabilities.is_some() || options.idle_timeout_seconds.is_some();
    says.then_some(RuntimeMetadata {
        capabilities: options.capabilities,
        idle_timeout_seconds: options.idle_timeout_seconds,
    })
}

async fn register<O: WarrenApi>(api: &O, join: &str, settings: &Settings) -> Result<Registered, ApiError> {
    let runtime = RegisterRuntime {
        version: Some(concat!("warren-runner ", env!("CARGO_PKG_VERSION")).to_owned()),
        agent_card: None,
        heartbeat: Some(Heartbeat {
            active_tasks: Some(0),
            runtime_state: Some(String::new()),
            runtime_metadata: metadata(settings),
            ..Heartbeat::default()
        }),
    };
    let mut failures = 0;
    loop {
        match api.register(join, &runtime).await {
            Ok(taken) => {
                return Ok(Registered {
                    token: taken.token,
                    workspace: taken.workspace_id,
                    beat_every: beat_every(taken.liveness_timeout_ms),
                    max_at_work: taken.max_concurrent_tasks,
                    wedge: taken.wedge,
                });
            }
            Err(ApiError::Unreachable(_)) => {
                failures += 1;
                tokio::time::sleep(Duration::from_millis(backoff::wait_ms(failures))).await;
            }
            Err(refusal) => return Err(refusal),
        }
    }
}

/// A third of the liveness timeout, so that one lost heartbeat costs nothing.
fn beat_every(liveness_timeout_ms: u64) -> Duration {
    Duration::from_millis((liveness_timeout_ms / 3).clamp(100, 30_000))
}

fn at_least_one(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).max(1)
}

fn agent_message(text: String) -> Option<TaskMessage> {
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

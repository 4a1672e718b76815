//! People who use sessions, whatever happens to the server: each request is made again until it is answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use warren_api::client::{Client, Error, FollowSession};
use warren_api::{
    BranchSession, BusyMode, CallDecision, CreateSession, CreateWorkspace, DecideCall, PendingWork,
    ResumeSession, SendSessionMessage, Session, SessionEntry, SessionStatus, Status, StopRun,
    SubmitToolResult,
};

use super::Dice;

/// Where the server is now, and whether it will be killed again.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) client: Client,
    pub(crate) is_closing: bool,
}

/// What somebody knows of one session: what was acknowledged, and what its stream showed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story {
    pub(crate) session_id: String,
    /// Ids of messages that were accepted.
    pub(crate) accepted: BTreeSet<String>,
    /// Accepted more often than sent, or under two ids: never.
    pub(crate) sent: usize,
    pub(crate) entries: Vec<SessionEntry>,
    pub(crate) decisions: usize,
    pub(crate) failures: Vec<String>,
}

/// One thing that is done to a session while it is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Say(&'static str, BusyMode),
    SayAndTakeBack,
    Interrupt,
    Abort,
}

/// The kinds of first messages, and what happens to them.
const PLANS: &[(&str, &[Deed])] = &[
    ("[work]", &[]),
    ("[asked]", &[Deed::Say("[work]", BusyMode::Queue)]),
    ("[client]", &[Deed::Say("[question]", BusyMode::Steer)]),
    ("[question]", &[Deed::Interrupt]),
    ("[work]", &[Deed::Say("[asked]", BusyMode::Steer), Deed::Say("[client]", BusyMode::Queue)]),
    ("[work]", &[Deed::Say("[work]", BusyMode::Interrupt)]),
    ("[asked]", &[Deed::Say("[work]", BusyMode::Interrupt), Deed::SayAndTakeBack]),
    ("[client]", &[Deed::Abort]),
    ("[work]", &[Deed::Interrupt, Deed::Say("[asked]", BusyMode::Steer)]),
    ("[work]", &[Deed::SayAndTakeBack, Deed::Abort]),
];

pub(crate) struct Person {
    number: usize,
    gate: watch::Receiver<Gate>,
    dice: Dice,
    said: usize,
    decided: usize,
}

/// The request was answered with a refusal, which is an answer.
type Answered<T> = Result<T, String>;

impl Person {
    pub(crate) fn new(number: usize, seed: u64, gate: watch::Receiver<Gate>) -> Self {
        let dice = Dice::new(seed.wrapping_add(1_000 + number as u64));
        Self { number, gate, dice, said: 0, decided: 0 }
    }

    /// Uses one session after the other, until the server is not killed any more.
    pub(crate) async fn live(mut self) -> Vec<Story> {
        let workspace = self.workspace().await;
        let mut stories = Vec::new();
        for at in self.number.. {
            let (first, deeds) = PLANS[at % PLANS.len()];
            let name = format!("p{}-{at}", self.number);
            let session = self.create(&workspace, &name).await;
            let mut story = self.use_session(session, first, deeds).await;
            let branched = if at % 4 == 1 { self.branch(&mut story, &name).await } else { None };
            stories.push(story);
            if let Some(session) = branched {
                stories.push(self.use_session(session, "[work]", &[]).await);
            }
            if self.gate.borrow().is_closing {
                return stories;
            }
        }
        stories
    }

    /// Makes a request until it is answered. A server that is going down has not answered.
    async fn ask<T>(&mut self, request: impl AsyncFn(Client) -> Result<T, Error>) -> Answered<T> {
        loop {
            let client = self.gate.borrow_and_update().client.clone();
            match request(client).await {
                Ok(answer) => return Ok(answer),
                Err(Error::Problem(problem))
                    if problem.status < 500 && problem.code != "version_conflict" =>
                {
                    return Err(problem.code);
                }
                Err(Error::Problem(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
                // It was killed; the next one is waited for.
                Err(_) => drop(tokio::time::timeout(Duration::from_millis(500), self.gate.changed()).await),
            }
        }
    }

    async fn workspace(&mut self) -> String {
        let name = format!("home-{}", self.number);
        let run = json!({ "mode": "argv", "allow_unrestrained": ["sh"] });
        let provider = json!({ "kind": "local", "run": run });
        let wish = CreateWorkspace::new(name.clone(), provider);
        let made = self.ask(async |client| client.create_workspace(&wish).await).await;
        let id = match made {
            Ok(workspace) => workspace.id,
            // It was made, and the answer was lost.
            Err(_) => {
                let query = warren_api::client::WorkspaceQuery::default();
                let all = self.ask(async |client| client.workspaces(&query).await).await.unwrap();
                all.items.into_iter().find(|workspace| workspace.name == name).unwrap().id
            }
        };
        while self.ask(async |client| client.workspace(&id).await).await.unwrap().status != Status::Online {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // The trace is one line, written at once, some moments after the command begins and before it ends.
        let script = b"sleep 0.02\necho \"$1\" >> ledger\nsleep 0.02\necho \"$1\"\n".to_vec();
        let put = self.ask(async |client| client.put_bytes(&id, "append.sh", script.clone(), false).await);
        put.await.unwrap();
        id
    }

    async fn create(&mut self, workspace: &str, name: &str) -> Session {
        let new = CreateSession {
            workspace_id: workspace.to_owned(),
            agent: super::AGENTS[self.number % super::AGENTS.len()].to_owned(),
            name: Some(name.to_owned()),
            ..CreateSession::default()
        };
        let key = format!("create-{name}");
        self.ask(async |client| client.create_session(&new, Some(&key)).await).await.unwrap()
    }

    async fn branch(&mut self, story: &mut Story, of: &str) -> Option<Session> {
        let name = format!("{of}-branch");
        let branch = BranchSession { step: Some(1), name: Some(name.clone()) };
        match self.ask(async |client| client.branch_session(of, &branch).await).await {
            Ok(session) => Some(session),
            // The first try was done, and its answer was lost.
            Err(code) if code == "session_exists" => {
                Some(self.ask(async |client| client.session(&name).await).await.unwrap())
            }
            Err(code) if code == "step_not_found" => None,
            Err(code) => {
                story.failures.push(format!("branch: {code}"));
                None
            }
        }
    }

    async fn use_session(&mut self, session: Session, first: &str, deeds: &[Deed]) -> Story {
        let name = session.name.clone();
        let mut story = Story { session_id: session.id.clone(), ..Story::default() };
        let is_done = Arc::new(AtomicBool::new(false));
        let reading = tokio::spawn(follow(self.gate.clone(), name.clone(), Arc::clone(&is_done)));
        self.say(&mut story, &name, first, BusyMode::Queue).await;
        let mut deeds = deeds.iter().copied();
        let mut next = deeds.next();
        loop {
            let session = self.ask(async |client| client.session(&name).await).await.unwrap();
            let is_busy = matches!(
                session.status,
                SessionStatus::Idle | SessionStatus::Running | SessionStatus::Suspended
            );
            if let Some(deed) = next
                && is_busy
                && self.dice.below(3) == 0
            {
                self.do_to(&mut story, &session, deed).await;
                next = deeds.next();
                continue;
            }
            match session.status {
                SessionStatus::Suspended => self.answer(&mut story, &name).await,
                SessionStatus::Interrupted => {
                    let resume = ResumeSession::default();
                    let _ = self.ask(async |client| client.resume_session(&name, resume).await).await;
                }
                SessionStatus::Completed | SessionStatus::Failed => break,
                SessionStatus::Idle | SessionStatus::Running => {
                    tokio::time::sleep(Duration::from_millis(20 + self.dice.below(30))).await;
                }
            }
        }
        is_done.store(true, Ordering::Release);
        story.entries = reading.await.unwrap();
        story
    }

    async fn do_to(&mut self, story: &mut Story, session: &Session, deed: Deed) {
        let name = &session.name;
        let stop = StopRun { run: session.run, within_seconds: Some(1) };
        match deed {
            Deed::Say(what, mode) => drop(self.say(story, name, what, mode).await),
            Deed::SayAndTakeBack => {
                if let Some(id) = self.say(story, name, "[work]", BusyMode::Queue).await {
                    let _ = self.ask(async |client| client.cancel_session_message(name, &id).await).await;
                }
            }
            Deed::Interrupt => {
                let _ = self.ask(async |client| client.interrupt_session(name, stop).await).await;
            }
            Deed::Abort => drop(self.ask(async |client| client.abort_session(name, stop).await).await),
        }
    }

    /// Says something once, however often it has to be sent.
    async fn say(&mut self, story: &mut Story, name: &str, what: &str, mode: BusyMode) -> Option<String> {
        self.said += 1;
        let key = format!("say-{}-{}", self.number, self.said);
        let text = format!("{what} {key}");
        let message =
            SendSessionMessage { text: Some(text), mode: Some(mode), ..SendSessionMessage::default() };
        let sent =
            self.ask(async |client| client.send_session_message(name, &message, Some(&key)).await).await;
        match sent {
            Ok(message) => {
                story.sent += 1;
                story.accepted.insert(message.id.clone());
                Some(message.id)
            }
            Err(code) => {
                story.failures.push(format!("a message was refused: {code}"));
                None
            }
        }
    }

    /// Gives what is waited for.
    async fn answer(&mut self, story: &mut Story, name: &str) {
        let pending: PendingWork = self.ask(async |client| client.session_pending(name).await).await.unwrap();
        for approval in pending.approvals {
            self.decided += 1;
            let approval_id = approval.id.clone();
            let decision = match self.decided % 3 {
                0 => DecideCall {
                    approval_id,
                    decision: CallDecision::Deny,
                    note: Some("not now".into()),
                    arguments: None,
                    remember: None,
                },
                1 => DecideCall {
                    approval_id,
                    decision: CallDecision::Approve,
                    note: None,
                    arguments: None,
                    remember: None,
                },
                _ => {
                    let token = format!("edited-{}-{}", self.number, self.decided);
                    let arguments = json!({ "argv": ["sh", "append.sh", token] });
                    DecideCall {
                        approval_id,
                        decision: CallDecision::Approve,
                        note: None,
                        arguments: Some(arguments),
                        remember: None,
                    }
                }
            };
            // A second try of one that was taken is told that nothing waits any more.
            let _ = self.ask(async |client| client.decide_call(name, &decision).await).await;
            story.decisions += 1;
        }
        for call in pending.calls {
            let output = Value::String(format!("answer to {}", call.id));
            let result =
                SubmitToolResult { call_id: call.id, output: Some(output), ..SubmitToolResult::default() };
            if let Err(code) = self.ask(async |client| client.submit_tool_result(name, &result).await).await
                && code != "not_pending"
            {
                story.failures.push(format!("a result was refused: {code}"));
            }
        }
    }
}

/// Reads a session's stream to its end, from where it was cut each time the server is killed. It has no end before the
/// person is done: what they say to a session that has just ended begins another run.
async fn follow(
    mut gate: watch::Receiver<Gate>,
    name: String,
    is_done: Arc<AtomicBool>,
) -> Vec<SessionEntry> {
    let mut entries: Vec<SessionEntry> = Vec::new();
    loop {
        let client = gate.borrow_and_update().client.clone();
        let after = entries.last().map_or(0, |entry| entry.sequence);
        if let Ok(mut frames) = client.follow_session(&name, FollowSession { after, until_idle: true }).await
        {
            while let Some(Ok(entry)) = frames.next().await {
                if entry.kind != "closing" {
                    entries.push(entry);
                }
            }
        }
        let was_done = is_done.load(Ordering::Acquire);
        if let Ok(session) = client.session(&name).await {
            let is_over = matches!(session.status, SessionStatus::Completed | SessionStatus::Failed);
            let last = entries.last().map_or(0, |entry| entry.sequence);
            if was_done && is_over && last >= session.latest_sequence {
                return entries;
            }
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// The text of each step as somebody who followed saw it.
pub(crate) fn texts_of(entries: &[SessionEntry]) -> BTreeMap<u64, String> {
    let mut texts: BTreeMap<u64, String> = BTreeMap::new();
    for entry in entries {
        let Some(step) = entry.fields.get("step").and_then(Value::as_u64) else { continue };
        match entry.kind.as_str() {
            // What was shown of it before does not count.
            "step_started" | "step_reset" => drop(texts.insert(step, String::new())),
            "text_delta" => {
                let text = entry.fields.get("text").and_then(Value::as_str).unwrap_or_default();
                texts.entry(step).or_default().push_str(text);
            }
            _ => {}
        }
    }
    texts
}

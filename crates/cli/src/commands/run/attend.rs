//! Staying with a session until nothing is under way: shows what happens, asks what it asks, and stops it on Ctrl-C.
//!
//! ```text
//!   entries of the stream ─┐
//!   lines that are typed ──┼─▶ Attendance ─▶ screen, decisions and answers to the server ─▶ exit code
//!   Ctrl-C ────────────────┘
//! ```
//!
//! The truth is asked of the server whenever something is to be decided: an entry may be old by the time it is read, and
//! somebody else may have answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use warren_api::client::Client;
use warren_api::{
    Approval, ApprovalState, CallDecision, DecideCall, PendingWork, RememberDecision, Session, SessionEntry,
    SessionMessageState, SessionStatus, StopRun, SuspendedBy, ToolRuleScope,
};
use warren_model::ErrorCode;

use super::keyboard::Keyboard;
use super::labels;
use super::link::{Link, News};
use super::screen::Screen;
use super::waits::{Wait, is_question, waits};
use crate::arguments::AttendArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome, Report};
use crate::output::Tone;
use crate::terminal_text::visible;

/// From where on a session is attended.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Start {
    pub(in crate::commands) session: String,
    /// Entries behind this one are shown.
    pub(in crate::commands) after: u64,
    /// The message whose answer is waited for.
    pub(in crate::commands) message: Option<String>,
}

/// How it went.
#[derive(Debug)]
pub(in crate::commands) struct Attended {
    pub(in crate::commands) exit: Exit,
    /// Whether it waits, was stopped or goes on by itself, so that its workspace is still needed.
    pub(in crate::commands) is_unfinished: bool,
}

/// Stays with a session until nothing is under way any more.
pub(in crate::commands) async fn attend(
    context: &Context,
    client: Client,
    start: Start,
    arguments: AttendArguments,
) -> Outcome<Attended> {
    let failed = |error: io::Error| {
        Report::new(ErrorCode::Internal).because(format!("signals cannot be received: {error}"))
    };
    let patience = Duration::from_millis(arguments.reconnect.ms);
    let mut link = Link::new(context, client, start.session, patience);
    link.after = start.after;
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let attendance = Attendance {
        context,
        link,
        screen: Screen::new(context),
        keyboard: None,
        interrupts: signal(SignalKind::interrupt()).map_err(failed)?,
        can_ask: is_terminal && !context.output.is_json,
        approves_all: arguments.yes,
        awaited: start.message,
        heard: VecDeque::new(),
        was_stopped: false,
        left_out: BTreeSet::new(),
    };
    attendance.run().await
}

pub(super) struct Attendance<'a> {
    context: &'a Context,
    pub(super) link: Link<'a>,
    pub(super) screen: Screen<'a>,
    /// Opened with the first question.
    pub(super) keyboard: Option<Keyboard>,
    pub(super) interrupts: Signal,
    can_ask: bool,
    approves_all: bool,
    /// The message that the model has not seen yet.
    awaited: Option<String>,
    /// Entries that came while a question was open.
    pub(super) heard: VecDeque<SessionEntry>,
    was_stopped: bool,
    /// Calls of programs elsewhere that were told of.
    left_out: BTreeSet<String>,
}

/// Whether to stay.
pub(super) enum Next {
    GoOn,
    Leave,
}

impl Attendance<'_> {
    async fn run(mut self) -> Outcome<Attended> {
        let session = self.session().await?;
        if session.latest_sequence <= self.link.after
            && let Some(attended) = self.rest(&session).await?
        {
            return Ok(attended);
        }
        loop {
            let news = match self.heard.pop_front() {
                Some(entry) => News::Entry(entry),
                None => tokio::select! {
                    _ = self.interrupts.recv() => {
                        match self.stop().await? {
                            Next::GoOn => continue,
                            Next::Leave => return self.leave_running().await,
                        }
                    }
                    news = self.link.next() => news?,
                },
            };
            match news {
                News::Entry(entry) => {
                    self.learn_call(&entry).await?;
                    self.screen.entry(&entry)?;
                    if let Some(attended) = self.after_entry(&entry).await? {
                        return Ok(attended);
                    }
                }
                News::Lost => self.tell(&self.link.lost())?,
                News::Back => self.tell("Connected again, without a gap.")?,
            }
        }
    }

    /// Looks up what a call is that was proposed before this reader came.
    async fn learn_call(&mut self, entry: &SessionEntry) -> Outcome<()> {
        let step = entry.fields.get("step").and_then(Value::as_u64).and_then(|step| u32::try_from(step).ok());
        if let Some(step) = step.and_then(|step| step.checked_sub(1))
            && self.screen.is_about_unknown_call(entry)
        {
            let page =
                self.link.ask(async |client, session| client.session_steps(session, step).await).await?;
            if let Some(found) = page.items.first() {
                self.screen.learn(&found.calls);
            }
        }
        Ok(())
    }

    async fn after_entry(&mut self, entry: &SessionEntry) -> Outcome<Option<Attended>> {
        let text = |name: &str| entry.fields.get(name).and_then(Value::as_str).unwrap_or_default();
        match entry.kind.as_str() {
            "message_delivered" => {
                if self.awaited.as_deref() == Some(text("message_id")) {
                    self.awaited = None;
                }
                Ok(None)
            }
            "approval_requested" | "call_offered" if self.can_ask || self.approves_all => {
                self.answer_pending().await
            }
            "suspended" | "interrupted" | "run_ended" => {
                let session = self.session().await?;
                // What is not read yet ends with an entry that leads back here.
                if session.latest_sequence > self.link.after || !self.heard.is_empty() {
                    return Ok(None);
                }
                self.rest(&session).await
            }
            _ => Ok(None),
        }
    }

    /// Ends it if nothing is under way. What waits for somebody here is asked first.
    async fn rest(&mut self, session: &Session) -> Outcome<Option<Attended>> {
        match session.status {
            SessionStatus::Running => Ok(None),
            SessionStatus::Idle => {
                let is_untouched = session.run == 0 && self.awaited.is_none();
                if is_untouched { self.end(session, Exit::OK, false).await.map(Some) } else { Ok(None) }
            }
            SessionStatus::Suspended => self.rest_suspended().await,
            SessionStatus::Interrupted => self.end(session, Exit::INTERRUPTED, true).await.map(Some),
            SessionStatus::Completed | SessionStatus::Failed if self.is_awaited().await? => Ok(None),
            SessionStatus::Completed => self.end(session, Exit::OK, false).await.map(Some),
            SessionStatus::Failed => self.end(session, Exit::FAILURE, false).await.map(Some),
        }
    }

    async fn rest_suspended(&mut self) -> Outcome<Option<Attended>> {
        if let Some(attended) = self.answer_pending().await? {
            return Ok(Some(attended));
        }
        let session = self.session().await?;
        let pending = self.pending().await?;
        let is_for_time = session.suspension.as_ref().is_some_and(|one| one.by == SuspendedBy::Timer);
        let has_more = session.latest_sequence > self.link.after || !self.heard.is_empty();
        let is_over = session.status != SessionStatus::Suspended || has_more;
        if is_over || is_for_time || waits(&session, &pending).is_empty() {
            return Ok(None);
        }
        self.end(&session, Exit::WAITING, true).await.map(Some)
    }

    /// Whether the message that is waited for may still be shown to the model.
    async fn is_awaited(&mut self) -> Outcome<bool> {
        let Some(id) = self.awaited.clone() else { return Ok(false) };
        let message =
            self.link.ask(async |client, session| client.session_message(session, &id).await).await?;
        match message.state {
            SessionMessageState::Queued | SessionMessageState::Delivered => Ok(true),
            SessionMessageState::Dropped => {
                self.awaited = None;
                let why = message.dropped_because.unwrap_or_default();
                self.tell(&format!("The message was dropped before the model saw it: {why}."))?;
                Ok(false)
            }
        }
    }

    /// Answers what can be answered here.
    async fn answer_pending(&mut self) -> Outcome<Option<Attended>> {
        let pending = self.pending().await?;
        for approval in pending.approvals.iter().filter(|one| one.state == ApprovalState::Pending) {
            if self.approves_all {
                self.decide(approval, CallDecision::Approve, Some("approved with --yes".to_owned()), None)
                    .await?;
                let label = visible(&label(approval));
                let sign = self.screen.painted("✓", Tone::Good);
                self.tell_painted(&format!("{sign} approved: {label}"))?;
            } else if self.can_ask
                && let Next::Leave = self.ask_approval(approval).await?
            {
                return self.leave_waiting().await.map(Some);
            }
        }
        for call in &pending.calls {
            if is_question(call) && self.can_ask {
                if let Next::Leave = self.ask_question(call).await? {
                    return self.leave_waiting().await.map(Some);
                }
            } else if !is_question(call) && self.can_ask && self.left_out.insert(call.id.clone()) {
                let label = visible(&labels::call(&call.tool, &call.arguments));
                self.tell_painted(&format!("… {label} waits for its caller"))?;
            }
        }
        Ok(None)
    }

    pub(super) async fn decide(
        &mut self,
        approval: &Approval,
        decision: CallDecision,
        note: Option<String>,
        arguments: Option<Value>,
    ) -> Outcome<()> {
        let approval_id = approval.id.clone();
        self.send(&DecideCall { approval_id, decision, note, arguments, remember: None }).await
    }

    /// Approves, and nobody is asked about this tool again in this session.
    pub(super) async fn allow_always(&mut self, approval: &Approval) -> Outcome<()> {
        let scope = ToolRuleScope::Session;
        let remember = RememberDecision { scope, arguments: BTreeMap::new(), expires_in_seconds: None };
        self.send(&DecideCall {
            approval_id: approval.id.clone(),
            decision: CallDecision::Approve,
            note: None,
            arguments: None,
            remember: Some(remember),
        })
        .await
    }

    async fn send(&mut self, decision: &DecideCall) -> Outcome<()> {
        let decided =
            self.link.ask(async |client, session| client.decide_call(session, decision).await).await;
        self.unless_over(decided.map(drop))
    }

    /// Somebody else was faster, or the answer to the first try was lost: it is decided, and that is all that counts.
    pub(super) fn unless_over(&mut self, outcome: Outcome<()>) -> Outcome<()> {
        let over = [ErrorCode::ApprovalOver.as_str(), ErrorCode::NotPending.as_str()];
        match outcome {
            Err(Failure::Told(report)) if over.contains(&report.code.as_str()) => {
                self.tell("It is decided already.")
            }
            other => other,
        }
    }

    /// The first Ctrl-C stops the run so that it can be resumed; the second leaves it.
    pub(super) async fn stop(&mut self) -> Outcome<Next> {
        if self.was_stopped {
            return Ok(Next::Leave);
        }
        self.was_stopped = true;
        self.screen.end_line()?;
        self.tell("Stopping at the next safe point. Ctrl-C again leaves at once.")?;
        let run = self.session().await?.run;
        let stop = StopRun { run, within_seconds: None };
        let stopped =
            self.link.ask(async |client, session| client.interrupt_session(session, stop).await).await;
        match stopped {
            // It ended meanwhile; the stream says so.
            Err(Failure::Told(report)) if report.code == ErrorCode::StaleRun.as_str() => Ok(Next::GoOn),
            Err(other) => Err(other),
            Ok(_) => Ok(Next::GoOn),
        }
    }

    /// The person goes, and the run goes on.
    async fn leave_running(mut self) -> Outcome<Attended> {
        let name = self.link.session.clone();
        self.screen.end_line()?;
        self.tell(&format!(
            "Left. Look with `warren session show {name}`, go on with `warren session resume {name}`."
        ))?;
        Ok(Attended { exit: Exit::INTERRUPTED, is_unfinished: true })
    }

    /// The person goes, and it goes on waiting.
    async fn leave_waiting(&mut self) -> Outcome<Attended> {
        if self.was_stopped {
            return Ok(Attended { exit: Exit::INTERRUPTED, is_unfinished: true });
        }
        let session = self.session().await?;
        self.end(&session, Exit::WAITING, true).await
    }

    async fn end(&mut self, session: &Session, exit: Exit, is_unfinished: bool) -> Outcome<Attended> {
        let pending = if is_unfinished { self.pending().await? } else { nothing() };
        let waits = waits(session, &pending);
        if self.context.output.is_json {
            let last = json!({
                "type": "ended", "exit_code": exit.0, "session": session, "pending": pending,
                "waits_for": waits.iter().map(|one| json!({ "what": one.what, "commands": one.commands })).collect::<Vec<_>>(),
            });
            self.context.output.json(&last)?;
        } else {
            self.screen.closing(session)?;
            self.tell_waits(session, &waits)?;
        }
        Ok(Attended { exit, is_unfinished })
    }

    fn tell_waits(&mut self, session: &Session, waits: &[Wait]) -> Outcome<()> {
        if waits.is_empty() {
            return Ok(());
        }
        for wait in waits {
            self.screen.talk(&format!("Waits for {}", visible(&wait.what)))?;
            for command in &wait.commands {
                self.screen.talk(&format!("  {}", visible(command)))?;
            }
        }
        let is_resumed = |wait: &Wait| wait.commands.iter().any(|command| command.contains(" resume "));
        if !waits.iter().all(is_resumed) {
            let (name, after) = (visible(&session.name), self.link.after);
            self.screen.talk(&format!(
                "Then see what comes of it with `warren session follow {name} --after {after}`."
            ))?;
        }
        Ok(())
    }

    pub(super) fn tell(&mut self, text: &str) -> Outcome<()> {
        if self.context.output.is_json {
            self.context.output.note(text);
            return Ok(());
        }
        let line = self.screen.painted(&visible(text), Tone::Quiet);
        self.screen.talk(&line)
    }

    /// The same, for what is painted and safe already. Programs are told it by the stream.
    fn tell_painted(&mut self, line: &str) -> Outcome<()> {
        if self.context.output.is_json { Ok(()) } else { self.screen.talk(line) }
    }

    async fn session(&mut self) -> Outcome<Session> {
        self.link.ask(async |client, session| client.session(session).await).await
    }

    async fn pending(&mut self) -> Outcome<PendingWork> {
        self.link.ask(async |client, session| client.session_pending(session).await).await
    }
}

fn nothing() -> PendingWork {
    PendingWork { approvals: Vec::new(), calls: Vec::new(), messages: Vec::new() }
}

pub(super) fn label(approval: &Approval) -> String {
    match &approval.call {
        Some(call) => labels::call(&call.tool, &call.arguments),
        None => approval.action.clone(),
    }
}

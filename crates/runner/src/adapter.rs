//! What all ways to speak with a program have in common: how it goes, how it ends, and whom it may ask.

use std::cell::{Cell, RefCell};

use tokio::sync::Notify;
use tokio::time::Instant;
use warren_api::{Approval, ApprovalState, ArtifactUpdate, ClaimedMessage, RequestApproval, TaskState};

use crate::ApiError;
use crate::program::StderrTail;

/// How a program ended its work on a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ProgramOutcome {
    Answered(ProgramAnswer),
    Failed(Failure),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProgramAnswer {
    pub(crate) text: String,
    pub(crate) artifacts: Vec<ArtifactUpdate>,
    /// Absent: completed.
    pub(crate) state: Option<TaskState>,
}

impl ProgramAnswer {
    pub(crate) fn text(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// What went wrong, with what the program said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) text: String,
    /// The next message will fail in the same way, whatever the text has for signs.
    pub(crate) is_lasting: bool,
    /// The program wants somebody to sign in.
    pub(crate) is_auth: bool,
}

impl Failure {
    pub(crate) fn passing(text: String) -> Self {
        Self { text, is_lasting: false, is_auth: false }
    }

    pub(crate) fn lasting(text: String) -> Self {
        Self { is_lasting: true, ..Self::passing(text) }
    }
}

/// The people whom a program may ask, through Warren.
pub(crate) trait Inbox {
    /// Asks; while Warren cannot be reached, again and again.
    async fn ask(&self, question: &RequestApproval) -> Result<Approval, ApiError>;
    /// The decision, however long it takes.
    async fn decision(&self, approval: &str) -> Result<ApprovalState, ApiError>;
    /// Nobody waits for the decision any more.
    async fn withdraw(&self, approval: &str, why: &str) -> Result<(), ApiError>;
}

/// One message being worked on, for the heartbeat.
#[derive(Debug)]
pub(crate) struct Progress {
    message: String,
    pub(crate) task: String,
    pub(crate) moved: Instant,
    pub(crate) moved_at: String,
}

/// Lists a message as being worked on until it is dropped.
pub(crate) struct InProgressGuard<'a> {
    at_work: &'a RefCell<Vec<Progress>>,
    message: String,
}

impl<'a> InProgressGuard<'a> {
    pub(crate) fn new(at_work: &'a RefCell<Vec<Progress>>, message: &ClaimedMessage) -> Self {
        let (message, task) = (message.queue_id.clone(), message.task.id.clone());
        let progress =
            Progress { message: message.clone(), task, moved: Instant::now(), moved_at: crate::utc::now() };
        at_work.borrow_mut().push(progress);
        Self { at_work, message }
    }
}

impl Drop for InProgressGuard<'_> {
    fn drop(&mut self) {
        self.at_work.borrow_mut().retain(|progress| progress.message != self.message);
    }
}

/// How the work on one message goes: what is to be told of it, and whether it is still wanted.
#[derive(Debug)]
pub(crate) struct ProgressLog<'a> {
    at_work: &'a RefCell<Vec<Progress>>,
    message: &'a str,
    talk: RefCell<StderrTail>,
    has_moved: Cell<bool>,
    /// Questions to people that are open.
    questions: Cell<u32>,
    is_cancelled: Cell<bool>,
    cancel: Notify,
}

impl<'a> ProgressLog<'a> {
    pub(crate) fn new(at_work: &'a RefCell<Vec<Progress>>, message: &'a ClaimedMessage) -> Self {
        Self {
            at_work,
            message: &message.queue_id,
            talk: RefCell::default(),
            has_moved: Cell::new(false),
            questions: Cell::new(0),
            is_cancelled: Cell::new(false),
            cancel: Notify::new(),
        }
    }

    /// The program did something.
    pub(crate) fn moved(&self) {
        self.has_moved.set(true);
        let mut at_work = self.at_work.borrow_mut();
        if let Some(progress) = at_work.iter_mut().find(|progress| progress.message == self.message) {
            progress.moved = Instant::now();
            progress.moved_at = crate::utc::now();
        }
    }

    /// The program said something, or something is to be said about it.
    pub(crate) fn say(&self, text: &str) {
        self.talk.borrow_mut().push(text.as_bytes());
        self.moved();
    }

    /// What was said since this was asked last.
    pub(crate) fn take_talk(&self) -> Option<String> {
        self.talk.borrow_mut().take_new()
    }

    /// Whether something was done since this was asked last. Work that waits for a person does not stand still.
    pub(crate) fn take_moved(&self) -> bool {
        if self.questions.get() > 0 {
            self.moved();
        }
        self.has_moved.take()
    }

    /// Until what it returns is dropped, a person is waited for.
    pub(crate) fn wait_for_person(&self) -> OpenQuestion<'_> {
        self.questions.set(self.questions.get() + 1);
        OpenQuestion(&self.questions)
    }

    /// Nobody wants the work any more.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.set(true);
        self.cancel.notify_waiters();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    pub(crate) async fn cancelled(&self) {
        while !self.is_cancelled() {
            self.cancel.notified().await;
        }
    }
}

pub(crate) struct OpenQuestion<'a>(&'a Cell<u32>);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

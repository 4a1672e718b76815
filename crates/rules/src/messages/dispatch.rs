//! What becomes of a message that was claimed: typed outcomes, and the one thing that follows from each (X11 to X15).
//!
//! ```text
//!             ┌────────────────── busy, gone, given back; unknown if the runtime de-duplicates
//!             ▼                                                                     │
//!   accepted ─▶ queued ── claim ──▶ claimed ── outcome ─────────────────────────────┤
//!                 │                    │                                            ▼
//!                 │ expired            │ silent, past its deadline          ended: answered | failed
//!                 ▼                    ▼                                           | expired | cancelled
//!               ended                ended
//! ```
//!
//! A runtime that declared `session` and says "busy" while the sender still waits to hear ends the delivery: the sender is
//! told, and nothing is queued. Whoever was told that the message waits is not told otherwise.
//!
//! A delivery ends once. Whoever says what became of a claim names the attempt it was; the store refuses an old one.

use warren_model::{
    Delivery, DeliveryEnd, DeliveryReason, DeliveryState, PrincipalKind, TaskState, TaskUpdate, Timestamp,
};

use warren_model::Backoff;

/// How speaking with a runtime went (X11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has the message, and what it said last is the task's state.
    Answered,
    /// It said so itself, or nobody took the connection: nothing was done.
    Busy { retry_after_ms: Option<u64> },
    /// The box behind it is dead.
    Gone,
    /// It refused, or broke the protocol.
    Failed { reason: DeliveryReason },
    /// The message was sent and no answer came.
    Unknown,
}

/// What happened to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEvent {
    Spoken(Outcome),
    /// Whoever held the lease is not heard of any more.
    LeaseLost,
    /// Whoever held it gives it back before anything was sent.
    GivenBack,
    /// The work shows no progress (X10).
    Silent,
    /// Its time is over, progress or not.
    PastDeadline,
    /// It waited too long.
    Expired,
    /// Somebody does not want it any more.
    Cancelled,
    /// Nobody is left who could do it.
    WorkspaceRemoved,
}

/// What is done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    End { how: DeliveryEnd, reason: Option<DeliveryReason> },
    Again { not_before: Timestamp, reason: DeliveryReason },
}

/// Tries of a message whose fate is unknown, before it is a dead letter.
pub const MAX_ATTEMPTS: u32 = 5;
const BETWEEN_TRIES: Backoff = Backoff { first_ms: 500, factor: 2, max_ms: 60_000, jitter: 0.2 };

/// What is known of the other side when it is decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuntimeFacts {
    /// The runtime says that it takes a message id once.
    pub deduplicates: bool,
    /// The runtime keeps the task under a name of its own, and can be asked about it.
    pub can_resume: bool,
    /// The runtime declared `session`, and the sender has not been answered yet: it can be told that it is busy.
    pub answers_busy: bool,
    pub now: Timestamp,
    /// A random number in `0.0..1.0`.
    pub fraction: f64,
}

/// Decides what follows for a delivery that has not ended.
pub fn after(delivery: &Delivery, event: &DeliveryEvent, facts: RuntimeFacts) -> Next {
    let again = |reason, at_least_ms: u64| again(delivery, reason, at_least_ms, facts);
    let unknown = |reason| {
        let may_repeat = facts.deduplicates && delivery.attempts < MAX_ATTEMPTS;
        if may_repeat { again(reason, 0) } else { failed(reason) }
    };
    match event {
        DeliveryEvent::Spoken(Outcome::Answered) => Next::End { how: DeliveryEnd::Answered, reason: None },
        DeliveryEvent::Spoken(Outcome::Busy { .. }) if facts.answers_busy => failed(DeliveryReason::Busy),
        DeliveryEvent::Spoken(Outcome::Busy { retry_after_ms }) => {
            again(DeliveryReason::Busy, retry_after_ms.unwrap_or(0))
        }
        DeliveryEvent::Spoken(Outcome::Gone) => again(DeliveryReason::Gone, 0),
        DeliveryEvent::Spoken(Outcome::Failed { reason }) => failed(*reason),
        // It said that it has it, and under which name: it is asked, and the message is not sent again.
        DeliveryEvent::Spoken(Outcome::Unknown) | DeliveryEvent::LeaseLost
            if delivery.has_begun && facts.can_resume =>
        {
            again(DeliveryReason::Resumed, 0)
        }
        DeliveryEvent::Spoken(Outcome::Unknown) => unknown(DeliveryReason::NoAnswer),
        DeliveryEvent::LeaseLost => unknown(DeliveryReason::LeaseLost),
        DeliveryEvent::GivenBack => Next::Again { not_before: facts.now, reason: DeliveryReason::GivenBack },
        DeliveryEvent::Silent => failed(DeliveryReason::NoProgress),
        DeliveryEvent::PastDeadline => failed(DeliveryReason::DeadlinePassed),
        DeliveryEvent::Expired => {
            Next::End { how: DeliveryEnd::Expired, reason: Some(DeliveryReason::Expired) }
        }
        DeliveryEvent::WorkspaceRemoved => failed(DeliveryReason::WorkspaceRemoved),
        DeliveryEvent::Cancelled => {
            Next::End { how: DeliveryEnd::Cancelled, reason: Some(DeliveryReason::Cancelled) }
        }
    }
}

fn failed(reason: DeliveryReason) -> Next {
    Next::End { how: DeliveryEnd::Failed, reason: Some(reason) }
}

/// Put back into the queue, unless there is no time left in which it could be tried.
fn again(delivery: &Delivery, reason: DeliveryReason, at_least_ms: u64, facts: RuntimeFacts) -> Next {
    if delivery.expires_at <= facts.now {
        return Next::End { how: DeliveryEnd::Expired, reason: Some(reason) };
    }
    let wait = BETWEEN_TRIES.delay_ms(delivery.attempts.saturating_sub(1), facts.fraction).max(at_least_ms);
    let wait = i64::try_from(wait).unwrap_or(i64::MAX);
    Next::Again { not_before: facts.now.plus_ms(wait).min(delivery.expires_at), reason }
}

/// Whether a message was turned away: its sender was told that the agent is busy, and may send the same again.
pub fn was_turned_away(delivery: &Delivery) -> bool {
    delivery.end == Some(DeliveryEnd::Failed) && delivery.reason == Some(DeliveryReason::Busy)
}

/// An answer that a task cannot hold is none, whatever was said with it.
pub fn after_overflow() -> Next {
    failed(DeliveryReason::AnswerTooLarge)
}

/// What Warren says in the agent's place when a delivery ends; absent: the agent has said all there is to say.
pub fn words_for(how: DeliveryEnd, reason: Option<DeliveryReason>, has_spoken: bool) -> Option<&'static str> {
    match how {
        DeliveryEnd::Answered => None,
        DeliveryEnd::Expired => Some("The message was not delivered in time."),
        DeliveryEnd::Cancelled => Some("The work was cancelled."),
        DeliveryEnd::Failed => words_for_failure(reason.unwrap_or(DeliveryReason::Failed), has_spoken),
    }
}

fn words_for_failure(reason: DeliveryReason, has_spoken: bool) -> Option<&'static str> {
    use DeliveryReason as Reason;
    Some(match reason {
        // It failed by its own words.
        Reason::Failed if has_spoken => return None,
        Reason::NoProgress => "The work showed no progress for too long.",
        Reason::DeadlinePassed => "The work took longer than it may.",
        Reason::LeaseLost | Reason::NoAnswer => {
            "The message was sent, and no answer came; whether the work was done is not known."
        }
        Reason::WorkspaceRemoved => "The workspace was removed before the work was done.",
        Reason::AnswerTooLarge => "The agent answered more than a task can hold.",
        Reason::Busy => "The agent is busy and keeps no queue; nothing was queued for it.",
        Reason::Unauthorized => "The agent did not accept Warren's credential.",
        Reason::Failed
        | Reason::Gone
        | Reason::Resumed
        | Reason::GivenBack
        | Reason::Expired
        | Reason::Cancelled
        | Reason::Forbidden
        | Reason::CannotBeCalled
        | Reason::CallRefused
        | Reason::Untrusted
        | Reason::BadAnswer
        | Reason::TaskUnknown
        | Reason::NotCancelable
        | Reason::VersionNotSupported
        | Reason::ContentTypeNotSupported
        | Reason::NotSupported
        | Reason::MessageRefused
        | Reason::AgentError
        | Reason::Unrecognized => "The agent could not do the work.",
    })
}

/// The end of all patience: what the sender set, and for agents a ceiling besides (X10).
pub fn deadline_of(
    asked: Option<Timestamp>,
    sender: PrincipalKind,
    ceiling_ms: i64,
    now: Timestamp,
) -> Option<Timestamp> {
    let ceiling = (sender == PrincipalKind::Workspace).then(|| now.plus_ms(ceiling_ms));
    [asked, ceiling].into_iter().flatten().min()
}

/// Makes a delivery somebody's for a while.
pub fn claim(delivery: &mut Delivery, owner: &str, now: Timestamp, lease_ms: i64) {
    delivery.state = DeliveryState::Claimed;
    delivery.attempts += 1;
    delivery.reason = None;
    delivery.owner = Some(owner.to_owned());
    delivery.lease_until = Some(now.plus_ms(lease_ms));
    delivery.progress_at = Some(now);
    delivery.due_at = due_at(delivery);
}

/// When something must be done about a delivery if nothing happens to it.
pub fn due_at(delivery: &Delivery) -> Option<Timestamp> {
    match delivery.state {
        DeliveryState::Queued => Some(delivery.expires_at),
        DeliveryState::Claimed => {
            [delivery.lease_until, silent_at(delivery), delivery.deadline_at].into_iter().flatten().min()
        }
        DeliveryState::Ended => None,
    }
}

/// What is the matter with a delivery that is due. Nothing, if somebody was faster.
pub fn overdue(delivery: &Delivery, now: Timestamp) -> Option<DeliveryEvent> {
    let is_past = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    match delivery.state {
        DeliveryState::Queued => is_past(Some(delivery.expires_at)).then_some(DeliveryEvent::Expired),
        DeliveryState::Claimed if is_past(delivery.deadline_at) => Some(DeliveryEvent::PastDeadline),
        DeliveryState::Claimed if is_past(silent_at(delivery)) => Some(DeliveryEvent::Silent),
        DeliveryState::Claimed if is_past(delivery.lease_until) => Some(DeliveryEvent::LeaseLost),
        DeliveryState::Claimed | DeliveryState::Ended => None,
    }
}

/// Whoever holds a claim in the name of a workspace's own runtime, by the token it was made with.
pub fn runtime_as_owner(token_id: impl std::fmt::Display) -> String {
    format!("{RUNTIME}{token_id}")
}

const RUNTIME: &str = "runtime:";

/// What the end of a workspace's only runtime is for this delivery: nobody is left who could answer.
pub fn dies_with_its_runtime(delivery: &Delivery) -> Option<DeliveryEvent> {
    let is_its = delivery.owner.as_ref().is_some_and(|owner| owner.starts_with(RUNTIME));
    (delivery.state == DeliveryState::Claimed && is_its).then_some(DeliveryEvent::LeaseLost)
}

fn silent_at(delivery: &Delivery) -> Option<Timestamp> {
    let patience = i64::try_from(delivery.idle_timeout_ms).unwrap_or(i64::MAX);
    delivery.progress_at.map(|at| at.plus_ms(patience))
}

/// The state of a task whose delivery has ended. `told` is what the agent said last.
pub fn task_after(told: Option<TaskState>, how: DeliveryEnd) -> TaskState {
    match how {
        // An agent that says "working" and hangs up has answered all it will.
        DeliveryEnd::Answered => {
            told.filter(|state| state.is_final() || state.is_interrupted()).unwrap_or(TaskState::Completed)
        }
        DeliveryEnd::Failed | DeliveryEnd::Expired => TaskState::Failed,
        DeliveryEnd::Cancelled => TaskState::Cancelled,
    }
}

/// The state that an update brings a task to; absent: it says nothing about it.
pub fn state_of(update: &TaskUpdate) -> Option<TaskState> {
    match update {
        TaskUpdate::Status { state, .. } => Some(*state),
        TaskUpdate::Message(_) => Some(TaskState::Completed),
        TaskUpdate::Artifact { .. } | TaskUpdate::Metadata(_) => None,
    }
}

/// Whether a task in this state takes another message: one that has ended does not.
pub fn takes_message(state: TaskState) -> bool {
    match state {
        TaskState::InputRequired | TaskState::AuthRequired => true,
        // It would overtake, or be overtaken by, the one that is on its way.
        TaskState::Submitted | TaskState::Working => false,
        TaskState::Completed | TaskState::Failed | TaskState::Cancelled | TaskState::Rejected => false,
    }
}

#[cfg(test)]
mod tests;

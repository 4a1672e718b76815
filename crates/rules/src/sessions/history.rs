//! Going back to an earlier step, in place or in a new session (A70). Nothing is copied: both share the steps before.

use std::collections::BTreeMap;

use serde_json::Value;
use warren_model::session::{
    DropReason, LoopWatch, Phase, QueuedState, RunUsage, Session, SessionMessage, SessionName, StreamItem,
};
use warren_model::{Principal, SessionId, Timestamp};

use super::{OpenSession, Refusal};

/// A session after it went back, the messages that were dropped with what followed, and what its readers are told.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewind {
    pub session: Session,
    pub dropped: Vec<SessionMessage>,
    pub told: StreamItem,
}

/// Goes back to the end of a step, in place; step 0 is the beginning. `state` is what it was then. Decisions that were
/// asked for later are void.
pub fn rewind(
    open: &OpenSession,
    step: u32,
    state: BTreeMap<String, Value>,
    now: Timestamp,
) -> Result<Rewind, Refusal> {
    let session = &open.session;
    if session.phase.has_run() || open.step.is_some() {
        return Err(Refusal::Busy);
    }
    let lineage = session.lineage.up_to(step).ok_or(Refusal::NoSuchStep(step))?;
    let drop = |message: &SessionMessage| {
        let state = QueuedState::Dropped { reason: DropReason::Rewound };
        SessionMessage { state, ..message.clone() }
    };
    let session = Session {
        lineage,
        state,
        phase: Phase::Idle,
        generation: session.generation + 1,
        usage: RunUsage::default(),
        loop_watch: LoopWatch::default(),
        wake_at: None,
        stop: None,
        updated_at: now,
        ..session.clone()
    };
    let told = StreamItem::Rewound { to_step: step };
    Ok(Rewind { session, dropped: open.queue.iter().map(drop).collect(), told })
}

/// What a branch has of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBranch {
    pub id: SessionId,
    pub name: SessionName,
    /// The state at the end of the step.
    pub state: BTreeMap<String, Value>,
    pub created_by: Principal,
    pub now: Timestamp,
}

/// A new session that begins with the steps of another up to one of them. The other may go on meanwhile.
pub fn branch(from: &Session, step: u32, new: NewBranch) -> Result<Session, Refusal> {
    let NewBranch { id, name, state, created_by, now } = new;
    let lineage = from.lineage.up_to(step).ok_or(Refusal::NoSuchStep(step))?;
    Ok(Session {
        id,
        name,
        created_by,
        phase: Phase::Idle,
        generation: 1,
        run: 0,
        last_step: step,
        open_step: None,
        lineage,
        state,
        stop: None,
        limits: from.limits,
        usage: RunUsage::default(),
        total_usage: RunUsage::default(),
        reserved_micros: 0,
        reserved_at: None,
        loop_watch: LoopWatch::default(),
        wake_at: None,
        lease: None,
        epoch: 0,
        latest_sequence: 0,
        branched_from: Some((from.id, step)),
        version: 1,
        created_at: now,
        updated_at: now,
        ..from.clone()
    })
}

//! Tool calls: proposed, decided, begun, closed. Each has exactly one outcome.

use serde_json::Value;
use warren_model::session::{
    CallOutcome, CallState, CallWait, Decision, Phase, StartMode, StepPhase, StreamItem, ToolCall,
};
use warren_model::{ApprovalId, PolicyDecision};

use crate::lifecycle::Usability;

use super::inputs::{CallFinding, PersonDecision, ProposedCall};
use super::policies::{self, Judgement};
use super::{Change, Question, Refusal, wait_of};

const MAX_SHOWN_ARGUMENTS: usize = 64 << 10;

impl Change<'_> {
    /// Takes the calls of an answer: each is refused, asked about or allowed by itself (A30).
    pub(super) fn propose(&mut self, calls: Vec<ProposedCall>) {
        let (number, limits) = match &self.open.step {
            Some(step) => (step.number, &self.facts.agent.limits),
            None => return,
        };
        let left = limits.run.tool_calls.map(|most| most.saturating_sub(self.open.session.usage.tool_calls));
        let (per_step, left) = (limits.calls_per_step, left.unwrap_or(u32::MAX));
        for (index, call) in (0u32..).zip(calls) {
            let id = format!("call_{number}_{index}");
            let excess = if index >= per_step {
                Some(format!("an answer may ask for {per_step} calls at most; this one was not carried out"))
            } else if index >= left {
                Some("the run has made as many calls as it may; this one was not carried out".to_owned())
            } else {
                None
            };
            let problem = call.problem.clone().or(excess);
            self.tell(StreamItem::CallProposed {
                step: number,
                call_id: id.clone(),
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                problem: problem.clone(),
            });
            let session = self.session();
            session.usage.tool_calls += 1;
            session.total_usage.tool_calls += 1;
            let (decision, state) = self.judge(number, &id, &call, problem);
            let ended_at = matches!(state, CallState::Closed(_)).then_some(self.facts.now);
            let call = ToolCall {
                id,
                tool: call.tool,
                place: call.place,
                proposed: call.arguments,
                is_idempotent: call.is_idempotent,
                can_probe: call.can_probe,
                exclusive: call.exclusive,
                decision,
                state,
                started_at: None,
                ended_at,
            };
            if let Some(outcome) = call.outcome() {
                let ended = ended(number, &call.id, outcome);
                self.tell(ended);
            } else {
                self.offer(number, &call);
            }
            if let Some(step) = &mut self.open.step {
                step.calls.push(call);
            }
        }
    }

    fn judge(
        &mut self,
        step: u32,
        id: &str,
        call: &ProposedCall,
        problem: Option<String>,
    ) -> (Option<Decision>, CallState) {
        if let Some(problem) = problem {
            return (None, CallState::Closed(CallOutcome::failed(problem)));
        }
        let Judgement { decision, reason } = policies::judge(self.facts, &call.tool, &call.arguments);
        match decision {
            PolicyDecision::Allow => (Some(Decision::Allowed), CallState::Waiting(wait_of(call.place))),
            PolicyDecision::Deny => {
                let denied = Decision::Denied { by: "policy".to_owned(), reason: reason.clone() };
                (Some(denied), CallState::Closed(CallOutcome::Denied { reason }))
            }
            PolicyDecision::Ask => {
                let seconds = i64::from(self.facts.agent.limits.approval_seconds);
                let expires_at = self.facts.now.plus_ms(seconds * 1_000);
                let arguments = shown(&call.arguments);
                self.tell(StreamItem::ApprovalRequested {
                    step,
                    call_id: id.to_owned(),
                    approval_id: call.approval_id,
                    tool: call.tool.clone(),
                    arguments: arguments.clone(),
                    reason: reason.clone(),
                    expires_at,
                });
                self.outputs.questions.push(Question {
                    approval_id: call.approval_id,
                    step,
                    call_id: id.to_owned(),
                    tool: call.tool.clone(),
                    arguments,
                    reason,
                    expires_at,
                });
                let approval_id = call.approval_id;
                (None, CallState::Waiting(CallWait::Approval { approval_id, expires_at }))
            }
        }
    }

    /// Tells whoever has to give the call its result.
    fn offer(&mut self, step: u32, call: &ToolCall) {
        let is_offered = matches!(&call.state, CallState::Waiting(CallWait::Client | CallWait::Answer));
        if is_offered {
            let (call_id, tool, arguments) = (call.id.clone(), call.tool.clone(), call.effective().clone());
            self.tell(StreamItem::CallOffered { step, call_id, tool, arguments });
        }
    }

    /// The owner begins the calls whose turn it is: in their order, within the cap, none beside another that needs the
    /// same thing for itself (A20, A25).
    pub(super) fn begin_calls(&mut self) {
        let (now, epoch) = (self.facts.now, self.open.session.epoch);
        // An interrupted run begins nothing more.
        if self.open.session.stop.is_some() {
            return;
        }
        let most = self.facts.agent.limits.parallel_calls as usize;
        let Some(step) = &mut self.open.step else { return };
        let number = step.number;
        let is_running = |call: &&ToolCall| matches!(call.state, CallState::Started { .. });
        let mut running = step.calls.iter().filter(is_running).count();
        let mut held: Vec<String> =
            step.calls.iter().filter(is_running).flat_map(|call| call.exclusive.iter().cloned()).collect();
        let mut begun = Vec::new();
        for call in &mut step.calls {
            if call.state != CallState::Waiting(CallWait::Turn) {
                continue;
            }
            // One that has to wait holds its place: a later one that needs the same does not pass it.
            let is_free = call.exclusive.iter().all(|one| !held.iter().any(|other| excludes(one, other)));
            held.extend(call.exclusive.iter().cloned());
            if !is_free || running >= most {
                continue;
            }
            running += 1;
            call.state = CallState::Started { epoch, attempt: 1, how: StartMode::Run };
            call.started_at = Some(now);
            begun.push(call.id.clone());
        }
        for call_id in begun {
            self.tell(StreamItem::CallStarted { step: number, call_id });
        }
    }

    /// A new owner looks at what an earlier one had begun (A4).
    pub(super) fn take_up(&mut self) -> Result<(), Refusal> {
        self.look_at_workspace()?;
        // What an earlier owner had begun is looked into when something can be done about it.
        if self.open.session.phase != Phase::Active || self.facts.workspace == Usability::Resting {
            return Ok(());
        }
        let epoch = self.open.session.epoch;
        let Some(step) = &mut self.open.step else { return Ok(()) };
        if step.phase != StepPhase::Acting {
            return Ok(());
        }
        let mut lost = Vec::new();
        for (index, call) in step.calls.iter_mut().enumerate() {
            let CallState::Started { epoch: under, attempt, .. } = call.state else { continue };
            if under == epoch {
                continue;
            }
            let how = match (call.can_probe, call.is_idempotent) {
                (true, _) => Some((StartMode::Probe, attempt)),
                (false, true) => Some((StartMode::Run, attempt + 1)),
                (false, false) => None,
            };
            match how {
                Some((how, attempt)) => {
                    call.state = CallState::Started { epoch, attempt, how };
                    self.outputs.has_changed = true;
                }
                None => lost.push((index, under, call.started_at)),
            }
        }
        for (index, under, started_at) in lost {
            let since = started_at.map(|at| format!(" at {at}")).unwrap_or_default();
            let evidence = format!(
                "it was begun{since} by owner {under} of this session, and that owner was lost (now it is {epoch}); nothing \
                 is known of how far it came, so that it was not begun again"
            );
            self.close_call(index, CallOutcome::Unknown { evidence });
        }
        Ok(())
    }

    /// The place of a call that is under way by this owner.
    fn running(&self, step: u32, index: u32, attempt: u32) -> Option<usize> {
        let open = self.open.step.as_ref().filter(|open| open.number == step)?;
        let call = open.calls.get(index as usize)?;
        let epoch = self.open.session.epoch;
        let is_it = matches!(
            call.state,
            CallState::Started { epoch: under, attempt: current, .. } if under == epoch && current == attempt
        );
        is_it.then_some(index as usize)
    }

    pub(super) fn call_ended(
        &mut self,
        step: u32,
        index: u32,
        attempt: u32,
        outcome: CallOutcome,
    ) -> Result<(), Refusal> {
        if let Some(at) = self.running(step, index, attempt) {
            self.close_call(at, outcome);
        }
        Ok(())
    }

    pub(super) fn call_probed(
        &mut self,
        step: u32,
        index: u32,
        attempt: u32,
        finding: CallFinding,
    ) -> Result<(), Refusal> {
        let Some(at) = self.running(step, index, attempt) else { return Ok(()) };
        let epoch = self.open.session.epoch;
        let state = match finding {
            // It is begun when the workspace is back.
            CallFinding::NeverStarted if self.facts.workspace == Usability::Resting => {
                CallState::Waiting(CallWait::Turn)
            }
            CallFinding::NeverStarted => {
                CallState::Started { epoch, attempt: attempt + 1, how: StartMode::Run }
            }
            CallFinding::Running => CallState::Started { epoch, attempt, how: StartMode::Attach },
            CallFinding::Ended(outcome) => {
                self.close_call(at, outcome);
                return Ok(());
            }
            CallFinding::Unknown { evidence } => {
                self.close_call(at, CallOutcome::Unknown { evidence });
                return Ok(());
            }
        };
        self.outputs.has_changed = true;
        if let Some(call) = self.open.step.as_mut().and_then(|step| step.calls.get_mut(at)) {
            call.state = state;
        }
        Ok(())
    }

    /// A person, or time, decided. The question is bound to this call; the caller checked to which arguments, version and
    /// generation (A30).
    pub(super) fn decided(
        &mut self,
        approval_id: ApprovalId,
        decision: PersonDecision,
    ) -> Result<(), Refusal> {
        let at = self.asked_about(approval_id).ok_or(Refusal::NotPending)?;
        let Some(step) = &self.open.step else { return Err(Refusal::NotPending) };
        let (number, call) = (step.number, &step.calls[at]);
        let (call_id, tool, place) = (call.id.clone(), call.tool.clone(), call.place);
        let decision = match decision {
            PersonDecision::Approve { by, edited, note } => {
                let arguments = match edited {
                    Some((_, Some(problem))) => return Err(Refusal::BadEdit(problem)),
                    Some((arguments, None)) => Some(arguments),
                    None => None,
                };
                // What a person allows is still judged: no approval leads past a rule that denies.
                let effective = arguments.as_ref().unwrap_or(&call.proposed);
                let judgement = policies::judge(self.facts, &tool, effective);
                match judgement.decision {
                    PolicyDecision::Deny => {
                        Decision::Denied { by: "policy".to_owned(), reason: judgement.reason }
                    }
                    PolicyDecision::Allow | PolicyDecision::Ask => Decision::Approved { by, arguments, note },
                }
            }
            PersonDecision::Deny { by, reason } => Decision::Denied { by, reason },
            PersonDecision::Expired => Decision::Denied {
                by: "time".to_owned(),
                reason: "nobody decided about it in time".to_owned(),
            },
        };
        self.tell(StreamItem::CallDecided { step: number, call_id, decision: decision.clone() });
        let denied = match &decision {
            Decision::Denied { reason, .. } => Some(CallOutcome::Denied { reason: reason.clone() }),
            Decision::Allowed | Decision::Approved { .. } => None,
        };
        if let Some(call) = self.open.step.as_mut().and_then(|step| step.calls.get_mut(at)) {
            call.decision = Some(decision);
            call.state = CallState::Waiting(wait_of(place));
        }
        match denied {
            Some(outcome) => self.close_call(at, outcome),
            None => self.offer_at(number, at),
        }
        self.reconsider();
        Ok(())
    }

    fn offer_at(&mut self, step: u32, at: usize) {
        if let Some(call) = self.open.step.as_ref().and_then(|open| open.calls.get(at)).cloned() {
            self.offer(step, &call);
        }
    }

    fn asked_about(&self, approval_id: ApprovalId) -> Option<usize> {
        let is_it = |call: &ToolCall| {
            matches!(call.state, CallState::Waiting(CallWait::Approval { approval_id: asked, .. })
                if asked == approval_id)
        };
        self.open.step.as_ref()?.calls.iter().position(is_it)
    }

    /// The caller ran its tool, or the user answered (A31, A33).
    pub(super) fn handed_in(&mut self, call_id: &str, outcome: CallOutcome) -> Result<(), Refusal> {
        let is_it = |call: &ToolCall| {
            call.id == call_id
                && matches!(call.state, CallState::Waiting(CallWait::Client | CallWait::Answer))
        };
        let step = self.open.step.as_ref().ok_or(Refusal::NotPending)?;
        let at = step.calls.iter().position(is_it).ok_or(Refusal::NotPending)?;
        self.close_call(at, outcome);
        self.reconsider();
        Ok(())
    }

    /// A session that waited for somebody looks again whether it still has to. An interrupted one waits to be resumed.
    fn reconsider(&mut self) {
        if matches!(self.open.session.phase, Phase::Suspended { by, .. } if by.is_for_calls()) {
            self.activate();
        }
    }

    /// Gives a call its outcome. The first one counts.
    pub(super) fn close_call(&mut self, at: usize, outcome: CallOutcome) {
        let now = self.facts.now;
        let Some(step) = &mut self.open.step else { return };
        let number = step.number;
        let Some(call) = step.calls.get_mut(at).filter(|call| !call.is_closed()) else { return };
        if let CallState::Waiting(CallWait::Approval { approval_id, .. }) = call.state {
            self.outputs.void.push(approval_id);
        }
        let item = ended(number, &call.id, &outcome);
        call.state = CallState::Closed(outcome);
        call.ended_at = Some(now);
        self.tell(item);
    }

    /// Calls that nobody has begun are not begun any more.
    pub(super) fn close_waiting_calls(&mut self, why: &str) {
        self.close_calls(|call| match call.state {
            CallState::Waiting(_) => Some(CallOutcome::Denied { reason: why.to_owned() }),
            CallState::Started { .. } | CallState::Closed(_) => None,
        });
    }

    /// Calls that are under way are cut: one that may be repeated failed, of any other nobody knows how far it came.
    pub(super) fn cut_running_calls(&mut self, why: &str) {
        self.close_calls(|call| match call.state {
            CallState::Started { .. } if call.is_idempotent => {
                Some(CallOutcome::failed(format!("it was cut: {why}")))
            }
            CallState::Started { .. } => {
                let evidence =
                    format!("it was cut while it ran: {why}; part of it may have been carried out");
                Some(CallOutcome::Unknown { evidence })
            }
            CallState::Waiting(_) | CallState::Closed(_) => None,
        });
    }

    fn close_calls(&mut self, outcome_of: impl Fn(&ToolCall) -> Option<CallOutcome>) {
        let Some(step) = &self.open.step else { return };
        let outcomes: Vec<_> = step.calls.iter().map(outcome_of).collect();
        for (at, outcome) in outcomes.into_iter().enumerate() {
            if let Some(outcome) = outcome {
                self.close_call(at, outcome);
            }
        }
    }
}

/// What the stream tells of a call that has ended.
fn ended(step: u32, call_id: &str, outcome: &CallOutcome) -> StreamItem {
    let result = match outcome {
        CallOutcome::Done { result } | CallOutcome::Failed { result } => result.value.clone(),
        CallOutcome::Denied { reason } => Value::String(reason.clone()),
        CallOutcome::Unknown { evidence } => Value::String(evidence.clone()),
    };
    StreamItem::CallEnded { step, call_id: call_id.to_owned(), outcome: outcome.kind(), result }
}

/// Arguments as a person is shown them; very long ones in part.
fn shown(arguments: &Value) -> Value {
    let text = arguments.to_string();
    if text.len() <= MAX_SHOWN_ARGUMENTS {
        return arguments.clone();
    }
    let beginning = warren_model::truncate_utf8(&text, MAX_SHOWN_ARGUMENTS);
    serde_json::json!({ "beginning": beginning, "bytes": text.len() })
}

/// Whether two things that calls need for themselves are the same, or one is a part of the other, as `file:notes/a.md` is
/// of `file:notes` (A25).
pub(crate) fn excludes(one: &str, other: &str) -> bool {
    let is_part = |part: &str, whole: &str| {
        part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('/') || whole.ends_with(':'))
    };
    one == other || is_part(one, other) || is_part(other, one)
}

#[cfg(test)]
mod tests {
    use super::excludes;

    // A25: a directory is not removed beside a call that changes a file in it
    #[test]
    fn what_is_in_a_directory_is_a_part_of_it() {
        for (one, other) in
            [("file:a", "file:a"), ("file:a", "file:a/b"), ("file:", "file:a"), ("disk", "disk")]
        {
            assert!(excludes(one, other) && excludes(other, one), "{one} {other}");
        }
        for (one, other) in
            [("file:a", "file:ab"), ("file:a/b", "file:a/c"), ("disk", "disk2"), ("file:a", "net:a")]
        {
            assert!(!excludes(one, other) && !excludes(other, one), "{one} {other}");
        }
    }
}

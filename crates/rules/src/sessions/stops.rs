//! Stopping, resuming, and what time brings (A32).
//!
//! ```text
//!   interrupt ─▶ the model is not asked further; calls that run may end until the deadline, then they are cut
//!                └▶ safe point: interrupted, with what waits still waiting ── resume ─▶ active
//!   abort ─────▶ everything is closed now; failed
//! ```

use warren_model::Principal;
use warren_model::session::{
    BusyMode, DropReason, FailureKind, LoopWatch, Phase, RunLimits, SessionFailure, StepPhase, StopKind,
    StopRequest, StreamItem, Suspension,
};

use super::{Change, Refusal};

/// Begins the sentence of a run that somebody failed.
pub(super) const ABORTED: &str = "aborted by";
/// How long calls that run may still take when a message interrupts them.
const MESSAGE_PATIENCE_MS: i64 = 2_000;

impl Change<'_> {
    pub(super) fn stop(&mut self, run: u32, request: StopRequest) -> Result<(), Refusal> {
        let session = &self.open.session;
        if run != session.run || !session.phase.has_run() {
            return Err(Refusal::StaleRun { latest: session.run });
        }
        match request.kind {
            StopKind::Interrupt => self.interrupt(request),
            StopKind::Abort => self.abort(&request.by),
        }
        Ok(())
    }

    /// Stops as soon as nothing is under way.
    fn interrupt(&mut self, request: StopRequest) {
        let deadline = request.deadline;
        let session = self.session();
        session.stop = Some(request);
        session.wake_at = Some(deadline);
        if self.is_at_safe_point() {
            self.reach_safe_point();
        }
    }

    /// Whether no call is being carried out. An answer that is on its way is dropped.
    fn is_at_safe_point(&self) -> bool {
        use warren_model::session::{CallState, ToolCall};
        let runs = |call: &ToolCall| matches!(call.state, CallState::Started { .. });
        self.open.step.as_ref().is_none_or(|step| !step.calls.iter().any(runs))
    }

    /// Nothing is under way: the run stops here, or goes on with the message for which it was cut.
    pub(super) fn reach_safe_point(&mut self) {
        if let Some(step) = &mut self.open.step
            && step.phase == StepPhase::Asking
        {
            step.asked_under = None;
            self.spend(0);
        }
        let is_for_message = self.open.queue.iter().any(|message| message.mode == BusyMode::Interrupt);
        let session = self.session();
        session.stop = None;
        session.wake_at = None;
        if !is_for_message {
            session.phase = Phase::Interrupted;
            let run = session.run;
            return self.tell(StreamItem::Interrupted { run });
        }
        self.activate();
        match self.open.step.as_ref().map(|step| step.phase) {
            // It has no answer yet, so that the message joins what it is asked with.
            Some(StepPhase::Asking) => self.deliver_messages(),
            Some(StepPhase::Acting) => {
                self.close_waiting_calls("a newer message came first");
                self.finish_step();
                self.begin_step(Vec::new());
            }
            Some(StepPhase::Closed) | None => self.begin_step(Vec::new()),
        }
    }

    /// A message that does not wait: what runs may end within moments, and then the message is shown.
    pub(super) fn cut_for_message(&mut self) {
        let deadline = self.facts.now.plus_ms(MESSAGE_PATIENCE_MS);
        let by = Principal::system("sessions");
        self.interrupt(StopRequest { kind: StopKind::Interrupt, deadline, by });
    }

    pub(super) fn abort(&mut self, by: &Principal) {
        self.session().generation += 1;
        match self.open.step.as_ref().map(|step| step.phase) {
            Some(StepPhase::Asking) => self.abandon_step(),
            Some(StepPhase::Acting) => {
                self.cut_running_calls("the run was aborted");
                self.close_waiting_calls("the run was aborted");
                self.finish_step();
            }
            Some(StepPhase::Closed) | None => {}
        }
        for message in std::mem::take(&mut self.open.queue) {
            self.drop_message(message, DropReason::Aborted);
        }
        let message = format!("{ABORTED} {by}");
        self.fail(SessionFailure { kind: FailureKind::Aborted, message });
    }

    pub(super) fn resume(&mut self, limits: Option<RunLimits>) -> Result<(), Refusal> {
        match &self.open.session.phase {
            Phase::Interrupted => {
                self.raise(limits);
                self.activate();
                if self.open.step.is_none() {
                    self.begin_step(Vec::new());
                }
            }
            Phase::Suspended { by: Suspension::Budget, .. } => {
                let before = self.open.session.limits;
                self.raise(limits);
                if let Some(reason) = super::limits::exhausted(self.facts, &self.open.session) {
                    self.open.session.limits = before;
                    return Err(Refusal::StillSpent(reason));
                }
                self.activate();
            }
            Phase::Suspended { by: Suspension::Stuck, .. } => {
                self.raise(limits);
                self.go_on_after_stuck();
            }
            Phase::Suspended { by: Suspension::Timer, .. } => self.activate(),
            // The conversation ends with what the model has not answered.
            Phase::Failed { .. } if !self.open.session.lineage.is_empty() => {
                self.begin_run();
                self.raise(limits);
            }
            Phase::Failed { .. }
            | Phase::Idle
            | Phase::Active
            | Phase::Completed { .. }
            | Phase::Suspended {
                by: Suspension::Approval | Suspension::ClientTool | Suspension::Input | Suspension::Workspace,
                ..
            } => return Err(Refusal::NothingToResume),
        }
        Ok(())
    }

    fn raise(&mut self, limits: Option<RunLimits>) {
        if let Some(limits) = limits {
            self.session().limits = limits;
        }
    }

    pub(super) fn go_on_after_stuck(&mut self) {
        self.session().loop_watch = LoopWatch::default();
        self.activate();
        self.deliver_stuck();
    }

    /// Whatever waits is shown now: somebody was needed to say how to go on.
    fn deliver_stuck(&mut self) {
        for message in &mut self.open.queue {
            message.mode = BusyMode::Steer;
        }
        self.begin_step(Vec::new());
    }

    /// A deadline or the end of a pause may have come.
    pub(super) fn time(&mut self) -> Result<(), Refusal> {
        let now = self.facts.now;
        let session = &self.open.session;
        if session.wake_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        let is_past_deadline = session.stop.as_ref().is_some_and(|stop| stop.deadline <= now);
        let is_resting = matches!(&session.phase, Phase::Suspended { by: Suspension::Workspace, .. });
        let is_timer = matches!(&session.phase, Phase::Suspended { by: Suspension::Timer, .. });
        if is_past_deadline {
            self.cut_running_calls("the time to stop was over");
            self.session().wake_at = None;
        } else if is_resting {
            return self.look_again();
        } else if is_timer {
            self.activate();
        } else {
            self.session().wake_at = None;
        }
        Ok(())
    }
}

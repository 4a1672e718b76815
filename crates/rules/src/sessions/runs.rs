//! Runs and steps: how they begin, and how they end.

use serde_json::Value;
use warren_model::session::{
    BusyMode, FailureKind, LoopWatch, Phase, QueuedState, RunUsage, SessionFailure, SessionMessage, Step,
    StepPhase, StopReason, StreamItem, Suspension, TokenUsage, ToolCall,
};

use super::inputs::{ModelFailure, ModelTrouble, ReceivedAnswer};
use super::{Change, MAX_ATTEMPTS, Refusal, limits, loops, state};
use warren_model::{Backoff, Timestamp};

/// A provider that asks for more patience than this is asked again all the same.
const MAX_RETRY_WAIT_MS: u64 = 3_600_000;
/// Between two tries at the same model.
const RETRY: Backoff = Backoff::doubling(1_000, 60_000);
pub(super) const BAD_OUTPUT: &str = "Your answer does not fit the schema that it must have. Answer again with JSON that does, and \
                          nothing else";
/// How often the model is told that its last answer does not fit; then the run fails.
const MAX_CORRECTIONS: u32 = 2;

impl Change<'_> {
    /// A run begins with the messages that wait. An interrupted one is over then.
    pub(super) fn begin_run(&mut self) {
        self.begin_run_with(Vec::new());
    }

    /// The same, with words of Warren's own for the model.
    pub(super) fn begin_run_with(&mut self, notices: Vec<String>) {
        self.end_interrupted();
        let limits = self.facts.agent.limits.run;
        let session = self.session();
        session.run += 1;
        session.phase = Phase::Active;
        session.stop = None;
        session.wake_at = None;
        session.limits = limits;
        let context_tokens = session.usage.context_tokens;
        session.usage = RunUsage { context_tokens, ..RunUsage::default() };
        session.loop_watch = LoopWatch::default();
        let run = session.run;
        self.tell(StreamItem::RunStarted { run });
        // A run begins with everything that waits for one.
        for message in &mut self.open.queue {
            message.mode = BusyMode::Steer;
        }
        self.begin_step(notices);
    }

    /// An interrupted run is over, for good.
    pub(super) fn end_interrupted(&mut self) {
        if self.open.session.phase == Phase::Interrupted {
            self.end_interrupted_step();
            self.end_run(Phase::Interrupted, None, None);
            // Its end is told once.
            self.session().phase = Phase::Idle;
        }
    }

    /// What an interrupted run left open is closed, so that the model can be shown it.
    fn end_interrupted_step(&mut self) {
        match self.open.step.as_ref().map(|step| step.phase) {
            Some(StepPhase::Acting) => {
                self.close_waiting_calls("the run was interrupted");
                self.finish_step();
            }
            Some(StepPhase::Asking) => self.abandon_step(),
            Some(StepPhase::Closed) | None => {}
        }
    }

    /// The next step, with the messages that are to be shown now.
    pub(super) fn begin_step(&mut self, notices: Vec<String>) {
        let now = self.facts.now;
        let session = self.session();
        session.last_step += 1;
        session.usage.steps += 1;
        session.total_usage.steps += 1;
        let (number, run, session_id) = (session.last_step, session.run, session.id);
        session.open_step = Some(number);
        self.open.step = Some(Step {
            session_id,
            number,
            run,
            phase: StepPhase::Asking,
            messages: Vec::new(),
            notices,
            attempt: 0,
            failed_attempts: 0,
            asked_under: None,
            model_index: 0,
            resume_token: None,
            request_head: None,
            origin: None,
            blocks: Vec::new(),
            calls: Vec::new(),
            stop_reason: None,
            usage: TokenUsage::default(),
            cost_micros: 0,
            state: None,
            deltas: Vec::new(),
            started_at: now,
            answered_at: None,
            ended_at: None,
        });
        self.deliver_messages();
    }

    /// Shows the model the messages whose moment this is: those that do not wait for the next run.
    pub(super) fn deliver_messages(&mut self) {
        let Some(step) = &self.open.step else { return };
        let number = step.number;
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open.queue).into_iter().partition(is_for_now);
        self.open.queue = later;
        for mut message in due {
            if let Some(step) = &mut self.open.step {
                step.messages.push(message.id);
            }
            self.tell(StreamItem::MessageDelivered {
                message_id: message.id,
                step: number,
                parts: message.parts.clone(),
                client_id: message.client_id.clone(),
            });
            message.state = QueuedState::Delivered { step: number };
            self.outputs.settled.push(message);
        }
    }

    /// The owner asks the model, unless it does already. What was shown of an earlier try does not count (A63).
    pub(super) fn begin_asking(&mut self) {
        let epoch = self.open.session.epoch;
        let Some(step) = &mut self.open.step else { return };
        if step.asked_under == Some(epoch) {
            return;
        }
        if let Some(reason) = limits::exhausted(self.facts, &self.open.session) {
            return self.suspend(Suspension::Budget, reason);
        }
        step.asked_under = Some(epoch);
        step.attempt += 1;
        let (number, attempt, index) = (step.number, step.attempt, step.model_index);
        let model = self.facts.agent.models().nth(index as usize).map(ToString::to_string);
        self.reserve();
        if attempt > 1 {
            let reason = "the model is asked again".to_owned();
            self.tell(StreamItem::StepReset { step: number, reason });
        }
        self.tell(StreamItem::StepStarted { step: number, attempt, model: model.unwrap_or_default() });
    }

    /// Money for the answer is set aside before it is asked for (A14).
    fn reserve(&mut self) {
        let wanted = limits::reservation(self.facts, &self.open);
        self.release();
        let now = self.facts.now;
        let session = self.session();
        session.reserved_micros = wanted;
        session.reserved_at = (wanted > 0).then_some(now);
        self.add_spending(now, signed(wanted));
    }

    /// What was set aside is replaced by what it cost.
    pub(super) fn spend(&mut self, cost_micros: u64) {
        self.release();
        let session = self.session();
        session.usage.cost_micros += cost_micros;
        session.total_usage.cost_micros += cost_micros;
        self.add_spending(self.facts.now, signed(cost_micros));
    }

    /// Takes back what was set aside, from the month in which that was.
    fn release(&mut self) {
        let now = self.facts.now;
        let session = self.session();
        let reserved = std::mem::take(&mut session.reserved_micros);
        let at = session.reserved_at.take().unwrap_or(now);
        self.add_spending(at, -signed(reserved));
    }

    fn add_spending(&mut self, at: Timestamp, micros: i64) {
        if micros != 0 {
            self.outputs.spending.push((at, micros));
        }
    }

    /// Whether this is about the try that is under way.
    fn is_asking(&self, step: u32, attempt: u32) -> bool {
        let epoch = self.open.session.epoch;
        self.open.step.as_ref().is_some_and(|open| {
            open.phase == StepPhase::Asking
                && open.number == step
                && open.attempt == attempt
                && open.asked_under == Some(epoch)
        })
    }

    fn count_answer(&mut self, usage: TokenUsage, cost_micros: u64) {
        if let Some(step) = &mut self.open.step {
            step.usage += usage;
            step.cost_micros += cost_micros;
        }
        let session = self.session();
        for total in [&mut session.usage, &mut session.total_usage] {
            total.tokens += usage.total();
        }
        if usage.total() > 0 {
            session.usage.context_tokens = usage.total();
        }
        self.spend(cost_micros);
    }

    /// The answer that is being given can be taken up again by whoever asks next.
    pub(super) fn resumable(&mut self, step: u32, attempt: u32, token: Value) {
        if self.is_asking(step, attempt)
            && let Some(open) = &mut self.open.step
        {
            open.resume_token = Some(token);
            self.outputs.has_changed = true;
        }
    }

    pub(super) fn answered(
        &mut self,
        step: u32,
        attempt: u32,
        answer: ReceivedAnswer,
    ) -> Result<(), Refusal> {
        if !self.is_asking(step, attempt) {
            return Ok(());
        }
        self.count_answer(answer.usage, answer.cost_micros);
        let now = self.facts.now;
        let Some(open) = &mut self.open.step else { return Ok(()) };
        open.phase = StepPhase::Acting;
        open.asked_under = None;
        open.resume_token = None;
        open.request_head = answer.request_head;
        open.origin = Some(answer.origin);
        open.blocks = answer.blocks;
        open.stop_reason = Some(answer.stop_reason);
        open.deltas = answer.deltas;
        open.answered_at = Some(now);
        self.tell(StreamItem::StepAnswered {
            step,
            stop_reason: answer.stop_reason,
            usage: answer.usage,
            cost_micros: answer.cost_micros,
        });
        self.output_problem = answer.problem;
        self.propose(answer.calls);
        Ok(())
    }

    pub(super) fn ask_failed(
        &mut self,
        step: u32,
        attempt: u32,
        failure: ModelFailure,
    ) -> Result<(), Refusal> {
        if !self.is_asking(step, attempt) {
            return Ok(());
        }
        self.count_answer(failure.usage, failure.cost_micros);
        let now = self.facts.now;
        let models = u32::try_from(self.facts.agent.models().count()).unwrap_or(u32::MAX);
        let Some(open) = &mut self.open.step else { return Ok(()) };
        open.asked_under = None;
        // What could not be taken up once is not tried so again.
        if failure.was_resumed {
            open.resume_token = None;
        }
        open.failed_attempts += 1;
        match failure.trouble {
            ModelTrouble::Passing { after_ms } if open.failed_attempts < MAX_ATTEMPTS => {
                let retry = open.failed_attempts - 1;
                let wait = after_ms.unwrap_or_else(|| wait_ms(retry)).min(MAX_RETRY_WAIT_MS);
                let wait = i64::try_from(wait).unwrap_or(i64::MAX);
                let reason = format!("{}; it is asked again", failure.message);
                self.session().wake_at = Some(now.plus_ms(wait));
                self.suspend(Suspension::Timer, reason);
            }
            _ if open.model_index + 1 < models => {
                open.model_index += 1;
                open.failed_attempts = 0;
                open.resume_token = None;
            }
            trouble => {
                let kind = match trouble {
                    ModelTrouble::Passing { .. } => FailureKind::Model,
                    ModelTrouble::Refused => FailureKind::ModelRefused,
                    ModelTrouble::NotConfigured => FailureKind::NoModel,
                };
                self.abandon_step();
                self.fail(SessionFailure { kind, message: failure.message });
            }
        }
        Ok(())
    }

    /// A step that has no answer is closed without one: its messages stay part of the conversation.
    pub(super) fn abandon_step(&mut self) {
        self.spend(0);
        self.finish_step();
    }

    /// Every call has its outcome: the step is closed, and the run goes on or ends.
    pub(super) fn close_step(&mut self) {
        let Some(step) = &self.open.step else { return };
        let asks_more = !step.calls.is_empty() || step.stop_reason == Some(StopReason::PauseTurn);
        let finish = step.stop_reason.unwrap_or(StopReason::Other);
        // Only an answer without calls is the last, and it is judged in the change that brought it.
        let problem = self.output_problem.take().filter(|_| !asks_more);
        let watch = &mut self.open.session.loop_watch;
        watch.bad_outputs = if problem.is_some() { watch.bad_outputs + 1 } else { 0 };
        let corrections = watch.bad_outputs;
        let has_bad_output = problem.is_some();
        let too_often = problem.as_ref().filter(|_| corrections > MAX_CORRECTIONS).map(|problem| {
            let message = format!(
                "the last answer does not fit the agent's output schema, and the model was told so \
                 {MAX_CORRECTIONS} times: {problem}"
            );
            SessionFailure { kind: FailureKind::Output, message }
        });
        let mut notices: Vec<_> =
            problem.map(|problem| format!("{BAD_OUTPUT}: {problem}")).into_iter().collect();
        let verdict = loops::look(&mut self.open.session.loop_watch, step, self.facts.agent.limits.repeats);
        self.finish_step();
        if let Some(failure) = too_often {
            return self.fail(failure);
        }
        let goes_on = asks_more || has_bad_output || self.open.queue.iter().any(is_for_now);
        if !goes_on {
            return self.complete(finish);
        }
        match verdict {
            loops::Verdict::Stuck(evidence) => return self.suspend(Suspension::Stuck, evidence),
            loops::Verdict::Warn(warning) => notices.push(warning),
            loops::Verdict::Fine => {}
        }
        self.begin_step(notices);
        if self.open.session.stop.is_some() {
            self.reach_safe_point();
        }
    }

    /// Closes the open step as it is, and puts it into the history. What its calls changed in the state counts now (A21).
    pub(super) fn finish_step(&mut self) {
        let now = self.facts.now;
        let Some(mut step) = self.open.step.take() else { return };
        step.phase = StepPhase::Closed;
        step.asked_under = None;
        step.ended_at = Some(now);
        let names = state::fan_in(&self.facts.agent.state, &mut self.open.session.state, &step.calls);
        if !names.is_empty() {
            step.state = Some(self.open.session.state.clone());
            self.tell(StreamItem::StateChanged { step: step.number, names });
        }
        let session = self.session();
        session.open_step = None;
        let spent_ms = working_ms(&step, now);
        session.usage.active_ms += spent_ms;
        session.total_usage.active_ms += spent_ms;
        session.lineage.push(step.session_id, step.number);
        self.tell(StreamItem::StepEnded { step: step.number });
        self.outputs.closed.push(step);
    }

    fn complete(&mut self, finish: StopReason) {
        self.end_run(Phase::Completed { finish }, Some(finish), None);
        self.begin_next_run();
    }

    /// The run is over. Messages that waited for its end begin the next.
    pub(super) fn fail(&mut self, failure: SessionFailure) {
        let message = failure.message.clone();
        self.end_run(Phase::Failed { failure }, None, Some(message));
        self.begin_next_run();
    }

    pub(super) fn end_run(&mut self, phase: Phase, finish: Option<StopReason>, message: Option<String>) {
        let run = self.open.session.run;
        let status = phase.as_str().to_owned();
        let session = self.session();
        session.phase = phase;
        session.stop = None;
        session.wake_at = None;
        self.tell(StreamItem::RunEnded { run, status, finish, message });
    }

    fn begin_next_run(&mut self) {
        if !self.open.queue.is_empty() {
            self.begin_run();
        }
    }
}

/// How long a step worked: until its answer, and then as long as its longest call ran. Waiting for people does not count.
fn working_ms(step: &Step, now: Timestamp) -> u64 {
    let between = |from: Timestamp, to: Timestamp| u64::try_from(to.ms_since(from)).unwrap_or(0);
    let of_call = |call: &ToolCall| Some(between(call.started_at?, call.ended_at?));
    let asking = between(step.started_at, step.answered_at.unwrap_or(now));
    asking + step.calls.iter().filter_map(of_call).max().unwrap_or(0)
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

fn wait_ms(retry: u32) -> u64 {
    u64::try_from(RETRY.nominal(retry).as_millis()).unwrap_or(u64::MAX)
}

/// Shown with the next step, not with the next run.
fn is_for_now(message: &SessionMessage) -> bool {
    match message.mode {
        BusyMode::Steer | BusyMode::Interrupt => true,
        BusyMode::Queue | BusyMode::Reject => false,
    }
}

//! A session, the owner that works on it, and everything that can go wrong around them.
//!
//! The database is what was committed and nothing else. The owner is what a crash loses. The tools are the outside world:
//! what they did stays done, whoever remembers it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;
use warren_model::session::{
    Block, BusyMode, CallOutcome, CallState, CallWait, ModelOrigin, Phase, QueuedState, RunLimits, Session,
    SessionMessage, SessionStart, Step, StepPhase, StopKind, StopReason, StopRequest, StreamItem, Suspension,
    TokenUsage, ToolPlace, ToolResult, Turn,
};
use warren_model::{
    AgentDefinition, ApprovalId, OrgId, Part, PolicyDecision, PolicyRule, Principal, SessionId,
    SessionMessageId, Timestamp, UserId, WorkspaceId,
};
use warren_rules::access::budget::Month;
use warren_rules::lifecycle::Usability;
use warren_rules::sessions::{
    Advanced, CallFinding, Effect, Facts, Input, ModelFailure, ModelTrouble, NewBranch, OpenSession,
    PersonDecision, ProposedCall, ReceivedAnswer, TokenPrice, advance, branch, effects, request, rewind,
};

use crate::simulation::chance::Chance;

/// How far the outside world came with a call.
#[derive(Debug, Clone, Default)]
struct Deed {
    begun: u32,
    ended: u32,
}

pub(crate) struct World {
    chance: Chance,
    now: Timestamp,
    agent: AgentDefinition,
    /// Committed.
    open: OpenSession,
    steps: BTreeMap<u32, Step>,
    messages: HashMap<SessionMessageId, SessionMessage>,
    pending: BTreeSet<ApprovalId>,
    /// By the month in which it stands in the ledger.
    spending: BTreeMap<String, i64>,
    told: Vec<StreamItem>,
    /// What the owner has under way; a crash empties it.
    under_way: Vec<Effect>,
    has_owner: bool,
    /// Whether its workspace can be worked in.
    workspace: Usability,
    /// Outside.
    deeds: HashMap<String, Deed>,
    next_id: u64,
    pub(crate) asked: u64,
    pub(crate) crashes: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let agent = agent(&mut chance);
        let now = Timestamp::from_micros(1_000_000_000);
        let session = Session::start(SessionStart {
            id: SessionId::from_bytes([7; 16]),
            org_id: OrgId::DEFAULT,
            workspace_id: WorkspaceId::from_bytes([1; 16]),
            created_by: Principal::user(UserId::OPERATOR),
            agent: agent.version(),
            state: agent.initial_state(),
            limits: RunLimits::default(),
            now,
        });
        Self {
            chance,
            now,
            agent,
            open: OpenSession { session, step: None, queue: Vec::new() },
            steps: BTreeMap::new(),
            messages: HashMap::new(),
            pending: BTreeSet::new(),
            spending: BTreeMap::new(),
            told: Vec::new(),
            under_way: Vec::new(),
            has_owner: false,
            workspace: Usability::Usable,
            deeds: HashMap::new(),
            next_id: 1,
            asked: 0,
            crashes: 0,
        }
    }

    /// One thing happens.
    pub(crate) fn turn(&mut self) {
        self.now = self.now.plus_ms(i64::try_from(self.chance.below(3_000)).unwrap());
        if self.chance.below(100) == 0 {
            self.now = self.now.plus_ms(31 * 86_400_000);
        }
        match self.chance.below(100) {
            0..10 => self.say(),
            10..14 => self.cancel(),
            14..22 => self.decide(),
            22..28 => self.hand_in(),
            28..33 => self.stop(),
            33..38 => self.input(Input::Resume { limits: Some(RunLimits::default()) }),
            38..41 => self.input(Input::Time),
            41..42 => self.pause_or_wake(),
            42..46 => self.crash(),
            46..48 => self.go_back(),
            48..50 => self.branch(),
            50..60 => self.own(),
            _ => self.work(),
        }
        self.check();
    }

    /// Everybody does their part, without faults, until nothing is left to do.
    pub(crate) fn calm_down(&mut self) {
        self.workspace = Usability::Usable;
        for _ in 0..3_000 {
            self.now = self.now.plus_ms(5_000);
            let phase = self.open.session.phase.clone();
            match phase {
                Phase::Idle | Phase::Completed { .. } | Phase::Failed { .. } => {
                    assert!(self.open.queue.is_empty(), "messages wait in a session that has nothing to do");
                    return;
                }
                Phase::Interrupted => self.input(Input::Resume { limits: None }),
                Phase::Suspended { by: Suspension::Approval, .. } => self.decide(),
                Phase::Suspended { by: Suspension::ClientTool | Suspension::Input, .. } => self.hand_in(),
                Phase::Suspended { by: Suspension::Workspace, .. } => self.input(Input::WorkspaceChanged),
                Phase::Suspended { by: Suspension::Timer, .. } => self.input(Input::Time),
                Phase::Suspended { by: Suspension::Budget, .. } => {
                    self.input(Input::Resume { limits: Some(RunLimits::default()) });
                }
                Phase::Suspended { by: Suspension::Stuck, .. } => {
                    self.input(Input::Resume { limits: None });
                }
                Phase::Active => {
                    self.input(Input::Time);
                    self.own();
                    self.work();
                }
            }
            self.check();
        }
        panic!("it does not come to rest: {:?}", self.open.session);
    }

    fn id<T>(&mut self, make: impl Fn([u8; 16]) -> T) -> T {
        self.next_id += 1;
        make(u128::from(self.next_id).to_be_bytes())
    }

    // ── What people do ──

    /// Half of the changes are missed; then a session finds them out by itself.
    fn pause_or_wake(&mut self) {
        self.workspace = match self.workspace {
            Usability::Usable => Usability::Resting,
            Usability::Resting | Usability::Failed | Usability::Gone => Usability::Usable,
        };
        if self.chance.below(2) == 0 {
            self.input(Input::WorkspaceChanged);
        }
    }

    fn say(&mut self) {
        let id = self.id(SessionMessageId::from_bytes);
        let mode =
            self.chance.one_of(&[BusyMode::Queue, BusyMode::Steer, BusyMode::Interrupt, BusyMode::Reject]);
        let message = SessionMessage {
            id,
            session_id: self.open.session.id,
            author: Principal::user(UserId::OPERATOR),
            parts: vec![Part::text(format!("message {}", self.next_id))],
            mode,
            state: QueuedState::Queued,
            client_id: None,
            created_at: self.now,
        };
        if self.try_input(Input::Message(message.clone())) {
            // What was delivered at once has its state already.
            self.messages.entry(id).or_insert(message);
        }
    }

    fn cancel(&mut self) {
        if let Some(message) = self.open.queue.first() {
            let id = message.id;
            self.input(Input::CancelMessage(id));
        }
    }

    fn decide(&mut self) {
        let Some(approval_id) = self.pending.iter().next().copied() else { return };
        let decision = match self.chance.below(5) {
            0 => PersonDecision::Deny { by: "user".into(), reason: "no".into() },
            1 => PersonDecision::Expired,
            2 => PersonDecision::Approve {
                by: "user".into(),
                edited: Some((json!({ "edited": true }), None)),
                note: None,
            },
            _ => PersonDecision::Approve { by: "user".into(), edited: None, note: None },
        };
        self.pending.remove(&approval_id);
        let input = Input::Decided { approval_id, decision };
        assert!(self.try_input(input.clone()), "a pending question can be decided");
        assert!(!self.try_input(input), "and only once");
    }

    fn hand_in(&mut self) {
        let waits =
            |state: &CallState| matches!(state, CallState::Waiting(CallWait::Client | CallWait::Answer));
        let calls = self.open.step.iter().flat_map(|step| &step.calls);
        let Some(call_id) = calls.filter(|call| waits(&call.state)).map(|call| call.id.clone()).next() else {
            return;
        };
        let outcome = CallOutcome::Done { result: ToolResult::text("from outside") };
        let input = Input::HandedIn { call_id, outcome };
        assert!(self.try_input(input.clone()));
        assert!(!self.try_input(input), "a result is handed in once");
    }

    fn stop(&mut self) {
        let kind = if self.chance.below(4) == 0 { StopKind::Abort } else { StopKind::Interrupt };
        let request =
            StopRequest { kind, deadline: self.now.plus_ms(2_000), by: Principal::user(UserId::OPERATOR) };
        let run = self.open.session.run;
        self.input(Input::Stop { run, request });
    }

    fn go_back(&mut self) {
        // Whoever wants another answer ends an interrupted run with that.
        if self.chance.below(2) == 0 {
            self.input(Input::EndInterrupted);
        }
        let last = self.open.session.lineage.last();
        let step = u32::try_from(self.chance.below(u64::from(last) + 1)).unwrap();
        let back_to = |step: u32| rewind(&self.open, step, self.agent.initial_state(), self.now);
        if let Ok(done) = back_to(step).or_else(|_| back_to(last)) {
            self.open.session = done.session;
            self.open.queue.clear();
            for message in done.dropped {
                self.settle(message);
            }
        }
    }

    /// The branch has steps of its own; what it does is seen through the same checks.
    fn branch(&mut self) {
        let session = &self.open.session;
        if session.phase.has_run() || self.open.step.is_some() {
            return;
        }
        let step = session.lineage.last();
        let new = NewBranch {
            id: SessionId::from_bytes([8; 16]),
            name: session.name.clone(),
            state: self.agent.initial_state(),
            created_by: session.created_by.clone(),
            now: self.now,
        };
        let made = branch(session, step, new).unwrap();
        assert_eq!(made.lineage.len(), session.lineage.len());
        assert_eq!(made.last_step, step);
    }

    // ── What the owner does ──

    /// Somebody takes the lease.
    fn own(&mut self) {
        if self.open.session.phase == Phase::Active && !self.has_owner {
            self.open.session.epoch += 1;
            self.has_owner = true;
            self.under_way.clear();
        }
        if self.has_owner {
            self.owner_input(Input::Continue);
        }
    }

    /// The owner dies; what it had begun goes on outside, and nobody hears of it.
    fn crash(&mut self) {
        if self.has_owner {
            self.crashes += 1;
            self.has_owner = false;
            self.under_way.clear();
        }
    }

    /// Whether a model that stumbles is asked again after Warren itself crashed so often in the middle of asking it.
    pub(crate) fn is_asked_again_after_crashes(&mut self, times: u32) -> bool {
        self.say();
        for _ in 0..times {
            self.own();
            self.crash();
        }
        self.own();
        let Some(Effect::AskModel { step, attempt, .. }) = self.under_way.first() else { return false };
        let failure = ModelFailure {
            trouble: ModelTrouble::Passing { after_ms: None },
            message: "overloaded".into(),
            was_resumed: false,
            usage: TokenUsage::default(),
            cost_micros: 0,
        };
        self.owner_input(Input::AskFailed { step: *step, attempt: *attempt, failure });
        matches!(self.open.session.phase, Phase::Suspended { by: Suspension::Timer, .. })
    }

    /// One piece of work ends.
    fn work(&mut self) {
        if !self.has_owner || self.under_way.is_empty() {
            return self.own();
        }
        let at = usize::try_from(self.chance.below(self.under_way.len() as u64)).unwrap();
        let effect = self.under_way[at].clone();
        let input = match effect {
            Effect::AskModel { step, attempt, .. } => self.answer(step, attempt),
            Effect::RunCall { step, index, attempt } => {
                let outcome = self.end_call(step, index);
                Input::CallEnded { step, index, attempt, outcome }
            }
            Effect::ProbeCall { step, index, attempt } => {
                let finding = self.probe(step, index);
                Input::CallProbed { step, index, attempt, finding }
            }
            Effect::AttachCall { step, index, attempt } => {
                let outcome = self.end_call(step, index);
                Input::CallEnded { step, index, attempt, outcome }
            }
        };
        // The owner may die after the work and before it is written.
        if self.chance.below(12) == 0 {
            return self.crash();
        }
        self.owner_input(input.clone());
        if self.chance.below(8) == 0 {
            // The same again changes nothing.
            let before = (self.open.clone(), self.steps.clone());
            self.owner_input(input);
            assert_eq!(
                before,
                (self.open.clone(), self.steps.clone()),
                "an input that came twice counts once"
            );
        }
    }

    fn answer(&mut self, step: u32, attempt: u32) -> Input {
        self.asked += 1;
        let usage = TokenUsage { input_tokens: 100, output_tokens: 50, ..TokenUsage::default() };
        if self.chance.below(6) == 0 {
            let trouble = self.chance.one_of(&[
                ModelTrouble::Passing { after_ms: None },
                ModelTrouble::Passing { after_ms: Some(500) },
                ModelTrouble::Refused,
            ]);
            let failure = ModelFailure {
                trouble,
                message: "trouble".into(),
                was_resumed: self.chance.below(2) == 0,
                usage,
                cost_micros: 3,
            };
            return Input::AskFailed { step, attempt, failure };
        }
        let count = self.chance.below(5);
        let calls: Vec<_> = (0..count).map(|_| self.proposed()).collect();
        let mut blocks = vec![Block::Text { text: format!("answer of step {step}") }];
        blocks.extend((0..u32::try_from(count).unwrap()).map(|index| Block::Call { index }));
        let stop_reason = match (count, self.chance.below(10)) {
            (0, 0) => StopReason::PauseTurn,
            (0, _) => StopReason::EndTurn,
            _ => StopReason::ToolUse,
        };
        let model = self.agent.model.clone();
        let origin = ModelOrigin { model, account: "a".into() };
        let problem = (self.chance.below(12) == 0).then(|| "not what was asked for".to_owned());
        let answer = ReceivedAnswer {
            request_head: None,
            origin,
            blocks,
            calls,
            stop_reason,
            usage,
            cost_micros: 7,
            deltas: Vec::new(),
            problem,
        };
        Input::Answered { step, attempt, answer }
    }

    fn proposed(&mut self) -> ProposedCall {
        let place = self.chance.one_of(&[
            ToolPlace::Workspace,
            ToolPlace::Workspace,
            ToolPlace::Workspace,
            ToolPlace::Client,
            ToolPlace::Person,
            ToolPlace::Unknown,
        ]);
        let tool = self.chance.one_of(&["free", "asked", "denied"]);
        let kind = self.chance.below(3);
        ProposedCall {
            tool: tool.to_owned(),
            place,
            arguments: json!({ "n": self.chance.below(1_000) }),
            problem: (place == ToolPlace::Unknown).then(|| "no such tool".to_owned()),
            is_idempotent: kind == 1,
            can_probe: kind == 2,
            exclusive: match self.chance.below(6) {
                0 => vec!["disk".to_owned()],
                1 => vec!["disk/notes".to_owned()],
                _ => Vec::new(),
            },
            approval_id: self.id(ApprovalId::from_bytes),
        }
    }

    fn end_call(&mut self, step: u32, index: u32) -> CallOutcome {
        let deed = self.deeds.entry(format!("call_{step}_{index}")).or_default();
        deed.ended += 1;
        match self.chance.below(5) {
            0 => CallOutcome::failed("it did not work"),
            _ => CallOutcome::Done { result: ToolResult::text("done") },
        }
    }

    /// The tool knows the truth, or says that it does not.
    fn probe(&mut self, step: u32, index: u32) -> CallFinding {
        let deed = self.deeds.entry(format!("call_{step}_{index}")).or_default().clone();
        match deed {
            Deed { begun: 0, .. } => CallFinding::NeverStarted,
            Deed { begun, ended } if ended < begun => match self.chance.below(3) {
                0 => CallFinding::Unknown { evidence: "the box is gone".into() },
                _ => CallFinding::Running,
            },
            _ => CallFinding::Ended(CallOutcome::Done { result: ToolResult::text("done before") }),
        }
    }

    // ── Commits ──

    fn owner_input(&mut self, input: Input) {
        let advanced = self.advanced(input, true).expect("what an owner tells is never refused");
        self.commit(advanced);
        self.reconcile();
    }

    fn input(&mut self, input: Input) {
        self.try_input(input);
    }

    fn try_input(&mut self, input: Input) -> bool {
        match self.advanced(input, false) {
            Some(advanced) => {
                self.commit(advanced);
                self.reconcile();
                true
            }
            None => false,
        }
    }

    fn advanced(&mut self, input: Input, is_owner: bool) -> Option<Advanced> {
        let prices = [Some(TokenPrice { input: 10_000, output: 2_000 }), None];
        let facts = Facts {
            now: self.now,
            agent: &self.agent,
            rules: &[],
            prices: &prices,
            workspace_left_micros: None,
            workspace: self.workspace,
            is_owner,
        };
        advance(&facts, self.open.clone(), input).ok()
    }

    fn commit(&mut self, advanced: Advanced) {
        let Advanced { open, outputs } = advanced;
        if !outputs.has_changed {
            assert_eq!(self.open, open, "a change that is not told is lost");
            return;
        }
        for (at, micros) in outputs.spending {
            *self.spending.entry(Month::of(at).to_string()).or_default() += micros;
        }
        self.told.extend(outputs.told);
        for question in outputs.questions {
            assert!(self.pending.insert(question.approval_id), "a question has an id of its own");
        }
        for void in outputs.void {
            self.pending.remove(&void);
        }
        for message in outputs.settled {
            self.settle(message);
        }
        for step in outputs.closed {
            assert!(self.steps.insert(step.number, step).is_none(), "a step is closed once");
        }
        self.keep_outcomes(&open);
        self.open = open;
    }

    fn settle(&mut self, message: SessionMessage) {
        assert_ne!(message.state, QueuedState::Queued, "what is settled has an end");
        let before = self.messages.insert(message.id, message);
        if let Some(before) = before {
            assert_eq!(before.state, QueuedState::Queued, "a message ends once");
        }
    }

    /// An outcome that was committed never changes.
    fn keep_outcomes(&self, after: &OpenSession) {
        let Some(before) = &self.open.step else { return };
        let closed = self.steps.get(&before.number);
        let now = after.step.as_ref().filter(|step| step.number == before.number).or(closed);
        let now = now.expect("a step does not vanish");
        for (one, other) in before.calls.iter().zip(&now.calls) {
            if one.is_closed() {
                assert_eq!(one, other, "a call has one outcome");
            }
        }
    }

    /// The owner begins what has to be under way and drops what has not.
    fn reconcile(&mut self) {
        if self.open.session.phase != Phase::Active {
            // The lease is given back.
            self.has_owner = false;
            self.under_way.clear();
            return;
        }
        if !self.has_owner {
            return;
        }
        let wanted = effects(&self.open);
        self.under_way.retain(|one| wanted.contains(one));
        for effect in wanted {
            if self.under_way.contains(&effect) {
                continue;
            }
            // To wait for what runs begins nothing.
            let begins = !matches!(effect, Effect::AttachCall { .. });
            assert!(
                !begins || self.workspace != Usability::Resting,
                "nothing is begun while the workspace rests"
            );
            self.begin(&effect);
            self.under_way.push(effect);
        }
    }

    fn begin(&mut self, effect: &Effect) {
        match effect {
            Effect::AskModel { .. } => self.check_request(),
            Effect::RunCall { step, index, .. } => {
                let id = format!("call_{step}_{index}");
                let call = self.open.step.as_ref().unwrap().call(&id).unwrap().clone();
                // An owner may die after it wrote the intent and before it began.
                let deed = self.deeds.entry(id.clone()).or_default();
                if !call.is_idempotent {
                    assert_eq!(deed.begun, 0, "{id} is begun twice");
                }
                deed.begun += 1;
            }
            Effect::ProbeCall { .. } | Effect::AttachCall { .. } => {}
        }
    }

    // ── What must always hold ──

    fn check(&self) {
        let session = &self.open.session;
        assert_eq!(session.open_step, self.open.step.as_ref().map(|step| step.number));
        if session.phase != Phase::Active {
            assert!(effects(&self.open).is_empty(), "what waits holds nothing");
        }
        let expected = session.total_usage.cost_micros + session.reserved_micros;
        assert_eq!(
            self.spending.values().sum::<i64>(),
            i64::try_from(expected).unwrap(),
            "the ledger is what was spent and set aside"
        );
        // What is set aside is taken back from the month in which that was.
        assert!(self.spending.values().all(|micros| *micros >= 0), "{:?}", self.spending);
        let is_asked = self.open.step.as_ref().is_some_and(|step| step.asked_under.is_some());
        assert!(
            session.reserved_micros == 0 || is_asked,
            "money is set aside only while an answer is waited for"
        );
        for message in &self.open.queue {
            assert_eq!(self.messages.get(&message.id).map(|one| one.state), Some(QueuedState::Queued));
        }
        let waiting = self.messages.values().filter(|one| one.state == QueuedState::Queued).count();
        assert_eq!(waiting, self.open.queue.len(), "no message is lost");
        let asked = self.open.step.iter().flat_map(|step| &step.calls).filter_map(|call| match call.state {
            CallState::Waiting(CallWait::Approval { approval_id, .. }) => Some(approval_id),
            _ => None,
        });
        assert_eq!(asked.collect::<BTreeSet<_>>(), self.pending, "every question is about a call that waits");
        self.check_calls_beside_each_other();
    }

    /// No more calls run at once than the agent allows, and no two that need the same thing for themselves (A20, A25).
    fn check_calls_beside_each_other(&self) {
        let calls = self.open.step.iter().flat_map(|step| &step.calls);
        let running: Vec<_> = calls.filter(|call| matches!(call.state, CallState::Started { .. })).collect();
        assert!(running.len() <= self.agent.limits.parallel_calls as usize, "{} run at once", running.len());
        // Either of the two things that calls need here is the whole or a part of the other.
        let mut needing = running.iter().flat_map(|call| &call.exclusive);
        let (first, second) = (needing.next(), needing.next());
        assert_eq!(second, None, "two calls that need the same run at once; the other needs {first:?}");
    }

    /// As strict as a provider: what is asked begins with the user, and every call has its result.
    fn check_request(&self) {
        let (session, asking) = (&self.open.session, self.open.step.as_ref().unwrap());
        assert_eq!(asking.phase, StepPhase::Asking);
        let numbers = session.lineage.spans().iter().flat_map(|span| span.first..=span.last);
        let history: Vec<Step> = numbers.map(|number| self.steps[&number].clone()).collect();
        let parts = self.messages.values().map(|one| (one.id, one.parts.clone())).collect();
        let model = &self.agent.model;
        let conversation = request::Conversation::of(&history, &parts).unwrap();
        let request = request::build(request::RequestParts {
            agent: &self.agent,
            model,
            system: String::new(),
            tools: Default::default(),
            conversation: &conversation,
            asking,
            messages: &parts,
        })
        .unwrap();
        let mut may_answer = false;
        for turn in &request.turns {
            match &**turn {
                Turn::User(parts) => {
                    assert!(!parts.is_empty());
                    may_answer = true;
                }
                Turn::Assistant { blocks, calls, .. } => {
                    assert!(may_answer, "an answer to nothing");
                    let named: Vec<u32> = blocks
                        .iter()
                        .filter_map(|block| match block {
                            Block::Call { index } => Some(*index),
                            _ => None,
                        })
                        .collect();
                    let all: Vec<u32> = (0..u32::try_from(calls.len()).unwrap()).collect();
                    assert_eq!(named, all, "each call is named once");
                    // Results count as the user's, and a paused answer goes on.
                    may_answer = true;
                }
            }
        }
        for id in history.iter().chain([asking]).flat_map(|step| &step.messages) {
            assert!(matches!(self.messages[id].state, QueuedState::Delivered { .. }));
        }
    }
}

fn agent(chance: &mut Chance) -> AgentDefinition {
    let mut agent = AgentDefinition::new("a".parse().unwrap(), "x/first".parse().unwrap());
    if chance.below(2) == 0 {
        agent.fallbacks.push("x/second".parse().unwrap());
    }
    let rule = |tool: &str, decision| PolicyRule {
        tool: tool.to_owned(),
        arguments: BTreeMap::new(),
        decision,
        reason: None,
        expires_at: None,
    };
    agent.policies = vec![rule("asked", PolicyDecision::Ask), rule("denied", PolicyDecision::Deny)];
    agent.limits.parallel_calls = u32::try_from(1 + chance.below(4)).unwrap();
    agent.limits.repeats = 3;
    agent.limits.run = match chance.below(4) {
        0 => RunLimits { steps: Some(3), ..RunLimits::default() },
        1 => RunLimits { cost_micros: Some(20), ..RunLimits::default() },
        _ => RunLimits::default(),
    };
    agent
}

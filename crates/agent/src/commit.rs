//! One change of a session, in one transaction: load, decide, write (A2, A4).
//!
//! ```text
//!   hold the row ─▶ is the owner still the owner? ─▶ open step, queue, agent, rules, budget
//!                ─▶ rules::sessions::advance, once for each input
//!                ─▶ steps and calls, messages, questions, spending, stream, row, event
//! ```
//!
//! Everybody who changes a session does it here: its owner, who names the epoch of its lease, and whoever sends a message,
//! decides or stops, who does not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use warren_fleet::{left_for_org, require_session_room};
use warren_model::event::{SessionChanged, WorkspaceBudgetExhausted};
use warren_model::session::{
    DeltaMark, Phase, QueuedState, Session, SessionMessage, Step, StepPhase, StreamEntry, StreamItem,
};
use warren_model::{
    AgentDefinition, AgentVersion, Approval, ApprovalState, ApprovalSubject, ErrorCode, NewEvent, OrgId,
    PolicyRule, Principal, SessionId, Timestamp, Workspace, WorkspaceId, fingerprint,
};
use warren_operations::PlaceTraits;
use warren_rules::access::budget::{Month, Standing, standing};
use warren_rules::lifecycle::{Usability, usability};
use warren_rules::sessions::{
    self, Effect, Facts, Input, OpenSession, Outputs, Question, Refusal, TokenPrice, advance, effects,
};
use warren_service::{Context, Error};
use warren_store::WriteTx;

use crate::hosted::go_on_with_tasks;
use crate::models::Models;
use crate::schemas::Schemas;

/// What every change needs besides the database.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub(crate) models: Arc<dyn Models>,
    context: Context,
    pub(crate) schemas: Schemas,
    agents: AgentCache,
}

impl Surroundings {
    pub(crate) fn new(context: Context, models: Arc<dyn Models>) -> Self {
        Self { models, context, schemas: Schemas::default(), agents: AgentCache::default() }
    }

    /// A version never changes, so that it is read once.
    pub(crate) fn agent(
        &self,
        tx: &mut dyn WriteTx,
        org_id: OrgId,
        version: &AgentVersion,
    ) -> Result<Arc<AgentDefinition>, Error> {
        if let Some(agent) = self.agents.find(org_id, version) {
            return Ok(agent);
        }
        let stored = tx.agent_version(org_id, version)?;
        let stored = stored.ok_or_else(|| {
            let detail = format!("version {} of the agent `{}` is gone", version.hash, version.name);
            Error::with_detail(ErrorCode::AgentNotFound, detail)
        })?;
        let agent = Arc::new(stored.definition);
        self.agents.keep(org_id, version, &agent);
        Ok(agent)
    }

    fn prices(&self, agent: &AgentDefinition) -> Vec<Option<TokenPrice>> {
        agent.models().map(|model| self.models.price(model)).collect()
    }
}

/// How many versions of agents are kept in memory.
const KEPT_AGENTS: usize = 256;

type Kept = HashMap<(OrgId, AgentVersion), Arc<AgentDefinition>>;

#[derive(Debug, Clone, Default)]
struct AgentCache(Arc<Mutex<Kept>>);

impl AgentCache {
    fn find(&self, org_id: OrgId, version: &AgentVersion) -> Option<Arc<AgentDefinition>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(org_id, version.clone())).cloned()
    }

    fn keep(&self, org_id: OrgId, version: &AgentVersion, agent: &Arc<AgentDefinition>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_AGENTS {
            kept.clear();
        }
        kept.insert((org_id, version.clone()), Arc::clone(agent));
    }
}

/// Who makes a change, and when.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) session_id: SessionId,
    pub(crate) now: Timestamp,
    pub(crate) by: Principal,
    /// The epoch of the lease, if this is the session's owner.
    pub(crate) epoch: Option<u64>,
    pub(crate) inputs: Vec<Input>,
    /// Pieces of an answer that were not written yet, which belong before what the inputs tell.
    pub(crate) deltas: Vec<StreamItem>,
    /// Whole results that are too long to show, by the name of their call.
    pub(crate) results: Vec<(String, Vec<u8>)>,
}

impl Change {
    pub(crate) fn new(session_id: SessionId, now: Timestamp, by: Principal, inputs: Vec<Input>) -> Self {
        Self { session_id, now, by, epoch: None, inputs, deltas: Vec::new(), results: Vec::new() }
    }

    pub(crate) fn by_owner(session: &Session, now: Timestamp, inputs: Vec<Input>) -> Self {
        let by = Principal::workspace(session.workspace_id);
        Self { epoch: Some(session.epoch), ..Self::new(session.id, now, by, inputs) }
    }
}

/// A session after a change that was written.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    pub(crate) open: OpenSession,
    pub(crate) agent: Arc<AgentDefinition>,
    /// Of its workspace; nothing where that is gone.
    pub(crate) place: Option<PlaceTraits>,
    /// What was told, with its numbers.
    pub(crate) entries: Vec<StreamEntry>,
    /// Steps that were closed.
    pub(crate) closed: Vec<Step>,
    pub(crate) effects: Vec<Effect>,
    /// It began or ceased to work.
    pub(crate) has_moved: bool,
    /// Tasks of the exchange go on with it, and wait in the workspace's queue.
    pub(crate) has_tasks: bool,
}

/// Makes a change. Nothing is written if one of the inputs is refused.
pub(crate) fn apply(
    tx: &mut dyn WriteTx,
    surroundings: &Surroundings,
    change: &Change,
) -> Result<Changed, Error> {
    let session = tx.hold_session(change.session_id)?;
    let session = session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
    if let Some(epoch) = change.epoch {
        tx.check_session_epoch(session.id, epoch, change.now)?;
    }
    let before = load(tx, session)?;
    let agent = surroundings.agent(tx, before.session.org_id, &before.session.agent)?;
    let rules = rules_in_force(tx, &before.session, change.now)?;
    let prices = surroundings.prices(&agent);
    let workspace = tx.workspace(before.session.workspace_id)?;
    let facts = Facts {
        now: change.now,
        agent: &agent,
        rules: &rules,
        prices: &prices,
        workspace_left_micros: workspace_left(tx, workspace.as_ref(), &before.session, change.now)?,
        workspace: workspace.as_ref().map_or(Usability::Gone, |row| usability(row.status)),
        is_owner: change.epoch.is_some(),
    };
    let place = workspace.as_ref().map(PlaceTraits::of);
    let mut open = before.clone();
    // What an answer said of a step that somebody closed meanwhile is nobody's any more.
    let open_step = before.session.open_step.filter(|_| before.session.phase == Phase::Active);
    let is_of_open_step = |item: &&StreamItem| open_step.is_some() && item.step() == open_step;
    let told: Vec<_> = change.deltas.iter().filter(is_of_open_step).cloned().collect();
    let has_deltas = !told.is_empty();
    let mut outputs = Outputs { told, ..Outputs::default() };
    let mut new_messages = Vec::new();
    for input in &change.inputs {
        if let Input::Message(message) = input {
            new_messages.push(message.clone());
        }
        let advanced =
            advance(&facts, open, with_marks(input, before.session.latest_sequence, &outputs.told))
                .map_err(|refusal| of_refusal(&refusal))?;
        merge(&mut outputs, advanced.outputs);
        open = advanced.open;
    }
    // An org with as many sessions at work as it may have begins no other one for whoever asks.
    let is_asked = change.epoch.is_none() && !new_messages.is_empty();
    if is_asked && before.session.phase != Phase::Active && open.session.phase == Phase::Active {
        require_session_room(tx, open.session.org_id)?;
    }
    let mut has_tasks = false;
    if outputs.has_changed || has_deltas {
        write(tx, change, &before, &mut open, &outputs, &new_messages)?;
        let context = &surroundings.context;
        let sessions = (&before.session, &open.session);
        has_tasks = go_on_with_tasks(tx, context, sessions, &change.by, change.now)?;
    }
    // Who stops a run does not count on its owner, who may be gone: a session that rests is nobody's.
    if change.epoch.is_none() && open.session.phase != Phase::Active && before.session.lease.is_some() {
        tx.release_session(open.session.id, open.session.epoch, change.now)?;
        open.session.lease = None;
    }
    let first = before.session.latest_sequence + 1;
    let entries = number(first, change.now, outputs.told);
    let effects = if change.epoch.is_some() { effects(&open) } else { Vec::new() };
    let has_moved = (before.session.phase == Phase::Active) != (open.session.phase == Phase::Active);
    Ok(Changed { open, agent, place, entries, closed: outputs.closed, effects, has_moved, has_tasks })
}

/// Rules that people made. Where one of them cannot be read, nothing is allowed (A23).
fn rules_in_force(tx: &mut dyn WriteTx, session: &Session, now: Timestamp) -> Result<Vec<PolicyRule>, Error> {
    match tx.tool_rules_for(session, now) {
        Ok(rules) => Ok(rules.into_iter().map(|rule| rule.rule).collect()),
        Err(warren_store::Error::Corrupt(cause)) => {
            tracing::error!(session.id = %session.id, cause, "a rule about tool calls cannot be read");
            Ok(vec![sessions::policies::unreadable_rules()])
        }
        Err(error) => Err(error.into()),
    }
}

/// The open step and the messages that wait.
pub(crate) fn load(tx: &mut dyn WriteTx, session: Session) -> Result<OpenSession, Error> {
    let step = match session.open_step {
        Some(number) => {
            let gone = || Error::new(ErrorCode::Internal).caused_by(format!("step {number} is gone"));
            Some(tx.step(session.id, number)?.ok_or_else(gone)?)
        }
        None => None,
    };
    let queue = tx.queued_messages(session.id)?;
    Ok(OpenSession { session, step, queue })
}

/// What the workspace may still spend this month, and its org with it.
fn workspace_left(
    tx: &mut dyn WriteTx,
    workspace: Option<&Workspace>,
    session: &Session,
    now: Timestamp,
) -> Result<Option<u64>, Error> {
    // What this session has set aside this month is part of it, and is its own to use.
    let is_of_month = session.reserved_at.is_none_or(|at| Month::of(at) == Month::of(now));
    let own = if is_of_month { session.reserved_micros } else { 0 };
    let of_org = left_for_org(tx, session.org_id, own, now)?;
    let limit = workspace.and_then(|row| row.spec.monthly_budget_micros);
    if limit.is_none() {
        return Ok(of_org);
    }
    let spent = tx.spent(session.workspace_id, &Month::of(now).to_string())?;
    let of_workspace = match standing(limit, spent.saturating_sub(own)) {
        Standing::Unlimited => None,
        Standing::Within { left_micros } => Some(left_micros),
        Standing::Exhausted => Some(0),
    };
    Ok([of_org, of_workspace].into_iter().flatten().min())
}

/// An answer is told which entries of the stream held its last pieces: they get their numbers here.
fn with_marks(input: &Input, latest: u64, told: &[StreamItem]) -> Input {
    let mut input = input.clone();
    if let Input::Answered { answer, .. } = &mut input {
        let mut ends: HashMap<u32, u32> = HashMap::new();
        for mark in &answer.deltas {
            ends.insert(mark.block, mark.end);
        }
        for (sequence, item) in (latest + 1..).zip(told) {
            if let StreamItem::TextDelta { block, text, .. }
            | StreamItem::ReasoningDelta { block, text, .. } = item
            {
                let end = ends.entry(*block).or_default();
                *end += u32::try_from(text.len()).unwrap_or(u32::MAX);
                answer.deltas.push(DeltaMark { sequence, block: *block, end: *end });
            }
        }
    }
    input
}

fn merge(all: &mut Outputs, more: Outputs) {
    let Outputs { told, closed, settled, questions, void, spending, has_changed } = more;
    all.told.extend(told);
    all.closed.extend(closed);
    all.settled.extend(settled);
    all.questions.extend(questions);
    all.void.extend(void);
    all.spending.extend(spending);
    all.has_changed |= has_changed;
}

/// Writes pieces of an answer that is on its way, and nothing else: that happens often. Nothing if the session is not what
/// its owner takes it for; a whole change finds out.
pub(crate) fn show(
    tx: &mut dyn WriteTx,
    session: &Session,
    step: u32,
    now: Timestamp,
    deltas: &[StreamItem],
) -> Result<Option<Vec<StreamEntry>>, Error> {
    let Some(latest) = tx.hold_open_step(session.id, session.epoch, step, now)? else { return Ok(None) };
    let entries = number(latest + 1, now, deltas.to_vec());
    tx.append_stream(session.id, &entries)?;
    Ok(Some(entries))
}

/// Goes back to the end of a step, in place. Returns the session and what its readers are told.
pub(crate) fn go_back(
    tx: &mut dyn WriteTx,
    open: &OpenSession,
    step: u32,
    state: BTreeMap<String, Value>,
    now: Timestamp,
) -> Result<(Session, Vec<StreamEntry>), Error> {
    let back = sessions::rewind(open, step, state, now).map_err(|refusal| of_refusal(&refusal))?;
    let mut session = back.session;
    for message in &back.dropped {
        tx.settle_session_message(session.id, message.id, message.state)?;
    }
    let entries = number(session.latest_sequence + 1, now, vec![back.told]);
    session.latest_sequence += entries.len() as u64;
    tx.append_stream(session.id, &entries)?;
    session.version = tx.update_session(&open.session, &session)?;
    Ok((session, entries))
}

fn number(first: u64, at: Timestamp, told: Vec<StreamItem>) -> Vec<StreamEntry> {
    (first..).zip(told).map(|(sequence, item)| StreamEntry { sequence, at, item }).collect()
}

fn write(
    tx: &mut dyn WriteTx,
    change: &Change,
    before: &OpenSession,
    open: &mut OpenSession,
    outputs: &Outputs,
    new_messages: &[SessionMessage],
) -> Result<(), Error> {
    let session_id = open.session.id;
    write_messages(tx, session_id, outputs, new_messages)?;
    write_steps(tx, before, open, outputs)?;
    for question in &outputs.questions {
        tx.insert_approval(&approval_of(&open.session, question, change.now))?;
    }
    for id in &outputs.void {
        if let Some(approval) = tx.approval(*id)? {
            let decided_at = Some(change.now);
            tx.settle_approval(&Approval { state: ApprovalState::Void, decided_at, ..approval })?;
        }
    }
    write_spending(tx, open.session.workspace_id, &outputs.spending)?;
    tell_exhausted(tx, change, before, open)?;
    for (call_id, bytes) in &change.results {
        tx.put_result(session_id, call_id, bytes)?;
    }
    write_stream(tx, change, before, open, outputs)?;
    if open.session.phase != before.session.phase || open.session.run != before.session.run {
        tell(tx, change.now, &change.by, &open.session)?;
    }
    if open.session.title.is_empty() {
        open.session.title = title_of(new_messages);
    }
    open.session.updated_at = change.now;
    open.session.version = tx.update_session(&before.session, &open.session)?;
    Ok(())
}

/// What was set aside and what is taken back of it cancel each other out, each in its month.
fn write_spending(
    tx: &mut dyn WriteTx,
    workspace_id: WorkspaceId,
    spending: &[(Timestamp, i64)],
) -> Result<(), Error> {
    let mut by_month: BTreeMap<String, i64> = BTreeMap::new();
    for (at, micros) in spending {
        let of_month = by_month.entry(Month::of(*at).to_string()).or_default();
        *of_month = of_month.saturating_add(*micros);
    }
    for (month, micros) in by_month.into_iter().filter(|(_, micros)| *micros != 0) {
        tx.add_spending(workspace_id, &month, micros)?;
    }
    Ok(())
}

/// The moment a budget is used up is told once: with the answer that used it up (F36).
fn tell_exhausted(
    tx: &mut dyn WriteTx,
    change: &Change,
    before: &OpenSession,
    open: &OpenSession,
) -> Result<(), Error> {
    let (known, session) = (&before.session.total_usage, &open.session);
    let cost = session.total_usage.cost_micros.saturating_sub(known.cost_micros);
    if cost == 0 {
        return Ok(());
    }
    let Some(row) = tx.workspace(session.workspace_id)? else { return Ok(()) };
    let limit = row.spec.monthly_budget_micros;
    if limit.is_none() {
        return Ok(());
    }
    let month = Month::of(change.now).to_string();
    // What this session has set aside for its next answer is not spent yet.
    let spent = tx.spent(row.id, &month)?.saturating_sub(session.reserved_micros);
    if standing(limit, spent) == Standing::Exhausted
        && standing(limit, spent.saturating_sub(cost)) != Standing::Exhausted
    {
        tx.append_event(&NewEvent {
            at: change.now,
            org_id: row.org_id,
            workspace_id: Some(row.id),
            principal: Principal::system("budgets"),
            data: WorkspaceBudgetExhausted { month, limit_micros: limit, spent_micros: spent }.into(),
        })?;
    }
    Ok(())
}

fn write_messages(
    tx: &mut dyn WriteTx,
    session_id: SessionId,
    outputs: &Outputs,
    new_messages: &[SessionMessage],
) -> Result<(), Error> {
    for message in new_messages {
        // What was delivered or dropped at once is written with its end.
        let settled = outputs.settled.iter().find(|one| one.id == message.id);
        let state = settled.map_or(message.state, |one| one.state);
        tx.insert_session_message(&SessionMessage { state, ..message.clone() })?;
    }
    for message in &outputs.settled {
        let is_new = new_messages.iter().any(|one| one.id == message.id);
        if !is_new && message.state != QueuedState::Queued {
            tx.settle_session_message(session_id, message.id, message.state)?;
        }
    }
    Ok(())
}

fn write_steps(
    tx: &mut dyn WriteTx,
    before: &OpenSession,
    open: &OpenSession,
    outputs: &Outputs,
) -> Result<(), Error> {
    let was = |number: u32| before.step.as_ref().filter(|step| step.number == number);
    for step in outputs.closed.iter().chain(&open.step) {
        match was(step.number) {
            Some(before) if before != step => tx.update_step(before, step)?,
            Some(_) => {}
            None => tx.insert_step(step)?,
        }
    }
    Ok(())
}

/// Entries of the stream. Once a step has its answer, its pieces are read from the step (A62).
fn write_stream(
    tx: &mut dyn WriteTx,
    change: &Change,
    before: &OpenSession,
    open: &mut OpenSession,
    outputs: &Outputs,
) -> Result<(), Error> {
    let session_id = open.session.id;
    let latest = before.session.latest_sequence;
    let entries = number(latest + 1, change.now, outputs.told.clone());
    open.session.latest_sequence = latest + entries.len() as u64;
    let has_answer = |number: u32| {
        let steps = outputs.closed.iter().chain(&open.step);
        let mut of_number = steps.filter(|step| step.number == number);
        of_number.any(|step| step.phase != StepPhase::Asking)
    };
    let (kept, held): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| {
        let is_piece = entry.item.is_delta() && !matches!(entry.item, StreamItem::CallOutput { .. });
        !(is_piece && entry.item.step().is_some_and(&has_answer))
    });
    drop(held);
    if !kept.is_empty() {
        tx.append_stream(session_id, &kept)?;
    }
    Ok(())
}

fn approval_of(session: &Session, question: &Question, now: Timestamp) -> Approval {
    Approval {
        id: question.approval_id,
        org_id: session.org_id,
        workspace_id: session.workspace_id,
        task_id: None,
        action: warren_model::truncate_utf8(&question.tool, Approval::MAX_ACTION_CHARACTERS).to_owned(),
        reason: warren_model::truncate_utf8(&question.reason, Approval::MAX_REASON_BYTES).to_owned(),
        context: Value::Object(serde_json::Map::new()),
        subject: Some(ApprovalSubject {
            session_id: session.id,
            step: question.step,
            call_id: question.call_id.clone(),
            tool: question.tool.clone(),
            arguments_hash: fingerprint(&question.arguments),
            arguments: question.arguments.clone(),
            agent_hash: session.agent.hash.clone(),
            generation: session.generation,
        }),
        asked_by: Principal::workspace(session.workspace_id),
        state: ApprovalState::Pending,
        decided_by: None,
        decided_at: None,
        note: None,
        edited: None,
        created_at: now,
        expires_at: question.expires_at,
    }
}

pub(crate) fn tell(
    tx: &mut dyn WriteTx,
    at: Timestamp,
    by: &Principal,
    session: &Session,
) -> Result<(), Error> {
    let suspended_by = match &session.phase {
        Phase::Suspended { by, .. } => Some(*by),
        Phase::Idle | Phase::Active | Phase::Completed { .. } | Phase::Failed { .. } | Phase::Interrupted => {
            None
        }
    };
    let data = SessionChanged {
        session_id: session.id,
        name: session.name.to_string(),
        phase: session.phase.kind(),
        suspended_by,
        run: session.run,
    };
    let event = NewEvent {
        at,
        org_id: session.org_id,
        workspace_id: Some(session.workspace_id),
        principal: by.clone(),
        data: data.into(),
    };
    Ok(tx.append_event(&event)?)
}

/// The beginning of the first message.
fn title_of(messages: &[SessionMessage]) -> String {
    let text = messages.iter().flat_map(|message| &message.parts).find_map(|part| match &part.content {
        warren_model::Content::Text(text) => Some(text.as_str()),
        warren_model::Content::Raw(_) | warren_model::Content::Url(_) | warren_model::Content::Data(_) => {
            None
        }
    });
    let line = text.unwrap_or_default().lines().next().unwrap_or_default();
    line.chars().filter(|one| !one.is_control()).take(Session::MAX_TITLE_CHARACTERS).collect()
}

pub(crate) fn of_refusal(refusal: &Refusal) -> Error {
    let code = match refusal {
        Refusal::Busy => ErrorCode::SessionBusy,
        Refusal::MessageOver | Refusal::NotPending => ErrorCode::NotPending,
        Refusal::BadEdit(_) => ErrorCode::InvalidRequest,
        Refusal::StaleRun { .. } => ErrorCode::StaleRun,
        Refusal::StillSpent(_) => ErrorCode::BudgetExhausted,
        Refusal::NothingToResume => ErrorCode::NothingToResume,
        Refusal::NoSuchStep(_) => ErrorCode::StepNotFound,
    };
    Error::with_detail(code, refusal.to_string())
}

/// The rules of `sessions` that other modules use.
pub(crate) use sessions::branch;

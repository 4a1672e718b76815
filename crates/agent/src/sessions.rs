//! Sessions: begun, spoken to, decided about, stopped, resumed, gone back in, branched.
//!
//! Every change is one transaction with its key, so that the same request again gets the same answer (A7).

use std::collections::BTreeMap;

use serde_json::Value;
use warren_fleet::Fleet;
use warren_model::session::{
    BusyMode, CallOutcome, CallState, CallWait, QueuedState, RunLimits, Session, SessionMessage, SessionName,
    SessionStart, Step, StopKind, StopRequest, ToolCall,
};
use warren_model::{
    AgentChange, AgentName, Approval, Conversation, ConversationId, ErrorCode, Part, Principal, Runtime,
    SessionId, SessionMessageId, StoredAgent, Timestamp, Workspace, WorkspaceId, fingerprint,
};
use warren_operations::Operations;
use warren_rules::sessions::request::RequestParts;
use warren_rules::sessions::{Input, NewBranch, request, versions};
use warren_service::{Action, Context, Error, Identity};
use warren_store::{KeyScope, Page, ReadTx, SessionQuery, WriteTx};

use crate::commit::{self, Change, Surroundings};
use crate::engine::{Engine, History, bounded};
use crate::hosted::session_name;
use crate::request_heads::with_head;
use crate::session_input::{check_handed_in, check_parts};
use crate::session_keys::{Key, check_key, remember, repeated};
use crate::shown_context::ShownContext;
use crate::streams::{Follower, Streams};
use crate::tools::{ANSWER_SCHEMA, Tools};

/// How long calls that run may still take after an interrupt, unless told.
pub const DEFAULT_STOP_SECONDS: u32 = 10;
pub const MAX_STOP_SECONDS: u32 = 600;

/// A session to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    pub workspace_id: WorkspaceId,
    pub agent: AgentName,
    /// Absent: its id.
    pub name: Option<SessionName>,
    pub title: Option<String>,
    /// Fields of the state that begin with something else than the agent says (A72).
    pub initial_state: BTreeMap<String, Value>,
}

/// A message to a session.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSessionMessage {
    pub parts: Vec<Part>,
    /// Absent: as the agent says.
    pub mode: Option<BusyMode>,
    pub client_id: Option<String>,
    /// The same again is the same message.
    pub key: Option<String>,
}

/// What waits for somebody outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    pub approvals: Vec<Approval>,
    /// Calls that the caller runs, and questions to the user.
    pub calls: Vec<ToolCall>,
    pub messages: Vec<SessionMessage>,
}

/// A session that was moved to another version of its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Upgraded {
    pub session: Session,
    /// Of the version that it had.
    pub previous_hash: String,
    /// What the new version says otherwise; empty if it is the same.
    pub changes: Vec<AgentChange>,
}

/// How a run is to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStop {
    pub kind: StopKind,
    /// How long calls that run may still take; absent: [`DEFAULT_STOP_SECONDS`].
    pub within_seconds: Option<u32>,
    /// The same again is the same stop, also after the run has ended.
    pub key: Option<String>,
}

impl NewStop {
    pub const fn new(kind: StopKind) -> Self {
        Self { kind, within_seconds: None, key: None }
    }
}

/// What a caller's tool gave, or a user answered.
#[derive(Debug, Clone, PartialEq)]
pub enum HandedIn {
    Output(Value),
    Error(String),
}

/// The services of sessions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sessions {
    context: Context,
    fleet: Fleet,
    engine: Engine,
    surroundings: Surroundings,
    streams: Streams,
    operations: Operations,
}

impl Sessions {
    pub(crate) fn new(
        context: Context,
        fleet: Fleet,
        engine: Engine,
        surroundings: Surroundings,
        streams: Streams,
        operations: Operations,
    ) -> Self {
        Self { context, fleet, engine, surroundings, streams, operations }
    }

    /// Begins a session. It waits for its first message.
    #[tracing::instrument(name = "agent.sessions.create", skip_all, fields(workspace.id = %new.workspace_id))]
    pub async fn create(
        &self,
        who: &Identity,
        new: NewSession,
        key: Option<String>,
    ) -> Result<Session, Error> {
        let workspace = self.fleet.workspaces.get(who, Action::UseWorkspace, new.workspace_id).await?;
        check_key(key.as_deref())?;
        let now = self.context.now();
        let id: SessionId = self.context.new_id();
        let by = who.principal.clone();
        let asked = fingerprint(&serde_json::json!({
            "workspace": new.workspace_id.to_string(), "agent": new.agent.as_str(),
            "name": new.name.as_ref().map(SessionName::as_str), "state": new.initial_state, "title": new.title,
        }));
        let key = key.map(|key| Key { scope: KeyScope::Org(workspace.org_id), key, asked });
        self.context
            .store()
            .write(move |tx| {
                if let Some(answer) = repeated(tx, &by, key.as_ref(), now)? {
                    return session_of_answer(tx, &answer);
                }
                let agent = tx.agent(workspace.org_id, &new.agent)?;
                let agent = agent.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))?;
                let mut state = agent.definition.initial_state();
                for (name, value) in &new.initial_state {
                    if !state.contains_key(name) {
                        let detail = format!("initial_state.{name}: the agent declares no such field");
                        return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
                    }
                    state.insert(name.clone(), value.clone());
                }
                let session = Session {
                    title: new.title.clone().unwrap_or_default(),
                    state,
                    ..new_session(id, &workspace, new.name.clone(), by.clone(), &agent, now)
                };
                insert(tx, &session)?;
                remember(
                    tx,
                    &by,
                    key.as_ref(),
                    now,
                    &serde_json::json!({ "session": session.id.to_string() }),
                )?;
                Ok(session)
            })
            .await
    }

    /// The sessions in which the agent of a hosted workspace answers these conversations; for somebody who may read them.
    pub async fn of_conversations(
        &self,
        rows: &[Conversation],
    ) -> Result<BTreeMap<ConversationId, SessionId>, Error> {
        let name = |row: &Conversation| session_name(row.workspace_id, &row.context_id());
        let names: Vec<_> = rows.iter().map(|row| (row.id, row.org_id, name(row))).collect();
        let Some(workspace_id) = rows.first().map(|row| row.workspace_id) else { return Ok(BTreeMap::new()) };
        self.context
            .store()
            .read(move |tx| {
                let workspace = tx.workspace(workspace_id)?;
                if workspace.is_none_or(|row| row.spec.runtime != Runtime::Hosted) {
                    return Ok(BTreeMap::new());
                }
                let mut found = BTreeMap::new();
                for (conversation, org_id, name) in &names {
                    if let Some(session) = tx.session_by_name(*org_id, name)? {
                        found.insert(*conversation, session.id);
                    }
                }
                Ok(found)
            })
            .await
    }

    /// A session by its name, or its id, as far as the caller may know it.
    pub async fn get(&self, who: &Identity, name: &SessionName) -> Result<Session, Error> {
        self.find(who, Action::ReadWorkspaces, name).await
    }

    pub async fn list(
        &self,
        who: &Identity,
        mut query: SessionQuery,
    ) -> Result<Page<Session, SessionId>, Error> {
        match query.workspace_id {
            Some(id) => drop(self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?),
            None => who.may_in_own_org(Action::ReadWorkspaces)?,
        }
        query.org_id = who.visible_org();
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        let page = self.context.store().read(move |tx| tx.sessions(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// Says something to the agent. What was accepted is on disk, and ends as delivered or dropped (A34).
    #[tracing::instrument(name = "agent.sessions.send", skip_all, fields(session.name = %name))]
    pub async fn send(
        &self,
        who: &Identity,
        name: &SessionName,
        new: NewSessionMessage,
    ) -> Result<SessionMessage, Error> {
        let session = self.find(who, Action::UseWorkspace, name).await?;
        check_parts(&new.parts)?;
        let now = self.context.now();
        let id: SessionMessageId = self.context.new_id();
        let asked = serde_json::json!({
            "parts": new.parts, "mode": new.mode.map(BusyMode::as_str), "client_id": new.client_id,
        });
        let key = Key::of_session(session.id, new.key.clone(), &asked)?;
        let by = who.principal.clone();
        let surroundings = self.surroundings.clone();
        let session_id = session.id;
        let sent = move |tx: &mut dyn WriteTx| {
            if let Some(answer) = repeated(tx, &by, key.as_ref(), now)? {
                return Ok((message_of_answer(tx, session_id, &answer)?, None));
            }
            let agent = surroundings.agent(tx, session.org_id, &session.agent)?;
            let message = SessionMessage {
                id,
                session_id,
                author: by.clone(),
                parts: new.parts.clone(),
                mode: new.mode.unwrap_or(agent.busy),
                state: QueuedState::Queued,
                client_id: new.client_id.clone(),
                created_at: now,
            };
            let change = Change::new(session_id, now, by.clone(), vec![Input::Message(message)]);
            let changed = commit::apply(tx, &surroundings, &change)?;
            remember(tx, &by, key.as_ref(), now, &serde_json::json!({ "message": id.to_string() }))?;
            let written = tx.session_message(session_id, id)?;
            Ok::<_, Error>((written.ok_or_else(|| Error::new(ErrorCode::Internal))?, Some(changed)))
        };
        let (message, changed) = self.context.store().write(sent).await?;
        if let Some(changed) = changed {
            self.engine.tell(&changed);
            self.engine.wake(&changed.open.session);
        }
        Ok(message)
    }

    /// A session that the caller may speak to.
    pub async fn for_use(&self, who: &Identity, name: &SessionName) -> Result<Session, Error> {
        self.find(who, Action::UseWorkspace, name).await
    }

    /// A session about whose calls the caller may decide.
    pub async fn for_decision(&self, who: &Identity, name: &SessionName) -> Result<Session, Error> {
        self.find(who, Action::DecideApprovals, name).await
    }

    /// A message and what became of it; nothing if the session has no such message.
    pub async fn message(
        &self,
        who: &Identity,
        name: &SessionName,
        id: SessionMessageId,
    ) -> Result<Option<SessionMessage>, Error> {
        let session_id = self.find(who, Action::ReadWorkspaces, name).await?.id;
        self.context.store().read(move |tx| tx.session_message(session_id, id).map_err(Error::from)).await
    }

    /// Takes back a message that the model has not seen.
    pub async fn cancel_message(
        &self,
        who: &Identity,
        name: &SessionName,
        id: SessionMessageId,
    ) -> Result<SessionMessage, Error> {
        let session = self.find(who, Action::UseWorkspace, name).await?;
        self.input(who, &session, Input::CancelMessage(id)).await?;
        let session_id = session.id;
        let read = move |tx: &mut dyn ReadTx| tx.session_message(session_id, id).map_err(Error::from);
        let message = self.context.store().read(read).await?;
        message.ok_or_else(|| Error::new(ErrorCode::NotPending))
    }

    /// Hands in what a caller's tool gave, or what the user answered. The same again is answered the same.
    pub async fn hand_in(
        &self,
        who: &Identity,
        name: &SessionName,
        call_id: String,
        handed_in: HandedIn,
        key: Option<String>,
    ) -> Result<Session, Error> {
        let session = self.find(who, Action::UseWorkspace, name).await?;
        check_handed_in(&call_id, &handed_in)?;
        let asked = match &handed_in {
            HandedIn::Output(value) => serde_json::json!({ "call": call_id, "output": value }),
            HandedIn::Error(text) => serde_json::json!({ "call": call_id, "error": text }),
        };
        let key = Key::of_session(session.id, key, &asked)?;
        let (session_id, org_id, agent, asked) =
            (session.id, session.org_id, session.agent.clone(), call_id.clone());
        let read = move |tx: &mut dyn ReadTx| {
            let call = tx.call(session_id, &asked)?.map(|(_, call)| call);
            let whole = tx.read_result(session_id, &asked, 0, u32::MAX)?.map(|part| part.bytes);
            let agent = tx.agent_version(org_id, &agent)?;
            let agent = agent.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))?;
            Ok::<_, Error>((call, whole, agent.definition.limits.result_bytes as usize))
        };
        let (call, whole_before, most) = self.context.store().read(read).await?;
        if let (Some(call), HandedIn::Output(value)) = (&call, &handed_in) {
            self.check_answer(call, value)?;
        }
        // The caller's results are shown and kept as those of every other tool (A20).
        let (outcome, whole) = match handed_in {
            HandedIn::Output(value) => {
                let (result, whole) = bounded(value, &call_id, most);
                (CallOutcome::Done { result }, whole)
            }
            HandedIn::Error(text) => (CallOutcome::failed(text), None),
        };
        if call.is_some_and(|call| call.outcome() == Some(&outcome)) && whole == whole_before {
            return Ok(session);
        }
        let by = who.principal.clone();
        let results = whole.map(|bytes| (call_id.clone(), bytes)).into_iter().collect();
        let input = Input::HandedIn { call_id, outcome };
        let change = Change { results, ..Change::new(session.id, self.context.now(), by, vec![input]) };
        self.change_once(change, key).await
    }

    /// The answer to a question has to fit the schema that the question came with (A33).
    fn check_answer(&self, call: &ToolCall, answer: &Value) -> Result<(), Error> {
        if call.state != CallState::Waiting(CallWait::Answer) {
            return Ok(());
        }
        let schema = call.effective().get(ANSWER_SCHEMA);
        match schema.and_then(|schema| self.surroundings.schemas.problem(schema, answer)) {
            Some(problem) => Err(Error::with_detail(ErrorCode::InvalidRequest, format!("output: {problem}"))),
            None => Ok(()),
        }
    }

    /// Asks the run to stop at the next safe point, or fails it now (A32).
    pub async fn stop(
        &self,
        who: &Identity,
        name: &SessionName,
        run: u32,
        stop: NewStop,
    ) -> Result<Session, Error> {
        let NewStop { kind, within_seconds, key } = stop;
        let session = self.find(who, Action::UseWorkspace, name).await?;
        let asked = serde_json::json!({ "run": run, "stop": kind.as_str(), "within": within_seconds });
        let key = Key::of_session(session.id, key, &asked)?;
        let seconds = within_seconds.unwrap_or(DEFAULT_STOP_SECONDS);
        if seconds > MAX_STOP_SECONDS {
            let detail = format!("within_seconds: expected at most {MAX_STOP_SECONDS}");
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let deadline = self.context.now().plus_ms(i64::from(seconds) * 1_000);
        let request = StopRequest { kind, deadline, by: who.principal.clone() };
        let input = Input::Stop { run, request };
        let change = Change::new(session.id, self.context.now(), who.principal.clone(), vec![input]);
        self.change_once(change, key).await
    }

    /// Makes a change under its key: the same again changes nothing, and is answered with the session as it is now (A7).
    async fn change_once(&self, change: Change, key: Option<Key>) -> Result<Session, Error> {
        let Some(key) = key else { return Ok(self.engine.change(change).await?.open.session) };
        let surroundings = self.surroundings.clone();
        let made = move |tx: &mut dyn WriteTx| {
            if repeated(tx, &change.by, Some(&key), change.now)?.is_some() {
                let session = tx.session(change.session_id)?;
                return Ok((session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?, None));
            }
            let changed = commit::apply(tx, &surroundings, &change)?;
            remember(tx, &change.by, Some(&key), change.now, &Value::Null)?;
            Ok::<_, Error>((changed.open.session.clone(), Some(changed)))
        };
        let (session, changed) = self.context.store().write(made).await?;
        if let Some(changed) = changed {
            self.engine.tell(&changed);
            self.engine.wake(&changed.open.session);
        }
        Ok(session)
    }

    /// Goes on after an interrupt, an exhausted budget or a circle. Only people give a run more to spend.
    pub async fn resume(
        &self,
        who: &Identity,
        name: &SessionName,
        limits: Option<RunLimits>,
    ) -> Result<Session, Error> {
        let action = if limits.is_some() { Action::DecideApprovals } else { Action::UseWorkspace };
        let session = self.find(who, action, name).await?;
        self.input(who, &session, Input::Resume { limits }).await
    }

    /// Goes back to the end of a step, in place (A70).
    pub async fn rewind(&self, who: &Identity, name: &SessionName, step: u32) -> Result<Session, Error> {
        let session = self.find(who, Action::UseWorkspace, name).await?;
        let (now, id, by) = (self.context.now(), session.id, who.principal.clone());
        let surroundings = self.surroundings.clone();
        let (session, entries) = self
            .context
            .store()
            .write(move |tx| {
                let held = tx.hold_session(id)?.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
                let agent = surroundings.agent(tx, held.org_id, &held.agent)?;
                let state = state_after(tx, &held, step, agent.initial_state())?;
                let open = commit::load(tx, held)?;
                let (session, entries) = commit::go_back(tx, &open, step, state, now)?;
                commit::tell(tx, now, &by, &session)?;
                Ok::<_, Error>((session, entries))
            })
            .await?;
        self.streams.publish(id, &entries);
        Ok(session)
    }

    /// A new session with the steps of this one up to one of them.
    pub async fn branch(
        &self,
        who: &Identity,
        name: &SessionName,
        step: Option<u32>,
        new_name: Option<SessionName>,
    ) -> Result<Session, Error> {
        let from = self.find(who, Action::UseWorkspace, name).await?;
        let (now, id, by) = (self.context.now(), self.context.new_id(), who.principal.clone());
        let surroundings = self.surroundings.clone();
        self.context
            .store()
            .write(move |tx| {
                let from = tx.session(from.id)?.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
                let agent = surroundings.agent(tx, from.org_id, &from.agent)?;
                let step = step.unwrap_or_else(|| from.lineage.last());
                let state = state_after(tx, &from, step, agent.initial_state())?;
                let new_name = new_name.clone().unwrap_or_else(|| SessionName::from(id));
                let made = commit::branch(
                    &from,
                    step,
                    NewBranch { id, name: new_name, state, created_by: by.clone(), now },
                );
                let session = made.map_err(|refusal| commit::of_refusal(&refusal))?;
                insert(tx, &session)?;
                Ok(session)
            })
            .await
    }

    /// Moves the session to the version that its agent's name stands for now, and tells what changes (A6).
    pub async fn upgrade(&self, who: &Identity, name: &SessionName) -> Result<Upgraded, Error> {
        let session = self.find(who, Action::UseWorkspace, name).await?;
        let (now, id) = (self.context.now(), session.id);
        let surroundings = self.surroundings.clone();
        self.context
            .store()
            .write(move |tx| {
                let held = tx.hold_session(id)?.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
                if held.phase.has_run() || held.open_step.is_some() {
                    return Err(Error::new(ErrorCode::SessionBusy));
                }
                let agent = tx.agent(held.org_id, &held.agent.name)?;
                let agent = agent.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))?;
                let before = surroundings.agent(tx, held.org_id, &held.agent)?;
                let changes = versions::changes(&before, &agent.definition);
                let previous_hash = held.agent.hash.clone();
                let mut session = held.clone();
                for (name, value) in agent.definition.initial_state() {
                    session.state.entry(name).or_insert(value);
                }
                session.agent = agent.version;
                session.generation += 1;
                session.updated_at = now;
                session.version = tx.update_session(&held, &session)?;
                Ok(Upgraded { session, previous_hash, changes })
            })
            .await
    }

    /// What waits for somebody outside.
    pub async fn pending(&self, who: &Identity, name: &SessionName) -> Result<Pending, Error> {
        let session = self.find(who, Action::ReadWorkspaces, name).await?;
        self.context
            .store()
            .read(move |tx| {
                let approvals = tx.pending_approvals_of(session.id)?;
                let step = match session.open_step {
                    Some(number) => tx.step(session.id, number)?,
                    None => None,
                };
                let waits = |call: &ToolCall| {
                    matches!(call.state, CallState::Waiting(CallWait::Client | CallWait::Answer))
                };
                let calls = step.map_or_else(Vec::new, |step| step.calls);
                let calls = calls.into_iter().filter(waits).collect();
                let messages = tx.queued_messages(session.id)?;
                Ok(Pending { approvals, calls, messages })
            })
            .await
    }

    /// Steps that the model is shown, in their order, and the open one.
    pub async fn steps(
        &self,
        who: &Identity,
        name: &SessionName,
        after: u32,
        limit: u32,
    ) -> Result<Vec<Step>, Error> {
        let session = self.find(who, Action::ReadWorkspaces, name).await?;
        let limit = limit.clamp(1, self.context.limits().max_page_size) as usize;
        self.context
            .store()
            .read(move |tx| {
                let mut steps = tx.steps_of(&session.lineage)?;
                if let Some(number) = session.open_step {
                    steps.extend(tx.step(session.id, number)?);
                }
                steps.retain(|step| step.number > after);
                steps.truncate(limit);
                Ok(steps)
            })
            .await
    }

    /// What the model was shown for a step (A19). Of one that has no answer yet: what it would be shown now.
    pub async fn context_of(
        &self,
        who: &Identity,
        name: &SessionName,
        number: u32,
    ) -> Result<ShownContext, Error> {
        let session = self.find(who, Action::ReadWorkspaces, name).await?;
        let missing = || Error::new(ErrorCode::StepNotFound);
        let owner = match session.open_step {
            Some(open) if open == number => session.id,
            _ => session.lineage.session_of(number).ok_or_else(missing)?,
        };
        let lineage = session.lineage.up_to(previous(&session, number)).ok_or_else(missing)?;
        let read = move |tx: &mut dyn ReadTx| {
            let step = tx.step(owner, number)?.ok_or_else(missing)?;
            let mut history = History::read(tx, &lineage)?;
            history.read_messages(tx, &step)?;
            let agent = tx.agent_version(session.org_id, &session.agent)?;
            let agent = agent.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))?.definition;
            let head = match &step.request_head {
                Some(hash) => tx.request_head(session.org_id, hash)?,
                None => None,
            };
            Ok::<_, Error>((agent, history, step, head))
        };
        let workspace_id = session.workspace_id;
        let (agent, history, step, head) = self.context.store().read(read).await?;
        let catalog = self.operations.tools.catalog(who, workspace_id).await?;
        let tools = Tools::new(&agent, Some(&catalog));
        let model = agent.models().nth(step.model_index as usize).unwrap_or(&agent.model);
        let system = tools.system(&agent);
        let build = |conversation| {
            request::build(RequestParts {
                agent: &agent,
                model,
                system,
                tools: tools.offers().into(),
                conversation,
                asking: &step,
                messages: &history.parts,
            })
        };
        let built = history.conversation.as_ref().map_err(Clone::clone).and_then(build);
        let built = built.map_err(|broken| Error::new(ErrorCode::Internal).caused_by(broken.to_string()))?;
        // Tools and instructions may be others by now: what the model saw was kept with its answer.
        let request = match head {
            Some(bytes) => with_head(built, &bytes).ok_or_else(|| {
                Error::new(ErrorCode::Internal).caused_by("a request's head cannot be read")
            })?,
            None => built,
        };
        let workspace = self.fleet.workspaces.get(who, Action::ReadWorkspaces, workspace_id).await?;
        let known = self.fleet.redactors.of_workspace(&workspace).await?;
        Ok(ShownContext::new(request, &step, &known))
    }

    /// Follows the session from behind an entry of its stream.
    pub async fn follow(
        &self,
        who: &Identity,
        name: &SessionName,
        after: u64,
    ) -> Result<(Session, Follower), Error> {
        let session = self.find(who, Action::ReadWorkspaces, name).await?;
        let follower = self.streams.follow(session.id, after);
        Ok((session, follower))
    }

    async fn input(&self, who: &Identity, session: &Session, input: Input) -> Result<Session, Error> {
        let change = Change::new(session.id, self.context.now(), who.principal.clone(), vec![input]);
        Ok(self.engine.change(change).await?.open.session)
    }

    /// To those who may not know its workspace, a session does not exist.
    pub(crate) async fn find(
        &self,
        who: &Identity,
        action: Action,
        name: &SessionName,
    ) -> Result<Session, Error> {
        let (org_id, name) = (who.token.org_id, name.clone());
        let session = self
            .context
            .store()
            .read_few(move |tx| {
                let found = tx.session_by_name(org_id, &name)?;
                match (found, name.as_str().parse::<SessionId>()) {
                    (None, Ok(id)) => tx.session(id).map_err(Error::from),
                    (found, _) => Ok(found),
                }
            })
            .await?;
        let session = session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
        match self.fleet.workspaces.get(who, action, session.workspace_id).await {
            Ok(_) => Ok(session),
            Err(error) if error.code == ErrorCode::WorkspaceNotFound => {
                Err(Error::new(ErrorCode::SessionNotFound))
            }
            Err(error) => Err(error),
        }
    }
}

/// A session that waits for its first message. Without a name it is called by its id.
pub(crate) fn new_session(
    id: SessionId,
    workspace: &Workspace,
    name: Option<SessionName>,
    created_by: Principal,
    agent: &StoredAgent,
    now: Timestamp,
) -> Session {
    let session = Session::start(SessionStart {
        id,
        org_id: workspace.org_id,
        workspace_id: workspace.id,
        created_by,
        agent: agent.version.clone(),
        state: agent.definition.initial_state(),
        limits: agent.definition.limits.run,
        now,
    });
    match name {
        Some(name) => Session { name, ..session },
        None => session,
    }
}

/// The step before this one in what the model is shown.
fn previous(session: &Session, number: u32) -> u32 {
    let spans = session.lineage.spans().iter();
    spans.flat_map(|span| span.first..=span.last).take_while(|one| *one < number).last().unwrap_or(0)
}

/// The state at the end of a step: that of the last step before it which changed something.
pub(crate) fn state_after(
    tx: &mut dyn WriteTx,
    session: &Session,
    step: u32,
    initial: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, Error> {
    let lineage = session.lineage.up_to(step);
    let lineage = lineage.ok_or_else(|| Error::new(ErrorCode::StepNotFound))?;
    let steps = tx.steps_of(&lineage)?;
    Ok(steps.into_iter().rev().find_map(|step| step.state).unwrap_or(initial))
}

fn insert(tx: &mut dyn WriteTx, session: &Session) -> Result<(), Error> {
    match tx.insert_session(session) {
        Err(warren_store::Error::AlreadyExists) => Err(Error::new(ErrorCode::SessionExists)),
        other => Ok(other?),
    }
}

fn session_of_answer(tx: &mut dyn WriteTx, answer: &Value) -> Result<Session, Error> {
    let id = answer.get("session").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let found = match id {
        Some(id) => tx.session(id)?,
        None => None,
    };
    found.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))
}

fn message_of_answer(
    tx: &mut dyn WriteTx,
    session_id: SessionId,
    answer: &Value,
) -> Result<SessionMessage, Error> {
    let id = answer.get("message").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let found = match id {
        Some(id) => tx.session_message(session_id, id)?,
        None => None,
    };
    found.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))
}

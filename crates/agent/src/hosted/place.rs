//! Puts a message of the exchange into the session of its context, in one transaction.

use serde_json::Value;
use warren_exchange::DeliveryAttempt;
use warren_model::session::{
    BusyMode, CallOutcome, CallState, CallWait, Phase, QueuedState, Session, SessionMessage, SessionName,
    Suspension,
};
use warren_model::{
    Content, ErrorCode, Message, Principal, SessionId, SessionMessageId, StoredAgent, Timestamp, Workspace,
    WorkspaceId, fingerprint,
};
use warren_rules::lifecycle::hosted;
use warren_rules::sessions::Input;
use warren_rules::sessions::task_progress::TaskProgress;
use warren_service::Error;
use warren_store::{KeyScope, SessionKey, WriteTx};

use super::{HostedAgents, RemoteTask};
use crate::commit::{self, Change, Changed, Surroundings};
use crate::engine::bounded;
use crate::session_input::check_parts;
use crate::sessions::new_session;

/// What begins the name of a context that is not written out in its session's name.
const HASHED: &str = ":";

/// A message that its session has, and from where on the session's stream is read for it.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) remote: RemoteTask,
    pub(super) session: Session,
    pub(super) progress: TaskProgress,
    /// Entries up to here are read and not told.
    pub(super) after: u64,
    pub(super) silent_until: u64,
}

impl Placed {
    /// A message that was sent before: the stream is read from its beginning, and told from now on.
    fn sent_before(session: Session, message_id: SessionMessageId) -> Self {
        Self {
            remote: RemoteTask { session_id: session.id, message_id },
            progress: TaskProgress::from_beginning(message_id),
            after: 0,
            silent_until: session.latest_sequence,
            session,
        }
    }
}

/// The session of a context. Contexts that a session's name can hold are written out.
pub(crate) fn session_name(workspace_id: WorkspaceId, context_id: &str) -> SessionName {
    let is_plain = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'.' | b'_' | b'-');
    let context = if (1..=64).contains(&context_id.len()) && context_id.bytes().all(is_plain) {
        context_id.to_owned()
    } else {
        format!("{HASHED}{}", fingerprint(&context_id.into()))
    };
    format!("{workspace_id}:{context}").parse().expect("ids, hashes and plain contexts make a name")
}

/// The context of a session that tasks have, where its name tells it; the inner `None`: it has one that is not told.
pub(super) fn context_of(session: &Session) -> Option<Option<&str>> {
    let context = session.name.as_str().strip_prefix(&format!("{}:", session.workspace_id))?;
    Some(if context.starts_with(HASHED) { None } else { Some(context) })
}

impl HostedAgents {
    /// A message of which an earlier delivery told where it is.
    pub(super) async fn found(&self, remote: RemoteTask) -> Result<Placed, Error> {
        let id = remote.session_id;
        let store = self.engine.context().store();
        let session = store.read_few(move |tx| tx.session(id).map_err(Error::from)).await?;
        let session = session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
        Ok(Placed::sent_before(session, remote.message_id))
    }

    /// Sends the message, unless it was sent before.
    pub(super) async fn place(
        &self,
        workspace_id: WorkspaceId,
        attempt: &DeliveryAttempt,
    ) -> Result<Placed, Error> {
        check_parts(&attempt.message.parts)?;
        let context = self.engine.context();
        let sending = Sending {
            workspace_id,
            attempt: attempt.clone(),
            new_session: context.new_id(),
            now: context.now(),
            surroundings: self.engine.surroundings().clone(),
        };
        let (placed, changed) = context.store().write(move |tx| sending.send(tx)).await?;
        if let Some(changed) = changed {
            self.engine.tell(&changed);
            self.engine.wake(&changed.open.session);
        }
        Ok(placed)
    }
}

/// One message on its way into a session.
struct Sending {
    workspace_id: WorkspaceId,
    attempt: DeliveryAttempt,
    new_session: SessionId,
    now: Timestamp,
    surroundings: Surroundings,
}

impl Sending {
    fn send(&self, tx: &mut dyn WriteTx) -> Result<(Placed, Option<Changed>), Error> {
        let row = tx.workspace(self.workspace_id)?;
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let session = self.session(tx, &row)?;
        // Made from the delivery's, so that the same delivery is the same message.
        let message_id = SessionMessageId::from_bytes(*self.attempt.delivery_id.as_bytes());
        if tx.session_message(session.id, message_id)?.is_some() {
            return Ok((Placed::sent_before(session, message_id), None));
        }
        // A message that continues a task goes to the run that waits for it.
        let asked = self.attempt.remote_id.as_deref().and_then(RemoteTask::read);
        let asked = asked.filter(|asked| asked.session_id == session.id);
        if let Some(asked) = asked {
            if self.was_handed_in(tx, &session)? {
                return Ok((Placed::sent_before(session, asked.message_id), None));
            }
            if let Some(call_id) = question(tx, &session)? {
                return self.hand_in(tx, session, asked, call_id);
            }
        }
        let mode = if asked.is_some() { BusyMode::Interrupt } else { BusyMode::Queue };
        let message = SessionMessage {
            id: message_id,
            session_id: session.id,
            author: self.attempt.author.clone(),
            parts: self.attempt.message.parts.clone(),
            mode,
            state: QueuedState::Queued,
            client_id: None,
            created_at: self.now,
        };
        let changed = self.change(tx, &session, Input::Message(message))?;
        let placed = Placed {
            remote: RemoteTask { session_id: session.id, message_id },
            progress: TaskProgress::from_run(message_id, session.run),
            after: session.latest_sequence,
            silent_until: session.latest_sequence,
            session,
        };
        Ok((placed, Some(changed)))
    }

    fn change(&self, tx: &mut dyn WriteTx, session: &Session, input: Input) -> Result<Changed, Error> {
        let change = Change::new(session.id, self.now, self.attempt.author.clone(), vec![input]);
        commit::apply(tx, &self.surroundings, &change)
    }

    /// The session of the message's context; the first message of a context begins it.
    fn session(&self, tx: &mut dyn WriteTx, row: &Workspace) -> Result<Session, Error> {
        let name = session_name(row.id, &self.attempt.context_id);
        if let Some(known) = tx.session_by_name(row.org_id, &name)? {
            let session = tx.hold_session(known.id)?.filter(|session| session.workspace_id == row.id);
            return session.ok_or_else(|| Error::new(ErrorCode::SessionExists));
        }
        let agent = self.agent(tx, row)?;
        let session =
            new_session(self.new_session, row, Some(name), self.attempt.author.clone(), &agent, self.now);
        tx.insert_session(&session)?;
        Ok(session)
    }

    /// The agent as the workspace's spec has it now. What the workspace says itself is stored like any other version.
    fn agent(&self, tx: &mut dyn WriteTx, row: &Workspace) -> Result<StoredAgent, Error> {
        let spec = &row.spec.agent;
        let stored = match &spec.name {
            Some(name) => Some(tx.agent(row.org_id, name)?.ok_or_else(|| {
                let detail = format!("the workspace's agent `{name}` is gone: store it, or name another");
                Error::with_detail(ErrorCode::AgentNotFound, detail)
            })?),
            None => None,
        };
        let definition = stored.as_ref().map(|stored| stored.definition.clone());
        let definition = hosted::definition(row.id, spec, definition)
            .map_err(|problem| Error::with_detail(ErrorCode::InvalidAgent, problem.to_string()))?
            .ok_or_else(|| Error::new(ErrorCode::NoAgent))?;
        if let Some(stored) = stored.filter(|stored| stored.definition == definition) {
            return Ok(stored);
        }
        let agent = StoredAgent {
            org_id: row.org_id,
            version: definition.version(),
            definition,
            created_at: self.now,
            created_by: Principal::workspace(row.id),
        };
        tx.put_agent(&agent)?;
        Ok(agent)
    }

    /// Answers the question that the agent asked.
    fn hand_in(
        &self,
        tx: &mut dyn WriteTx,
        session: Session,
        asked: RemoteTask,
        call_id: String,
    ) -> Result<(Placed, Option<Changed>), Error> {
        // However long the answer is, the model is shown of it as of every result (A20).
        let most = self.surroundings.agent(tx, session.org_id, &session.agent)?.limits.result_bytes as usize;
        let (result, whole) = bounded(answer(&self.attempt.message), &call_id, most);
        let results = whole.map(|bytes| (call_id.clone(), bytes)).into_iter().collect();
        let input = Input::HandedIn { call_id, outcome: CallOutcome::Done { result } };
        let author = self.attempt.author.clone();
        let change = Change { results, ..Change::new(session.id, self.now, author, vec![input]) };
        let changed = commit::apply(tx, &self.surroundings, &change)?;
        let key = SessionKey {
            scope: KeyScope::Session(session.id),
            sender: self.attempt.author.clone(),
            key: self.key(),
            fingerprint: String::new(),
            answer: Value::Null,
            at: self.now,
        };
        tx.insert_session_key(&key, Timestamp::from_micros(0))?;
        let placed = Placed {
            remote: asked,
            progress: TaskProgress::from_run(asked.message_id, session.run).within_current_run(),
            after: session.latest_sequence,
            silent_until: session.latest_sequence,
            session,
        };
        Ok((placed, Some(changed)))
    }

    fn was_handed_in(&self, tx: &mut dyn WriteTx, session: &Session) -> Result<bool, Error> {
        let known = tx.session_key(KeyScope::Session(session.id), &self.attempt.author, &self.key())?;
        Ok(known.is_some())
    }

    fn key(&self) -> String {
        format!("delivery/{}", self.attempt.delivery_id)
    }
}

/// The first question to the user that the session waits for.
fn question(tx: &mut dyn WriteTx, session: &Session) -> Result<Option<String>, Error> {
    let (Phase::Suspended { by: Suspension::Input, .. }, Some(number)) = (&session.phase, session.open_step)
    else {
        return Ok(None);
    };
    let calls = tx.step(session.id, number)?.map(|step| step.calls).unwrap_or_default();
    let waits = calls.into_iter().find(|call| call.state == CallState::Waiting(CallWait::Answer));
    Ok(waits.map(|call| call.id))
}

/// What a user says is the answer: data as it is, anything else as its text.
fn answer(message: &Message) -> Value {
    match &message.parts[..] {
        [part] => match &part.content {
            Content::Data(data) => data.clone(),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) => Value::String(message.text()),
        },
        _ => Value::String(message.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A72
    #[test]
    fn every_context_has_one_name_that_a_session_can_have() {
        let id = WorkspaceId::from_bytes([9; 16]);
        let long = "x".repeat(128);
        let contexts = ["c", "0192-ab", "with space", "a/b", "日本", ":", long.as_str()];
        let names: std::collections::BTreeSet<_> =
            contexts.iter().map(|context| session_name(id, context)).collect();
        assert_eq!(names.len(), contexts.len());
        assert_eq!(session_name(id, "c").as_str(), format!("{id}:c"));
    }
}

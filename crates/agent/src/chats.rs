//! Sessions as chat clients see them: a run is one message of the assistant, read from its first entry on, and an answer
//! can be asked for again (A61, S31).

use warren_model::session::{BusyMode, QueuedState, Session, SessionMessage, SessionName, Step, StreamItem};
use warren_model::{ErrorCode, Part, SessionId, SessionMessageId};
use warren_rules::sessions::Input;
use warren_service::{Action, Context, Error, Identity};
use warren_store::{ReadTx, WriteTx};

use crate::commit::{self, Change, Surroundings};
use crate::engine::Engine;
use crate::session_input::check_parts;
use crate::sessions::{Sessions, state_after};
use crate::streams::{Follower, Streams};
use crate::tools::ASK_USER;

const PAGE: u32 = 200;

/// One run of a session, to be read from its first entry on.
#[derive(Debug)]
pub struct RunReader {
    pub session: Session,
    pub run: u32,
    /// The tools that whoever chats carries out, and the question to the user.
    pub client_tools: Vec<String>,
    pub follower: Follower,
}

/// Which answer is to be given again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerRef {
    Latest,
    Run(u32),
    /// The one to the message with this id of its sender.
    To(String),
}

/// What is said instead.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidInstead {
    pub parts: Vec<Part>,
    pub client_id: Option<String>,
}

/// Sessions as chats. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Chats {
    context: Context,
    sessions: Sessions,
    engine: Engine,
    surroundings: Surroundings,
    streams: Streams,
}

impl Chats {
    pub(crate) fn new(
        context: Context,
        sessions: Sessions,
        engine: Engine,
        surroundings: Surroundings,
        streams: Streams,
    ) -> Self {
        Self { context, sessions, engine, surroundings, streams }
    }

    /// A run, or the latest one; nothing if there is none, or its entries are not kept any more.
    pub async fn run(
        &self,
        who: &Identity,
        name: &SessionName,
        run: Option<u32>,
    ) -> Result<Option<RunReader>, Error> {
        let session = self.sessions.get(who, name).await?;
        let run = run.unwrap_or(session.run);
        if run == 0 || run > session.run {
            return Ok(None);
        }
        let (id, org_id, version) = (session.id, session.org_id, session.agent.clone());
        let latest = session.latest_sequence;
        let read = move |tx: &mut dyn ReadTx| {
            let agent = tx.agent_version(org_id, &version)?;
            Ok::<_, Error>((beginning(tx, id, run, latest)?, agent))
        };
        let (Some(first), agent) = self.context.store().read(read).await? else { return Ok(None) };
        let agent = agent.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))?.definition;
        let mut client_tools: Vec<_> = agent.tools.client.iter().map(|tool| tool.name.clone()).collect();
        if agent.tools.ask_user {
            client_tools.push(ASK_USER.to_owned());
        }
        let follower = self.streams.follow(id, first.saturating_sub(1));
        Ok(Some(RunReader { session, run, client_tools, follower }))
    }

    /// The run that a step belongs to.
    pub async fn run_of_step(
        &self,
        who: &Identity,
        name: &SessionName,
        step: u32,
    ) -> Result<Option<u32>, Error> {
        let id = self.sessions.get(who, name).await?.id;
        let read = move |tx: &mut dyn ReadTx| Ok::<_, Error>(tx.step(id, step)?.map(|step| step.run));
        self.context.store().read(read).await
    }

    /// Goes back to before an answer and says again what it answered, or something else instead. One transaction.
    #[tracing::instrument(name = "agent.chats.answer_again", skip_all, fields(session.name = %name))]
    pub async fn answer_again(
        &self,
        who: &Identity,
        name: &SessionName,
        which: AnswerRef,
        instead: Option<SaidInstead>,
    ) -> Result<SessionMessage, Error> {
        let session = self.sessions.find(who, Action::UseWorkspace, name).await?;
        if let Some(instead) = &instead {
            check_parts(&instead.parts)?;
        }
        let (now, by) = (self.context.now(), who.principal.clone());
        let (session_id, message_id): (_, SessionMessageId) = (session.id, self.context.new_id());
        let surroundings = self.surroundings.clone();
        let again = move |tx: &mut dyn WriteTx| {
            // What an interrupted run left open is part of what is gone back over.
            let end = Change::new(session_id, now, by.clone(), vec![Input::EndInterrupted]);
            let held = commit::apply(tx, &surroundings, &end)?.open.session;
            if held.phase.has_run() {
                return Err(Error::new(ErrorCode::SessionBusy));
            }
            let agent = surroundings.agent(tx, held.org_id, &held.agent)?;
            let open = commit::load(tx, held.clone())?;
            let steps = tx.steps_of(&held.lineage)?;
            let turn = turn_of(tx, session_id, &steps, &which)?;
            let state = state_after(tx, &held, turn.back_to, agent.initial_state())?;
            commit::go_back(tx, &open, turn.back_to, state, now)?;
            let instead = instead.clone().unwrap_or(turn.said);
            let message = SessionMessage {
                id: message_id,
                session_id,
                author: by.clone(),
                parts: instead.parts,
                mode: BusyMode::Reject,
                state: QueuedState::Queued,
                client_id: instead.client_id,
                created_at: now,
            };
            let change = Change::new(session_id, now, by.clone(), vec![Input::Message(message)]);
            let changed = commit::apply(tx, &surroundings, &change)?;
            let written = tx.session_message(session_id, message_id)?;
            Ok::<_, Error>((written.ok_or_else(|| Error::new(ErrorCode::Internal))?, changed))
        };
        let (message, changed) = self.context.store().write(again).await?;
        self.streams.nudge(session_id);
        self.engine.tell(&changed);
        self.engine.wake(&changed.open.session);
        Ok(message)
    }
}

/// The sequence of the first entry of a run.
fn beginning(tx: &mut dyn ReadTx, id: SessionId, run: u32, latest: u64) -> Result<Option<u64>, Error> {
    let mut from = latest;
    while from > 0 {
        let page = tx.stream_back_from(id, from, PAGE)?;
        for entry in &page {
            match entry.item {
                StreamItem::RunStarted { run: one } if one == run => return Ok(Some(entry.sequence)),
                StreamItem::RunStarted { run: one } if one < run => return Ok(None),
                _ => {}
            }
        }
        from = page.last().map_or(0, |entry| entry.sequence.saturating_sub(1));
    }
    Ok(None)
}

/// What was said, and the step before it.
struct SaidTurn {
    back_to: u32,
    said: SaidInstead,
}

fn turn_of(
    tx: &mut dyn WriteTx,
    own: SessionId,
    steps: &[Step],
    which: &AnswerRef,
) -> Result<SaidTurn, Error> {
    let missing = || Error::with_detail(ErrorCode::SessionMessageNotFound, "there is no such answer");
    let messages_of = |tx: &mut dyn WriteTx, step: &Step| {
        let mut messages = Vec::new();
        for id in &step.messages {
            messages.extend(tx.session_message(step.session_id, *id)?);
        }
        Ok::<Vec<SessionMessage>, Error>(messages)
    };
    let target = match which {
        AnswerRef::Latest => steps.last(),
        AnswerRef::Run(run) => steps.iter().rfind(|step| step.session_id == own && step.run == *run),
        AnswerRef::To(client_id) => {
            let mut found = None;
            for step in steps {
                let messages = messages_of(tx, step)?;
                if messages.iter().any(|message| message.client_id.as_ref() == Some(client_id)) {
                    found = Some(step);
                }
            }
            found
        }
    };
    let target = target.ok_or_else(missing)?;
    let is_of_run = |step: &Step| step.session_id == target.session_id && step.run == target.run;
    let (Some(mut first), Some(last)) = (
        // What is said anew is gone back to by itself, other answers by their whole run.
        match which {
            AnswerRef::To(_) => steps.iter().position(|step| step.number == target.number),
            AnswerRef::Latest | AnswerRef::Run(_) => steps.iter().position(is_of_run),
        },
        steps.iter().rposition(is_of_run),
    ) else {
        return Err(missing());
    };
    // A run that only went on after a failure answers what was said before.
    while first > 0 && steps[first].messages.is_empty() {
        first -= 1;
    }
    let (mut parts, mut client_id) = (Vec::new(), None);
    for step in &steps[first..=last] {
        for message in messages_of(tx, step)? {
            client_id = client_id.or(message.client_id);
            parts.extend(message.parts);
        }
    }
    if parts.is_empty() {
        return Err(missing());
    }
    let back_to = first.checked_sub(1).map_or(0, |at| steps[at].number);
    Ok(SaidTurn { back_to, said: SaidInstead { parts, client_id } })
}

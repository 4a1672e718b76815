//! What transactions about messages cannot make up themselves, since they may be run twice.

use warren_fleet::Fleet;
use warren_model::{ChatMessageId, DeliveryId, TaskId, TaskOrigin, Timestamp};
use warren_service::Context;

use super::{NewMessage, Sender};
use crate::Config;
use crate::agents::Agents;

/// For a transaction about a message that was accepted.
#[derive(Debug, Clone)]
pub(crate) struct TxInputs {
    pub(crate) now: Timestamp,
    /// A random number in `0.0..1.0`, for jitter.
    pub(crate) fraction: f64,
    pub(crate) config: Config,
    pub(crate) agents: Agents,
    pub(crate) default_idle_ms: i64,
    /// This process, as the owner of claims.
    pub(crate) owner: String,
    /// For a message that tells the delegator, should one be owed.
    pub(crate) task_id: TaskId,
    pub(crate) delivery_id: DeliveryId,
    pub(crate) chat_message_id: ChatMessageId,
    /// Of what is shown of an answer, if the work belongs to a conversation.
    pub(crate) answer_id: ChatMessageId,
}

impl TxInputs {
    pub(super) fn now(context: &Context, fleet: &Fleet, config: Config, agents: &Agents) -> Self {
        let (now, entropy) = (context.now(), context.entropy());
        Self {
            now,
            fraction: entropy.fraction(),
            config,
            agents: agents.clone(),
            default_idle_ms: fleet.runtimes.idle_timeout_ms(),
            owner: context.instance().to_owned(),
            task_id: entropy.id(now),
            delivery_id: entropy.id(now),
            chat_message_id: entropy.id(now),
            answer_id: entropy.id(now),
        }
    }
}

/// A new message for the transaction that accepts it.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) sender: Sender,
    pub(crate) new: NewMessage,
    pub(crate) now: Timestamp,
    pub(crate) task_id: TaskId,
    pub(crate) delivery_id: DeliveryId,
    /// Of what is shown of it, if its context is a conversation.
    pub(crate) chat_message_id: ChatMessageId,
    /// For a message that names no context.
    pub(crate) new_context: String,
    pub(crate) owner: String,
    pub(crate) default_idle_ms: i64,
    pub(crate) config: Config,
    pub(crate) agents: Agents,
    /// Whether it may be claimed at once; otherwise it waits until somebody looks at the queue.
    pub(crate) may_start: bool,
    /// Through whom it came, if another workspace handed it on.
    pub(crate) origin: Option<TaskOrigin>,
}

impl Submission {
    /// Keys of this moment and before count no more.
    pub(super) fn oldest_repeat(&self) -> Timestamp {
        self.now.plus_ms(-self.config.repeat_window_ms)
    }
}

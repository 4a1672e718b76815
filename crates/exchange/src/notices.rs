//! What an agent tells people of its own accord (X31): a message without work behind it.

use serde_json::Value;
use warren_fleet::Fleet;
use warren_model::event::ConversationCreated;
use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, ErrorCode, Message, Part, Principal, Role,
    Timestamp, Workspace, WorkspaceId, fingerprint,
};
use warren_rules::messages::feed::{self, Line};
use warren_rules::messages::{chat, tasks};
use warren_service::{Action, Context, Error, Identity};
use warren_store::{ConversationQuery, EventQuery, NoticeKey, ReadTx, WriteTx};

use crate::Config;
use crate::conversations::{ConversationChange, full, post, unknown};
use crate::messages::{Masking, check_key, invalid_message, own_workspace};

/// Events looked at in one go, and how many times: a feed is about now, and what lies farther back is in the log.
const WINDOW: u32 = 500;
const WINDOWS: u64 = 10;
/// What the first conversation is called if an agent begins it.
const NOTICES: &str = "Notices";

/// What an agent tells people.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub workspace_id: WorkspaceId,
    /// Where it is told; absent: in the youngest conversation.
    pub conversation_id: Option<ConversationId>,
    pub parts: Vec<Part>,
    pub once: Once,
}

/// By what a notice is known when it comes again (X16).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Once {
    keys: Vec<String>,
    fingerprint: String,
}

impl Once {
    /// `message_id` and `key` are the sender's; `request` is what was asked, by which the same key for something else is
    /// told from the same notice.
    pub fn new(message_id: Option<&str>, key: Option<&str>, request: &Value) -> Result<Self, Error> {
        let is_id =
            |id: &str| (1..=Message::MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control);
        if message_id.is_some_and(|id| !is_id(id)) {
            let detail = "message_id: expected 1 to 128 bytes without control characters";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        check_key(key)?;
        let keys = message_id.map(|id| format!("message/{id}")).into_iter();
        let keys = keys.chain(key.map(|key| format!("key/{key}"))).collect();
        Ok(Self { keys, fingerprint: fingerprint(request) })
    }

    /// The message that was told under one of the keys within the window.
    fn find(
        &self,
        tx: &mut dyn ReadTx,
        workspace_id: WorkspaceId,
        oldest: Timestamp,
    ) -> Result<Option<ChatMessage>, Error> {
        for key in &self.keys {
            let known = tx.notice_key(workspace_id, key)?.filter(|known| known.at > oldest);
            let Some(known) = known else { continue };
            if known.fingerprint != self.fingerprint {
                return Err(Error::new(ErrorCode::KeyReused));
            }
            // Removed since, with its conversation: to tell it again would bring back what somebody took away.
            return tx.chat_message(known.message_id)?.map(Some).ok_or_else(unknown);
        }
        Ok(None)
    }

    fn remember(&self, tx: &mut dyn WriteTx, message: &ChatMessage) -> Result<(), Error> {
        for key in &self.keys {
            tx.put_notice_key(&NoticeKey {
                workspace_id: message.workspace_id,
                key: key.clone(),
                fingerprint: self.fingerprint.clone(),
                message_id: message.id,
                at: message.created_at,
            })?;
        }
        Ok(())
    }
}

/// What became of a notice.
#[derive(Debug, Clone, PartialEq)]
pub struct Noticed {
    pub message: ChatMessage,
    /// It was told before, under the same key.
    pub is_repeat: bool,
}

/// What agents tell people of their own accord, and what can be seen of their work.
#[derive(Debug, Clone)]
pub struct Notices {
    context: Context,
    fleet: Fleet,
    config: Config,
    masking: Masking,
}

impl Notices {
    pub(crate) fn new(context: Context, fleet: Fleet, config: Config, masking: Masking) -> Self {
        Self { context, fleet, config, masking }
    }

    /// What was told under these keys already, if anything was. A caller asks before it looks at files: they may have
    /// changed since.
    #[tracing::instrument(name = "exchange.notices.told_before", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn told_before(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        once: &Once,
    ) -> Result<Option<ChatMessage>, Error> {
        own_workspace(&self.fleet, who, workspace_id).await?;
        if once.keys.is_empty() {
            return Ok(None);
        }
        let (once, oldest) = (once.clone(), self.oldest_key());
        self.context.store().read(move |tx| once.find(tx, workspace_id, oldest)).await
    }

    /// An agent tells people something of its own accord (X31). Who listens hears of it once it is written.
    #[tracing::instrument(name = "exchange.notices.tell", skip_all, fields(workspace.id = %notice.workspace_id))]
    pub async fn tell(&self, who: &Identity, mut notice: Notice) -> Result<Noticed, Error> {
        let workspace = own_workspace(&self.fleet, who, notice.workspace_id).await?;
        self.masking.mask_notice(&workspace, &mut notice.parts).await?;
        let message = Message::new("notice", Role::Agent, notice.parts.clone());
        tasks::check(&message, None, self.config.max_message_bytes)
            .map_err(|problem| invalid_message(&problem))?;
        let (now, oldest) = (self.context.now(), self.oldest_key());
        let new = NewNotice {
            author: Principal::workspace(workspace.id),
            workspace,
            new_conversation: self.context.entropy().id(now),
            message_id: self.context.entropy().id(now),
            max: self.config.max_chat_messages,
            now,
            notice,
        };
        self.context
            .store()
            .write(move |tx| {
                let once = &new.notice.once;
                if !once.keys.is_empty() {
                    // Of two at once with the same key, the second waits here and finds what the first has told.
                    tx.lock_queue(new.workspace.id)?;
                    if let Some(message) = once.find(tx, new.workspace.id, oldest)? {
                        return Ok(Noticed { message, is_repeat: true });
                    }
                }
                let message = new.tell(tx)?;
                once.remember(tx, &message)?;
                Ok(Noticed { message, is_repeat: false })
            })
            .await
    }

    /// What a workspace does, for people who watch (X34): the last of its events, as lines.
    #[tracing::instrument(name = "exchange.notices.feed", skip_all, fields(workspace.id = %id))]
    pub async fn feed(&self, who: &Identity, id: WorkspaceId) -> Result<Vec<Line>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWork, id).await?;
        self.context
            .store()
            .read(move |tx| {
                let newest = tx.newest_event_seq()?;
                let mut lines: Vec<Line> = Vec::new();
                for window in 1..=WINDOWS {
                    let after = newest.saturating_sub(window * u64::from(WINDOW));
                    let until = newest.saturating_sub((window - 1) * u64::from(WINDOW));
                    let query = EventQuery { after, org_id: None, workspace_id: Some(id), limit: WINDOW };
                    let events = tx.events(&query)?.rows;
                    let mut older: Vec<Line> =
                        events.iter().filter(|event| event.seq <= until).filter_map(feed::line_of).collect();
                    older.append(&mut lines);
                    lines = feed::fold(older);
                    if lines.len() >= feed::MAX_LINES || after == 0 {
                        break;
                    }
                }
                Ok(lines)
            })
            .await
    }

    /// Keys from before this are free again.
    fn oldest_key(&self) -> Timestamp {
        self.context.now().plus_ms(-self.config.repeat_window_ms)
    }
}

/// One notice on its way in, with all that the transaction may not make up itself: it can be run twice.
#[derive(Debug, Clone)]
struct NewNotice {
    notice: Notice,
    workspace: Workspace,
    author: Principal,
    new_conversation: ConversationId,
    message_id: ChatMessageId,
    max: u64,
    now: Timestamp,
}

impl NewNotice {
    fn tell(&self, tx: &mut dyn WriteTx) -> Result<ChatMessage, Error> {
        let row = match place_of(tx, self.workspace.id, self.notice.conversation_id)? {
            Some(row) => row,
            None => self.begin_conversation(tx)?,
        };
        chat::admit_message(&row, self.max).map_err(full)?;
        let message = ChatMessage {
            id: self.message_id,
            conversation_id: row.id,
            org_id: row.org_id,
            workspace_id: row.workspace_id,
            author: self.author.clone(),
            role: Role::Agent,
            parts: self.notice.parts.clone(),
            task_id: None,
            created_at: self.now,
        };
        post(tx, row, message)
    }

    fn begin_conversation(&self, tx: &mut dyn WriteTx) -> Result<Conversation, Error> {
        let row = Conversation {
            id: self.new_conversation,
            org_id: self.workspace.org_id,
            workspace_id: self.workspace.id,
            title: NOTICES.to_owned(),
            author: self.author.clone(),
            messages: 0,
            last_message: None,
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        };
        tx.insert_conversation(&row)?;
        let change = ConversationChange { by: &self.author, now: self.now };
        change.append(tx, &row, ConversationCreated { conversation_id: row.id })?;
        Ok(row)
    }
}

/// Where a notice goes: where it says, else to the youngest conversation.
fn place_of(
    tx: &mut dyn WriteTx,
    workspace_id: WorkspaceId,
    named: Option<ConversationId>,
) -> Result<Option<Conversation>, Error> {
    if let Some(id) = named {
        let row = tx.hold_conversation(id)?.filter(|row| row.workspace_id == workspace_id);
        return row.map(Some).ok_or_else(unknown);
    }
    let youngest = tx.conversations(&ConversationQuery { workspace_id, before: None, limit: 1 })?;
    match youngest.rows.first() {
        Some(row) => Ok(tx.hold_conversation(row.id)?),
        None => Ok(None),
    }
}

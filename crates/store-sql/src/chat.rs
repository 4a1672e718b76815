//! Conversations in SQL. Both engines search the same words; how they do is behind `SqlConnection::words_condition`.

use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, Principal, Role, TaskId, Timestamp, WorkspaceId,
};
use warren_store::{ChatReads, ChatSearch, ChatSpan, ChatWrites, ConversationQuery, Error, NoticeKey, Page};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::tasks::json_of;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read_conversation` takes them.
macro_rules! conversation_columns {
    () => {
        "id, org_id, workspace_id, title, author, messages, last_message, created_at, updated_at, version"
    };
}

/// The order in which `read_message` takes them.
macro_rules! message_columns {
    () => {
        "id, conversation_id, org_id, workspace_id, author, role, parts, task_id, created_at"
    };
}

const GET: &str = concat!("SELECT ", conversation_columns!(), " FROM conversations WHERE id = $1");
/// Writing what is there keeps the row on both engines.
const HOLD: &str =
    concat!("UPDATE conversations SET version = version WHERE id = $1 RETURNING ", conversation_columns!());
const LIST: &str = concat!("SELECT ", conversation_columns!(), " FROM conversations");
const COUNT: &str = "SELECT count(*) FROM conversations WHERE workspace_id = $1";
const INSERT: &str = concat!(
    "INSERT INTO conversations (",
    conversation_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);
const UPDATE: &str = "UPDATE conversations SET title = $1, messages = $2, last_message = $3, updated_at = $4, \
     version = $5 WHERE id = $6 AND version = $7";
const REMOVE_MESSAGES: &str = "DELETE FROM chat_messages WHERE conversation_id = $1";
const REMOVE: &str = "DELETE FROM conversations WHERE id = $1";
const PRUNE_MESSAGES: &str = "DELETE FROM chat_messages WHERE id IN (\
     SELECT id FROM chat_messages WHERE created_at < $1 ORDER BY created_at LIMIT $2)";
/// What is left of its messages goes first, so that one with many may take several passes.
const PRUNE: &str = "DELETE FROM conversations WHERE id IN (\
     SELECT id FROM conversations WHERE updated_at < $1 \
       AND NOT EXISTS (SELECT 1 FROM chat_messages WHERE conversation_id = conversations.id) \
     ORDER BY updated_at LIMIT $2)";

const GET_MESSAGE: &str = concat!("SELECT ", message_columns!(), " FROM chat_messages WHERE id = $1");
const MESSAGES: &str = concat!("SELECT ", message_columns!(), " FROM chat_messages");
const OF_TASK: &str =
    concat!("SELECT ", message_columns!(), " FROM chat_messages WHERE task_id = $1 ORDER BY id");
const INSERT_MESSAGE: &str = concat!(
    "INSERT INTO chat_messages (",
    message_columns!(),
    ", words) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);

const GET_KEY: &str = "SELECT workspace_id, key, fingerprint, message_id, at FROM notice_keys \
     WHERE workspace_id = $1 AND key = $2";
const PUT_KEY: &str = "INSERT INTO notice_keys (workspace_id, key, fingerprint, message_id, at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, key) DO UPDATE SET \
     fingerprint = excluded.fingerprint, message_id = excluded.message_id, at = excluded.at";
const PRUNE_KEYS: &str = "DELETE FROM notice_keys WHERE (workspace_id, key) IN \
     (SELECT workspace_id, key FROM notice_keys WHERE at < $1 ORDER BY at LIMIT $2)";

impl ChatReads for Transaction<'_> {
    fn conversation(&mut self, id: ConversationId) -> Result<Option<Conversation>, Error> {
        self.first("conversations", GET, &[id.into()], read_conversation)
    }

    fn conversations(
        &mut self,
        query: &ConversationQuery,
    ) -> Result<Page<Conversation, ConversationId>, Error> {
        let mut select = Select::new(LIST);
        select.and_value("workspace_id =", query.workspace_id);
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        self.page("conversations", &select, query.limit, read_conversation, read_id)
    }

    fn count_conversations(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        Ok(self.first("conversations", COUNT, &[workspace_id.into()], read_count)?.unwrap_or(0))
    }

    fn chat_message(&mut self, id: ChatMessageId) -> Result<Option<ChatMessage>, Error> {
        self.first("chat_messages", GET_MESSAGE, &[id.into()], read_message)
    }

    fn chat_messages(
        &mut self,
        conversation_id: ConversationId,
        span: ChatSpan,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        let mut select = Select::new(MESSAGES);
        select.and_value("conversation_id =", conversation_id);
        let order = match span {
            ChatSpan::After(after) => {
                after.into_iter().for_each(|id| select.and_value("id >", id));
                "id"
            }
            ChatSpan::Before(before) => {
                before.into_iter().for_each(|id| select.and_value("id <", id));
                "id DESC"
            }
        };
        let select = select.page(order, limit);
        self.page("chat_messages", &select, limit, read_message, read_id)
    }

    fn chat_messages_of(&mut self, task_id: TaskId) -> Result<Vec<ChatMessage>, Error> {
        self.rows("chat_messages", OF_TASK, &[task_id.into()], read_message)
    }

    fn notice_key(&mut self, workspace_id: WorkspaceId, key: &str) -> Result<Option<NoticeKey>, Error> {
        self.first("notice_keys", GET_KEY, &[workspace_id.into(), key.into()], read_key)
    }

    fn search_chat(&mut self, search: &ChatSearch) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        if search.words.is_empty() || !search.words.iter().all(|word| is_word(word)) {
            return Err(Error::Refused("a search needs words of letters and digits".into()));
        }
        let words = self.words_condition("chat_messages", &search.words);
        let mut select = Select::new(MESSAGES);
        select.and_around(&words.head, words.value.as_str(), words.tail);
        if let Some(org_id) = search.org_id {
            select.and_value("org_id =", org_id);
        }
        if let Some(workspace_id) = search.workspace_id {
            select.and_value("workspace_id =", workspace_id);
        }
        if let Some(before) = search.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", search.limit);
        self.page("chat_messages", &select, search.limit, read_message, read_id)
    }
}

/// Nothing that either engine's language of searches knows.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(char::is_alphanumeric)
}

impl ChatWrites for Transaction<'_> {
    fn insert_conversation(&mut self, conversation: &Conversation) -> Result<(), Error> {
        let author = conversation.author.to_string();
        let values = [
            conversation.id.into(),
            conversation.org_id.into(),
            conversation.workspace_id.into(),
            conversation.title.as_str().into(),
            author.as_str().into(),
            Value::count(conversation.messages)?,
            conversation.last_message.into(),
            conversation.created_at.into(),
            conversation.updated_at.into(),
            Value::count(conversation.version)?,
        ];
        self.execute(INSERT, &values).map(drop)
    }

    fn hold_conversation(&mut self, id: ConversationId) -> Result<Option<Conversation>, Error> {
        self.first("conversations", HOLD, &[id.into()], read_conversation)
    }

    fn update_conversation(
        &mut self,
        conversation: &Conversation,
        expected_version: u64,
    ) -> Result<u64, Error> {
        let version = expected_version
            .checked_add(1)
            .ok_or_else(|| Error::Refused("the version cannot grow further".into()))?;
        let values = [
            conversation.title.as_str().into(),
            Value::count(conversation.messages)?,
            conversation.last_message.into(),
            conversation.updated_at.into(),
            Value::count(version)?,
            conversation.id.into(),
            Value::count(expected_version)?,
        ];
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    fn remove_conversation(&mut self, id: ConversationId) -> Result<bool, Error> {
        self.execute(REMOVE_MESSAGES, &[id.into()])?;
        Ok(self.execute(REMOVE, &[id.into()])? > 0)
    }

    fn prune_chat(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        let limit = u64::from(limit);
        let messages = self.execute(PRUNE_MESSAGES, &[before.into(), Value::count(limit)?])?;
        let left = limit.saturating_sub(messages);
        Ok(messages + self.execute(PRUNE, &[before.into(), Value::count(left)?])?)
    }

    fn insert_chat_message(&mut self, message: &ChatMessage, words: &str) -> Result<(), Error> {
        let (author, parts) = (message.author.to_string(), json_of(&message.parts)?);
        let values = [
            message.id.into(),
            message.conversation_id.into(),
            message.org_id.into(),
            message.workspace_id.into(),
            author.as_str().into(),
            message.role.as_str().into(),
            Value::Json(Some(&parts)),
            message.task_id.into(),
            message.created_at.into(),
            words.into(),
        ];
        self.execute(INSERT_MESSAGE, &values).map(drop)
    }

    fn put_notice_key(&mut self, key: &NoticeKey) -> Result<(), Error> {
        let values = [
            key.workspace_id.into(),
            key.key.as_str().into(),
            key.fingerprint.as_str().into(),
            key.message_id.into(),
            key.at.into(),
        ];
        self.execute(PUT_KEY, &values).map(drop)
    }

    fn prune_notice_keys(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE_KEYS, &[before.into(), Value::count(u64::from(limit))?])
    }
}

fn read_key(row: &mut Columns<'_>) -> Result<NoticeKey, Error> {
    Ok(NoticeKey {
        workspace_id: row.id()?,
        key: row.text()?.to_owned(),
        fingerprint: row.text()?.to_owned(),
        message_id: row.id()?,
        at: row.time()?,
    })
}

fn read_conversation(row: &mut Columns<'_>) -> Result<Conversation, Error> {
    Ok(Conversation {
        id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        title: row.text()?.to_owned(),
        author: row.word(Principal::parse)?,
        messages: row.count()?,
        last_message: row.optional_id()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.count()?,
    })
}

fn read_message(row: &mut Columns<'_>) -> Result<ChatMessage, Error> {
    Ok(ChatMessage {
        id: row.id()?,
        conversation_id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        author: row.word(Principal::parse)?,
        role: row.word(Role::parse)?,
        parts: row.json()?,
        task_id: row.optional_id()?,
        created_at: row.time()?,
    })
}

//! Conversations in SQL. Both engines search the same words; how they do is behind `SqlConnection::words_condition`.

use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, TaskId, Timestamp, WorkspaceId,
};
use warren_store::{ChatReads, ChatSearch, ChatSpan, ChatWrites, ConversationQuery, Error, NoticeKey, Page};

use crate::row::{read_count, read_id};
use crate::select::Select;
use crate::stored::Json;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    CONVERSATIONS: Conversation in "conversations" {
        id, org_id, workspace_id, author, created_at, version; title, messages, last_message, updated_at,
    }
}

table! {
    MESSAGES: ChatMessage in "chat_messages" {
        id, conversation_id, org_id, workspace_id, author, role, parts: Json, task_id, created_at,
    }
}

table! {
    NOTICE_KEYS: NoticeKey in "notice_keys" {
        workspace_id, key; fingerprint, message_id, at,
    }
}

static GET: Statement = Statement::new(|| CONVERSATIONS.select("WHERE id = $1"));
/// Writing what is there keeps the row on both engines.
static HOLD: Statement = Statement::new(|| {
    format!("UPDATE conversations SET version = version WHERE id = $1 RETURNING {}", CONVERSATIONS.columns())
});
static LIST: Statement = Statement::new(|| CONVERSATIONS.select(""));
const COUNT: &str = "SELECT count(*) FROM conversations WHERE workspace_id = $1";
static INSERT: Statement = Statement::new(|| CONVERSATIONS.insert(""));
static UPDATE: Statement = Statement::new(|| CONVERSATIONS.update_versioned(&["id", "version"]));
const REMOVE_MESSAGES: &str = "DELETE FROM chat_messages WHERE conversation_id = $1";
const REMOVE: &str = "DELETE FROM conversations WHERE id = $1";
const PRUNE_MESSAGES: &str = "DELETE FROM chat_messages WHERE id IN (\
     SELECT id FROM chat_messages WHERE created_at < $1 ORDER BY created_at LIMIT $2)";
/// What is left of its messages goes first, so that one with many may take several passes.
const PRUNE: &str = "DELETE FROM conversations WHERE id IN (\
     SELECT id FROM conversations WHERE updated_at < $1 \
       AND NOT EXISTS (SELECT 1 FROM chat_messages WHERE conversation_id = conversations.id) \
     ORDER BY updated_at LIMIT $2)";

static GET_MESSAGE: Statement = Statement::new(|| MESSAGES.select("WHERE id = $1"));
static LIST_MESSAGES: Statement = Statement::new(|| MESSAGES.select(""));
static OF_TASK: Statement = Statement::new(|| MESSAGES.select("WHERE task_id = $1 ORDER BY id"));
static INSERT_MESSAGE: Statement = Statement::new(|| MESSAGES.insert_with(&["words"], ""));

static GET_KEY: Statement = Statement::new(|| NOTICE_KEYS.select("WHERE workspace_id = $1 AND key = $2"));
static PUT_KEY: Statement = Statement::new(|| NOTICE_KEYS.put(&["workspace_id", "key"]));
const PRUNE_KEYS: &str = "DELETE FROM notice_keys WHERE (workspace_id, key) IN \
     (SELECT workspace_id, key FROM notice_keys WHERE at < $1 ORDER BY at LIMIT $2)";

impl ChatReads for Transaction<'_> {
    fn conversation(&mut self, id: ConversationId) -> Result<Option<Conversation>, Error> {
        CONVERSATIONS.first(self, &GET, &[id.into()])
    }

    fn conversations(
        &mut self,
        query: &ConversationQuery,
    ) -> Result<Page<Conversation, ConversationId>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("workspace_id =", query.workspace_id);
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        CONVERSATIONS.page(self, &select, query.limit, read_id)
    }

    fn count_conversations(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        Ok(self.first("conversations", COUNT, &[workspace_id.into()], read_count)?.unwrap_or(0))
    }

    fn chat_message(&mut self, id: ChatMessageId) -> Result<Option<ChatMessage>, Error> {
        MESSAGES.first(self, &GET_MESSAGE, &[id.into()])
    }

    fn chat_messages(
        &mut self,
        conversation_id: ConversationId,
        span: ChatSpan,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        let mut select = Select::new(&LIST_MESSAGES);
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
        MESSAGES.page(self, &select, limit, read_id)
    }

    fn chat_messages_of(&mut self, task_id: TaskId) -> Result<Vec<ChatMessage>, Error> {
        MESSAGES.rows(self, &OF_TASK, &[task_id.into()])
    }

    fn notice_key(&mut self, workspace_id: WorkspaceId, key: &str) -> Result<Option<NoticeKey>, Error> {
        NOTICE_KEYS.first(self, &GET_KEY, &[workspace_id.into(), key.into()])
    }

    fn search_chat(&mut self, search: &ChatSearch) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        if search.words.is_empty() || !search.words.iter().all(|word| is_word(word)) {
            return Err(Error::Refused("a search needs words of letters and digits".into()));
        }
        let words = self.words_condition("chat_messages", &search.words);
        let mut select = Select::new(&LIST_MESSAGES);
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
        MESSAGES.page(self, &select, search.limit, read_id)
    }
}

/// Nothing that either engine's language of searches knows.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(char::is_alphanumeric)
}

impl ChatWrites for Transaction<'_> {
    fn insert_conversation(&mut self, conversation: &Conversation) -> Result<(), Error> {
        self.execute(&INSERT, &CONVERSATIONS.values(conversation)?).map(drop)
    }

    fn hold_conversation(&mut self, id: ConversationId) -> Result<Option<Conversation>, Error> {
        CONVERSATIONS.first(self, &HOLD, &[id.into()])
    }

    fn update_conversation(
        &mut self,
        conversation: &Conversation,
        expected_version: u64,
    ) -> Result<u64, Error> {
        let changes = CONVERSATIONS.changes(conversation)?;
        self.update_versioned(&UPDATE, changes, [conversation.id.into()], expected_version)
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
        let mut values = MESSAGES.values(message)?;
        values.push(words.into());
        self.execute(&INSERT_MESSAGE, &values).map(drop)
    }

    fn put_notice_key(&mut self, key: &NoticeKey) -> Result<(), Error> {
        self.execute(&PUT_KEY, &NOTICE_KEYS.values(key)?).map(drop)
    }

    fn prune_notice_keys(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE_KEYS, &[before.into(), Value::count(u64::from(limit))?])
    }
}

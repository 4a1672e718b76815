-- What people and agents say to each other (X30). A message never changes, and outlives the task that it belongs to.
CREATE TABLE conversations (
    id           TEXT    NOT NULL PRIMARY KEY,
    org_id       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id),
    title        TEXT    NOT NULL,
    author       TEXT    NOT NULL,
    messages     INTEGER NOT NULL,
    last_message TEXT,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    version      INTEGER NOT NULL
) STRICT;

CREATE INDEX conversations_by_workspace ON conversations (workspace_id, id);

-- `words` are those of what it says, in the one spelling that both databases search.
CREATE TABLE chat_messages (
    row             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    org_id          TEXT    NOT NULL,
    workspace_id    TEXT    NOT NULL REFERENCES workspaces (id),
    author          TEXT    NOT NULL,
    role            TEXT    NOT NULL CONSTRAINT chat_messages_role CHECK (role IN ('user', 'agent')),
    parts           TEXT    NOT NULL,
    task_id         TEXT,
    created_at      INTEGER NOT NULL,
    words           TEXT    NOT NULL
) STRICT;

CREATE INDEX chat_messages_by_conversation ON chat_messages (conversation_id, id);
CREATE INDEX chat_messages_by_workspace ON chat_messages (workspace_id, id);
CREATE INDEX chat_messages_by_task ON chat_messages (task_id, id) WHERE task_id IS NOT NULL;

CREATE TRIGGER chat_messages_are_final
BEFORE UPDATE ON chat_messages
BEGIN
    SELECT RAISE(ABORT, 'a chat message does not change');
END;

-- What messages are found by (X35).
CREATE VIRTUAL TABLE chat_messages_words USING fts5 (
    words, content = 'chat_messages', content_rowid = 'row', tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TRIGGER chat_messages_words_insert AFTER INSERT ON chat_messages BEGIN
    INSERT INTO chat_messages_words (rowid, words) VALUES (new.row, new.words);
END;

CREATE TRIGGER chat_messages_words_delete AFTER DELETE ON chat_messages BEGIN
    INSERT INTO chat_messages_words (chat_messages_words, rowid, words) VALUES ('delete', old.row, old.words);
END;

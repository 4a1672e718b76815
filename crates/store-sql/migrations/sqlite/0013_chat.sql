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

-- `number` is what the index of words calls a row by. `searched` holds its words, as `rules` cuts them.
CREATE TABLE chat_messages (
    number          INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    org_id          TEXT    NOT NULL,
    workspace_id    TEXT    NOT NULL REFERENCES workspaces (id),
    author          TEXT    NOT NULL,
    role            TEXT    NOT NULL CONSTRAINT chat_messages_role CHECK (role IN ('user', 'agent')),
    parts           TEXT    NOT NULL,
    task_id         TEXT,
    created_at      INTEGER NOT NULL,
    searched        TEXT    NOT NULL
) STRICT;

CREATE INDEX chat_messages_by_conversation ON chat_messages (conversation_id, id);
CREATE INDEX chat_messages_by_workspace ON chat_messages (workspace_id, id);
CREATE INDEX chat_messages_by_task ON chat_messages (task_id, id) WHERE task_id IS NOT NULL;

CREATE TRIGGER chat_messages_are_final
BEFORE UPDATE ON chat_messages
BEGIN
    SELECT RAISE(ABORT, 'a chat message does not change');
END;

-- The index of words (X35).
CREATE VIRTUAL TABLE chat_words USING fts5 (
    searched, content = 'chat_messages', content_rowid = 'number', tokenize = "unicode61 remove_diacritics 0"
);

CREATE TRIGGER chat_words_come AFTER INSERT ON chat_messages
BEGIN
    INSERT INTO chat_words (rowid, searched) VALUES (NEW.number, NEW.searched);
END;

CREATE TRIGGER chat_words_go AFTER DELETE ON chat_messages
BEGIN
    INSERT INTO chat_words (chat_words, rowid, searched) VALUES ('delete', OLD.number, OLD.searched);
END;

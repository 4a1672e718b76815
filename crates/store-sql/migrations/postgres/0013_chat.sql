-- What people and agents say to each other (X30). A message never changes, and outlives the task that it belongs to.
CREATE TABLE conversations (
    id           uuid    NOT NULL PRIMARY KEY,
    org_id       uuid    NOT NULL,
    workspace_id uuid    NOT NULL REFERENCES workspaces (id),
    title        text    NOT NULL,
    author       text    NOT NULL,
    messages     bigint  NOT NULL,
    last_message uuid,
    created_at   bigint  NOT NULL,
    updated_at   bigint  NOT NULL,
    version      bigint  NOT NULL
);

CREATE INDEX conversations_by_workspace ON conversations (workspace_id, id);

-- `words` are those of what it says, in the one spelling that both databases search.
CREATE TABLE chat_messages (
    id              uuid    NOT NULL PRIMARY KEY,
    conversation_id uuid    NOT NULL REFERENCES conversations (id),
    org_id          uuid    NOT NULL,
    workspace_id    uuid    NOT NULL REFERENCES workspaces (id),
    author          text    NOT NULL,
    role            text    NOT NULL CONSTRAINT chat_messages_role CHECK (role IN ('user', 'agent')),
    parts           json    NOT NULL,
    task_id         uuid,
    created_at      bigint  NOT NULL,
    words           text    NOT NULL
);

CREATE INDEX chat_messages_by_conversation ON chat_messages (conversation_id, id);
CREATE INDEX chat_messages_by_workspace ON chat_messages (workspace_id, id);
CREATE INDEX chat_messages_by_task ON chat_messages (task_id, id) WHERE task_id IS NOT NULL;

-- What messages are found by (X35).
CREATE INDEX chat_messages_words ON chat_messages USING gin (array_to_tsvector(string_to_array(words, ' ')));

CREATE FUNCTION chat_messages_are_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a chat message does not change' USING ERRCODE = 'check_violation';
END
$$;

CREATE TRIGGER chat_messages_are_final
BEFORE UPDATE ON chat_messages
FOR EACH ROW EXECUTE FUNCTION chat_messages_are_final();

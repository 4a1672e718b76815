-- What agents remember (X50). `place` is `scope:id`; `owner_workspace_id` is the workspace with which it ends, absent for
-- what the org remembers. `words` are those of key and value, in the one spelling that both databases search.
CREATE TABLE memories (
    row          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    org_id             TEXT NOT NULL,
    place              TEXT NOT NULL,
    owner_workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
    key                TEXT NOT NULL,
    value              TEXT NOT NULL,
    words              TEXT NOT NULL,
    masked             INTEGER NOT NULL,
    author             TEXT NOT NULL,
    workspace_id       TEXT NOT NULL,
    task_id            TEXT,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    expires_at         INTEGER,
    version            INTEGER NOT NULL,
    CONSTRAINT memories_key UNIQUE (place, key)
) STRICT;

CREATE INDEX memories_of_workspace ON memories (owner_workspace_id) WHERE owner_workspace_id IS NOT NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL;

-- What memories are found by. The words are in one spelling already, so that this splits at spaces and nothing else.
CREATE VIRTUAL TABLE memories_words USING fts5 (
    words, content = 'memories', content_rowid = 'row', tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TRIGGER memories_words_insert AFTER INSERT ON memories BEGIN
    INSERT INTO memories_words (rowid, words) VALUES (new.row, new.words);
END;

CREATE TRIGGER memories_words_delete AFTER DELETE ON memories BEGIN
    INSERT INTO memories_words (memories_words, rowid, words) VALUES ('delete', old.row, old.words);
END;

CREATE TRIGGER memories_words_update AFTER UPDATE OF words ON memories BEGIN
    INSERT INTO memories_words (memories_words, rowid, words) VALUES ('delete', old.row, old.words);
    INSERT INTO memories_words (rowid, words) VALUES (new.row, new.words);
END;

-- Questions that only a person may decide (X51). A row leaves `pending` once.
CREATE TABLE approvals (
    id           TEXT NOT NULL PRIMARY KEY,
    org_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    task_id      TEXT,
    action       TEXT NOT NULL,
    reason       TEXT NOT NULL,
    context      TEXT NOT NULL,
    asked_by     TEXT NOT NULL,
    state        TEXT NOT NULL,
    decided_by   TEXT,
    decided_at   INTEGER,
    note         TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    CONSTRAINT approvals_state CHECK ((state = 'pending') = (decided_at IS NULL))
) STRICT;

CREATE INDEX approvals_of_workspace ON approvals (workspace_id, id);
CREATE INDEX approvals_by_org ON approvals (org_id, id);
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;

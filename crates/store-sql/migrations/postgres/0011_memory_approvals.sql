-- What agents remember (X50). `place` is `scope:id`; `owner_workspace_id` is the workspace with which it ends, absent for
-- what the org remembers. `words` are those of key and value, in the one spelling that both databases search.
CREATE TABLE memories (
    id           uuid NOT NULL PRIMARY KEY,
    org_id             uuid NOT NULL,
    place              text COLLATE "C" NOT NULL,
    owner_workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
    key                text COLLATE "C" NOT NULL,
    value              text NOT NULL,
    words              text NOT NULL,
    masked             bigint NOT NULL,
    author             text NOT NULL,
    workspace_id       uuid NOT NULL,
    task_id            uuid,
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL,
    expires_at         bigint,
    version            bigint NOT NULL,
    CONSTRAINT memories_key UNIQUE (place, key)
);

CREATE INDEX memories_of_workspace ON memories (owner_workspace_id) WHERE owner_workspace_id IS NOT NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL;

-- What memories are found by. The words are in one spelling already, so that no parser has a say in it.
CREATE INDEX memories_words ON memories USING gin (array_to_tsvector(string_to_array(words, ' ')));

-- Questions that only a person may decide (X51). A row leaves `pending` once.
CREATE TABLE approvals (
    id           uuid NOT NULL PRIMARY KEY,
    org_id       uuid NOT NULL,
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    task_id      uuid,
    action       text NOT NULL,
    reason       text NOT NULL,
    context      json NOT NULL,
    asked_by     text NOT NULL,
    state        text NOT NULL,
    decided_by   text,
    decided_at   bigint,
    note         text,
    created_at   bigint NOT NULL,
    expires_at   bigint NOT NULL,
    CONSTRAINT approvals_state CHECK ((state = 'pending') = (decided_at IS NULL))
);

CREATE INDEX approvals_of_workspace ON approvals (workspace_id, id);
CREATE INDEX approvals_by_org ON approvals (org_id, id);
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;

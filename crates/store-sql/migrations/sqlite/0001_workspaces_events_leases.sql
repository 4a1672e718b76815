-- Ids are text UUIDs: people read them with the `sqlite3` shell, and they sort by time in either form.
-- Times are microseconds since 1970. JSON is text; nothing here looks inside it.

CREATE TABLE workspaces (
    id                      TEXT    NOT NULL PRIMARY KEY,
    org_id                  TEXT    NOT NULL,
    parent_id               TEXT    REFERENCES workspaces (id),
    name                    TEXT    NOT NULL,
    spec                    TEXT    NOT NULL,
    generation              INTEGER NOT NULL,
    observed_generation     INTEGER NOT NULL,
    version                 INTEGER NOT NULL,
    -- A test holds this list against the one enum.
    status                  TEXT    NOT NULL CONSTRAINT workspaces_status CHECK (status IN (
        'provisioning', 'awaiting_agent', 'online', 'degraded', 'offline', 'failed', 'paused', 'hibernated',
        'removed')),
    reason                  TEXT,
    reference               TEXT,
    error_rate              REAL    NOT NULL,
    active_tasks            INTEGER NOT NULL,
    runtime_state           TEXT    NOT NULL,
    manages_own_status      INTEGER NOT NULL,
    last_heartbeat_at       INTEGER,
    liveness_deadline       INTEGER,
    created_at              INTEGER NOT NULL,
    updated_at              INTEGER NOT NULL,
    provisioning_started_at INTEGER
) STRICT;

CREATE INDEX workspaces_living ON workspaces (org_id, id) WHERE status <> 'removed';
CREATE INDEX workspaces_by_name ON workspaces (org_id, name);
CREATE INDEX workspaces_by_parent ON workspaces (parent_id) WHERE parent_id IS NOT NULL;

-- The outbox. An event outlives what it speaks of, hence no foreign key.
CREATE TABLE events (
    seq          INTEGER NOT NULL PRIMARY KEY,
    at           INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    org_id       TEXT    NOT NULL,
    workspace_id TEXT,
    principal    TEXT    NOT NULL,
    data         TEXT    NOT NULL
) STRICT;

CREATE INDEX events_by_org ON events (org_id, seq);
CREATE INDEX events_by_workspace ON events (workspace_id, seq) WHERE workspace_id IS NOT NULL;

-- The last number given out: max(seq) would give a number twice once old events are cleared away.
CREATE TABLE event_sequence (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    newest INTEGER NOT NULL
) STRICT;
INSERT INTO event_sequence (id, newest) VALUES (1, 0);

-- A released lease keeps its row without an owner, so that the fence only grows.
CREATE TABLE leases (
    name       TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT,
    fence      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

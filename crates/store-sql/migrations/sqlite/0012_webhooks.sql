-- Who is told of events (X52). Secrets are with the other sealed ones.
CREATE TABLE webhooks (
    id           TEXT    NOT NULL PRIMARY KEY,
    org_id       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    network      TEXT    NOT NULL CONSTRAINT webhooks_network CHECK (network IN ('webhook')),
    url          TEXT    NOT NULL,
    kinds        TEXT    NOT NULL,
    workspace_id TEXT             REFERENCES workspaces (id) ON DELETE CASCADE,
    since        INTEGER NOT NULL,
    is_active    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL
) STRICT;

CREATE INDEX webhooks_by_org ON webhooks (org_id, id);
CREATE INDEX webhooks_by_workspace ON webhooks (workspace_id) WHERE workspace_id IS NOT NULL;

-- What is owed: one row per event and webhook. `due_at` is when to try, and during an attempt when it counts as lost.
CREATE TABLE webhook_calls (
    id          TEXT    NOT NULL PRIMARY KEY,
    webhook_id  TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    state       TEXT    NOT NULL CONSTRAINT webhook_calls_state CHECK (state IN ('queued', 'delivered', 'dead')),
    attempts    INTEGER NOT NULL,
    due_at      INTEGER,
    last_status INTEGER,
    last_error  TEXT,
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    CONSTRAINT webhook_calls_once UNIQUE (webhook_id, seq)
) STRICT;

CREATE INDEX webhook_calls_due ON webhook_calls (webhook_id, due_at) WHERE state = 'queued';
CREATE INDEX webhook_calls_ended ON webhook_calls (ended_at) WHERE ended_at IS NOT NULL;

-- The last event for which it was decided whom it is owed to: one for all webhooks.
CREATE TABLE webhook_cursor (
    id  INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_cursor (id, seq) VALUES (1, 0);

-- Doors through which other systems send messages to a workspace.
CREATE TABLE channels (
    id           TEXT    NOT NULL PRIMARY KEY,
    org_id       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    network      TEXT    NOT NULL CONSTRAINT channels_network CHECK (network IN ('webhook')),
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL
) STRICT;

CREATE INDEX channels_by_workspace ON channels (workspace_id, id);

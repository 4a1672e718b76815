-- Who is told of events (X52). Secrets are with the other sealed ones.
CREATE TABLE webhooks (
    id           uuid    NOT NULL PRIMARY KEY,
    org_id       uuid    NOT NULL,
    name         text    NOT NULL,
    network      text    NOT NULL CONSTRAINT webhooks_network CHECK (network IN ('webhook')),
    url          text    NOT NULL,
    kinds        json    NOT NULL,
    workspace_id uuid    REFERENCES workspaces (id) ON DELETE CASCADE,
    since        bigint  NOT NULL,
    is_active    boolean NOT NULL,
    created_at   bigint  NOT NULL,
    created_by   text    NOT NULL
);

CREATE INDEX webhooks_by_org ON webhooks (org_id, id);
CREATE INDEX webhooks_by_workspace ON webhooks (workspace_id) WHERE workspace_id IS NOT NULL;

-- What is owed: one row per event and webhook. `due_at` is when to try, and during an attempt when it counts as lost.
CREATE TABLE webhook_calls (
    id          uuid    NOT NULL PRIMARY KEY,
    webhook_id  uuid    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    seq         bigint  NOT NULL,
    kind        text    NOT NULL,
    body        text    NOT NULL,
    state       text    NOT NULL CONSTRAINT webhook_calls_state CHECK (state IN ('queued', 'delivered', 'dead')),
    attempts    bigint  NOT NULL,
    due_at      bigint,
    last_status bigint,
    last_error  text,
    created_at  bigint  NOT NULL,
    ended_at    bigint,
    CONSTRAINT webhook_calls_once UNIQUE (webhook_id, seq)
);

CREATE INDEX webhook_calls_due ON webhook_calls (webhook_id, due_at) WHERE state = 'queued';
CREATE INDEX webhook_calls_ended ON webhook_calls (ended_at) WHERE ended_at IS NOT NULL;

-- The last event for which it was decided whom it is owed to: one for all webhooks.
CREATE TABLE webhook_cursor (
    id  integer NOT NULL PRIMARY KEY CHECK (id = 1),
    seq bigint  NOT NULL
);
INSERT INTO webhook_cursor (id, seq) VALUES (1, 0);

-- Doors through which other systems send messages to a workspace.
CREATE TABLE channels (
    id           uuid    NOT NULL PRIMARY KEY,
    org_id       uuid    NOT NULL,
    workspace_id uuid    NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         text    NOT NULL,
    network      text    NOT NULL CONSTRAINT channels_network CHECK (network IN ('webhook')),
    created_at   bigint  NOT NULL,
    created_by   text    NOT NULL
);

CREATE INDEX channels_by_workspace ON channels (workspace_id, id);

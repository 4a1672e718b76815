-- Ids are of type uuid: 16 bytes instead of 36, in the same order. Times are microseconds since 1970.
-- JSON is `json`, not `jsonb`: it comes back as it was written. `jsonb` refuses the character U+0000, which a
-- command's output may hold, and rewrites numbers (1e16 becomes an integer). Nothing here looks inside it.

CREATE TABLE workspaces (
    id                      uuid             NOT NULL PRIMARY KEY,
    org_id                  uuid             NOT NULL,
    parent_id               uuid             REFERENCES workspaces (id),
    name                    text             NOT NULL,
    spec                    json             NOT NULL,
    generation              bigint           NOT NULL,
    observed_generation     bigint           NOT NULL,
    version                 bigint           NOT NULL,
    -- A test holds this list against the one enum.
    status                  text             NOT NULL CONSTRAINT workspaces_status CHECK (status IN (
        'provisioning', 'awaiting_agent', 'online', 'degraded', 'offline', 'failed', 'paused', 'hibernated',
        'removed')),
    reason                  text,
    reference               json,
    error_rate              double precision NOT NULL,
    active_tasks            bigint           NOT NULL,
    runtime_state           text             NOT NULL,
    manages_own_status      boolean          NOT NULL,
    last_heartbeat_at       bigint,
    liveness_deadline       bigint,
    created_at              bigint           NOT NULL,
    updated_at              bigint           NOT NULL,
    provisioning_started_at bigint
);

CREATE INDEX workspaces_living ON workspaces (org_id, id) WHERE status <> 'removed';
CREATE INDEX workspaces_by_name ON workspaces (org_id, name);
CREATE INDEX workspaces_by_parent ON workspaces (parent_id) WHERE parent_id IS NOT NULL;

-- The outbox. An event outlives what it speaks of, hence no foreign key.
CREATE TABLE events (
    seq          bigint NOT NULL PRIMARY KEY,
    at           bigint NOT NULL,
    kind         text   NOT NULL,
    org_id       uuid   NOT NULL,
    workspace_id uuid,
    principal    text   NOT NULL,
    data         json   NOT NULL
);

CREATE INDEX events_by_org ON events (org_id, seq);
CREATE INDEX events_by_workspace ON events (workspace_id, seq) WHERE workspace_id IS NOT NULL;

-- The last number given out. Locked just before commit: a database sequence would leave gaps after a rollback
-- and number events in another order than they become visible, and a reader would pass some by.
-- A low fill factor leaves room beside the one hot row for its next version.
CREATE TABLE event_sequence (
    id     bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    newest bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO event_sequence (id, newest) VALUES (1, 0);

-- A released lease keeps its row without an owner, so that the fence only grows.
CREATE TABLE leases (
    name       text   NOT NULL PRIMARY KEY,
    owner      text,
    fence      bigint NOT NULL,
    expires_at bigint NOT NULL
);

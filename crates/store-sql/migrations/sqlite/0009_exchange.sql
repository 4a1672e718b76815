-- Work that somebody asked a workspace for. History, artifacts and the rest are JSON that nothing here looks into.
CREATE TABLE tasks (
    id               TEXT    NOT NULL PRIMARY KEY,
    org_id           TEXT    NOT NULL,
    workspace_id     TEXT    NOT NULL REFERENCES workspaces (id),
    context_id       TEXT    NOT NULL,
    author           TEXT    NOT NULL,
    state            TEXT    NOT NULL CONSTRAINT tasks_state CHECK (state IN (
        'submitted', 'working', 'input_required', 'auth_required', 'completed', 'failed', 'cancelled', 'rejected')),
    status_message   TEXT,
    history          TEXT    NOT NULL,
    artifacts        TEXT    NOT NULL,
    metadata         TEXT    NOT NULL,
    origin           TEXT    NOT NULL,
    remote_id        TEXT,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    version          INTEGER NOT NULL
) STRICT;

CREATE INDEX tasks_by_workspace ON tasks (workspace_id, id);
CREATE INDEX tasks_by_context ON tasks (workspace_id, context_id, id);
CREATE INDEX tasks_ended ON tasks (updated_at) WHERE state IN ('completed', 'failed', 'cancelled', 'rejected');

-- The queue (X15): one row for each message on its way. `due_at` is when something must be done about it if nothing
-- happens: it expires, its lease ends, its work is silent for too long.
CREATE TABLE deliveries (
    id              TEXT    NOT NULL PRIMARY KEY,
    org_id          TEXT    NOT NULL,
    workspace_id    TEXT    NOT NULL REFERENCES workspaces (id),
    task_id         TEXT    NOT NULL REFERENCES tasks (id),
    author          TEXT    NOT NULL,
    message         TEXT    NOT NULL,
    priority        INTEGER NOT NULL,
    turn            INTEGER NOT NULL,
    state           TEXT    NOT NULL CONSTRAINT deliveries_state CHECK (state IN ('queued', 'claimed', 'ended')),
    ended_how       TEXT             CONSTRAINT deliveries_end CHECK (
        ended_how IN ('answered', 'failed', 'expired', 'cancelled')),
    reason          TEXT,
    attempts        INTEGER NOT NULL,
    not_before      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    idle_timeout_ms INTEGER NOT NULL,
    deadline_at     INTEGER,
    owner           TEXT,
    lease_until     INTEGER,
    has_begun       INTEGER NOT NULL,
    progress_at     INTEGER,
    due_at          INTEGER,
    created_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    CONSTRAINT deliveries_end_once CHECK ((state = 'ended') = (ended_how IS NOT NULL))
) STRICT;

CREATE INDEX deliveries_waiting ON deliveries (workspace_id, priority DESC, turn, id) WHERE state = 'queued';
CREATE INDEX deliveries_of_senders ON deliveries (workspace_id, author, turn) WHERE state = 'queued';
CREATE INDEX deliveries_by_workspace ON deliveries (workspace_id, state, id);
CREATE INDEX deliveries_by_task ON deliveries (task_id, id);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;

-- Exactly one end, whatever a program believes.
CREATE TRIGGER deliveries_end_is_final
BEFORE UPDATE ON deliveries
WHEN OLD.state = 'ended'
BEGIN
    SELECT RAISE(ABORT, 'a delivery that has ended does not change');
END;

-- What a workspace's queue as a whole knows. Whoever claims holds this row.
CREATE TABLE lanes (
    workspace_id TEXT    NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    turn         INTEGER NOT NULL,
    not_before   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages that were accepted under a key of their sender (X16).
CREATE TABLE repeats (
    sender      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    task_id     TEXT    NOT NULL REFERENCES tasks (id),
    delivery_id TEXT    NOT NULL REFERENCES deliveries (id),
    at          INTEGER NOT NULL,
    PRIMARY KEY (sender, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX repeats_by_age ON repeats (at);
CREATE INDEX repeats_by_task ON repeats (task_id);

-- Work that one workspace handed to another (X20).
CREATE TABLE delegations (
    id             TEXT    NOT NULL PRIMARY KEY,
    org_id         TEXT    NOT NULL,
    from_workspace TEXT    NOT NULL REFERENCES workspaces (id),
    to_workspace   TEXT    NOT NULL REFERENCES workspaces (id),
    task_id        TEXT    NOT NULL UNIQUE REFERENCES tasks (id),
    parent_task    TEXT,
    state          TEXT    NOT NULL CONSTRAINT delegations_state CHECK (state IN (
        'pending', 'queued', 'dispatched', 'completed', 'failed', 'cancelled', 'expired')),
    is_told        INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    ended_at       INTEGER
) STRICT;

CREATE INDEX delegations_by_delegator ON delegations (from_workspace, id);
CREATE INDEX delegations_by_receiver ON delegations (to_workspace);
CREATE INDEX delegations_by_parent ON delegations (parent_task) WHERE parent_task IS NOT NULL;

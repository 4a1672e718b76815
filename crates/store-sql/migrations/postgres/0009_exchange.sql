-- Work that somebody asked a workspace for. History, artifacts and the rest are JSON that nothing here looks into.
CREATE TABLE tasks (
    id               uuid    NOT NULL PRIMARY KEY,
    org_id           uuid    NOT NULL,
    workspace_id     uuid    NOT NULL REFERENCES workspaces (id),
    context_id       text    NOT NULL,
    author           text    NOT NULL,
    state            text    NOT NULL CONSTRAINT tasks_state CHECK (state IN (
        'submitted', 'working', 'input_required', 'auth_required', 'completed', 'failed', 'cancelled', 'rejected')),
    status_message   json,
    history          json    NOT NULL,
    artifacts        json    NOT NULL,
    metadata         json    NOT NULL,
    origin           json    NOT NULL,
    remote_id        text,
    created_at       bigint  NOT NULL,
    updated_at       bigint  NOT NULL,
    version          bigint  NOT NULL
);

CREATE INDEX tasks_by_workspace ON tasks (workspace_id, id);
CREATE INDEX tasks_by_context ON tasks (workspace_id, context_id, id);
CREATE INDEX tasks_ended ON tasks (updated_at) WHERE state IN ('completed', 'failed', 'cancelled', 'rejected');

-- The queue (X15): one row for each message on its way. `due_at` is when something must be done about it if nothing
-- happens: it expires, its lease ends, its work is silent for too long.
CREATE TABLE deliveries (
    id              uuid    NOT NULL PRIMARY KEY,
    org_id          uuid    NOT NULL,
    workspace_id    uuid    NOT NULL REFERENCES workspaces (id),
    task_id         uuid    NOT NULL REFERENCES tasks (id),
    author          text    NOT NULL,
    message         json    NOT NULL,
    priority        bigint  NOT NULL,
    turn            bigint  NOT NULL,
    state           text    NOT NULL CONSTRAINT deliveries_state CHECK (state IN ('queued', 'claimed', 'ended')),
    ended_how       text    CONSTRAINT deliveries_end CHECK (
        ended_how IN ('answered', 'failed', 'expired', 'cancelled')),
    reason          text,
    attempts        bigint  NOT NULL,
    not_before      bigint  NOT NULL,
    expires_at      bigint  NOT NULL,
    idle_timeout_ms bigint  NOT NULL,
    deadline_at     bigint,
    owner           text,
    lease_until     bigint,
    has_begun       boolean NOT NULL,
    progress_at     bigint,
    due_at          bigint,
    created_at      bigint  NOT NULL,
    ended_at        bigint,
    CONSTRAINT deliveries_end_once CHECK ((state = 'ended') = (ended_how IS NOT NULL))
);

CREATE INDEX deliveries_waiting ON deliveries (workspace_id, priority DESC, turn, id) WHERE state = 'queued';
CREATE INDEX deliveries_of_senders ON deliveries (workspace_id, author, turn) WHERE state = 'queued';
CREATE INDEX deliveries_by_workspace ON deliveries (workspace_id, state, id);
CREATE INDEX deliveries_by_task ON deliveries (task_id, id);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;

-- Exactly one end, whatever a program believes.
CREATE FUNCTION deliveries_end_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a delivery that has ended does not change' USING ERRCODE = 'check_violation';
END
$$;

CREATE TRIGGER deliveries_end_is_final
BEFORE UPDATE ON deliveries
FOR EACH ROW WHEN (OLD.state = 'ended')
EXECUTE FUNCTION deliveries_end_is_final();

-- What a workspace's queue as a whole knows. Whoever claims holds this row.
CREATE TABLE lanes (
    workspace_id uuid    NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    turn         bigint  NOT NULL,
    not_before   bigint  NOT NULL
);

-- Messages that were accepted under a key of their sender (X16).
CREATE TABLE repeats (
    sender      text    NOT NULL,
    key         text    NOT NULL,
    fingerprint text    NOT NULL,
    task_id     uuid    NOT NULL REFERENCES tasks (id),
    delivery_id uuid    NOT NULL REFERENCES deliveries (id),
    at          bigint  NOT NULL,
    PRIMARY KEY (sender, key)
);

CREATE INDEX repeats_by_age ON repeats (at);
CREATE INDEX repeats_by_task ON repeats (task_id);

-- Work that one workspace handed to another (X20).
CREATE TABLE delegations (
    id             uuid    NOT NULL PRIMARY KEY,
    org_id         uuid    NOT NULL,
    from_workspace uuid    NOT NULL REFERENCES workspaces (id),
    to_workspace   uuid    NOT NULL REFERENCES workspaces (id),
    task_id        uuid    NOT NULL UNIQUE REFERENCES tasks (id),
    parent_task    uuid,
    state          text    NOT NULL CONSTRAINT delegations_state CHECK (state IN (
        'pending', 'queued', 'dispatched', 'completed', 'failed', 'cancelled', 'expired')),
    is_told        boolean NOT NULL,
    created_at     bigint  NOT NULL,
    updated_at     bigint  NOT NULL,
    ended_at       bigint  
);

CREATE INDEX delegations_by_delegator ON delegations (from_workspace, id);
CREATE INDEX delegations_by_receiver ON delegations (to_workspace);
CREATE INDEX delegations_by_parent ON delegations (parent_task) WHERE parent_task IS NOT NULL;

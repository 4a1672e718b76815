-- Reports of runtimes have a narrow table of their own: they come every few seconds, and must neither rewrite the
-- workspace's row nor raise its version. No row: nothing was reported yet.
CREATE TABLE vitals (
    workspace_id         uuid             NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    error_rate           double precision NOT NULL,
    sample_error         text,
    active_tasks         bigint           NOT NULL,
    "current_task"       text,
    uptime_s             bigint,
    runtime_state        text             NOT NULL,
    displaced            json             NOT NULL,
    idle_timeout_seconds bigint,
    last_heartbeat_at    bigint,
    last_progress_at     bigint,
    last_task_at         bigint,
    liveness_deadline    bigint,
    stall_deadline       bigint,
    idle_deadline        bigint
) WITH (fillfactor = 70);

CREATE INDEX vitals_by_liveness ON vitals (liveness_deadline) WHERE liveness_deadline IS NOT NULL;
CREATE INDEX vitals_by_stall ON vitals (stall_deadline) WHERE stall_deadline IS NOT NULL;
CREATE INDEX vitals_by_idleness ON vitals (idle_deadline) WHERE idle_deadline IS NOT NULL;

-- Nothing ever wrote to these.
ALTER TABLE workspaces DROP COLUMN error_rate;
ALTER TABLE workspaces DROP COLUMN active_tasks;
ALTER TABLE workspaces DROP COLUMN runtime_state;
ALTER TABLE workspaces DROP COLUMN manages_own_status;
ALTER TABLE workspaces DROP COLUMN last_heartbeat_at;
ALTER TABLE workspaces DROP COLUMN liveness_deadline;

ALTER TABLE workspaces ADD COLUMN provision_deadline bigint;
ALTER TABLE workspaces ADD COLUMN mend_attempts bigint NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN mend_next_at bigint;
ALTER TABLE workspaces ADD COLUMN is_purged boolean NOT NULL DEFAULT false;

CREATE INDEX workspaces_by_provision_deadline ON workspaces (provision_deadline) WHERE provision_deadline IS NOT NULL;
CREATE INDEX workspaces_by_mending ON workspaces (mend_next_at) WHERE mend_next_at IS NOT NULL;

-- The last time a runtime registered (F10).
CREATE TABLE registrations (
    workspace_id  uuid   NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    boots         bigint NOT NULL,
    registered_at bigint NOT NULL,
    version       text,
    agent_card    json
);

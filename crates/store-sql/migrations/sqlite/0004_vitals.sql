-- Reports of runtimes have a narrow table of their own: they come every few seconds, and must neither rewrite the
-- workspace's row nor raise its version. No row: nothing was reported yet.
CREATE TABLE vitals (
    workspace_id         TEXT    NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    error_rate           REAL    NOT NULL,
    sample_error         TEXT,
    active_tasks         INTEGER NOT NULL,
    "current_task"       TEXT,
    uptime_s             INTEGER,
    runtime_state        TEXT    NOT NULL,
    displaced            TEXT    NOT NULL,
    idle_timeout_seconds INTEGER,
    last_heartbeat_at    INTEGER,
    last_progress_at     INTEGER,
    last_task_at         INTEGER,
    liveness_deadline    INTEGER,
    stall_deadline       INTEGER,
    idle_deadline        INTEGER
) STRICT, WITHOUT ROWID;

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

ALTER TABLE workspaces ADD COLUMN provision_deadline INTEGER;
ALTER TABLE workspaces ADD COLUMN mend_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN mend_next_at INTEGER;
ALTER TABLE workspaces ADD COLUMN is_purged INTEGER NOT NULL DEFAULT 0;

CREATE INDEX workspaces_by_provision_deadline ON workspaces (provision_deadline) WHERE provision_deadline IS NOT NULL;
CREATE INDEX workspaces_by_mending ON workspaces (mend_next_at) WHERE mend_next_at IS NOT NULL;

-- The last time a runtime registered (F10).
CREATE TABLE registrations (
    workspace_id  TEXT    NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    boots         INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    version       TEXT,
    agent_card    TEXT
) STRICT, WITHOUT ROWID;

-- Messages at set times (X40). `next_at` is the deadline by which the scheduler finds what is due; it is absent while a
-- schedule is paused.
CREATE TABLE schedules (
    id             TEXT    NOT NULL PRIMARY KEY,
    org_id         TEXT    NOT NULL,
    workspace_id   TEXT    NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name           TEXT    NOT NULL,
    cron           TEXT,
    time_zone      TEXT,
    every_seconds  INTEGER,
    prompt         TEXT    NOT NULL,
    jitter_seconds INTEGER NOT NULL,
    missed         TEXT    NOT NULL,
    overlap        TEXT    NOT NULL,
    is_paused      INTEGER NOT NULL,
    next_slot      INTEGER,
    next_at        INTEGER,
    created_by     TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    CONSTRAINT schedules_timing CHECK ((cron IS NULL) = (every_seconds IS NOT NULL) AND (cron IS NULL) = (time_zone IS NULL)),
    CONSTRAINT schedules_next CHECK ((next_slot IS NULL) = (next_at IS NULL)),
    CONSTRAINT schedules_paused CHECK (is_paused = 0 OR next_at IS NULL),
    CONSTRAINT schedules_name UNIQUE (workspace_id, name)
) STRICT;

CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_by_org ON schedules (org_id);

-- One row per firing, or per stretch of slots that did not fire. That a slot fires once, across replicas and crashes, is
-- this table's constraint (X41); runs that somebody asked for have no slot.
CREATE TABLE schedule_runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    schedule_id  TEXT    NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    org_id       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    slot         INTEGER,
    last_slot    INTEGER,
    slots        INTEGER NOT NULL,
    cause        TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    reason       TEXT,
    task_id      TEXT,
    asked_by     TEXT,
    attempts     INTEGER NOT NULL,
    lease_until  INTEGER,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    CONSTRAINT schedule_runs_slot UNIQUE (schedule_id, slot)
) STRICT;

CREATE INDEX schedule_runs_of ON schedule_runs (schedule_id, id);
CREATE INDEX schedule_runs_open ON schedule_runs (state, lease_until) WHERE ended_at IS NULL;
CREATE INDEX schedule_runs_ended ON schedule_runs (ended_at) WHERE ended_at IS NOT NULL;

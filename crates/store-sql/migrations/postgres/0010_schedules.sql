-- Messages at set times (X40). `next_at` is the deadline by which the scheduler finds what is due; it is absent while a
-- schedule is paused.
CREATE TABLE schedules (
    id             uuid   NOT NULL PRIMARY KEY,
    org_id         uuid   NOT NULL,
    workspace_id   uuid   NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name           text   NOT NULL,
    cron           text,
    time_zone      text,
    every_seconds  bigint,
    prompt         text   NOT NULL,
    jitter_seconds bigint NOT NULL,
    missed         text   NOT NULL,
    overlap        text   NOT NULL,
    is_paused      boolean NOT NULL,
    next_slot      bigint,
    next_at        bigint,
    created_by     text   NOT NULL,
    created_at     bigint NOT NULL,
    updated_at     bigint NOT NULL,
    version        bigint NOT NULL,
    CONSTRAINT schedules_timing CHECK ((cron IS NULL) = (every_seconds IS NOT NULL) AND (cron IS NULL) = (time_zone IS NULL)),
    CONSTRAINT schedules_next CHECK ((next_slot IS NULL) = (next_at IS NULL)),
    CONSTRAINT schedules_paused CHECK (NOT is_paused OR next_at IS NULL),
    CONSTRAINT schedules_name UNIQUE (workspace_id, name)
);

CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_by_org ON schedules (org_id);

-- One row per firing, or per stretch of slots that did not fire. That a slot fires once, across replicas and crashes, is
-- this table's constraint (X41); runs that somebody asked for have no slot.
CREATE TABLE schedule_runs (
    id           uuid   NOT NULL PRIMARY KEY,
    schedule_id  uuid   NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    org_id       uuid   NOT NULL,
    workspace_id uuid   NOT NULL,
    slot         bigint,
    last_slot    bigint,
    slots        bigint NOT NULL,
    cause        text   NOT NULL,
    state        text   NOT NULL,
    reason       text,
    task_id      uuid,
    asked_by     text,
    attempts     bigint NOT NULL,
    lease_until  bigint,
    created_at   bigint NOT NULL,
    ended_at     bigint,
    CONSTRAINT schedule_runs_slot UNIQUE (schedule_id, slot)
);

CREATE INDEX schedule_runs_of ON schedule_runs (schedule_id, id);
CREATE INDEX schedule_runs_open ON schedule_runs (state, lease_until) WHERE ended_at IS NULL;
CREATE INDEX schedule_runs_ended ON schedule_runs (ended_at) WHERE ended_at IS NOT NULL;

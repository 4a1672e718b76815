-- Sessions (A2). Lease and epoch are written by statements of their own and raise no version. `lease_until` is when the
-- lease of `lease_owner` ends; where nobody holds it, since when that is so, and 0 if nobody ever did.
CREATE TABLE sessions (
    id           uuid             NOT NULL PRIMARY KEY,
    org_id       uuid             NOT NULL,
    workspace_id uuid             NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         text COLLATE "C" NOT NULL,
    title        text             NOT NULL,
    created_by   text             NOT NULL,
    agent_name   text COLLATE "C" NOT NULL,
    agent_hash   text             NOT NULL,
    phase        text             NOT NULL CONSTRAINT sessions_phase CHECK (phase IN (
        'idle', 'active', 'suspended', 'completed', 'failed', 'interrupted')),
    phase_detail    json,
    generation      bigint  NOT NULL,
    run             bigint  NOT NULL,
    last_step       bigint  NOT NULL,
    open_step       bigint,
    lineage         json    NOT NULL,
    state           json    NOT NULL,
    stop            json,
    limits          json    NOT NULL,
    usage           json    NOT NULL,
    total_usage     json    NOT NULL,
    reserved_micros bigint  NOT NULL,
    loop_watch      json    NOT NULL,
    wake_at         bigint,
    lease_owner     text,
    lease_until     bigint  NOT NULL,
    epoch           bigint  NOT NULL,
    latest_sequence bigint  NOT NULL,
    branched_from   uuid,
    branched_at     bigint,
    version         bigint  NOT NULL,
    created_at      bigint  NOT NULL,
    updated_at      bigint  NOT NULL,
    CONSTRAINT sessions_name UNIQUE (org_id, name)
);

-- Lists, the newest first. None of these moves while a session works; a run moves it in those by phase, which do not hold
-- the many that rest.
CREATE INDEX sessions_by_org ON sessions (org_id, id);
CREATE INDEX sessions_by_workspace ON sessions (workspace_id, id);
CREATE INDEX sessions_by_agent ON sessions (org_id, agent_name, id);
CREATE INDEX sessions_by_phase ON sessions (org_id, phase, id)
    WHERE phase = 'active' OR phase = 'suspended' OR phase = 'failed' OR phase = 'interrupted';
CREATE INDEX sessions_by_workspace_phase ON sessions (workspace_id, phase, id)
    WHERE phase = 'active' OR phase = 'suspended' OR phase = 'failed' OR phase = 'interrupted';

-- What an engine looks for.
CREATE INDEX sessions_claimable ON sessions (lease_until, id) WHERE phase = 'active';
CREATE INDEX sessions_due ON sessions (wake_at, id) WHERE wake_at IS NOT NULL;

-- Of which other sessions a session shows steps (A70). They cannot be deleted before it.
CREATE TABLE session_sources (
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    source_id  uuid NOT NULL REFERENCES sessions (id),
    PRIMARY KEY (session_id, source_id)
);

CREATE INDEX session_sources_by_source ON session_sources (source_id);

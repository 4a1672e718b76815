-- Sessions (A2). Lease and epoch are written by statements of their own and raise no version. `lease_until` is when the
-- lease of `lease_owner` ends; where nobody holds it, since when that is so, and 0 if nobody ever did.
CREATE TABLE sessions (
    id           TEXT NOT NULL PRIMARY KEY,
    org_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    title        TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    agent_name   TEXT NOT NULL,
    agent_hash   TEXT NOT NULL,
    phase        TEXT NOT NULL CONSTRAINT sessions_phase CHECK (phase IN (
        'idle', 'active', 'suspended', 'completed', 'failed', 'interrupted')),
    phase_detail    TEXT,
    generation      INTEGER  NOT NULL,
    run             INTEGER  NOT NULL,
    last_step       INTEGER  NOT NULL,
    open_step       INTEGER,
    lineage         TEXT     NOT NULL,
    state           TEXT     NOT NULL,
    stop            TEXT,
    limits          TEXT     NOT NULL,
    usage           TEXT     NOT NULL,
    total_usage     TEXT     NOT NULL,
    reserved_micros INTEGER  NOT NULL,
    loop_watch      TEXT     NOT NULL,
    wake_at         INTEGER,
    lease_owner     TEXT,
    lease_until     INTEGER  NOT NULL,
    epoch           INTEGER  NOT NULL,
    latest_sequence INTEGER  NOT NULL,
    branched_from   TEXT,
    branched_at     INTEGER,
    version         INTEGER  NOT NULL,
    created_at      INTEGER  NOT NULL,
    updated_at      INTEGER  NOT NULL,
    CONSTRAINT sessions_name UNIQUE (org_id, name)
) STRICT;

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
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    source_id  TEXT NOT NULL REFERENCES sessions (id),
    PRIMARY KEY (session_id, source_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_sources_by_source ON session_sources (source_id);

-- Steps of a session. What nothing here looks into is in `detail`. Not WITHOUT ROWID: rows of more than a quarter of a page
-- would each begin a page of their own.
CREATE TABLE session_steps (
    session_id  TEXT     NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number      INTEGER  NOT NULL,
    run         INTEGER  NOT NULL,
    phase       TEXT     NOT NULL CONSTRAINT session_steps_phase CHECK (phase IN ('asking', 'acting', 'closed')),
    detail      TEXT     NOT NULL,
    started_at  INTEGER  NOT NULL,
    answered_at INTEGER,
    ended_at    INTEGER,
    PRIMARY KEY (session_id, number)
) STRICT;

-- Tool calls, each with the place of its result (A8).
CREATE TABLE session_calls (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    step       INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    call_id    TEXT    NOT NULL,
    state      TEXT    NOT NULL CONSTRAINT session_calls_state CHECK (state IN ('waiting', 'started', 'closed')),
    call       TEXT    NOT NULL,
    PRIMARY KEY (session_id, step, position),
    CONSTRAINT session_calls_id UNIQUE (session_id, call_id)
) STRICT;

-- Messages to a session, each delivered in one step or dropped for one reason (A34).
CREATE TABLE session_messages (
    session_id  TEXT     NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id          TEXT     NOT NULL,
    author      TEXT     NOT NULL,
    parts       TEXT     NOT NULL,
    mode        TEXT     NOT NULL,
    state       TEXT     NOT NULL CONSTRAINT session_messages_state CHECK (state IN ('queued', 'delivered', 'dropped')),
    step        INTEGER,
    drop_reason TEXT,
    client_id   TEXT,
    created_at  INTEGER  NOT NULL,
    PRIMARY KEY (session_id, id)
) STRICT;

CREATE INDEX session_messages_queued ON session_messages (session_id, id) WHERE state = 'queued';

-- Steps of a session. What nothing here looks into is in `detail`.
CREATE TABLE session_steps (
    session_id  uuid    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number      bigint  NOT NULL,
    run         bigint  NOT NULL,
    phase       text    NOT NULL CONSTRAINT session_steps_phase CHECK (phase IN ('asking', 'acting', 'closed')),
    detail      json    NOT NULL,
    started_at  bigint  NOT NULL,
    answered_at bigint,
    ended_at    bigint,
    PRIMARY KEY (session_id, number)
);

-- Tool calls, each with the place of its result (A8).
CREATE TABLE session_calls (
    session_id uuid             NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    step       bigint           NOT NULL,
    position   bigint           NOT NULL,
    call_id    text COLLATE "C" NOT NULL,
    state      text             NOT NULL CONSTRAINT session_calls_state CHECK (state IN ('waiting', 'started', 'closed')),
    call       json             NOT NULL,
    PRIMARY KEY (session_id, step, position),
    CONSTRAINT session_calls_id UNIQUE (session_id, call_id)
);

-- Messages to a session, each delivered in one step or dropped for one reason (A34).
CREATE TABLE session_messages (
    session_id  uuid    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id          uuid    NOT NULL,
    author      text    NOT NULL,
    parts       json    NOT NULL,
    mode        text    NOT NULL,
    state       text    NOT NULL CONSTRAINT session_messages_state CHECK (state IN ('queued', 'delivered', 'dropped')),
    step        bigint,
    drop_reason text,
    client_id   text,
    created_at  bigint  NOT NULL,
    PRIMARY KEY (session_id, id)
);

CREATE INDEX session_messages_queued ON session_messages (session_id, id) WHERE state = 'queued';

-- What happens in a session, as numbered entries (A60). Pieces of an answer go when their step is closed.
CREATE TABLE session_stream (
    session_id uuid    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    sequence   bigint  NOT NULL,
    at         bigint  NOT NULL,
    step       bigint,
    is_delta   boolean NOT NULL,
    item       json    NOT NULL,
    PRIMARY KEY (session_id, sequence)
);

CREATE INDEX session_stream_deltas ON session_stream (session_id, step) WHERE is_delta;
CREATE INDEX session_stream_by_age ON session_stream (at) WHERE NOT is_delta;

-- Results that are too long to show, in pieces of 64 KiB (A20).
CREATE TABLE session_results (
    session_id uuid             NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id    text COLLATE "C" NOT NULL,
    piece      bigint           NOT NULL,
    bytes      bytea            NOT NULL,
    PRIMARY KEY (session_id, call_id, piece)
);

-- Requests that were done under a key of their sender, and what they were answered (A7). `scope_id` is a session's, or an
-- org's where there is no session yet; hence no foreign key.
CREATE TABLE session_keys (
    scope_id    uuid             NOT NULL,
    sender      text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    is_session  boolean          NOT NULL,
    fingerprint text             NOT NULL,
    answer      json             NOT NULL,
    at          bigint           NOT NULL,
    PRIMARY KEY (scope_id, sender, key)
);

CREATE INDEX session_keys_by_age ON session_keys (at);

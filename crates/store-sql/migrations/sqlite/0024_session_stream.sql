-- What happens in a session, as numbered entries (A60). Pieces of an answer go when their step is closed.
CREATE TABLE session_stream (
    session_id TEXT     NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    sequence   INTEGER  NOT NULL,
    at         INTEGER  NOT NULL,
    step       INTEGER,
    is_delta   INTEGER  NOT NULL,
    item       TEXT     NOT NULL,
    PRIMARY KEY (session_id, sequence)
) STRICT;

CREATE INDEX session_stream_deltas ON session_stream (session_id, step) WHERE is_delta;
CREATE INDEX session_stream_by_age ON session_stream (at) WHERE NOT is_delta;

-- Results that are too long to show, in pieces of 64 KiB (A20).
CREATE TABLE session_results (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id    TEXT    NOT NULL,
    piece      INTEGER NOT NULL,
    bytes      BLOB    NOT NULL,
    PRIMARY KEY (session_id, call_id, piece)
) STRICT;

-- Requests that were done under a key of their sender, and what they were answered (A7). `scope_id` is a session's, or an
-- org's where there is no session yet; hence no foreign key.
CREATE TABLE session_keys (
    scope_id    TEXT    NOT NULL,
    sender      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    is_session  INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    answer      TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (scope_id, sender, key)
) STRICT;

CREATE INDEX session_keys_by_age ON session_keys (at);

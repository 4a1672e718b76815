-- Who did what to which. It outlives what it speaks of, hence no foreign keys; each row's hash covers the row and the
-- hash before it, over the text as it stands here. `details` is JSON in one spelling.
CREATE TABLE audit (
    seq           INTEGER NOT NULL PRIMARY KEY,
    at            INTEGER NOT NULL,
    org_id        TEXT NOT NULL,
    principal     TEXT NOT NULL,
    token_id      TEXT,
    token_prefix  TEXT,
    action        TEXT NOT NULL,
    target_kind   TEXT NOT NULL,
    target_id     TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    request_id    TEXT,
    details       TEXT NOT NULL,
    previous_hash BLOB NOT NULL CONSTRAINT audit_previous_hash CHECK (length(previous_hash) = 32),
    hash          BLOB NOT NULL CONSTRAINT audit_hash CHECK (length(hash) = 32)
) STRICT;

CREATE INDEX audit_by_target ON audit (target_kind, target_id, seq);
CREATE INDEX audit_by_principal ON audit (principal, seq);
CREATE INDEX audit_by_time ON audit (at);

-- The last number and hash. Written just before commit, so that the chain is in commit order and has no gap.
CREATE TABLE audit_head (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    newest INTEGER NOT NULL,
    hash   BLOB NOT NULL
) STRICT;
INSERT INTO audit_head (id, newest, hash) VALUES (1, 0, zeroblob(32));

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

-- `INSERT OR REPLACE` deletes without asking the trigger above.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

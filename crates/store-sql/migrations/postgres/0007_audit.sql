-- Who did what to which. It outlives what it speaks of, hence no foreign keys; each row's hash covers the row and the
-- hash before it, over the text as it stands here. `details` is JSON in one spelling.
CREATE TABLE audit (
    seq           bigint NOT NULL PRIMARY KEY,
    at            bigint NOT NULL,
    org_id        uuid NOT NULL,
    principal     text NOT NULL,
    token_id      uuid,
    token_prefix  text,
    action        text NOT NULL,
    target_kind   text NOT NULL,
    target_id     text NOT NULL,
    outcome       text NOT NULL,
    request_id    text,
    details       text NOT NULL,
    previous_hash bytea NOT NULL CONSTRAINT audit_previous_hash CHECK (length(previous_hash) = 32),
    hash          bytea NOT NULL CONSTRAINT audit_hash CHECK (length(hash) = 32)
);

CREATE INDEX audit_by_target ON audit (target_kind, target_id, seq);
CREATE INDEX audit_by_principal ON audit (principal, seq);
CREATE INDEX audit_by_time ON audit (at);

-- The last number and hash. Written just before commit, so that the chain is in commit order and has no gap.
CREATE TABLE audit_head (
    id     bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    newest bigint NOT NULL,
    hash   bytea NOT NULL
);
INSERT INTO audit_head (id, newest, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

CREATE FUNCTION audit_is_only_appended_to() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only appended to' USING ERRCODE = 'check_violation';
END
$$;

CREATE TRIGGER audit_is_not_changed
BEFORE UPDATE OR DELETE ON audit
FOR EACH ROW EXECUTE FUNCTION audit_is_only_appended_to();

CREATE TRIGGER audit_is_not_emptied
BEFORE TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_appended_to();

-- Only the SHA-256 of a token is kept; `prefix` is what lists show of it.
CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    kind         TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE CONSTRAINT tokens_hash CHECK (length(hash) = 32),
    prefix       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    org_id       TEXT    NOT NULL,
    workspace_id TEXT    REFERENCES workspaces (id),
    scopes       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    used_at      INTEGER
) STRICT;

CREATE INDEX tokens_by_owner ON tokens (owner, id);
CREATE INDEX tokens_by_org ON tokens (org_id, id);
CREATE INDEX tokens_by_workspace ON tokens (workspace_id) WHERE workspace_id IS NOT NULL;

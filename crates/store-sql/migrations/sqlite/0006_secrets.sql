-- Values are sealed: key, owner, name and version are part of what the seal vouches for, so that a row that is
-- moved or put back from earlier does not open. `owner_id` is the workspace's id, or the org's.
CREATE TABLE secrets (
    owner_id     TEXT NOT NULL CONSTRAINT secrets_owner CHECK (owner_id = coalesce(workspace_id, org_id)),
    name         TEXT NOT NULL,
    org_id       TEXT NOT NULL,
    workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
    version      INTEGER NOT NULL,
    key_id       TEXT NOT NULL,
    nonce        BLOB NOT NULL CONSTRAINT secrets_nonce CHECK (length(nonce) = 12),
    sealed       BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    updated_by   TEXT NOT NULL,
    PRIMARY KEY (owner_id, name)
) STRICT;

CREATE INDEX secrets_by_key ON secrets (key_id);
CREATE INDEX secrets_by_workspace ON secrets (workspace_id) WHERE workspace_id IS NOT NULL;

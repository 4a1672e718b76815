-- Values are sealed: key, owner, name and version are part of what the seal vouches for, so that a row that is
-- moved or put back from earlier does not open. `owner_id` is the workspace's id, or the org's.
CREATE TABLE secrets (
    owner_id     uuid NOT NULL CONSTRAINT secrets_owner CHECK (owner_id = coalesce(workspace_id, org_id)),
    name         text COLLATE "C" NOT NULL,
    org_id       uuid NOT NULL,
    workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
    version      bigint NOT NULL,
    key_id       text NOT NULL,
    nonce        bytea NOT NULL CONSTRAINT secrets_nonce CHECK (length(nonce) = 12),
    sealed       bytea NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    updated_by   text NOT NULL,
    PRIMARY KEY (owner_id, name)
);

CREATE INDEX secrets_by_key ON secrets (key_id);
CREATE INDEX secrets_by_workspace ON secrets (workspace_id) WHERE workspace_id IS NOT NULL;

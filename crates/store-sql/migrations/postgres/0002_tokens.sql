-- Only the SHA-256 of a token is kept; `prefix` is what lists show of it.
CREATE TABLE tokens (
    id           uuid   NOT NULL PRIMARY KEY,
    kind         text   NOT NULL,
    hash         bytea  NOT NULL UNIQUE CONSTRAINT tokens_hash CHECK (length(hash) = 32),
    prefix       text   NOT NULL,
    name         text   NOT NULL,
    owner        text   NOT NULL,
    org_id       uuid   NOT NULL,
    workspace_id uuid   REFERENCES workspaces (id),
    scopes       text   NOT NULL,
    created_at   bigint NOT NULL,
    expires_at   bigint,
    last_used_at bigint,
    revoked_at   bigint,
    used_at      bigint
);

CREATE INDEX tokens_by_owner ON tokens (owner, id);
CREATE INDEX tokens_by_org ON tokens (org_id, id);
CREATE INDEX tokens_by_workspace ON tokens (workspace_id) WHERE workspace_id IS NOT NULL;

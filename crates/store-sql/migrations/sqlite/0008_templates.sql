-- What workspaces are made from (F50). `runtime` and `provision_timeout_seconds` are copies out of the blueprint: the
-- longest time that a template gives a runtime is asked for each time a workspace is made (F5).
CREATE TABLE templates (
    org_id                    TEXT    NOT NULL,
    name                      TEXT    NOT NULL,
    hash                      TEXT    NOT NULL,
    blueprint                 TEXT    NOT NULL,
    source                    TEXT    NOT NULL,
    version                   INTEGER NOT NULL,
    created_at                INTEGER NOT NULL,
    updated_at                INTEGER NOT NULL,
    runtime                   TEXT,
    provision_timeout_seconds INTEGER,
    PRIMARY KEY (org_id, name)
) STRICT;

CREATE INDEX templates_by_runtime ON templates (org_id, runtime, provision_timeout_seconds)
    WHERE provision_timeout_seconds IS NOT NULL;

-- Where somebody has put a workspace on their map (F9).
CREATE TABLE positions (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    principal    TEXT NOT NULL,
    x            REAL NOT NULL,
    y            REAL NOT NULL,
    PRIMARY KEY (workspace_id, principal)
) STRICT, WITHOUT ROWID;

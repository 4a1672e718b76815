-- Every version of an agent that was stored (A6). A version never changes.
CREATE TABLE agent_versions (
    org_id     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    definition TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    PRIMARY KEY (org_id, name, hash)
) STRICT;

-- Which version a name stands for now.
CREATE TABLE agents (
    org_id TEXT NOT NULL,
    name   TEXT NOT NULL,
    hash   TEXT NOT NULL,
    PRIMARY KEY (org_id, name),
    FOREIGN KEY (org_id, name, hash) REFERENCES agent_versions (org_id, name, hash)
) STRICT, WITHOUT ROWID;

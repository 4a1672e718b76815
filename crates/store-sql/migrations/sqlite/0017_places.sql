-- Which replica has a workspace's box (O10). It is believed to live while its lease `replica/<name>` stands; the epoch
-- grows with each new holder.
CREATE TABLE places (
    workspace_id TEXT    NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    replica      TEXT    NOT NULL,
    epoch        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

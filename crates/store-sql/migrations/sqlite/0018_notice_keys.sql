-- Notices that were told under a key of their workspace (X16, X31). The message may be gone before its key is.
CREATE TABLE notice_keys (
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id),
    key          TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    message_id   TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX notice_keys_by_age ON notice_keys (at);

-- Notices that were told under a key of their workspace (X16, X31). The message may be gone before its key is.
CREATE TABLE notice_keys (
    workspace_id uuid   NOT NULL REFERENCES workspaces (id),
    key          text   NOT NULL,
    fingerprint  text   NOT NULL,
    message_id   uuid   NOT NULL,
    at           bigint NOT NULL,
    PRIMARY KEY (workspace_id, key)
);

CREATE INDEX notice_keys_by_age ON notice_keys (at);

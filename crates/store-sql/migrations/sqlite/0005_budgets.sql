-- What a workspace spent in a month, in millionths of the currency's unit. The ledger outlives the workspace, hence no foreign key.
CREATE TABLE spending (
    workspace_id TEXT    NOT NULL,
    month        TEXT    NOT NULL,
    micros       INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, month)
) STRICT, WITHOUT ROWID;

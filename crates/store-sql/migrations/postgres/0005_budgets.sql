-- What a workspace spent in a month, in millionths of the currency's unit. The ledger outlives the workspace, hence no foreign key.
CREATE TABLE spending (
    workspace_id uuid   NOT NULL,
    month        text   NOT NULL,
    micros       bigint NOT NULL,
    PRIMARY KEY (workspace_id, month)
);

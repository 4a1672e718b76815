-- Which replica has a workspace's box (O10). It is believed to live while its lease `replica/<name>` stands; the epoch
-- grows with each new holder.
CREATE TABLE places (
    workspace_id uuid   NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    replica      text   NOT NULL,
    epoch        bigint NOT NULL
);

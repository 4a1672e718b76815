-- Every version of an agent that was stored (A6). A version never changes.
CREATE TABLE agent_versions (
    org_id     uuid             NOT NULL,
    name       text COLLATE "C" NOT NULL,
    hash       text COLLATE "C" NOT NULL,
    definition json             NOT NULL,
    created_at bigint           NOT NULL,
    created_by text             NOT NULL,
    PRIMARY KEY (org_id, name, hash)
);

-- Which version a name stands for now.
CREATE TABLE agents (
    org_id uuid             NOT NULL,
    name   text COLLATE "C" NOT NULL,
    hash   text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, name),
    FOREIGN KEY (org_id, name, hash) REFERENCES agent_versions (org_id, name, hash)
);

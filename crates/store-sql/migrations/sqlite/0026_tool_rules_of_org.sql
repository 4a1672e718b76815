-- Rules about tool calls that count in a whole org: none of the three names (A23). SQLite changes no constraint in place.
CREATE TABLE tool_rules_next (
    id           TEXT     NOT NULL PRIMARY KEY,
    org_id       TEXT     NOT NULL,
    session_id   TEXT     REFERENCES sessions (id) ON DELETE CASCADE,
    workspace_id TEXT     REFERENCES workspaces (id) ON DELETE CASCADE,
    agent_name   TEXT,
    rule         TEXT     NOT NULL,
    expires_at   INTEGER,
    created_by   TEXT     NOT NULL,
    created_at   INTEGER  NOT NULL,
    revoked_by   TEXT,
    revoked_at   INTEGER,
    CONSTRAINT tool_rules_scope CHECK (
        (session_id IS NOT NULL) + (workspace_id IS NOT NULL) + (agent_name IS NOT NULL) <= 1)
) STRICT;
INSERT INTO tool_rules_next SELECT id, org_id, session_id, workspace_id, agent_name, rule, expires_at, created_by,
    created_at, revoked_by, revoked_at FROM tool_rules;
DROP TABLE tool_rules;
ALTER TABLE tool_rules_next RENAME TO tool_rules;

CREATE INDEX tool_rules_by_org ON tool_rules (org_id, id);
CREATE INDEX tool_rules_of_session ON tool_rules (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX tool_rules_of_workspace ON tool_rules (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX tool_rules_of_agent ON tool_rules (org_id, agent_name, id) WHERE agent_name IS NOT NULL;
CREATE INDEX tool_rules_of_org ON tool_rules (org_id, id)
    WHERE session_id IS NULL AND workspace_id IS NULL AND agent_name IS NULL;

-- When the money of `reserved_micros` was set aside: it is taken back from the same month.
ALTER TABLE sessions ADD COLUMN reserved_at INTEGER;

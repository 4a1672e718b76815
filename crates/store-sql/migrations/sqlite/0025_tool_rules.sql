-- Rules about tool calls that people made (A23): for a session, a workspace, or an agent within the org.
CREATE TABLE tool_rules (
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
        (session_id IS NOT NULL AND workspace_id IS NULL AND agent_name IS NULL)
        OR (session_id IS NULL AND workspace_id IS NOT NULL AND agent_name IS NULL)
        OR (session_id IS NULL AND workspace_id IS NULL AND agent_name IS NOT NULL))
) STRICT;

CREATE INDEX tool_rules_by_org ON tool_rules (org_id, id);
CREATE INDEX tool_rules_of_session ON tool_rules (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX tool_rules_of_workspace ON tool_rules (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX tool_rules_of_agent ON tool_rules (org_id, agent_name, id) WHERE agent_name IS NOT NULL;

-- Questions about tool calls (A30). `subject` is the call, `edited` what a person changed its arguments to.
ALTER TABLE approvals ADD COLUMN session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE;
ALTER TABLE approvals ADD COLUMN subject TEXT;
ALTER TABLE approvals ADD COLUMN edited TEXT;

CREATE INDEX approvals_of_session ON approvals (session_id, id) WHERE session_id IS NOT NULL;

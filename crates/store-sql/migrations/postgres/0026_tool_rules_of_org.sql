-- Rules about tool calls that count in a whole org: none of the three names (A23).
ALTER TABLE tool_rules DROP CONSTRAINT tool_rules_scope;
ALTER TABLE tool_rules ADD CONSTRAINT tool_rules_scope
    CHECK (num_nonnulls(session_id, workspace_id, agent_name) <= 1);

CREATE INDEX tool_rules_of_org ON tool_rules (org_id, id)
    WHERE session_id IS NULL AND workspace_id IS NULL AND agent_name IS NULL;

-- When the money of `reserved_micros` was set aside: it is taken back from the same month.
ALTER TABLE sessions ADD COLUMN reserved_at bigint;

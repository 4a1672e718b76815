-- Whoever starts looks for sessions of removed workspaces, and must not read all sessions for it.
CREATE INDEX workspaces_removed ON workspaces (id) WHERE status = 'removed';

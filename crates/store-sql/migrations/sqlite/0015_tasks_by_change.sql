-- Tasks are also listed by when they changed last (A2A).
CREATE INDEX tasks_by_change ON tasks (workspace_id, updated_at, id);

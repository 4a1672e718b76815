-- A message costs a page on disk for each index that its rows stand in, and again for each that a change of state moves
-- them in. So the index over all messages holds what never changes, and those by state hold only the few that are open.
DROP INDEX deliveries_by_workspace;
CREATE INDEX deliveries_by_workspace ON deliveries (workspace_id, id);
CREATE INDEX deliveries_claimed ON deliveries (workspace_id, id) WHERE state = 'claimed';
CREATE INDEX deliveries_queued ON deliveries (workspace_id, id) WHERE state = 'queued';

-- Nothing lists tasks by age: those of a workspace are found by their last change.
DROP INDEX tasks_by_workspace;

-- The context first: new ones stand beside each other, whichever workspace they belong to.
DROP INDEX tasks_by_context;
CREATE INDEX tasks_by_context ON tasks (context_id, workspace_id);

-- A name is borne by one living workspace of an org. Of those that share one, the oldest keeps it; the others get the end
-- of their id behind it.
UPDATE workspaces SET name = substr(name, 1, 87) || '-' || substr(id, -12), version = version + 1
WHERE status <> 'removed' AND EXISTS (
    SELECT 1 FROM workspaces AS elder
    WHERE elder.org_id = workspaces.org_id AND elder.name = workspaces.name AND elder.status <> 'removed'
      AND elder.id < workspaces.id
);

DROP INDEX workspaces_by_name;
CREATE UNIQUE INDEX workspaces_by_name ON workspaces (org_id, name) WHERE status <> 'removed';

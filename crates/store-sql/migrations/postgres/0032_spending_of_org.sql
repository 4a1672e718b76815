-- What an org spent stays spent when the workspace that spent it is erased.
ALTER TABLE spending ADD COLUMN org_id uuid;
UPDATE spending SET org_id = (SELECT org_id FROM workspaces WHERE workspaces.id = spending.workspace_id);
CREATE INDEX spending_by_org ON spending (org_id, month);

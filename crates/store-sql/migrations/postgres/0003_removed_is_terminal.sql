-- Rows that were removed before the column was there: their last change was the removal.
ALTER TABLE workspaces ADD COLUMN removed_at bigint;
UPDATE workspaces SET removed_at = updated_at WHERE status = 'removed';

CREATE FUNCTION workspaces_removed_is_terminal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a removed workspace stays removed' USING ERRCODE = 'check_violation';
END
$$;

CREATE TRIGGER workspaces_removed_is_terminal
BEFORE UPDATE OF status ON workspaces
FOR EACH ROW WHEN (OLD.status = 'removed' AND NEW.status <> 'removed')
EXECUTE FUNCTION workspaces_removed_is_terminal();

-- Rows that were removed before the column was there: their last change was the removal.
ALTER TABLE workspaces ADD COLUMN removed_at INTEGER;
UPDATE workspaces SET removed_at = updated_at WHERE status = 'removed';

CREATE TRIGGER workspaces_removed_is_terminal
BEFORE UPDATE OF status ON workspaces
WHEN OLD.status = 'removed' AND NEW.status <> 'removed'
BEGIN
    SELECT RAISE(ABORT, 'a removed workspace stays removed');
END;

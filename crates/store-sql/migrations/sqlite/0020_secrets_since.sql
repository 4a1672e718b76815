-- The generation since which nothing but secrets raised a workspace's (F33). Of what is behind when this is applied nobody
-- knows the reason, so that it is brought up as before.
ALTER TABLE workspaces ADD COLUMN secrets_since INTEGER;

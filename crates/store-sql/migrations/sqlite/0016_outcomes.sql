-- How the last work of a runtime ended, as Warren saw it: one sign for each, oldest first (F13).
ALTER TABLE vitals ADD COLUMN outcomes TEXT NOT NULL DEFAULT '';
ALTER TABLE vitals ADD COLUMN last_outcome_at INTEGER;

-- When a runtime is to be probed (F14).
ALTER TABLE vitals ADD COLUMN probe_at INTEGER;

CREATE INDEX vitals_by_probe ON vitals (probe_at) WHERE probe_at IS NOT NULL;

-- Whoever is behind what is wanted of it is found without looking at all (F3).
CREATE INDEX workspaces_behind ON workspaces (id) WHERE observed_generation < generation;

-- Old messages and conversations are found without looking at all (F42).
CREATE INDEX chat_messages_by_age ON chat_messages (created_at);
CREATE INDEX conversations_by_age ON conversations (updated_at);

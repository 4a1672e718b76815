-- How the last work of a runtime ended, as Warren saw it: one sign for each, oldest first (F13).
ALTER TABLE vitals ADD COLUMN outcomes text NOT NULL DEFAULT '';
ALTER TABLE vitals ADD COLUMN last_outcome_at bigint;

-- When a runtime is to be probed (F14).
ALTER TABLE vitals ADD COLUMN probe_at bigint;

CREATE INDEX vitals_by_probe ON vitals (probe_at) WHERE probe_at IS NOT NULL;

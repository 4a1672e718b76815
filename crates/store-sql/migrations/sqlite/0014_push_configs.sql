-- Where clients want to be told about a task. A call is owed while the task's version is above `told_version`, so that
-- a change of a task writes nothing here.
CREATE TABLE push_configs (
    task_id      TEXT    NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id           TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    sealed       TEXT,
    told_version INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    not_before   INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (task_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX push_configs_by_time ON push_configs (not_before);

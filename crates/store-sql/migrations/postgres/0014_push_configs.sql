-- Where clients want to be told about a task. A call is owed while the task's version is above `told_version`, so that
-- a change of a task writes nothing here.
CREATE TABLE push_configs (
    task_id      uuid    NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id           text    NOT NULL,
    owner        text    NOT NULL,
    url          text    NOT NULL,
    sealed       text,
    told_version bigint  NOT NULL,
    attempts     bigint  NOT NULL,
    not_before   bigint  NOT NULL,
    created_at   bigint  NOT NULL,
    PRIMARY KEY (task_id, id)
);

CREATE INDEX push_configs_by_time ON push_configs (not_before);

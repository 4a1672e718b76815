-- Where the replicas that open boxes are reached by the others (O10). Whether one lives, its lease `replica/<name>` says.
CREATE TABLE replicas (
    name    TEXT    NOT NULL PRIMARY KEY,
    url     TEXT,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

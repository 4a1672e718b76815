-- Where the replicas that open boxes are reached by the others (O10). Whether one lives, its lease `replica/<name>` says.
CREATE TABLE replicas (
    name    text   NOT NULL PRIMARY KEY,
    url     text,
    seen_at bigint NOT NULL
);

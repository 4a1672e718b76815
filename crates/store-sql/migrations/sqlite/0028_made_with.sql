-- What was made with which token, so that a revocation can end what acts in its name. Entries outlive their token: it may
-- have made another, which made others. They are cleared away when nothing is left of what they lead to.
CREATE TABLE made_with (
    kind      TEXT NOT NULL,
    target_id TEXT NOT NULL,
    token_id  TEXT NOT NULL,
    PRIMARY KEY (kind, target_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX made_with_by_token ON made_with (token_id);

-- What models were asked with besides the conversation, by its hash: the same instructions and tools are kept once (A19).
CREATE TABLE request_heads (
    org_id TEXT NOT NULL,
    hash   TEXT NOT NULL,
    head   BLOB NOT NULL,
    PRIMARY KEY (org_id, hash)
) STRICT;

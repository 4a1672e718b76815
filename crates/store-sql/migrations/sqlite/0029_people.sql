-- People, orgs, and how people come in. Before this, a Warren had one person and one org; their rows are written here.
CREATE TABLE users (
    id           TEXT      NOT NULL PRIMARY KEY,
    -- As tokens name their owner.
    principal    TEXT      NOT NULL UNIQUE,
    name         TEXT      NOT NULL,
    display_name TEXT      NOT NULL,
    email        TEXT,
    is_admin     INTEGER      NOT NULL,
    created_at   INTEGER       NOT NULL,
    removed_at   INTEGER
) STRICT;

-- Whoever is removed leaves the name to others.
CREATE UNIQUE INDEX users_by_name ON users (name) WHERE removed_at IS NULL;

-- What names look like: two people whose names look alike would be taken for each other.
CREATE TABLE user_looks (
    look    TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id)
) STRICT;

CREATE INDEX user_looks_by_user ON user_looks (user_id);

-- Who a sign-in provider says it is.
CREATE TABLE user_identities (
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    PRIMARY KEY (issuer, subject)
) STRICT;

CREATE INDEX user_identities_by_user ON user_identities (user_id);

CREATE TABLE orgs (
    id         TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    quotas     TEXT NOT NULL,
    created_at INTEGER  NOT NULL,
    removed_at INTEGER
) STRICT;

CREATE UNIQUE INDEX orgs_by_name ON orgs (name) WHERE removed_at IS NULL;

-- Kept when somebody leaves, so that what they said keeps its name.
CREATE TABLE members (
    org_id  TEXT NOT NULL REFERENCES orgs (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    role    TEXT NOT NULL CONSTRAINT members_role CHECK (role IN ('viewer', 'member', 'operator')),
    since   INTEGER  NOT NULL,
    left_at INTEGER,
    PRIMARY KEY (org_id, user_id)
) STRICT;

CREATE INDEX members_by_user ON members (user_id);

-- Only the SHA-256 of an invitation's secret is kept.
CREATE TABLE invitations (
    id         TEXT NOT NULL PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    role       TEXT NOT NULL CONSTRAINT invitations_role CHECK (role IN ('viewer', 'member', 'operator')),
    hash       BLOB NOT NULL UNIQUE CONSTRAINT invitations_hash CHECK (length(hash) = 32),
    email      TEXT,
    invited_by TEXT NOT NULL,
    created_at INTEGER  NOT NULL,
    expires_at INTEGER  NOT NULL,
    used_at    INTEGER,
    used_by    TEXT,
    revoked_at INTEGER
) STRICT;

CREATE INDEX invitations_by_org ON invitations (org_id, id);
CREATE INDEX invitations_by_end ON invitations (expires_at);

INSERT INTO users (id, principal, name, display_name, is_admin, created_at) VALUES
    ('00000000-0000-7000-8000-000000000002', 'user:00000000-0000-7000-8000-000000000002', 'operator', 'Operator',
     1, CAST(unixepoch('subsec') * 1000000 AS INTEGER));
INSERT INTO user_looks (look, user_id) VALUES ('operator', '00000000-0000-7000-8000-000000000002');
INSERT INTO orgs (id, name, quotas, created_at) VALUES
    ('00000000-0000-7000-8000-000000000001', 'default', '{}', CAST(unixepoch('subsec') * 1000000 AS INTEGER));
INSERT INTO members (org_id, user_id, role, since) VALUES
    ('00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002', 'operator', CAST(unixepoch('subsec') * 1000000 AS INTEGER));

-- People, orgs, and how people come in. Before this, a Warren had one person and one org; their rows are written here.
CREATE TABLE users (
    id           uuid      NOT NULL PRIMARY KEY,
    -- As tokens name their owner.
    principal    text      NOT NULL UNIQUE,
    name         text COLLATE "C"      NOT NULL,
    display_name text      NOT NULL,
    email        text,
    is_admin     boolean      NOT NULL,
    created_at   bigint       NOT NULL,
    removed_at   bigint
);

-- Whoever is removed leaves the name to others.
CREATE UNIQUE INDEX users_by_name ON users (name) WHERE removed_at IS NULL;

-- What names look like: two people whose names look alike would be taken for each other.
CREATE TABLE user_looks (
    look    text COLLATE "C" NOT NULL PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id)
);

CREATE INDEX user_looks_by_user ON user_looks (user_id);

-- Who a sign-in provider says it is.
CREATE TABLE user_identities (
    issuer  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX user_identities_by_user ON user_identities (user_id);

CREATE TABLE orgs (
    id         uuid NOT NULL PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    quotas     json NOT NULL,
    created_at bigint  NOT NULL,
    removed_at bigint
);

CREATE UNIQUE INDEX orgs_by_name ON orgs (name) WHERE removed_at IS NULL;

-- Kept when somebody leaves, so that what they said keeps its name.
CREATE TABLE members (
    org_id  uuid NOT NULL REFERENCES orgs (id),
    user_id uuid NOT NULL REFERENCES users (id),
    role    text NOT NULL CONSTRAINT members_role CHECK (role IN ('viewer', 'member', 'operator')),
    since   bigint  NOT NULL,
    left_at bigint,
    PRIMARY KEY (org_id, user_id)
);

CREATE INDEX members_by_user ON members (user_id);

-- Only the SHA-256 of an invitation's secret is kept.
CREATE TABLE invitations (
    id         uuid NOT NULL PRIMARY KEY,
    org_id     uuid NOT NULL REFERENCES orgs (id),
    role       text NOT NULL CONSTRAINT invitations_role CHECK (role IN ('viewer', 'member', 'operator')),
    hash       bytea NOT NULL UNIQUE CONSTRAINT invitations_hash CHECK (length(hash) = 32),
    email      text,
    invited_by text NOT NULL,
    created_at bigint  NOT NULL,
    expires_at bigint  NOT NULL,
    used_at    bigint,
    used_by    uuid,
    revoked_at bigint
);

CREATE INDEX invitations_by_org ON invitations (org_id, id);
CREATE INDEX invitations_by_end ON invitations (expires_at);

INSERT INTO users (id, principal, name, display_name, is_admin, created_at) VALUES
    ('00000000-0000-7000-8000-000000000002', 'user:00000000-0000-7000-8000-000000000002', 'operator', 'Operator',
     true, CAST(extract(epoch FROM now()) * 1000000 AS bigint));
INSERT INTO user_looks (look, user_id) VALUES ('operator', '00000000-0000-7000-8000-000000000002');
INSERT INTO orgs (id, name, quotas, created_at) VALUES
    ('00000000-0000-7000-8000-000000000001', 'default', '{}', CAST(extract(epoch FROM now()) * 1000000 AS bigint));
INSERT INTO members (org_id, user_id, role, since) VALUES
    ('00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002', 'operator', CAST(extract(epoch FROM now()) * 1000000 AS bigint));

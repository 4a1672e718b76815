-- What workspaces are made from (F50). `runtime` and `provision_timeout_seconds` are copies out of the blueprint: the
-- longest time that a template gives a runtime is asked for each time a workspace is made (F5).
-- Names are in the order of their bytes, whatever language the database speaks.
CREATE TABLE templates (
    org_id                    uuid   NOT NULL,
    name                      text   COLLATE "C" NOT NULL,
    hash                      text   NOT NULL,
    blueprint                 json   NOT NULL,
    source                    text   NOT NULL,
    version                   bigint NOT NULL,
    created_at                bigint NOT NULL,
    updated_at                bigint NOT NULL,
    runtime                   text,
    provision_timeout_seconds bigint,
    PRIMARY KEY (org_id, name)
);

CREATE INDEX templates_by_runtime ON templates (org_id, runtime, provision_timeout_seconds)
    WHERE provision_timeout_seconds IS NOT NULL;

-- Where somebody has put a workspace on their map (F9).
CREATE TABLE positions (
    workspace_id uuid             NOT NULL REFERENCES workspaces (id),
    principal    text             NOT NULL,
    x            double precision NOT NULL,
    y            double precision NOT NULL,
    PRIMARY KEY (workspace_id, principal)
);

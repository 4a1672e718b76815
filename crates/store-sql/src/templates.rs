//! Templates and positions in SQL.

use std::collections::BTreeMap;

use warren_model::{OrgId, Position, Principal, Runtime, Template, TemplateName, WorkspaceId};
use warren_store::{Error, Page, PositionReads, PositionWrites, TemplateReads, TemplateWrites};

use crate::row::{Columns, read_count};
use crate::select::Select;
use crate::transaction::{Listing, Transaction, text_id};
use crate::value::Value;

/// The order in which `read` takes them; runtime and timeout are copies out of the blueprint, to be searched.
macro_rules! columns {
    () => {
        "name, org_id, hash, blueprint, source, version, created_at, updated_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM templates WHERE org_id = $1 AND name = $2");
const LIST: &str = concat!("SELECT ", columns!(), " FROM templates");
const COUNT: &str = "SELECT count(*) FROM templates WHERE org_id = $1";
const LONGEST: &str =
    "SELECT max(provision_timeout_seconds) FROM templates WHERE org_id = $1 AND runtime = $2";
const INSERT: &str = concat!(
    "INSERT INTO templates (",
    columns!(),
    ", runtime, provision_timeout_seconds) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (org_id, name) DO NOTHING"
);
const UPDATE: &str = "UPDATE templates SET hash = $1, blueprint = $2, source = $3, version = $4, created_at = $5, \
     updated_at = $6, runtime = $7, provision_timeout_seconds = $8 \
     WHERE org_id = $9 AND name = $10 AND version = $11";
const DELETE: &str = "DELETE FROM templates WHERE org_id = $1 AND name = $2";
const POSITIONS: &str = "SELECT workspace_id, x, y FROM positions";
const PUT_POSITION: &str = "INSERT INTO positions (workspace_id, principal, x, y) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (workspace_id, principal) DO UPDATE SET x = excluded.x, y = excluded.y";
const DELETE_POSITION: &str = "DELETE FROM positions WHERE workspace_id = $1 AND principal = $2";

impl TemplateReads for Transaction<'_> {
    fn template(&mut self, org_id: OrgId, name: &TemplateName) -> Result<Option<Template>, Error> {
        self.first("templates", GET, &[org_id.into(), name.as_str().into()], read)
    }

    fn templates(
        &mut self,
        org_id: OrgId,
        after: Option<&TemplateName>,
        limit: u32,
    ) -> Result<Page<Template, TemplateName>, Error> {
        let mut select = Select::new(LIST);
        select.and_value("org_id =", org_id);
        if let Some(after) = after {
            select.and_value("name >", after.as_str());
        }
        let list = Listing { table: "templates", read, key: read_name, id: text_id };
        self.page_of(&list, &select.page("name", limit), limit)
    }

    fn count_templates(&mut self, org_id: OrgId) -> Result<u64, Error> {
        Ok(self.first("templates", COUNT, &[org_id.into()], read_count)?.unwrap_or(0))
    }

    fn longest_provision_timeout(&mut self, org_id: OrgId, runtime: Runtime) -> Result<Option<u32>, Error> {
        let values = [org_id.into(), runtime.as_str().into()];
        let longest = self.first("templates", LONGEST, &values, read_seconds)?;
        Ok(longest.flatten())
    }
}

impl TemplateWrites for Transaction<'_> {
    fn insert_template(&mut self, template: &Template) -> Result<(), Error> {
        let blueprint = json_of(template)?;
        let [hash, text, source, version, created, updated, runtime, timeout] =
            values(template, &blueprint, template.version)?;
        let values = [
            template.name.as_str().into(),
            template.org_id.into(),
            hash,
            text,
            source,
            version,
            created,
            updated,
            runtime,
            timeout,
        ];
        match self.execute(INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_template(&mut self, template: &Template, expected_version: u64) -> Result<u64, Error> {
        let version = expected_version
            .checked_add(1)
            .ok_or_else(|| Error::Refused("the version cannot grow further".into()))?;
        let blueprint = json_of(template)?;
        let columns = values(template, &blueprint, version)?;
        let mut values = [Value::count(expected_version)?; 11];
        values[..8].copy_from_slice(&columns);
        values[8] = template.org_id.into();
        values[9] = template.name.as_str().into();
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    fn delete_template(&mut self, org_id: OrgId, name: &TemplateName) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[org_id.into(), name.as_str().into()])? > 0)
    }
}

impl PositionReads for Transaction<'_> {
    fn positions_of(
        &mut self,
        principal: &Principal,
        ids: &[WorkspaceId],
    ) -> Result<BTreeMap<WorkspaceId, Position>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let principal = principal.to_string();
        let mut select = Select::new(POSITIONS);
        select.and_value("principal =", principal.as_str());
        select.and_any_of("workspace_id", ids.iter().copied());
        let (sql, values) = select.all();
        let rows = self.rows("positions", &sql, &values, |row| {
            Ok((row.id()?, Position { x: row.real()?, y: row.real()? }))
        })?;
        Ok(rows.into_iter().collect())
    }
}

impl PositionWrites for Transaction<'_> {
    fn put_position(
        &mut self,
        principal: &Principal,
        id: WorkspaceId,
        position: Option<Position>,
    ) -> Result<(), Error> {
        let principal = principal.to_string();
        let (id, principal) = (id.into(), principal.as_str().into());
        match position {
            Some(Position { x, y }) => {
                self.execute(PUT_POSITION, &[id, principal, Value::Real(x), Value::Real(y)]).map(drop)
            }
            None => self.execute(DELETE_POSITION, &[id, principal]).map(drop),
        }
    }
}

fn json_of(template: &Template) -> Result<String, Error> {
    serde_json::to_string(&template.blueprint)
        .map_err(|problem| Error::Refused(format!("a value cannot be written as JSON: {problem}")))
}

/// All but the key, in the order of `UPDATE`.
fn values<'a>(template: &'a Template, blueprint: &'a str, version: u64) -> Result<[Value<'a>; 8], Error> {
    Ok([
        template.hash.as_str().into(),
        Value::Json(Some(blueprint)),
        template.source.as_str().into(),
        Value::count(version)?,
        template.created_at.into(),
        template.updated_at.into(),
        template.runtime().map(Runtime::as_str).into(),
        Value::Int(template.blueprint.provision_timeout_seconds.map(i64::from)),
    ])
}

fn read_seconds(row: &mut Columns<'_>) -> Result<Option<u32>, Error> {
    row.optional_small_count()
}

fn read(row: &mut Columns<'_>) -> Result<Template, Error> {
    Ok(Template {
        name: read_name(row)?,
        org_id: row.id()?,
        hash: row.text()?.to_owned(),
        blueprint: row.json()?,
        source: row.text()?.to_owned(),
        version: row.count()?,
        created_at: row.time()?,
        updated_at: row.time()?,
    })
}

fn read_name(row: &mut Columns<'_>) -> Result<TemplateName, Error> {
    row.word(|name| name.parse().ok())
}

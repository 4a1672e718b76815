//! Templates in SQL.

use warren_model::{OrgId, Runtime, Template, TemplateName};
use warren_store::{Error, Page, TemplateReads, TemplateWrites};

use crate::row::{Columns, read_count};
use crate::select::Select;
use crate::stored::{Json, Stored as _};
use crate::table::{Statement, table};
use crate::transaction::{Listing, Transaction, text_id};
use crate::value::Value;

table! {
    TEMPLATES: Template in "templates" {
        name, org_id, version; hash, blueprint: Json, source, created_at, updated_at,
    }
}
/// Copies out of the blueprint, by which templates are searched.
const COPIES: &[&str] = &["runtime", "provision_timeout_seconds"];

static GET: Statement = Statement::new(|| TEMPLATES.select("WHERE org_id = $1 AND name = $2"));
static LIST: Statement = Statement::new(|| TEMPLATES.select(""));
const COUNT: &str = "SELECT count(*) FROM templates WHERE org_id = $1";
const LONGEST: &str =
    "SELECT max(provision_timeout_seconds) FROM templates WHERE org_id = $1 AND runtime = $2";
static INSERT: Statement =
    Statement::new(|| TEMPLATES.insert_with(COPIES, "ON CONFLICT (org_id, name) DO NOTHING"));
static UPDATE: Statement =
    Statement::new(|| TEMPLATES.update_versioned_with(COPIES, &["org_id", "name", "version"]));
const DELETE: &str = "DELETE FROM templates WHERE org_id = $1 AND name = $2";

impl TemplateReads for Transaction<'_> {
    fn template(&mut self, org_id: OrgId, name: &TemplateName) -> Result<Option<Template>, Error> {
        TEMPLATES.first(self, &GET, &[org_id.into(), name.as_str().into()])
    }

    fn templates(
        &mut self,
        org_id: OrgId,
        after: Option<&TemplateName>,
        limit: u32,
    ) -> Result<Page<Template, TemplateName>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("org_id =", org_id);
        if let Some(after) = after {
            select.and_value("name >", after.as_str());
        }
        let list =
            Listing { table: TEMPLATES.name, read: TEMPLATES.read, key: TemplateName::read, id: text_id };
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
        let mut values = TEMPLATES.values(template)?;
        values.extend(copies(template));
        match self.execute(&INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_template(&mut self, template: &Template, expected_version: u64) -> Result<u64, Error> {
        let mut changes = TEMPLATES.changes(template)?;
        changes.extend(copies(template));
        let key = [template.org_id.into(), template.name.as_str().into()];
        self.update_versioned(&UPDATE, changes, key, expected_version)
    }

    fn delete_template(&mut self, org_id: OrgId, name: &TemplateName) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[org_id.into(), name.as_str().into()])? > 0)
    }
}

/// The values of `COPIES`.
fn copies(template: &Template) -> [Value<'_>; 2] {
    let timeout = template.blueprint.provision_timeout_seconds;
    [template.runtime().map(Runtime::as_str).into(), Value::Int(timeout.map(i64::from))]
}

fn read_seconds(row: &mut Columns<'_>) -> Result<Option<u32>, Error> {
    row.optional_small_count()
}

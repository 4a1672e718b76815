//! Workspaces in SQL.

use std::fmt::Write as _;

use warren_model::{Mending, OrgId, Status, StatusReason, Workspace, WorkspaceId, WorkspaceSpec};
use warren_store::{Error, Page, WorkspaceQuery, WorkspaceReads, WorkspaceWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them and `values` gives them.
macro_rules! columns {
    () => {
        "id, org_id, parent_id, name, spec, generation, observed_generation, version, status, reason, reference, \
         created_at, updated_at, provisioning_started_at, provision_deadline, mend_attempts, mend_next_at, \
         removed_at, is_purged, secrets_since"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM workspaces WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM workspaces");
const COUNT: &str = "SELECT count(*) FROM workspaces WHERE org_id = $1 AND status <> 'removed'";
const INSERT: &str = concat!(
    "INSERT INTO workspaces (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
     ON CONFLICT (id) DO NOTHING"
);
/// The columns by their places, without the id, which never changes.
const COLUMNS: [&str; 19] = [
    "org_id",
    "parent_id",
    "name",
    "spec",
    "generation",
    "observed_generation",
    "version",
    "status",
    "reason",
    "reference",
    "created_at",
    "updated_at",
    "provisioning_started_at",
    "provision_deadline",
    "mend_attempts",
    "mend_next_at",
    "removed_at",
    "is_purged",
    "secrets_since",
];
/// Leaves the id alone: to write a key, even with itself, makes SQLite look for rows that point to it.
const UPDATE: &str = "UPDATE workspaces SET org_id = $1, parent_id = $2, name = $3, spec = $4, generation = $5, \
     observed_generation = $6, version = $7, status = $8, reason = $9, reference = $10, created_at = $11, \
     updated_at = $12, provisioning_started_at = $13, provision_deadline = $14, mend_attempts = $15, \
     mend_next_at = $16, removed_at = $17, is_purged = $18, secrets_since = $19 WHERE id = $20 \
     AND version = $21";
/// In this order, since rows point to the last one.
const ERASE: [&str; 15] = [
    "DELETE FROM notice_keys WHERE workspace_id = $1",
    "DELETE FROM chat_messages WHERE workspace_id = $1",
    "DELETE FROM conversations WHERE workspace_id = $1",
    "DELETE FROM repeats WHERE task_id IN (SELECT id FROM tasks WHERE workspace_id = $1)",
    "DELETE FROM delegations WHERE from_workspace = $1 OR to_workspace = $1",
    "DELETE FROM deliveries WHERE workspace_id = $1",
    "DELETE FROM tasks WHERE workspace_id = $1",
    "DELETE FROM lanes WHERE workspace_id = $1",
    "UPDATE workspaces SET parent_id = NULL WHERE parent_id = $1",
    "DELETE FROM vitals WHERE workspace_id = $1",
    "DELETE FROM registrations WHERE workspace_id = $1",
    "DELETE FROM tokens WHERE workspace_id = $1",
    "DELETE FROM positions WHERE workspace_id = $1",
    "DELETE FROM places WHERE workspace_id = $1",
    "DELETE FROM workspaces WHERE id = $1",
];

impl WorkspaceReads for Transaction<'_> {
    fn workspace(&mut self, id: WorkspaceId) -> Result<Option<Workspace>, Error> {
        self.first("workspaces", GET, &[id.into()], read)
    }

    fn workspaces(&mut self, query: &WorkspaceQuery) -> Result<Page<Workspace, WorkspaceId>, Error> {
        let mut select = Select::new(LIST);
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        if !query.includes_removed {
            select.and("status <> 'removed'");
        }
        if query.is_behind {
            select.and("observed_generation < generation");
        }
        if !query.statuses.is_empty() {
            select.and_any_of("status", query.statuses.iter().map(|status| status.as_str()));
        }
        if let Some(parent_id) = query.parent_id {
            select.and_value("parent_id =", parent_id);
        }
        if let Some(name) = &query.name {
            select.and_value("name =", name.as_str());
        }
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        self.page("workspaces", &select.page("id", query.limit), query.limit, read, read_id)
    }

    fn count_workspaces(&mut self, org_id: OrgId) -> Result<u64, Error> {
        let count = self.first("workspaces", COUNT, &[org_id.into()], read_count)?;
        Ok(count.unwrap_or(0))
    }

    fn living_workspace_ids(
        &mut self,
        after: Option<WorkspaceId>,
        limit: u32,
    ) -> Result<Vec<WorkspaceId>, Error> {
        let mut select = Select::new("SELECT id FROM workspaces");
        select.and("status <> 'removed'");
        if let Some(after) = after {
            select.and_value("id >", after);
        }
        let (sql, values) = select.page("id", limit);
        let mut ids = self.rows("workspaces", &sql, &values, read_id)?;
        ids.truncate(limit as usize);
        Ok(ids)
    }
}

impl WorkspaceWrites for Transaction<'_> {
    fn insert_workspace(&mut self, workspace: &Workspace) -> Result<(), Error> {
        let json = StoredJson::of(workspace)?;
        let values = values(workspace, &json, workspace.version)?;
        match self.execute(INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_workspace(&mut self, workspace: &Workspace, expected_version: u64) -> Result<u64, Error> {
        let version = version_after(expected_version)?;
        let json = StoredJson::of(workspace)?;
        let [id, columns @ ..] = values(workspace, &json, version)?;
        let mut values = [id; 21];
        values[..19].copy_from_slice(&columns);
        values[20] = Value::count(expected_version)?;
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    fn change_workspace(&mut self, from: &Workspace, to: &Workspace) -> Result<u64, Error> {
        let version = version_after(from.version)?;
        let json = StoredJson::of_what_differs(from, to)?;
        let (before, after) = (values(from, &StoredJson::NONE, from.version)?, values(to, &json, version)?);
        let (mut sql, mut changed) = (String::from("UPDATE workspaces SET "), Vec::with_capacity(8));
        for (at, column) in COLUMNS.iter().enumerate() {
            let is_written = match *column {
                "spec" => json.spec.is_some(),
                "reference" => from.reference != to.reference,
                _ => before[at + 1] != after[at + 1],
            };
            if is_written {
                let separator = if changed.is_empty() { "" } else { ", " };
                changed.push(after[at + 1]);
                let _ = write!(sql, "{separator}{column} = ${}", changed.len());
            }
        }
        let _ = write!(sql, " WHERE id = ${} AND version = ${}", changed.len() + 1, changed.len() + 2);
        changed.extend([after[0], Value::count(from.version)?]);
        match self.execute(&sql, &changed)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    fn erase_workspace(&mut self, id: WorkspaceId) -> Result<bool, Error> {
        let row = self.workspace(id)?;
        if row.is_none_or(|row| row.status != Status::Removed) {
            return Ok(false);
        }
        for sql in ERASE {
            self.execute(sql, &[id.into()])?;
        }
        Ok(true)
    }
}

fn version_after(version: u64) -> Result<u64, Error> {
    version.checked_add(1).ok_or_else(|| Error::Refused("the version cannot grow further".into()))
}

/// The two columns that hold JSON, written out as far as they are to be stored.
struct StoredJson {
    spec: Option<String>,
    reference: Option<String>,
}

impl StoredJson {
    const NONE: Self = Self { spec: None, reference: None };

    fn of(workspace: &Workspace) -> Result<Self, Error> {
        let reference = workspace.reference.as_ref().map(json).transpose()?;
        Ok(Self { spec: Some(json(&workspace.spec)?), reference })
    }

    fn of_what_differs(from: &Workspace, to: &Workspace) -> Result<Self, Error> {
        let spec = (from.spec != to.spec).then(|| json(&to.spec)).transpose()?;
        let reference = to.reference.as_ref().filter(|_| from.reference != to.reference);
        Ok(Self { spec, reference: reference.map(json).transpose()? })
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|problem| Error::Refused(format!("a value cannot be written as JSON: {problem}")))
}

fn values<'a>(
    workspace: &'a Workspace,
    json: &'a StoredJson,
    version: u64,
) -> Result<[Value<'a>; 20], Error> {
    Ok([
        workspace.id.into(),
        workspace.org_id.into(),
        workspace.parent_id.into(),
        workspace.name.as_str().into(),
        Value::Json(json.spec.as_deref()),
        Value::count(workspace.generation)?,
        Value::count(workspace.observed_generation)?,
        Value::count(version)?,
        workspace.status.as_str().into(),
        workspace.reason.as_ref().map(StatusReason::as_str).into(),
        Value::Json(json.reference.as_deref()),
        workspace.created_at.into(),
        workspace.updated_at.into(),
        workspace.provisioning_started_at.into(),
        workspace.provision_deadline.into(),
        Value::Int(Some(i64::from(workspace.mending.attempts))),
        workspace.mending.next_at.into(),
        workspace.removed_at.into(),
        Value::Bool(workspace.is_purged),
        Value::optional_count(workspace.secrets_since)?,
    ])
}

fn read(row: &mut Columns<'_>) -> Result<Workspace, Error> {
    Ok(Workspace {
        id: row.id()?,
        org_id: row.id()?,
        parent_id: row.optional_id()?,
        name: row.word(|name| name.parse().ok())?,
        spec: row.json::<WorkspaceSpec>()?,
        generation: row.count()?,
        observed_generation: row.count()?,
        version: row.count()?,
        status: row.word(Status::parse)?,
        reason: row.optional_text()?.map(StatusReason::new),
        reference: row.optional_json()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        provisioning_started_at: row.optional_time()?,
        provision_deadline: row.optional_time()?,
        mending: Mending { attempts: row.small_count()?, next_at: row.optional_time()? },
        removed_at: row.optional_time()?,
        is_purged: row.bool()?,
        secrets_since: row.optional_count()?,
    })
}

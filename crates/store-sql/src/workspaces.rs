//! Workspaces in SQL.

use warren_model::{Mending, OrgId, Status, Workspace, WorkspaceId};
use warren_store::{Error, Page, WorkspaceQuery, WorkspaceReads, WorkspaceWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::{Codec, Json, OptionalJson, Plain};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    /// The id is left alone: to write a key, even with itself, makes SQLite look for rows that point to it.
    WORKSPACES: Workspace in "workspaces" {
        id, version;
        org_id, parent_id, name, spec: Json, generation, observed_generation, secrets_since, status, reason,
        reference: OptionalJson, created_at, updated_at, provisioning_started_at, provision_deadline,
        mending: MendingColumns [mend_attempts, mend_next_at], removed_at, is_purged,
    }
}

static GET: Statement = Statement::new(|| WORKSPACES.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| WORKSPACES.select(""));
const COUNT: &str = "SELECT count(*) FROM workspaces WHERE org_id = $1 AND status <> 'removed'";
const COUNT_BY_STATUS: &str =
    "SELECT status, count(*) FROM workspaces WHERE status <> 'removed' GROUP BY status ORDER BY status";
/// Neither the id of another one nor the name of another living one is taken.
static INSERT: Statement = Statement::new(|| WORKSPACES.insert("ON CONFLICT DO NOTHING"));
static UPDATE: Statement = Statement::new(|| WORKSPACES.update_versioned(&["id", "version"]));
/// In this order, since rows point to the last one.
const ERASE: [&str; 18] = [
    "DELETE FROM session_keys WHERE scope_id IN (SELECT id FROM sessions WHERE workspace_id = $1)",
    "DELETE FROM session_sources WHERE session_id IN (SELECT id FROM sessions WHERE workspace_id = $1)",
    "DELETE FROM sessions WHERE workspace_id = $1",
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
        WORKSPACES.first(self, &GET, &[id.into()])
    }

    fn workspaces(&mut self, query: &WorkspaceQuery) -> Result<Page<Workspace, WorkspaceId>, Error> {
        let mut select = Select::new(&LIST);
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
        if query.is_root {
            select.and("parent_id IS NULL");
        }
        if let Some(name) = &query.name {
            select.and_value("name =", name.as_str());
        }
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        WORKSPACES.page(self, &select.page("id", query.limit), query.limit, read_id)
    }

    fn count_workspaces(&mut self, org_id: OrgId) -> Result<u64, Error> {
        let count = self.first("workspaces", COUNT, &[org_id.into()], read_count)?;
        Ok(count.unwrap_or(0))
    }

    fn count_workspaces_by_status(&mut self) -> Result<Vec<(Status, u64)>, Error> {
        // A status of a later version is left out.
        let read = |row: &mut Columns<'_>| Ok((Status::parse(row.text()?), row.count()?));
        let counts = self.rows("workspaces", COUNT_BY_STATUS, &[], read)?;
        Ok(counts.into_iter().filter_map(|(status, count)| Some((status?, count))).collect())
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
        match self.execute(&INSERT, &WORKSPACES.values(workspace)?)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_workspace(&mut self, workspace: &Workspace, expected_version: u64) -> Result<u64, Error> {
        let changes = WORKSPACES.changes(workspace)?;
        self.update_versioned(&UPDATE, changes, [workspace.id.into()], expected_version)
    }

    fn change_workspace(&mut self, from: &Workspace, to: &Workspace) -> Result<u64, Error> {
        let (sql, changes) = WORKSPACES.update_versioned_differences(from, to, &[], &["id", "version"])?;
        self.update_versioned(&sql, changes, [to.id.into()], from.version)
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

struct MendingColumns;

impl Codec<Mending> for MendingColumns {
    fn write<'a>(mending: &'a Mending, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        Plain::write(&mending.attempts, values)?;
        Plain::write(&mending.next_at, values)
    }

    fn read(row: &mut Columns<'_>) -> Result<Mending, Error> {
        Ok(Mending { attempts: Plain::read(row)?, next_at: Plain::read(row)? })
    }
}

//! Tasks in SQL.

use warren_model::{Task, TaskId, Timestamp};
use warren_store::{Error, Page, TaskMark, TaskQuery, TaskReads, TaskWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::{Json, OptionalJson};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    /// What a task is about never changes: who asked whom, and from where.
    TASKS: Task in "tasks" {
        id, org_id, workspace_id, context_id, author, origin: Json, created_at, version;
        state, status_message: OptionalJson, history: Json, artifacts: Json, metadata: Json, remote_id, updated_at,
    }
}

static GET: Statement = Statement::new(|| TASKS.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| TASKS.select(""));
const COUNT: &str = "SELECT count(*) FROM tasks";
static INSERT: Statement = Statement::new(|| TASKS.insert(""));
static UPDATE: Statement = Statement::new(|| TASKS.update_versioned(&["id", "version"]));
const OLD: &str = "SELECT id FROM tasks WHERE state IN ('completed', 'failed', 'cancelled', 'rejected') \
     AND updated_at < $1 ORDER BY updated_at LIMIT $2";
/// What hangs on a task goes with it.
const ERASE: [&str; 4] = [
    "DELETE FROM repeats WHERE task_id = $1",
    "DELETE FROM delegations WHERE task_id = $1",
    "DELETE FROM deliveries WHERE task_id = $1",
    "DELETE FROM tasks WHERE id = $1",
];

impl TaskReads for Transaction<'_> {
    fn task(&mut self, id: TaskId) -> Result<Option<Task>, Error> {
        TASKS.first(self, &GET, &[id.into()])
    }

    fn tasks(&mut self, query: &TaskQuery) -> Result<Page<Task, TaskId>, Error> {
        let author = query.author.as_ref().map(ToString::to_string);
        let mut select = filtered(&LIST, query, author.as_deref());
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        TASKS.page(self, &select, query.limit, read_id)
    }

    fn changed_tasks(
        &mut self,
        query: &TaskQuery,
        behind: Option<TaskMark>,
    ) -> Result<Page<Task, TaskMark>, Error> {
        let author = query.author.as_ref().map(ToString::to_string);
        let mut select = filtered(&LIST, query, author.as_deref());
        if let Some(mark) = behind {
            select.and_pair_before("(updated_at, id)", mark.updated_at.into(), mark.id.into());
        }
        let select = select.page("updated_at DESC, id DESC", query.limit);
        TASKS.page(self, &select, query.limit, read_mark)
    }

    fn count_tasks(&mut self, query: &TaskQuery) -> Result<u64, Error> {
        let author = query.author.as_ref().map(ToString::to_string);
        let (sql, values) = filtered(COUNT, query, author.as_deref()).all();
        Ok(self.first("tasks", &sql, &values, read_count)?.unwrap_or(0))
    }
}

fn filtered<'a>(head: &str, query: &'a TaskQuery, author: Option<&'a str>) -> Select<'a> {
    let mut select = Select::new(head);
    if let Some(author) = author {
        select.and_value("author =", author);
    }
    select.and_value("workspace_id =", query.workspace_id);
    if let Some(context_id) = &query.context_id {
        select.and_value("context_id =", context_id.as_str());
    }
    if let Some(state) = query.state {
        select.and_value("state =", state.as_str());
    }
    if let Some(since) = query.updated_since {
        select.and_value("updated_at >=", since);
    }
    select
}

impl TaskWrites for Transaction<'_> {
    fn insert_task(&mut self, task: &Task) -> Result<(), Error> {
        self.execute(&INSERT, &TASKS.values(task)?).map(drop)
    }

    fn update_task(&mut self, task: &Task, expected_version: u64) -> Result<u64, Error> {
        self.update_versioned(&UPDATE, TASKS.changes(task)?, [task.id.into()], expected_version)
    }

    fn prune_tasks(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        let values = [before.into(), Value::count(u64::from(limit))?];
        let old: Vec<TaskId> = self.rows("tasks", OLD, &values, read_id)?;
        for id in &old {
            for sql in ERASE {
                self.execute(sql, &[(*id).into()])?;
            }
        }
        Ok(old.len() as u64)
    }
}

fn read_mark(row: &mut Columns<'_>) -> Result<TaskMark, Error> {
    let id = row.id()?;
    row.go_to(TASKS.position("updated_at"));
    Ok(TaskMark { updated_at: row.time()?, id })
}

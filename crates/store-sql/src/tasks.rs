//! Tasks in SQL.

use serde::Serialize;
use warren_model::{Principal, Task, TaskId, TaskState, Timestamp};
use warren_store::{Error, Page, TaskMark, TaskQuery, TaskReads, TaskWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, workspace_id, context_id, author, state, status_message, history, artifacts, metadata, origin, \
         remote_id, created_at, updated_at, version"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM tasks");
const COUNT: &str = "SELECT count(*) FROM tasks";
const INSERT: &str = concat!(
    "INSERT INTO tasks (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
);
/// What a task is about never changes: who asked whom, and from where.
const UPDATE: &str = "UPDATE tasks SET state = $1, status_message = $2, history = $3, artifacts = $4, metadata = $5, \
     remote_id = $6, updated_at = $7, version = $8 WHERE id = $9 AND version = $10";
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
        self.first("tasks", GET, &[id.into()], read)
    }

    fn tasks(&mut self, query: &TaskQuery) -> Result<Page<Task, TaskId>, Error> {
        let author = query.author.as_ref().map(ToString::to_string);
        let mut select = filtered(LIST, query, author.as_deref());
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        self.page("tasks", &select, query.limit, read, read_id)
    }

    fn changed_tasks(
        &mut self,
        query: &TaskQuery,
        behind: Option<TaskMark>,
    ) -> Result<Page<Task, TaskMark>, Error> {
        let author = query.author.as_ref().map(ToString::to_string);
        let mut select = filtered(LIST, query, author.as_deref());
        if let Some(mark) = behind {
            select.and_pair_before("(updated_at, id)", mark.updated_at.into(), mark.id.into());
        }
        let select = select.page("updated_at DESC, id DESC", query.limit);
        self.page("tasks", &select, query.limit, read, read_mark)
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
        let (author, json) = (task.author.to_string(), StoredJson::of(task)?);
        let origin = json_of(&task.origin)?;
        let values = [
            task.id.into(),
            task.org_id.into(),
            task.workspace_id.into(),
            task.context_id.as_str().into(),
            author.as_str().into(),
            task.state.as_str().into(),
            Value::Json(json.status_message.as_deref()),
            Value::Json(Some(&json.history)),
            Value::Json(Some(&json.artifacts)),
            Value::Json(Some(&json.metadata)),
            Value::Json(Some(&origin)),
            task.remote_id.as_deref().into(),
            task.created_at.into(),
            task.updated_at.into(),
            Value::count(task.version)?,
        ];
        self.execute(INSERT, &values).map(drop)
    }

    fn update_task(&mut self, task: &Task, expected_version: u64) -> Result<u64, Error> {
        let version = expected_version
            .checked_add(1)
            .ok_or_else(|| Error::Refused("the version cannot grow further".into()))?;
        let json = StoredJson::of(task)?;
        let values = [
            task.state.as_str().into(),
            Value::Json(json.status_message.as_deref()),
            Value::Json(Some(&json.history)),
            Value::Json(Some(&json.artifacts)),
            Value::Json(Some(&json.metadata)),
            task.remote_id.as_deref().into(),
            task.updated_at.into(),
            Value::count(version)?,
            task.id.into(),
            Value::count(expected_version)?,
        ];
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
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

struct StoredJson {
    status_message: Option<String>,
    history: String,
    artifacts: String,
    metadata: String,
}

impl StoredJson {
    fn of(task: &Task) -> Result<Self, Error> {
        Ok(Self {
            status_message: task.status_message.as_ref().map(json_of).transpose()?,
            history: json_of(&task.history)?,
            artifacts: json_of(&task.artifacts)?,
            metadata: json_of(&task.metadata)?,
        })
    }
}

pub(crate) fn json_of<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|problem| Error::Refused(format!("a value cannot be written as JSON: {problem}")))
}

/// The columns between the two that make a mark.
const BETWEEN_ID_AND_UPDATED_AT: usize = 12;

fn read_mark(row: &mut Columns<'_>) -> Result<TaskMark, Error> {
    let id = row.id()?;
    row.skip(BETWEEN_ID_AND_UPDATED_AT);
    Ok(TaskMark { updated_at: row.time()?, id })
}

fn read(row: &mut Columns<'_>) -> Result<Task, Error> {
    Ok(Task {
        id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        context_id: row.text()?.to_owned(),
        author: row.word(Principal::parse)?,
        state: row.word(TaskState::parse)?,
        status_message: row.optional_json()?,
        history: row.json()?,
        artifacts: row.json()?,
        metadata: row.json()?,
        origin: row.json()?,
        remote_id: row.optional_text()?.map(str::to_owned),
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.count()?,
    })
}

//! Push configs in SQL.

use warren_model::{PushConfig, TaskId, Timestamp};
use warren_store::{Batch, Error, Page, PushConfigReads, PushConfigWrites};

use crate::select::Select;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    PUSH_CONFIGS: PushConfig in "push_configs" {
        task_id, id, owner, url, sealed, created_at; told_version, attempts, not_before,
    }
}

static OF_TASK: Statement = Statement::new(|| PUSH_CONFIGS.select("WHERE task_id = $1 ORDER BY id"));
static OWED: Statement = Statement::new(|| {
    PUSH_CONFIGS.select(
        "WHERE not_before <= $1 \
     AND told_version < (SELECT version FROM tasks WHERE tasks.id = push_configs.task_id) \
     ORDER BY not_before, task_id, id LIMIT $2",
    )
});
static PUT: Statement = Statement::new(|| PUSH_CONFIGS.put(&["task_id", "id"]));
/// A receiver that was set anew meanwhile has another moment at which it was.
static UPDATE: Statement =
    Statement::new(|| PUSH_CONFIGS.update(&["task_id", "id", "attempts", "not_before", "created_at"]));
static LIST: Statement = Statement::new(|| PUSH_CONFIGS.select(""));
const RESEAL: &str = "UPDATE push_configs SET sealed = $1 WHERE task_id = $2 AND id = $3 AND sealed = $4";
const REMOVE: &str = "DELETE FROM push_configs WHERE task_id = $1 AND id = $2";

impl PushConfigReads for Transaction<'_> {
    fn push_configs(&mut self, task_id: TaskId) -> Result<Vec<PushConfig>, Error> {
        PUSH_CONFIGS.rows(self, &OF_TASK, &[task_id.into()])
    }

    fn owed_pushes(&mut self, now: Timestamp, limit: u32) -> Result<Batch<PushConfig>, Error> {
        PUSH_CONFIGS.readable(self, &OWED, &[now.into()], limit)
    }

    fn sealed_push_configs(
        &mut self,
        after: Option<(TaskId, &str)>,
        limit: u32,
    ) -> Result<Page<PushConfig, (TaskId, String)>, Error> {
        let mut select = Select::new(&LIST);
        select.and("sealed IS NOT NULL");
        if let Some((task_id, id)) = after {
            select.and_pair_after("(task_id, id)", task_id.into(), id.into());
        }
        let select = select.page("task_id, id", limit);
        PUSH_CONFIGS.page(self, &select, limit, |row| Ok((row.id()?, row.text()?.to_owned())))
    }
}

impl PushConfigWrites for Transaction<'_> {
    fn put_push_config(&mut self, config: &PushConfig) -> Result<(), Error> {
        self.execute(&PUT, &PUSH_CONFIGS.values(config)?).map(drop)
    }

    fn update_push_config(&mut self, config: &PushConfig, known: &PushConfig) -> Result<bool, Error> {
        let mut values = PUSH_CONFIGS.changes(config)?;
        values.extend([
            known.task_id.into(),
            known.id.as_str().into(),
            Value::count(known.attempts.into())?,
            known.not_before.into(),
            known.created_at.into(),
        ]);
        Ok(self.execute(&UPDATE, &values)? == 1)
    }

    fn reseal_push_config(&mut self, known: &PushConfig, sealed: &str) -> Result<bool, Error> {
        let values =
            [sealed.into(), known.task_id.into(), known.id.as_str().into(), known.sealed.as_deref().into()];
        Ok(self.execute(RESEAL, &values)? == 1)
    }

    fn remove_push_config(&mut self, task_id: TaskId, id: &str) -> Result<bool, Error> {
        Ok(self.execute(REMOVE, &[task_id.into(), id.into()])? == 1)
    }
}

//! Push configs in SQL.

use warren_model::{Principal, PushConfig, TaskId, Timestamp};
use warren_store::{Batch, Error, Page, PushConfigReads, PushConfigWrites};

use crate::row::Columns;
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "p.task_id, p.id, p.owner, p.url, p.sealed, p.told_version, p.attempts, p.not_before, p.created_at"
    };
}

const OF_TASK: &str =
    concat!("SELECT ", columns!(), " FROM push_configs p WHERE p.task_id = $1 ORDER BY p.id");
const OWED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM push_configs p JOIN tasks t ON t.id = p.task_id \
     WHERE p.not_before <= $1 AND t.version > p.told_version ORDER BY p.not_before, p.task_id, p.id LIMIT $2"
);
const PUT: &str = "INSERT INTO push_configs \
     (task_id, id, owner, url, sealed, told_version, attempts, not_before, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (task_id, id) DO UPDATE SET owner = excluded.owner, \
     url = excluded.url, sealed = excluded.sealed, told_version = excluded.told_version, attempts = excluded.attempts, \
     not_before = excluded.not_before, created_at = excluded.created_at";
/// A receiver that was set anew meanwhile has another moment at which it was.
const UPDATE: &str = "UPDATE push_configs SET told_version = $1, attempts = $2, not_before = $3 \
     WHERE task_id = $4 AND id = $5 AND attempts = $6 AND not_before = $7 AND created_at = $8";
const LIST: &str = concat!("SELECT ", columns!(), " FROM push_configs p");
const RESEAL: &str = "UPDATE push_configs SET sealed = $1 WHERE task_id = $2 AND id = $3 AND sealed = $4";
const REMOVE: &str = "DELETE FROM push_configs WHERE task_id = $1 AND id = $2";

impl PushConfigReads for Transaction<'_> {
    fn push_configs(&mut self, task_id: TaskId) -> Result<Vec<PushConfig>, Error> {
        self.rows("push_configs", OF_TASK, &[task_id.into()], read)
    }

    fn owed_pushes(&mut self, now: Timestamp, limit: u32) -> Result<Batch<PushConfig>, Error> {
        self.readable("push_configs", OWED, &[now.into()], limit, read)
    }

    fn sealed_push_configs(
        &mut self,
        after: Option<(TaskId, &str)>,
        limit: u32,
    ) -> Result<Page<PushConfig, (TaskId, String)>, Error> {
        let mut select = Select::new(LIST);
        select.and("p.sealed IS NOT NULL");
        if let Some((task_id, id)) = after {
            select.and_pair_after("(p.task_id, p.id)", task_id.into(), id.into());
        }
        let select = select.page("p.task_id, p.id", limit);
        self.page("push_configs", &select, limit, read, |row| Ok((row.id()?, row.text()?.to_owned())))
    }
}

impl PushConfigWrites for Transaction<'_> {
    fn put_push_config(&mut self, config: &PushConfig) -> Result<(), Error> {
        let owner = config.owner.to_string();
        let values = [
            config.task_id.into(),
            config.id.as_str().into(),
            owner.as_str().into(),
            config.url.as_str().into(),
            config.sealed.as_deref().into(),
            Value::count(config.told_version)?,
            Value::count(u64::from(config.attempts))?,
            config.not_before.into(),
            config.created_at.into(),
        ];
        self.execute(PUT, &values).map(drop)
    }

    fn update_push_config(&mut self, config: &PushConfig, known: &PushConfig) -> Result<bool, Error> {
        let values = [
            Value::count(config.told_version)?,
            Value::count(u64::from(config.attempts))?,
            config.not_before.into(),
            known.task_id.into(),
            known.id.as_str().into(),
            Value::count(u64::from(known.attempts))?,
            known.not_before.into(),
            known.created_at.into(),
        ];
        Ok(self.execute(UPDATE, &values)? == 1)
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

fn read(row: &mut Columns<'_>) -> Result<PushConfig, Error> {
    Ok(PushConfig {
        task_id: row.id()?,
        id: row.text()?.to_owned(),
        owner: row.word(Principal::parse)?,
        url: row.text()?.to_owned(),
        sealed: row.optional_text()?.map(str::to_owned),
        told_version: row.count()?,
        attempts: u32::try_from(row.count()?).unwrap_or(u32::MAX),
        not_before: row.time()?,
        created_at: row.time()?,
    })
}

//! What agents remember, in SQL. Both engines search the same words; how they do is behind `SqlConnection::words_condition`.

use warren_model::{Memory, MemoryId, MemoryKind, MemoryPlace, Principal, Timestamp};
use warren_store::{Batch, Error, MemoryQuery, MemoryReads, MemorySearch, MemoryWrites, Page};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, place, key, value, words, masked, author, workspace_id, task_id, created_at, updated_at, \
         expires_at, version"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM memories WHERE place = $1 AND key = $2");
const LIST: &str = concat!("SELECT ", columns!(), " FROM memories");
const COUNT: &str = "SELECT count(*) FROM memories WHERE place = $1";
const INSERT: &str = concat!(
    "INSERT INTO memories (",
    columns!(),
    ", owner_workspace_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
     ON CONFLICT (place, key) DO NOTHING"
);
const UPDATE: &str = "UPDATE memories SET value = $1, words = $2, masked = $3, author = $4, workspace_id = $5, \
     task_id = $6, created_at = $7, updated_at = $8, expires_at = $9, version = $10 \
     WHERE id = $11 AND version = $12";
const DELETE: &str = "DELETE FROM memories WHERE id = $1 AND version = $2";
const PRUNE: &str = "DELETE FROM memories WHERE id IN (\
     SELECT id FROM memories WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

impl MemoryReads for Transaction<'_> {
    fn memory(&mut self, place: MemoryPlace, key: &str) -> Result<Option<Memory>, Error> {
        let place = place.to_string();
        self.first("memories", GET, &[place.as_str().into(), key.into()], read)
    }

    fn memories(&mut self, query: &MemoryQuery) -> Result<Page<Memory, MemoryId>, Error> {
        let places: Vec<String> = query.places.iter().map(ToString::to_string).collect();
        let mut select = Select::new(LIST);
        select.and_any_of("place", places.iter().map(String::as_str));
        select.and_around("(expires_at IS NULL OR expires_at >", query.now, ")");
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        let select = select.page("id", query.limit);
        self.page("memories", &select, query.limit, read, read_id)
    }

    fn search_memories(&mut self, search: &MemorySearch) -> Result<Batch<Memory>, Error> {
        let places: Vec<String> = search.places.iter().map(ToString::to_string).collect();
        let words = self.words_condition("memories", &search.words);
        let mut select = Select::new(LIST);
        select.and_any_of("place", places.iter().map(String::as_str));
        select.and_around("(expires_at IS NULL OR expires_at >", search.now, ")");
        select.and_around(&words.head, words.value.as_str(), words.tail);
        let select = select.page("updated_at DESC, id DESC", search.limit);
        let found = self.page("memories", &select, search.limit, read, read_id::<MemoryKind>)?;
        Ok(Batch { rows: found.rows, unreadable: found.unreadable })
    }

    fn count_memories(&mut self, place: MemoryPlace) -> Result<u64, Error> {
        let place = place.to_string();
        Ok(self.first("memories", COUNT, &[place.as_str().into()], read_count)?.unwrap_or(0))
    }
}

impl MemoryWrites for Transaction<'_> {
    fn insert_memory(&mut self, memory: &Memory) -> Result<(), Error> {
        let (place, author) = (memory.place.to_string(), memory.author.to_string());
        let values = [
            memory.id.into(),
            memory.org_id.into(),
            place.as_str().into(),
            memory.key.as_str().into(),
            memory.value.as_str().into(),
            memory.words.as_str().into(),
            Value::Int(Some(i64::from(memory.masked))),
            author.as_str().into(),
            memory.workspace_id.into(),
            memory.task_id.into(),
            memory.created_at.into(),
            memory.updated_at.into(),
            memory.expires_at.into(),
            Value::count(memory.version)?,
            memory.place.workspace_id().into(),
        ];
        match self.execute(INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_memory(&mut self, memory: &Memory, expected_version: u64) -> Result<u64, Error> {
        let version = expected_version
            .checked_add(1)
            .ok_or_else(|| Error::Refused("the version cannot grow further".into()))?;
        let author = memory.author.to_string();
        let values = [
            memory.value.as_str().into(),
            memory.words.as_str().into(),
            Value::Int(Some(i64::from(memory.masked))),
            author.as_str().into(),
            memory.workspace_id.into(),
            memory.task_id.into(),
            memory.created_at.into(),
            memory.updated_at.into(),
            memory.expires_at.into(),
            Value::count(version)?,
            memory.id.into(),
            Value::count(expected_version)?,
        ];
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    fn delete_memory(&mut self, id: MemoryId, expected_version: u64) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[id.into(), Value::count(expected_version)?])? > 0)
    }

    fn prune_memories(&mut self, now: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[now.into(), Value::Int(Some(i64::from(limit)))])
    }
}

fn read(row: &mut Columns<'_>) -> Result<Memory, Error> {
    Ok(Memory {
        id: row.id()?,
        org_id: row.id()?,
        place: row.word(MemoryPlace::parse)?,
        key: row.text()?.to_owned(),
        value: row.text()?.to_owned(),
        words: row.text()?.to_owned(),
        masked: row.small_count()?,
        author: row.word(Principal::parse)?,
        workspace_id: row.id()?,
        task_id: row.optional_id()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        expires_at: row.optional_time()?,
        version: row.count()?,
    })
}

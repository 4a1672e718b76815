//! What agents remember, in SQL. Both engines search the same words; how they do is behind `SqlConnection::words_condition`.

use warren_model::{Memory, MemoryId, MemoryKind, MemoryPlace, Timestamp};
use warren_store::{Batch, Error, MemoryQuery, MemoryReads, MemorySearch, MemoryWrites, Page};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::Stored;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    MEMORIES: Memory in "memories" {
        id, org_id, place, key, version;
        value, words, masked, author, workspace_id, task_id, created_at, updated_at, expires_at,
    }
}

static GET: Statement = Statement::new(|| MEMORIES.select("WHERE place = $1 AND key = $2"));
static LIST: Statement = Statement::new(|| MEMORIES.select(""));
const COUNT: &str = "SELECT count(*) FROM memories WHERE place = $1";
static INSERT: Statement =
    Statement::new(|| MEMORIES.insert_with(&["owner_workspace_id"], "ON CONFLICT (place, key) DO NOTHING"));
static UPDATE: Statement = Statement::new(|| MEMORIES.update_versioned(&["id", "version"]));
const DELETE: &str = "DELETE FROM memories WHERE id = $1 AND version = $2";
const PRUNE: &str = "DELETE FROM memories WHERE id IN (\
     SELECT id FROM memories WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

impl MemoryReads for Transaction<'_> {
    fn memory(&mut self, place: MemoryPlace, key: &str) -> Result<Option<Memory>, Error> {
        let place = place.to_string();
        MEMORIES.first(self, &GET, &[place.as_str().into(), key.into()])
    }

    fn memories(&mut self, query: &MemoryQuery) -> Result<Page<Memory, MemoryId>, Error> {
        let places: Vec<String> = query.places.iter().map(ToString::to_string).collect();
        let mut select = Select::new(&LIST);
        select.and_any_of("place", places.iter().map(String::as_str));
        select.and_around("(expires_at IS NULL OR expires_at >", query.now, ")");
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        let select = select.page("id", query.limit);
        MEMORIES.page(self, &select, query.limit, read_id)
    }

    fn search_memories(&mut self, search: &MemorySearch) -> Result<Batch<Memory>, Error> {
        let places: Vec<String> = search.places.iter().map(ToString::to_string).collect();
        let words = self.words_condition("memories", &search.words);
        let mut select = Select::new(&LIST);
        select.and_any_of("place", places.iter().map(String::as_str));
        select.and_around("(expires_at IS NULL OR expires_at >", search.now, ")");
        select.and_around(&words.head, words.value.as_str(), words.tail);
        let select = select.page("updated_at DESC, id DESC", search.limit);
        let found = MEMORIES.page(self, &select, search.limit, read_id::<MemoryKind>)?;
        Ok(Batch { rows: found.rows, unreadable: found.unreadable })
    }

    fn count_memories(&mut self, place: MemoryPlace) -> Result<u64, Error> {
        let place = place.to_string();
        Ok(self.first("memories", COUNT, &[place.as_str().into()], read_count)?.unwrap_or(0))
    }
}

impl MemoryWrites for Transaction<'_> {
    fn insert_memory(&mut self, memory: &Memory) -> Result<(), Error> {
        let mut values = MEMORIES.values(memory)?;
        values.push(memory.place.workspace_id().into());
        match self.execute(&INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_memory(&mut self, memory: &Memory, expected_version: u64) -> Result<u64, Error> {
        let changes = MEMORIES.changes(memory)?;
        self.update_versioned(&UPDATE, changes, [memory.id.into()], expected_version)
    }

    fn delete_memory(&mut self, id: MemoryId, expected_version: u64) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[id.into(), Value::count(expected_version)?])? > 0)
    }

    fn prune_memories(&mut self, now: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[now.into(), Value::Int(Some(i64::from(limit)))])
    }
}

impl Stored for MemoryPlace {
    fn write(&self) -> Result<Value<'_>, Error> {
        Ok(self.to_string().into())
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        row.word(Self::parse)
    }
}

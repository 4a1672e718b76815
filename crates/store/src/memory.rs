//! What agents remember (X50).

use warren_model::{Memory, MemoryId, MemoryPlace, Timestamp};

use crate::{Batch, Error, Page};

/// What is remembered in some places, in order of creation. What has expired at `now` is not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryQuery {
    pub places: Vec<MemoryPlace>,
    pub now: Timestamp,
    pub after: Option<MemoryId>,
    pub limit: u32,
}

/// A search: each of these words must begin a word of what is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySearch {
    pub places: Vec<MemoryPlace>,
    /// At least one, as the rule spells them.
    pub words: Vec<String>,
    pub now: Timestamp,
    pub limit: u32,
}

pub trait MemoryReads {
    /// Also what has expired, until it is cleared.
    fn memory(&mut self, place: MemoryPlace, key: &str) -> Result<Option<Memory>, Error>;
    fn memories(&mut self, query: &MemoryQuery) -> Result<Page<Memory, MemoryId>, Error>;
    /// The newest first.
    fn search_memories(&mut self, search: &MemorySearch) -> Result<Batch<Memory>, Error>;
    /// Also what has expired, until it is cleared.
    fn count_memories(&mut self, place: MemoryPlace) -> Result<u64, Error>;
}

pub trait MemoryWrites {
    /// `AlreadyExists` where the place has something under this key.
    fn insert_memory(&mut self, memory: &Memory) -> Result<(), Error>;
    /// Compare-and-set, as for workspaces. Place and key stay.
    fn update_memory(&mut self, memory: &Memory, expected_version: u64) -> Result<u64, Error>;
    /// Only at this version. Returns whether it was there.
    fn delete_memory(&mut self, id: MemoryId, expected_version: u64) -> Result<bool, Error>;
    /// Deletes what has expired at `now`, at most `limit`. Returns how many.
    fn prune_memories(&mut self, now: Timestamp, limit: u32) -> Result<u64, Error>;
}

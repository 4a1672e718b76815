//! What an archive says of itself.

use serde::{Deserialize, Serialize};
use warren_model::Timestamp;

/// Names of files that are told one by one; the rest is counted.
const MAX_NAMED: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// The database is in the archive.
    Sqlite,
    /// The database is its operator's to back up; the archive has files alone.
    Postgres,
}

/// The moment as of which the database was taken. Files are as they were then or a little later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub at: Timestamp,
    pub engine: Engine,
    pub schema_version: u32,
    /// The sequence of the newest event. Without a database in the archive it says which dump fits.
    pub newest_event: u64,
    /// `SEQ:HASH` of the audit log.
    pub audit_head: String,
    /// The keys that secrets may be sealed with, the current one first. Ids, not keys.
    pub key_ids: Vec<String>,
}

/// A stretch of the archive that belongs together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its path in the archive, such as `warren.db` or `workspaces/ID`.
    pub name: String,
    pub entries: u64,
    /// Of the archive, headers included.
    pub bytes: u64,
    /// Over these bytes, in hexadecimal digits.
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// The version of the Warren that wrote it.
    pub warren: String,
    /// The user that Warren ran as.
    pub made_by_uid: u32,
    pub cut: Cut,
    pub ended_at: Timestamp,
    pub parts: Vec<Part>,
    /// Files that were written to while they were read: each is whole up to where it was then, and may mix old and new.
    pub changed_count: u64,
    pub changed: Vec<String>,
    /// What is not in the archive although it was in the folder.
    pub left_out_count: u64,
    pub left_out: Vec<LeftOut>,
}

impl Manifest {
    pub fn has_database(&self) -> bool {
        self.parts.iter().any(|part| part.name == crate::DATABASE)
    }
}

/// What was noticed while files were read.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    pub(crate) changed_count: u64,
    pub(crate) changed: Vec<String>,
    pub(crate) left_out_count: u64,
    pub(crate) left_out: Vec<LeftOut>,
}

impl Noticed {
    pub(crate) fn changed(&mut self, path: &[u8]) {
        self.changed_count += 1;
        if self.changed.len() < MAX_NAMED {
            self.changed.push(String::from_utf8_lossy(path).into_owned());
        }
    }

    pub(crate) fn left_out(&mut self, path: &[u8], why: impl Into<String>) {
        self.left_out_count += 1;
        if self.left_out.len() < MAX_NAMED {
            let path = String::from_utf8_lossy(path).into_owned();
            self.left_out.push(LeftOut { path, why: why.into() });
        }
    }
}

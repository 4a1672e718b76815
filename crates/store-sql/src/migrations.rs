//! Migrations: forward only, in order, each in a transaction of its own, each known by its checksum (O5). A new SQLite file
//! gets all of them in one: it is whole or not there.
//!
//! `plan` decides on paper; `apply_next` carries out one step inside a transaction that the engine has opened under
//! its lock (`BEGIN IMMEDIATE` in SQLite, an advisory lock in Postgres), and is called until nothing is left. A
//! database that a newer Warren wrote, or one whose past differs from ours, is left as it is.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use warren_store::Error;

use crate::connection::SqlConnection;
use crate::row::Columns;
use crate::value::Value;

/// One step of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    pub version: u32,
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! migrations {
    ($engine:literal: $($version:literal $name:literal),* $(,)?) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/", $engine, "/", $name, ".sql")),
        }),*]
    };
}

/// A migration that was released is never edited: the next one corrects it.
pub const SQLITE: &[Migration] = migrations!("sqlite":
    1 "0001_workspaces_events_leases",
    2 "0002_tokens",
    3 "0003_removed_is_terminal",
    4 "0004_vitals",
    5 "0005_budgets",
    6 "0006_secrets",
    7 "0007_audit",
    8 "0008_templates",
    9 "0009_exchange",
    10 "0010_schedules",
    11 "0011_memory_approvals",
    12 "0012_webhooks",
    13 "0013_chat",
    14 "0014_push_configs",
    15 "0015_tasks_by_change",
    16 "0016_outcomes",
    17 "0017_places",
    18 "0018_notice_keys",
    19 "0019_lean_indexes",
    20 "0020_secrets_since",
    21 "0021_agents",
    22 "0022_sessions",
    23 "0023_session_steps",
    24 "0024_session_stream",
    25 "0025_tool_rules",
    26 "0026_tool_rules_of_org",
    27 "0027_request_heads",
    28 "0028_made_with",
    29 "0029_people",
    30 "0030_lean_stream",
    31 "0031_unique_names",
    32 "0032_spending_of_org",
    33 "0033_removed_workspaces",
    34 "0034_replicas",
);

pub const POSTGRES: &[Migration] = migrations!("postgres":
    1 "0001_workspaces_events_leases",
    2 "0002_tokens",
    3 "0003_removed_is_terminal",
    4 "0004_vitals",
    5 "0005_budgets",
    6 "0006_secrets",
    7 "0007_audit",
    8 "0008_templates",
    9 "0009_exchange",
    10 "0010_schedules",
    11 "0011_memory_approvals",
    12 "0012_webhooks",
    13 "0013_chat",
    14 "0014_push_configs",
    15 "0015_tasks_by_change",
    16 "0016_outcomes",
    17 "0017_places",
    18 "0018_notice_keys",
    19 "0019_lean_indexes",
    20 "0020_secrets_since",
    21 "0021_agents",
    22 "0022_sessions",
    23 "0023_session_steps",
    24 "0024_session_stream",
    25 "0025_tool_rules",
    26 "0026_tool_rules_of_org",
    27 "0027_request_heads",
    28 "0028_made_with",
    29 "0029_people",
    30 "0030_lean_stream",
    31 "0031_unique_names",
    32 "0032_spending_of_org",
    33 "0033_removed_workspaces",
    34 "0034_replicas",
);

/// The table that records what was applied; the same text on both engines.
pub const RECORD: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (version bigint NOT NULL PRIMARY KEY, \
     name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL)";

impl Migration {
    /// SHA-256 of the text, in hexadecimal.
    pub fn checksum(&self) -> String {
        let digest = Sha256::digest(self.sql.as_bytes());
        digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// A migration that the database says it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    version: u32,
    checksum: String,
}

/// What is left to do, given what was done.
pub(crate) fn plan<'k>(known: &'k [Migration], applied: &[Applied]) -> Result<&'k [Migration], Error> {
    let newest_known = known.last().map_or(0, |migration| migration.version);
    if let Some(newer) = applied.iter().rev().find(|one| one.version > newest_known) {
        return Err(Error::Newer { found: newer.version, known: newest_known });
    }
    for (migration, done) in known.iter().zip(applied) {
        if done.version != migration.version || done.checksum != migration.checksum() {
            return Err(Error::ChecksumMismatch { version: done.version });
        }
    }
    Ok(&known[applied.len().min(known.len())..])
}

/// What the database says it has, oldest first. The table must exist.
pub(crate) fn applied(connection: &mut dyn SqlConnection) -> Result<Vec<Applied>, Error> {
    let mut applied = Vec::new();
    let sql = "SELECT version, checksum FROM schema_migrations ORDER BY version";
    connection.query(sql, &[], &mut |row| {
        let mut columns = Columns::new("schema_migrations", row);
        let version = columns.count()?;
        applied.push(Applied {
            version: u32::try_from(version).map_err(|_| columns.corrupt("no such version"))?,
            checksum: columns.text()?.to_owned(),
        });
        Ok(())
    })?;
    Ok(applied)
}

/// Applies the next migration and records it. Returns whether there was one. `now` is the engine's own expression
/// for microseconds since 1970: when a migration ran is for people, no rule reads it.
pub(crate) fn apply_next(
    connection: &mut dyn SqlConnection,
    known: &[Migration],
    now: &'static str,
) -> Result<bool, Error> {
    connection.run_script(RECORD)?;
    let applied = applied(connection)?;
    let Some(next) = plan(known, &applied)?.first() else {
        return Ok(false);
    };
    connection.run_script(next.sql)?;
    let checksum = next.checksum();
    let record = format!(
        "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, {now})"
    );
    let values = [Value::Int(Some(i64::from(next.version))), next.name.into(), checksum.as_str().into()];
    connection.execute(&record, &values)?;
    tracing::debug!(migration = next.name, "applied a migration of the database");
    Ok(true)
}

/// One line for people, however many steps there were.
pub(crate) fn tell(steps: u32) {
    if steps > 0 {
        tracing::info!(migrations = steps, "brought the database up to date");
    }
}

/// The newest migration that was applied.
pub(crate) fn schema_version(connection: &mut dyn SqlConnection) -> Result<u32, Error> {
    Ok(applied(connection)?.last().map_or(0, |newest| newest.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Migration] = &[
        Migration { version: 1, name: "0001_a", sql: "a" },
        Migration { version: 2, name: "0002_b", sql: "b" },
    ];

    fn done(count: usize) -> Vec<Applied> {
        let applied =
            |migration: &Migration| Applied { version: migration.version, checksum: migration.checksum() };
        KNOWN.iter().take(count).map(applied).collect()
    }

    // O5
    #[test]
    fn the_plan_is_what_is_left_in_order() {
        for count in 0..=KNOWN.len() {
            assert_eq!(plan(KNOWN, &done(count)), Ok(&KNOWN[count..]));
        }
    }

    // O5
    #[test]
    fn a_newer_database_is_refused_before_anything_else() {
        let mut applied = done(2);
        applied[0].checksum = "edited".into();
        applied.push(Applied { version: 3, checksum: "?".into() });
        assert_eq!(plan(KNOWN, &applied), Err(Error::Newer { found: 3, known: 2 }));
    }

    // O5
    #[test]
    fn an_edited_or_missing_migration_is_refused_by_number() {
        let mut edited = done(2);
        edited[1].checksum = "edited".into();
        assert_eq!(plan(KNOWN, &edited), Err(Error::ChecksumMismatch { version: 2 }));
        let missing = done(2).split_off(1);
        assert_eq!(plan(KNOWN, &missing), Err(Error::ChecksumMismatch { version: 2 }));
    }

    // O5
    #[test]
    fn both_engines_have_the_same_steps_numbered_from_one() {
        assert_eq!(SQLITE.len(), POSTGRES.len());
        for (position, (sqlite, postgres)) in SQLITE.iter().zip(POSTGRES).enumerate() {
            assert_eq!(sqlite.version as usize, position + 1);
            assert_eq!((sqlite.version, sqlite.name), (postgres.version, postgres.name));
            assert!(sqlite.name.starts_with(&format!("{:04}_", sqlite.version)), "{}", sqlite.name);
        }
    }
}

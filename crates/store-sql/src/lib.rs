//! SQLite and Postgres behind the store's traits, one migrations folder each.
//!
//! ```text
//!   Transaction: the traits of the nouns, one file each (tasks.rs, tokens.rs …), in SQL that both engines read
//!        │ Table: the columns of a record, how they are written and how they are read, stated once (table.rs)
//!        │ SqlConnection: bind values, run a statement, visit its rows, number events (connection.rs)
//!        ├── sqlite:    one writer thread, many callers' work in one commit; readers apart
//!        └── postgres:  a pool; one transaction per caller, in a task of its own; wake-ups between replicas
//! ```
//!
//! Surprises:
//! - In SQLite callers that arrive together share one fsync. Their work runs without savepoints. When one of them has
//!   written and then wants to be undone, the whole group is rolled back and run again, each caller in a savepoint.
//! - In Postgres event numbers come from a locked row, not from a sequence, since a sequence leaves gaps and is not in
//!   commit order; so transactions that append events commit one after the other.
//! - A caller's future may be dropped at any time. Work that was begun goes on without it, on both engines, and `close`
//!   waits for that work.
//!
//! # How to add a table
//!
//! For a new noun, say `parcels`:
//!
//! 1. `store/src/parcels.rs`: its traits `ParcelReads` and `ParcelWrites` with their queries; declared in `lib.rs`, and
//!    one line in the list in `store/src/transaction.rs`, which makes it part of `ReadTx` and `WriteTx`.
//! 2. `store/src/contract/parcels.rs`: what must hold on every engine, with its cases in `contract_tests!`. A case that is
//!    written and not listed fails a test.
//! 3. `store-sql/migrations/{sqlite,postgres}/NNNN_parcels.sql`, with one line for each engine in `migrations.rs`.
//! 4. `store-sql/src/parcels.rs`: the columns by `table!`, the statements that follow from them, and the two traits for
//!    `Transaction`. A field whose type is not stored anywhere yet gets a line in `stored.rs`.
//! 5. If its rows belong to a workspace, the statement that deletes them in `ERASE` of `workspaces.rs`.

mod agents;
mod approvals;
mod audit;
mod box_holders;
mod chat;
mod connection;
mod delegations;
mod deliveries;
mod events;
mod invitations;
mod leases;
mod made_with;
mod many;
mod memory;
pub mod migrations;
mod orgs;

#[cfg(test)]
mod plans;
mod positions;
pub mod postgres;
mod push_configs;
mod registrations;
mod repeats;
mod request_heads;
mod row;
mod schedules;
mod secrets;
mod select;
mod session_keys;
mod session_leases;
mod session_messages;
mod session_results;
mod session_steps;
mod session_stream;
mod sessions;
mod spending;
pub mod sqlite;
mod stored;
mod table;
mod tasks;
mod templates;
mod tokens;
mod tool_rules;
mod transaction;
mod users;
mod value;
mod vitals;
mod webhooks;
mod workspaces;

use std::sync::Arc;

use warren_store::{Error, Store};

use crate::postgres::{PostgresOptions, PostgresStore};
use crate::sqlite::{SqliteOptions, SqliteStore};

/// Opens a database by its address: `sqlite:PATH` (or just a path), or `postgres://…`.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, Error> {
    open_with_reserve(address, 0).await
}

/// The same, with so much of the disk kept for a SQLite database; a server of Postgres keeps its own.
pub async fn open_with_reserve(address: &str, reserve_bytes: u64) -> Result<Arc<dyn Store>, Error> {
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        let store = PostgresStore::connect(address, PostgresOptions::default()).await?;
        return Ok(Arc::new(store));
    }
    let path = sqlite_path(address)?;
    Ok(Arc::new(SqliteStore::open(path, SqliteOptions { reserve_bytes, ..SqliteOptions::default() }).await?))
}

/// The schema that this Warren brings a database to.
pub fn newest_schema() -> u32 {
    migrations::SQLITE.last().map_or(0, |migration| migration.version)
}

fn sqlite_path(address: &str) -> Result<&str, Error> {
    if let Some(rest) = address.strip_prefix("sqlite:") {
        return Ok(rest.strip_prefix("//").unwrap_or(rest));
    }
    match address.split_once("://") {
        // The address may hold a password, so that only its scheme is repeated.
        Some((scheme, _)) => Err(Error::Refused(format!(
            "no database is known by the scheme `{scheme}`: use sqlite:PATH or postgres://…"
        ))),
        None => Ok(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_path_or_has_a_known_scheme() {
        assert_eq!(sqlite_path("sqlite:data/warren.db"), Ok("data/warren.db"));
        assert_eq!(sqlite_path("sqlite:///srv/warren.db"), Ok("/srv/warren.db"));
        assert_eq!(sqlite_path("/srv/warren.db"), Ok("/srv/warren.db"));
        let refused = sqlite_path("mysql://me:hunter2@host/db").unwrap_err().to_string();
        assert!(refused.contains("mysql") && !refused.contains("hunter2"), "{refused}");
    }
}

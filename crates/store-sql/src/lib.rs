//! SQLite and Postgres behind the store's traits, one migrations folder each.
//!
//! ```text
//!   Transaction (workspaces, events, tokens, leases, secrets, audit: SQL that both engines read)
//!        │ Session: bind, run, visit rows, number events
//!        ├── sqlite:    one writer thread, many callers' work in one commit; readers apart
//!        └── postgres:  a pool; one transaction per caller; wake-ups between replicas
//! ```
//!
//! Surprises: in SQLite callers that arrive together share one fsync, each in a savepoint of its own. In Postgres
//! event numbers come from a locked row, not from a sequence, since a sequence leaves gaps and is not in commit
//! order; so transactions that append events commit one after the other.

mod approvals;
mod audit;
mod box_holders;
mod chat;
mod delegations;
mod deliveries;
mod events;
mod leases;
mod memory;
pub mod migrations;

#[cfg(test)]
mod plans;
pub mod postgres;
mod push_configs;
mod schedules;
mod secrets;
mod select;
mod session;
mod spending;
pub mod sqlite;
mod tasks;
mod templates;
mod tokens;
mod transaction;
mod vitals;
mod webhooks;
mod workspaces;

use std::sync::Arc;

use warren_store::{Error, Store};

use crate::postgres::{PostgresOptions, PostgresStore};
use crate::sqlite::{SqliteOptions, SqliteStore};

/// Opens a database by its address: `sqlite:PATH` (or just a path), or `postgres://…`.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, Error> {
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        let store = PostgresStore::connect(address, PostgresOptions::default()).await?;
        return Ok(Arc::new(store));
    }
    let path = sqlite_path(address)?;
    Ok(Arc::new(SqliteStore::open(path, SqliteOptions::default()).await?))
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

//! The services of the fleet against real stores: SQLite in a temp folder, and PostgreSQL where `WARREN_TEST_POSTGRES`
//! names one, as in `make test`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod audit;
mod backups;
mod budgets;
mod bundles;
mod lifecycle;
mod people;
mod people_leaving;
mod people_provider;
mod place_changes;
mod probes;
mod removal;
mod reports;
mod runtimes;
mod secrets;
mod silence;
mod sweeps;
mod templates;
mod tokens;
mod uploads;
mod workspaces;

//! The services of the fleet against real stores: SQLite in a temp folder, and PostgreSQL where `WARREN_TEST_POSTGRES`
//! names one, as in `make test`.

mod bed;
mod budgets;
mod lifecycle;
mod runtimes;
mod secrets;
mod sweeps;
mod templates;
mod tokens;
mod uploads;
mod workspaces;

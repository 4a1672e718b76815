//! An in-process Warren for tests: real database, real providers, real sockets, and doors that the test holds.
//!
//! ```text
//!   let warren = Warren::start().await;        // SQLite in a temp folder, 127.0.0.1 with a free port
//!   warren.get("/api/v1/workspaces").await     // as the operator
//!   let warren = warren.restart().await;       // same folder, new process as far as anybody can tell
//!   let warren = warren.crash().await;         // the same, without a stop (after `Builder::crashable`)
//! ```

#[cfg(feature = "warren")]
mod agent;
mod faults;
#[cfg(feature = "warren")]
mod http;
mod postgres;
#[cfg(feature = "warren")]
mod warren;

#[cfg(feature = "warren")]
pub use agent::{Act, ScriptedAgent};
pub use faults::{Faults, Faulty};
#[cfg(feature = "warren")]
pub use http::{Answer, Call};
pub use postgres::{PostgresDatabase, PostgresServer};
#[cfg(feature = "warren")]
pub use warren::{Builder, Warren};

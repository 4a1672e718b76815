//! An in-process Warren for tests: real database, real providers, real sockets, and doors that the test holds.
//!
//! ```text
//!   let warren = Warren::start().await;        // SQLite in a temp folder, 127.0.0.1 with a free port
//!   warren.get("/api/v1/workspaces").await     // as the operator
//!   let warren = warren.restart().await;       // same folder, new process as far as anybody can tell
//!   let warren = warren.crash().await;         // the same, without a stop (after `Builder::crashable`)
//! ```

mod agent;
mod faults;
mod http;
mod postgres;
mod warren;

pub use agent::{Act, ScriptedAgent};
pub use faults::Faults;
pub use http::{Answer, Call};
pub use postgres::{PostgresDatabase, PostgresServer};
pub use warren::{Builder, Warren};

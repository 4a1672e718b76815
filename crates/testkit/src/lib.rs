//! An in-process Warren for tests: real database, real providers, real sockets, and doors that the test holds. Tests of a
//! service take a [`Bed`] (the fleet alone) or an [`ExchangeBed`], so that the server need not be built for them.
//!
//! ```text
//!   let warren = Warren::start().await;        // SQLite in a temp folder, 127.0.0.1 with a free port
//!   warren.get("/api/v1/workspaces").await     // as the operator
//!   let warren = warren.restart().await;       // same folder, new process as far as anybody can tell
//!   let warren = warren.crash().await;         // the same, without a stop (after `Builder::crashable`)
//! ```

#[cfg(feature = "exchange")]
mod agent;
#[cfg(feature = "fleet")]
mod bed;
#[cfg(feature = "warren")]
mod described;
#[cfg(feature = "exchange")]
mod exchange_bed;
mod faults;
#[cfg(feature = "warren")]
mod http;
#[cfg(feature = "fleet")]
mod own_runtime;
mod postgres;
#[cfg(feature = "warren")]
mod warren;

/// Names of secrets that no command gets, as a Warren without config has them.
#[cfg(feature = "fleet")]
pub(crate) fn model_keys() -> std::collections::BTreeSet<warren_model::SecretName> {
    let names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
    names.into_iter().map(|name| name.parse().expect("a plain name")).collect()
}

#[cfg(feature = "exchange")]
pub use agent::{Act, ScriptedAgent};
#[cfg(feature = "fleet")]
pub use bed::{BED_START, Bed, BedOptions, eventually};
#[cfg(feature = "exchange")]
pub use exchange_bed::{ExchangeBed, ExchangeOptions, answer_of};
pub use faults::{Faults, Faulty};
#[cfg(feature = "warren")]
pub use http::{Answer, Call};
pub use postgres::{PostgresDatabase, PostgresServer};
#[cfg(feature = "warren")]
pub use warren::{Builder, Warren};

/// The name with a number that no other one has.
#[cfg(any(feature = "fleet", feature = "warren"))]
pub(crate) fn numbered(name: &str) -> String {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(2);
    format!("{name} {}", COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

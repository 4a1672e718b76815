//! What every service stands on. This crate has no nouns of its own.
//!
//! ```text
//!   Context    store, clock, randomness, limits, tracked background work, the sign that Warren stops
//!   Identity   who asks, proven by a token; Actor is the same person as the audit log names them
//!   Error      what a caller is told, and apart from it what the log is told
//!   TxInputs   what a transaction cannot find out by itself: who, when, under which configuration
//!   Sealer     seals and opens small secrets under the keys at hand; Redactors find them in text
//! ```
//!
//! A service is a struct with a [`Context`] and the other services that it needs, cheap to clone. Every change that it
//! makes has one shape, `load → decide → compare-and-set + event`, in one transaction.

mod actor;
mod context;
mod error;
mod identity;
mod inputs;
mod redactors;
mod sealing;
mod unreadable;
mod writes;

pub use actor::Actor;
pub use context::{Census, Context, ContextParts};
pub use error::Error;
pub use identity::Identity;
pub use inputs::TxInputs;
pub use redactors::Redactors;
pub use sealing::{FixedKeys, Key, KeyError, KeyFile, KeySource, Keyring, Keys, OpenError, RowSeal, Sealer};
pub use warren_rules::access::{Action, Caller, ProcessDeed, Target};
pub use warren_rules::lifecycle::templates::Missing;
pub use warren_rules::text::redaction::Redactor;
pub use warren_store::{EventQuery, Page, Unreadable};
pub use writes::write_with_retries;

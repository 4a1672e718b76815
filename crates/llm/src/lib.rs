//! Model APIs: one request in Warren's own words goes out on a provider's wire, and an answer comes back piece by piece.
//!
//! ```text
//!   ModelRequest ──▶ ModelClient::start ──▶ AnswerStream::next ──▶ text, reasoning, calls … and one ModelAnswer
//!                       │
//!                       ├── Models         by the provider of the model's name                      models.rs
//!                       │     └── wires    Anthropic Messages, OpenAI Responses, Chat Completions   wires/ ──▶ outbound
//!                       └── ScriptedModel  answers from a script, without any network              scripted/
//! ```
//!
//! - Nothing is kept here between two calls, and nothing is called twice: what an error asks for ([`Advice`]) is done by
//!   the caller, who keeps the ledger.
//! - A stream that ends without its closing event is an error. There is no half answer.
//! - What only its provider understands goes back to the same provider, account and model, and to no other (A13).

mod answer;
mod builder;
mod client;
mod error;
pub mod estimate;
mod models;
mod parameters;
#[cfg(feature = "server")]
pub mod passing;
mod prices;
mod providers;
pub mod retry;
pub mod scripted;
#[cfg(feature = "server")]
pub mod server;
mod timers;
mod turns;
mod wires;

pub use answer::{AnswerEvent, AnswerSource, AnswerStream, AnsweredCall, ModelAnswer};
pub use builder::AnswerLimits;
pub use client::{ApiKey, CallOptions, ModelClient};
pub use error::{Advice, ModelError};
pub use models::Models;
pub use prices::{Prices, PricesError};
pub use providers::{ProviderSettings, Providers, Wire};
pub use scripted::{Script, ScriptedModel};
pub use timers::Timers;

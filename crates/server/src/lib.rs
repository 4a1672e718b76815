//! HTTP, SSE and WebSocket: Warren as strangers see it.
//!
//! ```text
//!   accept loop ─▶ connection limits ─▶ host and origin ─▶ request id ─▶ route ─▶ who asks? ─▶ handler
//!   (http/)        (http/)              (guard)            (problem)              (auth)       (routes/)
//! ```
//!
//! A handler turns wire types into model types, asks the fleet or the registry, and turns the answer back. It
//! decides nothing. Every route but the few named in `auth::PUBLIC` needs a token: a new route is closed until
//! somebody opens it. Where another replica has the box of a workspace, the request is passed on to it (`forwarding`).

mod a2a;
mod app;
mod auth;
mod box_doors;
mod chat;
mod convert;
mod event_feed;
mod event_hub;
mod event_text;
mod extract;
mod fleet_metrics;
mod forwarding;
mod guard;
mod http;
// Its transport is public for one reason: the public conformance suite is run over it in this crate's tests.
#[doc(hidden)]
pub mod mcp;
mod names;
mod openapi;
mod page;
mod paging;
mod problem;
mod requests;
mod routes;
mod runner_gateway;
mod telemetry;

pub use a2a::{A2aRoute, routes as a2a_routes};
pub use app::{App, ServerConfig};
pub use auth::PUBLIC;
pub use guard::Guard;
pub use http::{Parts, Server, ServerError};
pub use openapi::{document as openapi_document, json as openapi_json};
pub use routes::{PROVIDER_CALLBACK, ProviderSignIn};
pub use telemetry::Telemetry;

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

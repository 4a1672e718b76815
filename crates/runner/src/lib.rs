//! The runner: stands between Warren and a program that knows nothing of it (F18).
//!
//! ```text
//!   Warren ◀── WarrenApi: register, heartbeat, claim, progress, answer, ask ── run_loop ──┬── program: a process per message
//!                │ line_api: on its own output and input (in a box)                        ├── acp: one that lives on, on stdio
//!                │ http_api: HTTP (elsewhere)                                              └── a2a: one that lives on, on loopback
//! ```
//!
//! One loop does all of it: heartbeats are sent by the loop that works, not by a timer beside it, so that a loop that
//! hangs falls silent and is found out. What is decided (`health`, `backoff`) is pure. It stands here and not in `rules`
//! because the program is built alone, small and static, for boxes with nothing in them, and knows only the wire types.
//!
//! What all ways to speak with a program have in common is in `adapter`: how the work goes, how it ended, and whom the
//! program may ask. Another way is another module beside these.

mod a2a;
mod acp;
mod adapter;
mod backoff;
mod control_api;
mod credential;
pub mod doors;
mod health;
#[cfg(feature = "http")]
mod http_api;
mod json_lines;
mod line_api;
mod loopback;
mod program;
mod run_loop;
mod settings;
pub mod tool;
mod utc;

pub use backoff::wait_ms;
pub use control_api::{ApiError, WarrenApi};
pub use credential::{Credentials, place};
pub use health::{DEFAULT_WEDGE_SIGNS, Health};
#[cfg(feature = "http")]
pub use http_api::HttpApi;
pub use line_api::LineApi;
pub use run_loop::{Error, work};
pub use settings::{Adapter, AgentOptions, Settings};

//! The runner: stands between Warren and a program that knows nothing of it (F18).
//!
//! ```text
//!   Warren ◀── WarrenApi: register, heartbeat, claim, progress, answer ── run_loop ── a process per message ──▶ program
//!                │ line_api: on its own output and input (in a box)         │ the message on its input
//!                │ http_api: HTTP (elsewhere)                               │ its output is the answer
//!                                                                           │ its errors are progress
//! ```
//!
//! One loop does all of it: heartbeats are sent by the loop that works, not by a timer beside it, so that a loop that
//! hangs falls silent and is found out. What is decided (`health`, `backoff`) is pure. It stands here and not in `rules`
//! because the program is built alone, small and static, for boxes with nothing in them, and knows only the wire types.
//!
//! Another way to speak to a program (a long-lived one, or ACP) is another module beside `program`.

mod backoff;
mod control_api;
mod credential;
pub mod doors;
mod health;
#[cfg(feature = "http")]
mod http_api;
mod line_api;
mod program;
mod run_loop;
pub mod tool;
mod utc;

pub use backoff::wait_ms;
pub use control_api::{ApiError, WarrenApi};
pub use credential::{Credentials, place};
pub use health::{DEFAULT_WEDGE_SIGNS, Health};
#[cfg(feature = "http")]
pub use http_api::HttpApi;
pub use line_api::LineApi;
pub use run_loop::{Error, Settings, work};

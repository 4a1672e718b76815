//! The runner: stands between Warren and a program that knows nothing of it (F18).
//!
//! ```text
//!   Warren ◀── Office: register, heartbeat, claim, progress, answer ── shift ── one process per message ──▶ program
//!                │ line: on its own output and input (in a box)          │ the message on its input
//!                │ client: HTTP (elsewhere)                              │ its output is the answer
//!                                                                        │ its errors are progress
//! ```
//!
//! One loop does all of it: it reports from between the steps of the work, not from beside them, so that a loop that
//! hangs falls silent and is found out. What is decided (`health`, `backoff`) is pure. Standing here and not in `rules`:
//! the program is built alone, small and static, for boxes with nothing in them, and knows the wire and nothing else.
//!
//! Another way to speak to a program (a long-lived one, or ACP) is another module beside `agent`.

mod agent;
mod backoff;
#[cfg(feature = "http")]
mod client;
mod credential;
mod health;
mod line;
mod office;
mod shift;
mod utc;

pub use backoff::wait_ms;
#[cfg(feature = "http")]
pub use client::HttpOffice;
pub use credential::{Credentials, place};
pub use health::{DEFAULT_WEDGE_SIGNS, Health};
pub use line::LineOffice;
pub use office::{Office, Refusal};
pub use shift::{Error, Settings, work};

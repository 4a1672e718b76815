//! Calls against real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod addresses;
mod hostile_peers;
mod outcomes;
mod peer;
mod roots;
mod secrets_stay;
mod web_door;

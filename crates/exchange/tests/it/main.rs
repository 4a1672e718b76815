//! The exchange against real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod a2a_client;
mod addresses;
mod cards;
mod hostile_peers;
mod outcomes;
mod peer;
mod roots;
mod secrets_stay;
mod signatures;
mod webhooks;

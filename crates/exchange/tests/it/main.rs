//! The exchange against real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod a2a_client;
mod cards;
#[path = "../../../outbound/tests/it/peer.rs"]
mod peer;
mod signatures;
mod webhooks;

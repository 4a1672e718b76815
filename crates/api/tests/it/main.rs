//! The client against a peer that answers with exact bytes.

#![expect(clippy::unwrap_used, reason = "a test may")]

mod client;
mod peer;

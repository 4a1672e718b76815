//! The client against a peer that answers with exact bytes.

mod client;
mod peer;

//! The exchange against real sockets.

mod a2a_client;
mod addresses;
mod cards;
mod hostile_peers;
mod outcomes;
mod peer;
mod secrets_stay;

//! The server through its sockets, with a real database and real providers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod a2a;
mod a2a_clients;
mod access;
mod approvals;
mod audit;
mod bad_input;
mod bundles;
mod ceilings;
mod commands;
mod doors;
mod events;
mod exchange;
mod files;
mod fleet;
mod forwarding;
mod heartbeats;
mod hostile_runners;
mod identity;
mod image_logins;
mod image_watcher;
mod images;
mod lifecycle;
mod limits;
mod matrix;
mod mcp;
mod memories;
mod openapi_clients;
mod operations;
mod people;
mod probes;
mod processes;
mod redaction;
mod registration;
mod removal;
mod replicas;
mod request_lengths;
mod resident_acp;
mod residents;
mod revocation;
mod roles;
mod schedules;
mod secrets;
mod sessions;
mod sign_in_provider;
mod sweeps;
mod take_over;
mod templates;
mod terminal;
mod tools;
mod transport;
mod unreadable;
mod web_door;
mod workspaces;

use serde_json::{Value, json};

/// The usual provider of these tests: files and commands.
fn local() -> Value {
    json!({ "kind": "local" })
}

fn memory() -> Value {
    json!({ "kind": "memory" })
}

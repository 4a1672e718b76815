//! The server through its sockets, with a real database and real providers.

mod access;
mod bad_input;
mod commands;
mod events;
mod files;
mod identity;
mod operations;
mod tools;
mod transport;
mod workspaces;

use serde_json::{Value, json};

/// The usual provider of these tests: files and commands.
fn local() -> Value {
    json!({ "kind": "local" })
}

fn memory() -> Value {
    json!({ "kind": "memory" })
}

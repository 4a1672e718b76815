//! Calls over real sockets: our client and our server, and both against those of others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod any_request;
mod faults;
mod official_sdks;
mod other_servers;
mod real_keys;
mod strictness;
mod support;
mod wires;

//! The services of the exchange against real stores (SQLite in a temp folder, and PostgreSQL where `WARREN_TEST_POSTGRES`
//! names one, as in `make test`) and real sockets, with agents that do what the test says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod a2a_client;
mod cards;
mod followers;
mod no_agent;
#[expect(dead_code, reason = "the tests of calls use the rest")]
#[path = "../../../outbound/tests/it/peer.rs"]
mod peer;
mod queue;
mod signatures;
mod webhooks;

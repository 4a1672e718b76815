//! The services of the exchange against real stores (SQLite in a temp folder, and PostgreSQL where `WARREN_TEST_POSTGRES`
//! names one, as in `make test`) and real sockets, with agents that do what the test says.

#![expect(clippy::large_futures, reason = "a test is one future, and has its thread for itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod a2a_client;
mod approvals;
mod cards;
mod conversations;
mod crashes;
mod delegations;
mod dispatch;
mod followers;
mod memories;
mod message_limits;
mod no_agent;
mod outcomes;
#[expect(dead_code, reason = "the tests of calls use the rest")]
#[path = "../../../outbound/tests/it/peer.rs"]
mod peer;
mod peers;
mod probes;
mod pull;
mod queue;
mod removed;
mod schedules;
mod signatures;
mod upkeep;
mod web_doors;
mod webhooks;

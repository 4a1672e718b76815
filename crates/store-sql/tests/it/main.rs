//! The contract suite on both engines, and what each engine promises beyond it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audit;
mod full_disk;
mod hang_ups;
mod migrations;
mod postgres;
mod postgres_server;
mod rows;
mod sqlite;
mod unreadable;
mod wakers;

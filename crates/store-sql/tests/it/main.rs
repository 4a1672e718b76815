//! The contract suite on both engines, and what each engine promises beyond it.

mod migrations;
mod postgres;
mod postgres_server;
mod rows;
mod sqlite;

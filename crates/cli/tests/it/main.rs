//! The real binary, end to end: every test runs `warren` as a person would, on a data folder of its own.

#![expect(clippy::unwrap_used, reason = "a test may")]

mod agents;
mod audit;
mod backups;
mod boxes;
mod chat;
mod config;
mod confirm;
mod crash;
mod cut_commands;
mod database;
mod doctor;
mod first_minutes;
mod images;
mod kill_loop;
mod lifecycle_kills;
mod list_kills;
mod mcp;
mod message_kills;
mod model_server;
mod newcomer;
mod output;
mod people;
mod postgres;
mod postgres_server;
mod processes;
mod pty;
mod refusals;
mod resident_agents;
mod roles;
mod runners;
mod secrets;
mod session_kills;
mod sessions;
mod shell;
mod shutdown;
mod sign_in;
mod start_up;
mod templates;
mod warren;
mod webhooks;

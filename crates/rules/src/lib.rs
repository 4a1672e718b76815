//! The verbs of Warren, decided on paper: status transitions, access, plans for start-up.
//!
//! Functions from values to values, without clock, I/O or randomness. If a test here needs an async runtime, the
//! code is in the wrong crate.

pub mod access;
pub mod agent_words;
pub mod approvals;
pub mod attachments;
pub mod audit;
pub mod backoff;
pub mod budget;
pub mod capabilities;
pub mod chat;
pub mod command_policy;
pub mod delegation;
pub mod dispatch;
pub mod feed;
pub mod following;
pub mod images;
pub mod json_bounds;
pub mod lifecycle;
pub mod memory;
pub mod outbound;
pub mod outcomes;
pub mod peers;
pub mod probes;
pub mod pushes;
pub mod queue;
pub mod rate;
pub mod reconcile;
pub mod redaction;
pub mod refusals;
pub mod registry;
pub mod replicas;
pub mod residents;
pub mod schedules;
pub mod secrets;
pub mod startup;
pub mod sweeps;
pub mod tasks;
pub mod templates;
pub mod tier;
pub mod uploads;
pub mod vitals;
pub mod webhooks;

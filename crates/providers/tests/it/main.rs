//! The providers against the public contract suite, and against those who do not keep to it.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

mod attack_paths;
mod attack_races;
mod attack_sizes;
mod contract;
mod directory_owner;
mod docker;
mod fixture;
mod idle_memory;
mod local_provider;
mod power_loss;
mod processes;
mod sandbox;
mod security;
mod signals;
mod watching;

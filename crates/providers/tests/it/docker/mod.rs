//! The `docker` provider against a real daemon.

mod contract;
pub(crate) mod daemon;
mod faults;
mod hardened;
mod lifecycle;
mod proxy;
mod pulling;
mod reaper;
mod remote;

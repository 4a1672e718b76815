//! The `docker` provider against a real daemon.

mod contract;
mod daemon;
mod faults;
mod hardened;
mod lifecycle;
mod proxy;
mod pulling;
mod reaper;

//! The program itself, as process 1 of a pid namespace, spoken to as its owner does.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod fixture;
#[cfg(target_os = "linux")]
mod flows;
#[cfg(target_os = "linux")]
mod owners;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod trees;
#[cfg(target_os = "linux")]
mod wire;

//! The program itself, as process 1 of a pid namespace, spoken to as its owner does.

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

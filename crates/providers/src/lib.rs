//! The providers that back a workspace: `memory` (files that die with the process) and `local` (a host directory
//! and host processes, for trusted input).
//!
//! ```text
//!   memory ──┐                          ┌── search     (ripgrep's engine, globs, ignore files)
//!            ├── workspace::{Fs, Shell} ┼── directory  (files in a host directory, whoever owns it)
//!   local ───┘                          └── process    (the one door that starts programs)
//! ```
//!
//! Surprise: files in a host directory are never reached by a path string that was checked earlier. Every operation
//! resolves its path in the kernel, beneath a handle of the root (`directory::beneath`).

mod boxes;
mod cursor;
pub mod directory;
#[cfg(feature = "docker")]
pub mod docker;
mod edit;
pub mod local;
pub mod memory;
mod process;
mod readiness;
pub mod sandbox;
mod search;

#[cfg(feature = "docker")]
pub use docker::{DockerProvider, DockerSettings};
pub use local::LocalProvider;
pub use memory::MemoryProvider;
pub use sandbox::{SandboxProvider, SandboxSettings};

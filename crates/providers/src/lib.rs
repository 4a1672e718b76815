//! The four providers that back a workspace, each an implementation of `workspace::{Provider, Fs, Shell}`:
//!
//! | provider  | files                                   | commands                                          |
//! |-----------|-----------------------------------------|---------------------------------------------------|
//! | `memory`  | in this process, and end with it        | none                                              |
//! | `local`   | a host directory                        | host processes, for trusted input                 |
//! | `sandbox` | a host directory                        | in a bubblewrap box on this host                  |
//! | `docker`  | a host directory, or a remote volume    | in a container of a local or remote Docker daemon |
//!
//! ```text
//!   memory ────────────────────▶ search     ripgrep's engine, globs, ignore files
//!   local ─────┬───────────────▶ process    the one door that starts programs
//!              ├───────────────▶ directory  files in a host directory ──▶ confined-fs
//!   sandbox ───┤
//!   docker ────┴───────────────▶ boxes      the channel to process 1 (`init`): commands and files through it
//! ```
//!
//! Surprise: files in a host directory are never reached by a path string that was checked earlier. Every operation
//! resolves its path in the kernel, beneath a handle of the root (`confined_fs::Root`).

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

pub use boxes::owner::RestoredOwners;
#[cfg(feature = "docker")]
pub use docker::{DockerProvider, DockerSettings};
pub use local::LocalProvider;
pub use memory::MemoryProvider;
pub use sandbox::{SandboxProvider, SandboxSettings};

//! `docker`: files and commands in a hardened container (W74–W76). No capabilities, no network, a read-only root, limits
//! on memory, processors and processes, a user of its own where Warren is root; process 1 is ours (W77).
//!
//! ```text
//!   open ─▶ check (image, relax, mounts) ─▶ container (spec ─▶ daemon ─▶ drift) ─▶ connect ─▶ workspace
//!   reap ─▶ reaper (identity, held)                 folders: what is kept on the host
//! ```
//!
//! The container is entered once, when it is opened; a command is a fork of its process 1 and does not pass the daemon, so
//! that a daemon that is down or slow holds up opening and closing, and nothing else.
//!
//! Surprise: only daemons on this machine are taken (`host`). The channel is a socket in a directory that both sides see;
//! for one elsewhere it would be the container's own input and output, and files would go through it too.

mod connect;
mod container;
mod daemon;
mod drift;
mod folders;
mod held;
mod host;
mod identity;
mod image;
mod provider;
mod reaper;
mod relax;
mod spec;
mod workspace;

pub use daemon::Patience;
pub use provider::{DockerProvider, DockerSettings};

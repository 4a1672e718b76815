//! `docker`: files and commands in a hardened container (W74–W76). No capabilities, no network, a read-only root, limits
//! on memory, processors and processes, a user of its own where Warren is root; process 1 is ours (W77).
//!
//! ```text
//!   open ─▶ check (image, relax, mounts) ─▶ container (spec ─▶ daemon ─▶ drift) ─▶ connect ─▶ workspace
//!   reap ─▶ reaper (identity, open_boxes)                 folders: what is kept on the host
//! ```
//!
//! The container is entered once, when it is opened; a command is a fork of its process 1 and does not pass the daemon, so
//! that a daemon that is down or slow holds up opening and closing, and nothing else.
//!
//! Surprise: a daemon behind TCP shares no directory with us (`host`), so that there the channel is the container's own input
//! and output, files go through it too (`boxes::files`), and they are kept in a volume (`volumes`). Then commands do pass the
//! daemon, and end with their connection to it.

mod archive;
mod config_drift;
mod connect;
mod container;
mod daemon;
mod daemon_status;
mod folders;
mod host;
mod identity;
mod image;
mod open_boxes;
mod provider;
mod reaper;
mod relax;
mod spec;
mod volumes;
mod workspace;

pub use daemon::DaemonTimeouts;
pub use daemon_status::{DaemonProblem, DaemonStatus, check_daemon};
pub use provider::{DockerProvider, DockerSettings};

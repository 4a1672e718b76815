//! What every box has in common, whoever keeps it shut: process 1 and the channel to it, commands through it, the
//! user its files belong to, the host paths it may see, and the system calls it may make.
//!
//! ```text
//!   sandbox ──┐            ┌── shell ─▶ channel ═══ frames ═══▶ init (program), process 1 of the box
//!             ├──▶ boxes ──┤
//!   docker ───┘            └── owner, mounts, syscalls: what a box is made with
//! ```
//!
//! Surprise: init and the programs in the box are one user, so nothing that comes over the channel is trusted.

pub(crate) mod channel;
pub(crate) mod config;
mod dialog;
pub(crate) mod disk;
pub(crate) mod files;
pub(crate) mod hidden_files;
pub(crate) mod memory_limit;
pub(crate) mod mounts;
pub(crate) mod not_held;
pub(crate) mod owner;
pub(crate) mod program;
pub(crate) mod reference;
pub(crate) mod shell;
pub(crate) mod syscalls;

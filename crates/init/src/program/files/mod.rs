//! The files of the workspace (W83), served by a process of their own.
//!
//! ```text
//!   init ══ one packet per message ══▶ files ──(trees)──▶ a fork for each copy or removal of a tree
//! ```
//!
//! Disks block, and init must not: it forks this process at the first call, passes calls on, and passes answers back. The
//! process cannot be traced by the box's programs; should it be killed, its calls fail, and the next one starts another.
//!
//! How paths are resolved and files are made in a hostile tree is `confined-fs`'s; here are the calls of the protocol.

mod copying;
mod listing;
mod reading;
mod server;
mod trees;
mod watching;
mod writing;

pub(super) use server::{FileProcess, start};

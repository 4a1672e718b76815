//! The files of the workspace (W83), served by a process of their own.
//!
//! ```text
//!   init ══ one packet per message ══▶ files ──(trees)──▶ a fork for each copy or removal of a tree
//! ```
//!
//! Disks block, and init must not: it forks this process at the first call, passes calls on, and passes answers back. It
//! is no program of the box's and cannot be traced; should it be killed, its calls fail, and the next one starts another.
//!
//! The tree is hostile ground. Paths are resolved by the kernel beneath the root, every further step goes by handle, no
//! link is followed out, and nothing but a regular file or a directory is ever opened.

mod copying;
mod listing;
mod reading;
mod resolve;
mod server;
mod trees;
mod watching;
mod writing;

pub(super) use server::{Helper, start};

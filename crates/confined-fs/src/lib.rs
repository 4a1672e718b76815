//! Files below a root directory, for code that works on a tree which other programs change at the same time.
//!
//! ```text
//!   Root ── path ──▶ Location (an open directory and a name in it)
//!     ├── entries, listing     read directories, in memory for a page
//!     ├── staging, unnamed     make a file out of sight; put it in place with one rename
//!     ├── copy, delete         whole trees, by handle
//!     └── watch                inotify over a tree
//!   OutputRing                 the latest output of a process, by offset
//! ```
//!
//! The tree is hostile: a program in it may rename, link and replace everything while we work, and we may be root. So a
//! path is resolved by the kernel beneath the root's handle, every further step goes by handle, no link is followed
//! that was not resolved so, and only regular files and directories are opened.
//!
//! Used by `init` (a small static program) and by `providers`. It has no async code and no logging: what goes wrong is
//! returned as the kernel's error number, and the caller knows what to tell whom.

mod attributes;
mod copy;
mod delete;
mod entries;
mod listing;
mod owner;
mod put;
mod ring;
mod root;
mod smallest;
mod sparse;
mod staging;
mod unnamed;
mod watch;

pub use attributes::{Attributes, Kind, size_of};
pub use copy::{CopyError, TreeCopy};
pub use delete::delete_tree;
pub use entries::{RawEntry, for_each_entry, is_directory, list_names, open_for_listing, scan};
pub use listing::sorted_keys;
pub use owner::Owner;
pub use put::{
    Unsynced, finish_file, make_folder, open_for_append, put_in_place, rename, replaced_file, sync_directory,
};
pub use ring::OutputRing;
pub use root::{
    DIRECTORY_FLAGS, Location, MAX_PATH_BYTES, Resolution, Root, open_regular, open_stated_regular,
    read_link, refuse_special,
};
pub use smallest::Smallest;
pub use staging::{Staged, Staging};
pub use unnamed::{TEMPORARY_PREFIX, UnnamedFile, make_directory, refuse_other_filesystem, with_unused_name};
pub use watch::{TreeChange, TreeWatch};

//! The archive that a backup is: one tar file that is written from a data folder, verified, and unpacked into a new one (O6).
//!
//! ```text
//!   warren-backup                  what this is, and which form of it
//!   warren.db                      the database, as of one moment: the cut
//!   warren.toml                    the config file, if the data folder has one
//!   workspaces/ID/…                files, one part for each workspace; read after the cut
//!   workspaces/shared/ID/…
//!   sandbox/ID/…  docker/ID/…
//!   manifest.json                  versions, the cut, each part with its size and SHA-256, and what changed meanwhile
//!   end.sha256                     SHA-256 of every byte before it
//! ```
//!
//! The database is copied first and files are read after it: what a row of the copy speaks of was there at the cut, and what was
//! acknowledged before the cut is in the copy or in a file. A workspace that is removed while its files wait to be read is told
//! in the manifest.
//!
//! The end is written last and vouches for all the rest, so that an archive which was cut off anywhere, or changed in one bit,
//! is no backup. The form is plain tar with pax headers: people can look into it with their own tools.
//!
//! An archive may come from anywhere and is unpacked by root. So a path is judged by one rule (`paths`), in the order in which
//! entries come: what stands below a link, leaves its part, comes twice or is no file, directory or link is refused, and with
//! it the whole archive. All of it is read and judged before the first byte is written.
//!
//! No async code, as in `confined-fs`: whoever calls it has a thread to spare.

mod folder;
mod manifest;
mod paths;
mod read;
mod sparse;
mod tar;
mod tree;
mod unpack;
mod write;

pub use folder::{Folder, list_parts, write_folder};
pub use manifest::{Cut, Engine, LeftOut, Manifest, Part};
pub use read::{BadArchive, verify};
pub use unpack::{NewOwner, Unpacking, unpack};
pub use write::{Header, Writer};

/// The newest form of archive that is written and read.
pub const FORMAT: u32 = 1;

pub const DATABASE: &str = "warren.db";
pub const CONFIG: &str = "warren.toml";
/// The folders of a data folder that hold the files of workspaces.
pub const PLACES: [&str; 3] = ["workspaces", "sandbox", "docker"];

const MARK: &str = "warren-backup";
const MANIFEST: &str = "manifest.json";
const END: &str = "end.sha256";

//! The protocol between a workspace's owner (Warren) and process 1 of its box.
//!
//! ```text
//!   owner ── Request { id, call } ──▶ init        one frame each: 4 bytes of length, then the message
//!         ◀─ Reply { id, answer } ──              any number per request; the last one ends it
//! ```
//!
//! The owner chooses ids and may have many requests under way. What init writes is decided by programs in the box as
//! much as by init (they are one user), so an owner trusts none of it: lengths are checked before anything is
//! allocated, unknown ids are ignored, and a frame that cannot be read ends the connection.
//!
//! Surprise: file and program names are bytes, not text. A box may hold names that are not UTF-8.

mod file_call;
mod frame;
mod message;

pub use file_call::{FileAnswer, FileCall, FileChange, FileEntry, FileKind, MAX_PAGE_BYTES};
pub use frame::{FrameError, FrameReader, LENGTH_BYTES, MAX_FRAME_BYTES, encode, encode_into};
pub use message::*;

/// Both sides say theirs first; another major version is refused before anything is started.
pub const PROTOCOL_VERSION: u16 = 5;
/// Where the workspace's files are in a box.
pub const WORKSPACE_ROOT: &str = "/workspace";
/// Output of one foreground command that may be under way before the owner has granted more (see `Call::Grant`).
pub const OUTPUT_WINDOW_BYTES: u32 = 256 << 10;

/// What a piece of output takes of that window: a program that writes byte by byte makes many pieces of little output, and
/// whoever keeps them until they are read keeps more than their bytes.
pub const fn output_cost(bytes: usize) -> usize {
    const PIECE: usize = 64;
    bytes + PIECE
}

/// Output of one background process that init keeps for those who ask later.
pub const BACKGROUND_OUTPUT_BYTES: usize = 1 << 20;
/// What init keeps of each output of a `Run` with a key.
pub const KEPT_OUTPUT_BYTES: usize = 256 << 10;
pub const MAX_KEY_BYTES: usize = 256;
/// The largest piece of output or file contents in one frame.
pub const MAX_PIECE_BYTES: usize = 64 << 10;

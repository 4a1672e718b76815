//! Byte streams on the line between Warren and a box, beside the requests of the runner (A81).
//!
//! ```text
//!   program ── TCP ──▶ runner ── open, data, more, end, reset ──▶ Warren        a door of the box
//!   program ◀── TCP ── runner ◀── open, data, more, end, reset ── Warren        a port in the box
//! ```
//!
//! Each frame is one line of JSON that begins with `{"stream":`; every other line of the conversation is a request or an
//! answer. Either side opens streams: the box with odd numbers, Warren with even ones, each in rising order.
//!
//! - **Flow control.** A side may send [`WINDOW_BYTES`] per stream, and as much again as it is told that the reader has
//!   taken (`more`). So whoever reads slowly holds up its own stream and nothing else, and what waits has a limit.
//! - **Fairness.** What is to be sent is taken from the streams in turn, in pieces of [`PIECE_BYTES`].
//! - Nothing that the other side says is trusted: one that sends more than it may, or opens too many, loses that stream.

mod frame;
mod multiplexer;

pub use frame::{Door, Frame, Target, is_frame};
pub use multiplexer::{LineStream, Multiplexer, OpenError, Received, Side};

/// What is under way on one stream in one direction, at most.
pub const WINDOW_BYTES: usize = 128 << 10;
/// The longest piece in one frame.
pub const PIECE_BYTES: usize = 16 << 10;
/// Streams that one side may have open.
pub const MAX_STREAMS: usize = 64;

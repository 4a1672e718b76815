//! The rules together, over simulated time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod sessions;
mod simulation;

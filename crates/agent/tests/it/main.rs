//! Sessions on real stores, with models that answer from a script.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod bed;
mod hosted;
mod parity;
mod providers;

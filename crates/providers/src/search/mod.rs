//! Finding things: what a query means once it is compiled, shared by every provider so that they agree.
//!
//! A provider brings the files; this module decides which are wanted ([`Globs`], [`IgnoreChain`]) and what is in
//! them ([`GrepPlan`]). All matching is linear in the input, and compiled patterns have a size limit.

mod findings;
mod globs;
mod ignore_chain;
mod plan;

pub(crate) use findings::Findings;
pub(crate) use globs::Globs;
pub(crate) use ignore_chain::{FILE_NAMES as IGNORE_FILE_NAMES, IgnoreChain, MAX_IGNORE_FILE_BYTES};
pub(crate) use plan::{GrepPlan, Source};

/// No answer holds more paths, whatever a caller asks for.
pub(crate) const MAX_PATHS: u32 = 100_000;

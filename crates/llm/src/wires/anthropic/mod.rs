//! Anthropic Messages.

pub(crate) mod events;
pub(crate) mod request;

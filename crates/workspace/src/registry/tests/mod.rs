//! The registry against a scripted provider, under a paused clock.

mod closing;
mod evictions;
mod opening;
mod scripted;
mod storms;

//! The doors to the outside: wall clock, randomness and environment.
//!
//! Everything that would make two runs differ enters through one of these traits, so that a test can move the
//! time, replay a seed, and run two servers with different environments in one process. `clippy.toml` keeps the
//! other ways shut. The way out is here too as far as it would let the same in: a program is started with the usual
//! signals, however Warren was. Waiting is not here: it goes through `tokio::time`, which tests pause.

#[cfg(feature = "inputs")]
mod clock;
#[cfg(feature = "inputs")]
mod entropy;
#[cfg(feature = "inputs")]
mod environment;
mod signals;

#[cfg(feature = "inputs")]
pub use clock::{Clock, ManualClock, SystemClock};
#[cfg(feature = "inputs")]
pub use entropy::{Entropy, OsEntropy, SeededEntropy};
#[cfg(feature = "inputs")]
pub use environment::Environment;
pub use signals::reset_signals;

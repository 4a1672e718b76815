//! How replicas on one database wake each other (F41).

use async_trait::async_trait;

use crate::Error;

/// Carries "there is more" between the replicas on one database, by the database itself or by a broker beside it.
///
/// A wake-up has no content: whoever hears one reads the log, which alone is the truth. So a waker may lose wake-ups,
/// merge them, repeat them, or bring a replica its own. All that is asked of it is to be quick as a rule. It may also fail,
/// hang or panic: the store calls it after commits and beside them, a few at a time, and polls as if there were none.
#[async_trait]
pub trait Waker: Send + Sync + std::fmt::Debug {
    /// Wakes the replicas that listen at this moment.
    async fn tell(&self) -> Result<(), Error>;

    /// Begins to listen: what is told after this answers is heard.
    async fn listen(&self) -> Result<Box<dyn WakeUps>, Error>;
}

/// The wake-ups that reach one listener.
#[async_trait]
pub trait WakeUps: Send {
    /// Waits for the next; several that came meanwhile may be one. After an error the listener is of no use any more.
    async fn next(&mut self) -> Result<(), Error>;
}

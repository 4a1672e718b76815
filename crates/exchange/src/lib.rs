//! Carriers of messages: what `rules` decides about tasks, schedules, memory and approvals is written and brought
//! about here, and every call that leaves Warren goes through the one checked connector.
//!
//! As in the fleet, a change is `load → decide → compare-and-set + event` in one transaction, and what must happen
//! afterwards is found again from the rows, so that a crash between the two loses nothing.

mod schedules;
mod transport;

pub use schedules::{MAX_PREVIEW, NewSchedule, PatchSchedule, Rest};
pub use transport::{Endpoint, NoTransport, Outcome, Told, Transport, Turn, UpdateSink};

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warren_doors::{Clock, Entropy};
use warren_fleet::Fleet;
use warren_store::Store;

/// Failures have the fleet's shape: a public code and detail, and a cause that stays in the log.
pub use warren_fleet::Error;

/// What the exchange is made of. Everything comes from outside.
#[derive(Debug, Clone)]
pub struct Parts {
    pub fleet: Fleet,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

/// The exchange. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Exchange(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Parts,
    /// Work that must finish even if the client that asked for it hangs up.
    tasks: TaskTracker,
    stopping: CancellationToken,
    schedules: schedules::Wake,
}

impl Exchange {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            parts,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            schedules: schedules::Wake::default(),
        }))
    }

    /// Takes up what an earlier process left. Called after the fleet's own start.
    pub async fn start(&self) -> Result<(), Error> {
        self.start_scheduler();
        Ok(())
    }

    /// Stops taking up work and waits for what is under way. Called before the fleet's own stop.
    pub async fn stop(&self) {
        self.0.stopping.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub fn fleet(&self) -> &Fleet {
        &self.0.parts.fleet
    }

    fn clock(&self) -> &dyn Clock {
        &*self.0.parts.clock
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.0.parts.entropy
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        self.fleet().store()
    }
}

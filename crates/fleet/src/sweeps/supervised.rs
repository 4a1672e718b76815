//! Loops of other services, looked after like sweeps (F21): each by itself, started again when it panics, and on the same board.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use warren_service::{Context, Error};

use super::{AFTER_PANIC, SweepOutcome, SweepReport, Sweeps, Tally};

/// Work that goes on in the background, one run after the other.
#[async_trait]
pub trait BackgroundLoop: Send + Sync + std::fmt::Debug {
    /// Its name on the board; no sweep has the same.
    fn name(&self) -> &'static str;

    /// A sentence for people.
    fn meaning(&self) -> &'static str;

    /// How often it runs when nothing happens.
    fn interval(&self) -> Duration;

    /// One run. What could not be dealt with is counted, and costs nothing else its turn.
    async fn run(&self, tally: &mut Tally) -> Result<(), Error>;

    /// Waits until the next run is due.
    async fn rest(&self) {
        tokio::time::sleep(self.interval()).await;
    }
}

/// A loop, and the service whose stop ends it.
#[derive(Debug, Clone)]
pub(crate) struct Supervised {
    pub(crate) work: Arc<dyn BackgroundLoop>,
    pub(crate) context: Context,
}

impl Sweeps {
    /// Runs a loop until `context` stops.
    pub fn supervise(&self, context: &Context, work: Arc<dyn BackgroundLoop>) {
        let one = Supervised { work, context: context.clone() };
        self.board.add(one.clone());
        let (sweeps, name) = (self.clone(), one.work.name());
        let span = tracing::info_span!("fleet.sweeps.supervise", sweep = name);
        context.spawn(span, async move {
            while !one.context.is_stopping() {
                sweeps.run_loop_once(&one).await;
                let rest = async {
                    match sweeps.board.panics_in_a_row(name) {
                        0 => one.work.rest().await,
                        panics => {
                            let fraction = one.context.entropy().fraction();
                            let wait = AFTER_PANIC.delay_ms(panics - 1, fraction);
                            tokio::time::sleep(Duration::from_millis(wait)).await;
                        }
                    }
                };
                tokio::select! {
                    () = one.context.stopping().cancelled() => return,
                    () = rest => {}
                }
            }
        });
    }

    /// One run, in a task of its own: a panic in it ends that task and is told, not the loop.
    pub(super) async fn run_loop_once(&self, one: &Supervised) -> SweepReport {
        let name = one.work.name();
        let _turn = self.board.turn(name).await;
        let started_at = one.context.now();
        let work = Arc::clone(&one.work);
        let run = async move {
            let mut tally = Tally::default();
            let ran = work.run(&mut tally).await;
            (ran, tally)
        };
        let span = tracing::debug_span!("fleet.sweeps.run_loop_once", sweep = name);
        let outcome = match one.context.spawn(span, run).await {
            Ok((Ok(()), Tally { looked_at, acted_on, failed })) => {
                SweepOutcome::Done { looked_at, acted_on, failed }
            }
            Ok((Err(error), Tally { looked_at, acted_on, failed })) => {
                tracing::warn!(sweep = name, %error, "a loop failed; it runs again");
                SweepOutcome::Failed { code: error.code, looked_at, acted_on, failed }
            }
            Err(stopped) if stopped.is_cancelled() => return self.board.report_loop(&*one.work),
            Err(_) => {
                tracing::error!(sweep = name, "a loop panicked; it is started again");
                SweepOutcome::Panicked
            }
        };
        self.board.note(name, started_at, one.context.now(), outcome);
        self.board.report_loop(&*one.work)
    }
}

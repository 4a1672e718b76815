//! What other replicas wrote about workspaces whose box is here, heard by the log of events, so that it need not wait for
//! the sweep `catching_up` (O10).

use std::collections::BTreeSet;
use std::time::Duration;

use warren_model::{EventKind, WorkspaceId};
use warren_rules::lifecycle::replicas::takes_up;
use warren_service::Error;
use warren_store::EventQuery;

use super::Reconciler;

/// Between two looks at new events. Whoever wrote one may still be about to say whose box it is.
const PACE: Duration = Duration::from_millis(150);
const PAGE: u32 = 500;

impl Reconciler {
    /// Follows the log until Warren stops. What cannot be read now, the sweep finds.
    pub(crate) fn follow_others_in_background(&self) {
        let reconciler = self.clone();
        let span = tracing::info_span!("fleet.reconciler.follow_others");
        self.parts.context.spawn(span, async move {
            let mut newest = reconciler.parts.context.store().newest_event();
            let mut seen = *newest.borrow_and_update();
            loop {
                tokio::select! {
                    () = reconciler.parts.context.stopping().cancelled() => return,
                    changed = newest.changed() => if changed.is_err() { return },
                }
                tokio::time::sleep(PACE).await;
                let last = *newest.borrow_and_update();
                if let Err(error) = reconciler.look_at_events(seen).await {
                    tracing::debug!(%error, "what other replicas wrote could not be read");
                }
                seen = last;
            }
        });
    }

    async fn look_at_events(&self, mut after: u64) -> Result<(), Error> {
        loop {
            let query = EventQuery { after, org_id: None, workspace_id: None, limit: PAGE };
            let page =
                self.parts.context.store().read(move |tx| tx.events(&query).map_err(Error::from)).await?;
            let changed: BTreeSet<WorkspaceId> = page
                .rows
                .iter()
                .filter(|event| is_asked_for(event.kind))
                .filter_map(|event| event.workspace_id)
                .collect();
            for id in changed {
                self.take_up_if_ours(id).await?;
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    async fn take_up_if_ours(&self, id: WorkspaceId) -> Result<(), Error> {
        if self.is_busy(id) {
            return Ok(());
        }
        let row =
            self.parts.context.store().read_few(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let Some(row) = row.filter(|row| row.generation != row.observed_generation) else { return Ok(()) };
        if takes_up(&row, self.parts.replicas.standing(id).await?) {
            self.run_in_background(id);
        }
        Ok(())
    }
}

fn is_asked_for(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::WorkspaceCreated | EventKind::WorkspaceStatusChanged | EventKind::WorkspaceRemoved
    )
}

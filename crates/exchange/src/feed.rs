//! What a workspace does, for people who watch (X34): the last of its events, as lines.

use warren_model::WorkspaceId;
use warren_rules::messages::feed::{self, Line};
use warren_service::Action;
use warren_service::{Error, Identity};
use warren_store::EventQuery;

use crate::Exchange;

/// Events looked at in one go, and how many times: a feed is about now, and what lies farther back is in the log.
const WINDOW: u32 = 500;
const WINDOWS: u64 = 10;

impl Exchange {
    pub async fn feed(&self, who: &Identity, id: WorkspaceId) -> Result<Vec<Line>, Error> {
        self.fleet().workspaces.get(who, Action::UseWorkspace, id).await?;
        self.store()
            .read(move |tx| {
                let newest = tx.newest_event_seq()?;
                let mut lines: Vec<Line> = Vec::new();
                for window in 1..=WINDOWS {
                    let after = newest.saturating_sub(window * u64::from(WINDOW));
                    let until = newest.saturating_sub((window - 1) * u64::from(WINDOW));
                    let query = EventQuery { after, org_id: None, workspace_id: Some(id), limit: WINDOW };
                    let events = tx.events(&query)?.rows;
                    let mut older: Vec<Line> =
                        events.iter().filter(|event| event.seq <= until).filter_map(feed::line_of).collect();
                    older.append(&mut lines);
                    lines = feed::fold(older);
                    if lines.len() >= feed::MAX_LINES || after == 0 {
                        break;
                    }
                }
                Ok(lines)
            })
            .await
    }
}

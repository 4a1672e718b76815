//! What happens to the workspaces of sessions: paused, woken, removed.
//!
//! Told by the log of events, so that it is heard whichever process did it. Should that be missed, a session that waits for
//! its workspace looks by itself now and then.

use std::sync::PoisonError;
use std::time::Duration;

use warren_model::session::{Phase, PhaseKind, Session, Suspension};
use warren_model::{Event, EventData, EventKind, Principal, SessionId, WorkspaceId};
use warren_rules::lifecycle::{Usability, usability};
use warren_rules::sessions::Input;
use warren_service::Error;
use warren_store::{EventQuery, ReadTx, SessionQuery};

use super::Engine;
use crate::commit::Change;

/// Between two looks at new events, however fast they come.
const PACE: Duration = Duration::from_millis(20);
const PAGE: u32 = 500;

/// A session that has work to do, and whose workspace sleeps: it is woken, as for a message (F7).
pub(super) fn wake_workspace_of(engine: &Engine, session: &Session) {
    if !matches!(&session.phase, Phase::Suspended { by: Suspension::Workspace, .. }) {
        return;
    }
    let (fleet, id) = (engine.0.fleet.clone(), session.workspace_id);
    let span = tracing::info_span!("agent.engine.wake_workspace", workspace.id = %id);
    engine.0.context.spawn(span, async move {
        if let Err(error) = fleet.lifecycle.wake_for_message(id, &Principal::workspace(id)).await {
            tracing::warn!(%error, "a workspace could not be woken for its session");
        }
    });
}

/// Tells the fleet how busy the workspaces are in which sessions began or ceased to work.
pub(super) async fn note_sessions(engine: &Engine) {
    let moved = std::mem::take(&mut *engine.0.moved.lock().unwrap_or_else(PoisonError::into_inner));
    for id in moved {
        if let Err(error) = engine.0.fleet.runtimes.note_sessions(id).await {
            tracing::warn!(workspace.id = %id, %error, "how busy a workspace is could not be written");
        }
    }
}

/// Follows what happens to workspaces, in the background.
#[derive(Debug)]
pub(super) struct WorkspaceWatch(pub(super) Engine);

impl WorkspaceWatch {
    pub(super) async fn run(&self) {
        let mut newest = self.0.store().newest_event();
        let mut seen = *newest.borrow_and_update();
        // What happened while no process was there is in no event that comes.
        if let Err(error) = self.end_what_was_left_behind().await {
            tracing::warn!(%error, "sessions of removed workspaces could not be looked for");
        }
        loop {
            tokio::select! {
                () = self.0.0.context.stopping().cancelled() => return,
                changed = newest.changed() => if changed.is_err() { return },
            }
            tokio::time::sleep(PACE).await;
            let _ = newest.borrow_and_update();
            match self.look_at_workspaces(seen).await {
                Ok(next) => seen = next,
                Err(error) => tracing::warn!(%error, "workspaces of sessions could not be looked at"),
            }
        }
    }

    /// Ends the runs of sessions whose workspace was removed before anybody of this process looked.
    async fn end_what_was_left_behind(&self) -> Result<(), Error> {
        let mut after = None;
        loop {
            let read = move |tx: &mut dyn ReadTx| tx.sessions_left_behind(after, PAGE).map_err(Error::from);
            let sessions = self.0.store().read(read).await?;
            let Some(last) = sessions.last() else { return Ok(()) };
            after = Some(*last);
            for session in sessions {
                self.tell_session(session).await;
            }
        }
    }

    async fn look_at_workspaces(&self, mut after: u64) -> Result<u64, Error> {
        loop {
            let query = EventQuery { after, org_id: None, workspace_id: None, limit: PAGE };
            let page = self.0.store().read(move |tx| tx.events(&query).map_err(Error::from)).await?;
            let is_change =
                |kind| matches!(kind, EventKind::WorkspaceStatusChanged | EventKind::WorkspaceRemoved);
            let changed = page.rows.iter().filter(|event| is_change(event.kind));
            for id in changed.filter_map(|event| event.workspace_id) {
                self.look_at_workspace(id).await?;
            }
            self.look_at_sessions(&page.rows).await;
            after = page.rows.last().map_or(after, |event| event.seq).max(page.next.unwrap_or(0));
            if page.next.is_none() {
                return Ok(after);
            }
        }
    }

    /// Sessions that another replica changed and whose box is here: they need not wait for the next look.
    async fn look_at_sessions(&self, events: &[Event]) {
        if self.0.0.fleet.box_holders.is_alone() {
            return;
        }
        for event in events {
            if event.kind == EventKind::SessionChanged
                && let Ok(EventData::SessionChanged(changed)) = event.read()
                && !self.0.owned().contains_key(&changed.session_id)
            {
                self.0.look_at_again(changed.session_id).await;
            }
        }
    }

    /// Tells the sessions of a workspace that it changed, as far as it matters to them.
    async fn look_at_workspace(&self, id: WorkspaceId) -> Result<(), Error> {
        for session in self.0.store().read(move |tx| concerned(tx, id)).await? {
            self.tell_session(session).await;
        }
        Ok(())
    }

    async fn tell_session(&self, session: SessionId) {
        let by = Principal::system("fleet");
        let change = Change::new(session, self.0.0.context.now(), by, vec![Input::WorkspaceChanged]);
        if let Err(error) = self.0.change(change).await {
            tracing::warn!(session.id = %session, %error, "a session could not be told of its workspace");
        }
    }
}

/// Sessions that work although their workspace rests or is gone, and those that wait for it.
fn concerned(tx: &mut dyn ReadTx, id: WorkspaceId) -> Result<Vec<SessionId>, Error> {
    let state = tx.workspace(id)?.map_or(Usability::Gone, |row| usability(row.status));
    let mut found = Vec::new();
    for phase in [PhaseKind::Active, PhaseKind::Suspended] {
        let mut before = None;
        loop {
            let query = SessionQuery {
                org_id: None,
                workspace_id: Some(id),
                phase: Some(phase),
                agent: None,
                before,
                limit: PAGE,
            };
            let page = tx.sessions(&query)?;
            let is_concerned = |session: &&Session| match state {
                Usability::Gone => true,
                Usability::Resting => phase == PhaseKind::Active,
                Usability::Usable | Usability::Failed => {
                    matches!(&session.phase, Phase::Suspended { by: Suspension::Workspace, .. })
                }
            };
            found.extend(page.rows.iter().filter(is_concerned).map(|session| session.id));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
    }
    Ok(found)
}

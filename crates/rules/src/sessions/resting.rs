//! Sessions whose workspace is paused, asleep or removed.
//!
//! ```text
//!   paused, asleep ─▶ what runs may end, nothing is begun ─▶ suspended(workspace) ── woken ─▶ active
//!   removed ───────▶ the run is aborted
//! ```

use warren_model::Principal;
use warren_model::session::{Phase, Suspension};

use super::{Change, Refusal};
use crate::lifecycle::Usability;

/// How often a session looks whether its workspace is back, should nobody tell it.
const LOOK_AGAIN_MS: i64 = 60_000;

impl Change<'_> {
    /// Nothing is under way, and nothing can be begun.
    pub(super) fn rest(&mut self) {
        self.suspend(Suspension::Workspace, "its workspace is paused or asleep".to_owned());
        let look_at = self.facts.now.plus_ms(LOOK_AGAIN_MS);
        self.session().wake_at = Some(look_at);
    }

    /// Goes on once the workspace is back; ends with it.
    pub(super) fn look_at_workspace(&mut self) -> Result<(), Refusal> {
        let phase = &self.open.session.phase;
        let is_resting = matches!(phase, Phase::Suspended { by: Suspension::Workspace, .. });
        match self.facts.workspace {
            Usability::Gone if phase.has_run() => self.abort(&Principal::system("fleet")),
            Usability::Usable | Usability::Failed if is_resting => self.activate(),
            Usability::Usable | Usability::Failed | Usability::Resting | Usability::Gone => {}
        }
        Ok(())
    }

    /// The moment came to look whether the workspace is back.
    pub(super) fn look_again(&mut self) -> Result<(), Refusal> {
        self.look_at_workspace()?;
        if matches!(&self.open.session.phase, Phase::Suspended { by: Suspension::Workspace, .. }) {
            let look_at = self.facts.now.plus_ms(LOOK_AGAIN_MS);
            self.session().wake_at = Some(look_at);
        }
        Ok(())
    }
}

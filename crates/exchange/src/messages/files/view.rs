//! Whose files a task shows to whom.

use serde_json::Value;
use warren_model::{Content, Part, Principal, PrincipalKind, Task, TaskUpdate, WorkspaceId};
use warren_service::Identity;

use crate::peers::speaks_for;

/// Where the copy of a file is, in the workspace that asked.
pub(super) const COPY: &str = "warren/copy";

/// With whose eyes a task is looked at: wherever it is shown, the same one shows the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileView {
    /// Of those who use the workspace that answers: a file is where it lies there.
    Own,
    /// Of another workspace that asked: a file is the copy in its own.
    Asker,
}

impl FileView {
    /// Of one who looks at tasks of this workspace.
    pub fn of(who: &Identity, workspace_id: WorkspaceId) -> Self {
        match speaks_for(who) {
            Some(own) if own != workspace_id => Self::Asker,
            Some(_) | None => Self::Own,
        }
    }

    /// Of a receiver that is told without having asked in a request.
    pub(crate) fn of_principal(who: &Principal, workspace_id: WorkspaceId) -> Self {
        if who.kind == PrincipalKind::Workspace && *who != Principal::workspace(workspace_id) {
            Self::Asker
        } else {
            Self::Own
        }
    }

    pub(crate) fn task(self, mut task: Task) -> Task {
        if self == Self::Asker {
            let said = task.history.iter_mut().chain(&mut task.status_message);
            let parts = said.flat_map(|message| &mut message.parts);
            parts
                .chain(task.artifacts.iter_mut().flat_map(|artifact| &mut artifact.parts))
                .for_each(show_copy);
        }
        task
    }

    pub(crate) fn update(self, mut update: TaskUpdate) -> TaskUpdate {
        if self == Self::Asker {
            parts_of(&mut update).iter_mut().for_each(show_copy);
        }
        update
    }
}

/// A part as the workspace sees it that asked.
pub(in crate::messages) fn for_asker(mut part: Part) -> Part {
    show_copy(&mut part);
    part
}

fn show_copy(part: &mut Part) {
    if let Some(Value::String(copy)) = part.metadata.remove(COPY) {
        part.content = Content::Url(copy);
    }
}

pub(super) fn parts_of(update: &mut TaskUpdate) -> &mut [Part] {
    match update {
        TaskUpdate::Status { message: Some(message), .. } | TaskUpdate::Message(message) => {
            message.parts.as_mut_slice()
        }
        TaskUpdate::Artifact { artifact, .. } => artifact.parts.as_mut_slice(),
        TaskUpdate::Status { message: None, .. } | TaskUpdate::Metadata(_) => &mut [],
    }
}

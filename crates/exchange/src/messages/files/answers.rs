//! Files that an agent answers with, for a workspace that asked (X33): what lies in the one that answers is out of the
//! other's reach, so it is copied, under the limits of uploads.
//!
//! ```text
//!   answer: workspace:out/report.pdf ─ copied ─▶ workspace:uploads/<answer>/report.pdf of the workspace that asked
//!           └─ the part keeps its address, for those who look at the one that answered, and notes the copy beside it
//! ```
//!
//! Each bringing has a folder of its own: the same answer may come twice at once, and the one that loses takes its copies
//! back without touching those that the other's part names.
//!
//! An answer is never lost over a file: where it cannot be copied, its part says why. Copies are made before the answer is
//! written, and stay only if the task speaks of them afterwards: an answer may come too late, or be too large to be kept.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use warren_fleet::{Fleet, HandedFile, IncomingFile, LandedFile, Landing};
use warren_model::{
    Content, DeliveryId, DeliveryState, ErrorCode, Part, Principal, PrincipalKind, RequestKind, Status, Task,
    TaskUpdate, Workspace,
};
use warren_rules::messages::uploads;
use warren_service::{Context, Error};

use super::view::{COPY, parts_of};

/// Why there is none.
const NOT_COPIED: &str = "warren/not_copied";

/// What an agent says of copies is not believed, whatever it says it of.
pub(in crate::messages) fn forget_copies(updates: &mut [TaskUpdate]) {
    for part in updates.iter_mut().flat_map(parts_of).filter(|part| !part.metadata.is_empty()) {
        part.metadata.remove(COPY);
        part.metadata.remove(NOT_COPIED);
    }
}

/// Whether files are to be brought with what an agent said.
pub(in crate::messages) fn has_files(updates: &mut [TaskUpdate]) -> bool {
    updates.iter_mut().flat_map(parts_of).any(|part| is_file(part))
}

/// An attempt at a delivery, of which an agent speaks.
#[derive(Debug, Clone, Copy)]
pub(in crate::messages) struct Attempt {
    pub(in crate::messages) delivery_id: DeliveryId,
    pub(in crate::messages) number: u32,
}

/// Copies of which it is not known yet whether they are needed.
#[derive(Debug)]
#[must_use = "what was brought is kept or taken back"]
pub(in crate::messages) struct Brought {
    landing: Landing,
    delivery_id: DeliveryId,
    /// Who answers.
    by: Principal,
}

/// Brings the files of answers to the workspaces that asked.
#[derive(Debug, Clone)]
pub(in crate::messages) struct AnswerFiles {
    context: Context,
    fleet: Fleet,
}

impl AnswerFiles {
    pub(in crate::messages) fn new(context: Context, fleet: Fleet) -> Self {
        Self { context, fleet }
    }

    /// Brings the files of what an agent said to the workspace that asked for it. Not to be dropped half-way: what was
    /// brought is concluded.
    pub(in crate::messages) async fn bring(
        &self,
        attempt: Attempt,
        updates: &mut [TaskUpdate],
    ) -> Result<Option<Brought>, Error> {
        let parts: Vec<&mut Part> =
            updates.iter_mut().flat_map(parts_of).filter(|part| is_file(part)).collect();
        let Some((from, to)) = self.asked_by_workspace(attempt).await? else { return Ok(None) };
        let delivery_id = attempt.delivery_id;
        let (key, value, brought) = match self.copy(&from, to, &parts).await {
            Ok(landing) => {
                let copies: Vec<Value> = landing.files().iter().map(|file| json!(address(file))).collect();
                let by = Principal::workspace(from.id);
                (COPY, copies, Some(Brought { landing, delivery_id, by }))
            }
            Err(error) => {
                let problem = error.detail.as_deref().unwrap_or(error.code.entry().sentence);
                (NOT_COPIED, vec![json!(problem); parts.len()], None)
            }
        };
        for (part, value) in parts.into_iter().zip(value) {
            part.metadata.insert(key.to_owned(), value);
        }
        Ok(brought)
    }

    /// Keeps what the task speaks of; otherwise none of it stays. Asked of the row, and not of how the writing went: the
    /// same answer may have come twice, and of a database that went away nobody knows what it has done.
    pub(in crate::messages) async fn conclude(&self, brought: Option<Brought>) {
        let Some(Brought { landing, delivery_id, by }) = brought else { return };
        let task = self
            .context
            .store()
            .read(move |tx| {
                let delivery = tx.delivery(delivery_id)?;
                Ok::<_, Error>(delivery.map(|delivery| tx.task(delivery.task_id)).transpose()?.flatten())
            })
            .await;
        let is_needed = match task {
            Ok(Some(task)) => speaks_of(&task, landing.files()),
            Ok(None) => false,
            Err(_) => true,
        };
        if is_needed {
            landing.keep(&by);
        } else {
            landing.take_back().await;
        }
    }

    /// Who answers, and the workspace that asked, if it was another one and the attempt still counts.
    async fn asked_by_workspace(&self, attempt: Attempt) -> Result<Option<(Workspace, Workspace)>, Error> {
        self.context
            .store()
            .read(move |tx| {
                let Some(delivery) = tx.delivery(attempt.delivery_id)? else { return Ok(None) };
                if delivery.state == DeliveryState::Ended || delivery.attempts != attempt.number {
                    return Ok(None);
                }
                if delivery.author.kind != PrincipalKind::Workspace {
                    return Ok(None);
                }
                let Ok(asker) = delivery.author.id.parse() else { return Ok(None) };
                let rows = (tx.workspace(delivery.workspace_id)?, tx.workspace(asker)?);
                let (Some(from), Some(to)) = rows else { return Ok(None) };
                let is_other = to.id != from.id && to.org_id == from.org_id && to.status != Status::Removed;
                Ok(is_other.then_some((from, to)))
            })
            .await
    }

    /// All of them, in the order of their parts, or none.
    async fn copy(&self, from: &Workspace, to: Workspace, parts: &[&mut Part]) -> Result<Landing, Error> {
        let folder = self.context.new_id::<RequestKind>().to_string();
        let mut landing = self.fleet.uploads.land(to, &folder).await?;
        for part in parts {
            if let Err(error) = self.copy_one(from, &mut landing, part).await {
                landing.take_back().await;
                return Err(error);
            }
        }
        Ok(landing)
    }

    async fn copy_one(&self, from: &Workspace, landing: &mut Landing, part: &Part) -> Result<(), Error> {
        let media_type = part.media_type.clone();
        match &part.content {
            Content::Url(url) => {
                let path = url.strip_prefix(uploads::SCHEME).unwrap_or_default().to_owned();
                self.fleet.uploads.bring_file(from, landing, &HandedFile { path, media_type }).await
            }
            Content::Raw(base64) => {
                let wrong = |problem: &str| Error::with_detail(ErrorCode::InvalidUpload, problem);
                let bytes = STANDARD.decode(base64).map_err(|_| wrong("the bytes are no base64"))?;
                let name = uploads::safe_name(part.filename.as_deref().unwrap_or_default())
                    .map_err(|problem| wrong(&problem.to_string()))?;
                let contents = Box::pin(futures_util::stream::iter([Ok(Bytes::from(bytes))]));
                landing.store(IncomingFile { name, media_type, contents }).await
            }
            Content::Text(_) | Content::Data(_) => Ok(()),
        }
    }
}

/// How a part names a file of its workspace.
fn address(file: &LandedFile) -> String {
    format!("{}{}", uploads::SCHEME, file.path)
}

fn speaks_of(task: &Task, files: &[LandedFile]) -> bool {
    let said = task.history.iter().chain(&task.status_message).flat_map(|message| &message.parts);
    let mut parts = said.chain(task.artifacts.iter().flat_map(|artifact| &artifact.parts));
    let copies: Vec<String> = files.iter().map(address).collect();
    parts.any(|part| matches!(part.metadata.get(COPY), Some(Value::String(copy)) if copies.contains(copy)))
}

/// Files by their address in the workspace, and bytes that have a name.
fn is_file(part: &Part) -> bool {
    match &part.content {
        Content::Url(url) => url.starts_with(uploads::SCHEME),
        Content::Raw(_) => part.filename.is_some(),
        Content::Text(_) | Content::Data(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use warren_model::{Message, OrgId, Role, TaskId, TaskState, Timestamp, WorkspaceId};

    use super::*;
    use crate::messages::FileView;

    fn copied() -> Part {
        let mut part = Part { content: Content::Url("workspace:out/a".into()), ..Part::text("") };
        part.metadata.insert(COPY.to_owned(), json!("workspace:uploads/1/a"));
        part
    }

    fn task() -> Task {
        let at = Timestamp::from_micros(1);
        let workspace = |number: u8| WorkspaceId::from_parts(at, [number; 10]);
        let (id, author) = (TaskId::from_parts(at, [1; 10]), Principal::workspace(workspace(3)));
        Task {
            state: TaskState::Completed,
            status_message: Some(Message::new("a", Role::Agent, vec![copied()])),
            history: vec![Message::new("b", Role::Agent, vec![copied()])],
            ..Task::submitted(id, OrgId::DEFAULT, workspace(2), "c", author, at)
        }
    }

    // X33
    #[test]
    fn who_is_told_without_asking_sees_with_the_same_eyes() {
        let task = task();
        let shown = |who: &Principal| {
            let seen = FileView::of_principal(who, task.workspace_id).task(task.clone());
            (seen.status_message.unwrap().parts[0].content.clone(), seen.history[0].parts[0].content.clone())
        };
        let (own, copy) =
            (Content::Url("workspace:out/a".into()), Content::Url("workspace:uploads/1/a".into()));
        assert_eq!(shown(&task.author), (copy.clone(), copy));
        for who in [Principal::workspace(task.workspace_id), Principal::system("exchange")] {
            assert_eq!(shown(&who), (own.clone(), own.clone()), "{who}");
        }
    }

    // X33
    #[test]
    fn an_agent_cannot_pass_off_a_file_of_the_asker_as_its_own() {
        let mut forged = Part::text("look");
        forged.metadata.insert(COPY.to_owned(), json!("workspace:secret.txt"));
        let message = Message::new("a", Role::Agent, vec![forged]);
        let mut updates = [TaskUpdate::Message(message)];
        forget_copies(&mut updates);
        assert!(!has_files(&mut updates));
        let TaskUpdate::Message(told) = FileView::Asker.update(updates[0].clone()) else { unreachable!() };
        assert_eq!(told.parts, [Part::text("look")]);
    }

    // X33
    #[test]
    fn a_copy_is_needed_while_the_task_speaks_of_it() {
        let file = |path: &str| LandedFile {
            path: path.into(),
            name: "a".into(),
            media_type: "text/plain".into(),
            bytes: 1,
        };
        assert!(speaks_of(&task(), &[file("uploads/2/a"), file("uploads/1/a")]));
        assert!(!speaks_of(&task(), &[file("uploads/2/a")]));
        assert!(!speaks_of(&task(), &[]));
    }
}

//! What agents tell people of their own accord.

use warren_api as api;
use warren_exchange::{Notice, Noticed, Once};
use warren_model::{ErrorCode, Part, WorkspaceId};
use warren_operations::AttachedFile;
use warren_service::{Action, Identity};

use crate::App;
use crate::convert;
use crate::problem::Failure;

/// Tells it, unless it was told before: the same `key`, or the same `message_id`, is the same notice.
pub(crate) async fn notify(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    body: api::Notify,
    key: Option<&str>,
) -> Result<Noticed, Failure> {
    app.fleet.workspaces.get(who, Action::UseWorkspace, id).await?;
    let conversation_id = convert::optional_id_from("conversation_id", body.conversation_id.as_deref())?;
    if body.text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidMessage, "text: expected something to say"));
    }
    // By what the notice is known: what it asks for, whatever ids it goes under.
    let asked = serde_json::json!(api::Notify { message_id: None, ..body.clone() });
    let once = Once::new(body.message_id.as_deref(), key, &asked)?;
    if let Some(message) = app.exchange.notices.told_before(who, id, &once).await? {
        return Ok(Noticed { message, is_repeat: true });
    }
    let mut parts = vec![Part::text(body.text)];
    let files = body
        .attachments
        .into_iter()
        .map(|file| AttachedFile { path: file.path, media_type: file.media_type });
    parts.extend(app.operations.files.attach(who, id, &files.collect::<Vec<_>>()).await?);
    Ok(app.exchange.notices.tell(who, Notice { workspace_id: id, conversation_id, parts, once }).await?)
}

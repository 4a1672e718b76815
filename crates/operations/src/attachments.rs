//! Files of a workspace that its agent wants to show to people: each is looked at before anything is told.

use futures_util::StreamExt as _;
use warren_model::{Content, ErrorCode, Part, WORKSPACE_SCHEME, WorkspaceId};
use warren_rules::messages::attachments::{LOOKED_AT, MAX_ATTACHMENTS, checked_type};
use warren_service::{Action, Error, Identity};
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{ByteRange, EntryKind, Fs};

use crate::Files;
use crate::modules::fs_of;

/// A file that is to go with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    /// Relative to the workspace's root.
    pub path: String,
    /// What it is said to be. Absent: what it looks like.
    pub media_type: Option<String>,
}

impl Files {
    /// The files as parts of a message, or what is wrong with the first that cannot go.
    #[tracing::instrument(name = "operations.files.attach", skip_all, fields(workspace.id = %id))]
    pub async fn attach(
        &self,
        who: &Identity,
        id: WorkspaceId,
        files: &[AttachedFile],
    ) -> Result<Vec<Part>, Error> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        if files.len() > MAX_ATTACHMENTS {
            let detail = format!("attachments: at most {MAX_ATTACHMENTS}");
            return Err(Error::with_detail(ErrorCode::InvalidMessage, detail));
        }
        let fleet = &self.fleet;
        fleet.workspaces.get(who, Action::UseWorkspace, id).await?;
        let lease = fleet.registry.acquire(id).await?;
        let fs = fs_of(&**lease.workspace())?;
        let (max, max_all) =
            (fleet.context.limits().max_attachment_bytes, fleet.context.limits().max_attachments_bytes);
        let (mut parts, mut total) = (Vec::new(), 0_u64);
        for (at, file) in files.iter().enumerate() {
            let (part, bytes) = checked(fs, file, max).await.map_err(|(code, problem)| {
                Error::with_detail(code, format!("attachment[{at}]: {problem}"))
            })?;
            total = total.saturating_add(bytes);
            if total > max_all {
                let detail = format!(
                    "attachment[{at}]: all together have more than {max_all} bytes (`limits.max_attachments_bytes`)"
                );
                return Err(Error::with_detail(ErrorCode::PayloadTooLarge, detail));
            }
            parts.push(part);
        }
        Ok(parts)
    }
}

/// A regular file beneath the workspace's root, and how large it is.
async fn checked(fs: &dyn Fs, file: &AttachedFile, max: u64) -> Result<(Part, u64), (ErrorCode, String)> {
    let told = |error: warren_workspace::Error| (error.code(), error.code().entry().sentence.to_owned());
    let path = WorkspacePath::parse(&file.path).map_err(told)?;
    let entry = fs.stat(&path).await.map_err(told)?;
    if entry.kind != EntryKind::File {
        return Err((ErrorCode::NotAFile, "only a regular file can go with a message".to_owned()));
    }
    if entry.bytes > max {
        let problem =
            format!("it has {} bytes, and may have {max} (`limits.max_attachment_bytes`)", entry.bytes);
        return Err((ErrorCode::PayloadTooLarge, problem));
    }
    let range = ByteRange { offset: 0, length: Some(LOOKED_AT as u64) };
    let mut contents = fs.read(&path, range).await.map_err(told)?;
    let mut head = Vec::with_capacity(LOOKED_AT);
    while let Some(piece) = contents.stream.next().await {
        head.extend_from_slice(&piece.map_err(told)?);
    }
    let media_type = checked_type(file.media_type.as_deref(), &head)
        .map_err(|problem| (ErrorCode::InvalidMessage, problem.to_string()))?;
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let part = Part {
        content: Content::Url(format!("{WORKSPACE_SCHEME}{}", path.as_str())),
        media_type: Some(media_type),
        filename: Some(name),
        metadata: serde_json::Map::new(),
    };
    Ok((part, entry.bytes))
}

//! Files that go from one workspace to another with a message (X33).
//!
//! ```text
//!   workspace:out/report.pdf          of the sender
//!        └─ copied ─▶ workspace:uploads/<message>/report.pdf      of the receiver
//! ```
//!
//! They are brought before the message is accepted, and taken back if it is not. The folder is made of who sent which
//! message, so that the same message again finds what it brought the first time, and is still the same message (X16).

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use warren_fleet::{Fleet, HandedFile, Landing};
use warren_model::{Content, ErrorCode, Message, Workspace};
use warren_rules::messages::uploads;
use warren_service::Error;

use crate::messages::{NewMessage, Sender};

/// How much of the digest names a folder.
const FOLDER_BYTES: usize = 16;

/// Brings the files that a message names; from then on it names the receiver's own.
pub(in crate::messages) async fn bring(
    fleet: &Fleet,
    from: &Workspace,
    to: Workspace,
    sender: &Sender,
    new: &mut NewMessage,
) -> Result<Landing, Error> {
    let named = uploads::named_files(&new.message);
    let files: Vec<HandedFile> = named
        .iter()
        .map(|(at, path)| HandedFile {
            path: (*path).to_owned(),
            media_type: new.message.parts[*at].media_type.clone(),
        })
        .collect();
    let places: Vec<usize> = named.iter().map(|(at, _)| *at).collect();
    let folder = folder_of(sender, new);
    let landing = fleet.uploads.hand_over(from, to, &folder, &files).await.map_err(|refusal| {
        let place = places.get(refusal.at).copied().unwrap_or_default();
        let error = refusal.error;
        let problem = error.detail.as_deref().unwrap_or(error.code.entry().sentence);
        Error::with_detail(error.code, format!("message.parts[{place}]: {problem}"))
    })?;
    for (place, file) in places.iter().zip(landing.files()) {
        let part = &mut new.message.parts[*place];
        part.content = Content::Url(format!("{}{}", uploads::SCHEME, file.path));
        part.media_type = Some(file.media_type.clone());
        part.filename.get_or_insert_with(|| file.name.clone());
    }
    Ok(landing)
}

/// Files of the workspace itself that a message names: where they are is for its agent to see; that they are no place
/// outside can be said at once.
pub(in crate::messages) fn check_own_files(message: &Message) -> Result<(), Error> {
    for (at, path) in uploads::named_files(message) {
        if let Some(problem) = uploads::path_problem(path) {
            let detail = format!("message.parts[{at}]: {problem}");
            return Err(Error::with_detail(ErrorCode::InvalidPath, detail));
        }
    }
    Ok(())
}

fn folder_of(sender: &Sender, new: &NewMessage) -> String {
    let key = new.idempotency_key.as_deref().map_or(("message", new.message.id.as_str()), |key| ("key", key));
    let author = &sender.principal;
    let whole = serde_json::json!([author.kind.as_str(), author.id, new.workspace_id, key.0, key.1]);
    let digest = digest(&SHA256, whole.to_string().as_bytes());
    digest.as_ref().iter().take(FOLDER_BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

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
use warren_fleet::{HandedFile, Landing};
use warren_model::{Content, ErrorCode, Message, Workspace};
use warren_rules::messages::uploads;
use warren_service::Error;

use crate::Exchange;
use crate::send::{Send, Sender};

/// How much of the digest names a folder.
const FOLDER_BYTES: usize = 16;

impl Exchange {
    /// Brings the files that a message names; from then on it names the receiver's own.
    pub(crate) async fn bring_files(
        &self,
        from: &Workspace,
        to: Workspace,
        sender: &Sender,
        send: &mut Send,
    ) -> Result<Landing, Error> {
        let named = uploads::named_files(&send.message);
        let files: Vec<HandedFile> = named
            .iter()
            .map(|(at, path)| HandedFile {
                path: (*path).to_owned(),
                media_type: send.message.parts[*at].media_type.clone(),
            })
            .collect();
        let places: Vec<usize> = named.iter().map(|(at, _)| *at).collect();
        let folder = folder_of(sender, send);
        let landing = self.fleet().uploads.hand_over(from, to, &folder, &files).await.map_err(|refusal| {
            let place = places.get(refusal.at).copied().unwrap_or_default();
            let error = refusal.error;
            let problem = error.detail.as_deref().unwrap_or(error.code.entry().sentence);
            Error::with_detail(error.code, format!("message.parts[{place}]: {problem}"))
        })?;
        for (place, file) in places.iter().zip(landing.files()) {
            let part = &mut send.message.parts[*place];
            part.content = Content::Url(format!("{}{}", uploads::SCHEME, file.path));
            part.media_type = Some(file.media_type.clone());
            part.filename.get_or_insert_with(|| file.name.clone());
        }
        Ok(landing)
    }
}

/// Files of the workspace itself that a message names: where they are is for its agent to see; that they are no place
/// outside can be said at once.
pub(crate) fn check_own_files(message: &Message) -> Result<(), Error> {
    for (at, path) in uploads::named_files(message) {
        if let Some(problem) = uploads::path_problem(path) {
            let detail = format!("message.parts[{at}]: {problem}");
            return Err(Error::with_detail(ErrorCode::InvalidPath, detail));
        }
    }
    Ok(())
}

fn folder_of(sender: &Sender, send: &Send) -> String {
    let key =
        send.idempotency_key.as_deref().map_or(("message", send.message.id.as_str()), |key| ("key", key));
    let author = &sender.principal;
    let whole = serde_json::json!([author.kind.as_str(), author.id, send.workspace_id, key.0, key.1]);
    let digest = digest(&SHA256, whole.to_string().as_bytes());
    digest.as_ref().iter().take(FOLDER_BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

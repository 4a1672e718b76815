//! The local operator's token, and a link to sign a browser in.

use warren_fleet::Fleet;
use warren_model::{ErrorCode, TokenKind};

use super::assemble::fleet_report;
use crate::access::{LocalAccess, path_in};
use crate::data_folder::DataFolder;
use crate::failure::{Outcome, Report};

const TOKEN_NAME: &str = "local operator";

pub(super) struct Access {
    pub(super) token: String,
    /// The secret of the link.
    pub(super) sign_in: String,
}

/// Keeps the token of the last start if it still works, and makes one if not.
pub(super) async fn prepare(fleet: &Fleet, folder: &DataFolder, url: &str) -> Outcome<Access> {
    // Both at once: the two share a commit.
    let (token, link) = tokio::join!(operator_token(fleet, folder), fleet.tokens.mint_sign_in_link(None));
    let token = token?;
    let link = link.map_err(|error| fleet_report(&error))?;
    let access = LocalAccess { url: url.to_owned(), token: token.clone() };
    access.write(&folder.path).map_err(|error| {
        Report::new(ErrorCode::DataFolderUnusable)
            .because(format!("{}: {error}", path_in(&folder.path).display()))
    })?;
    Ok(Access { token, sign_in: link.secret.reveal().to_owned() })
}

async fn operator_token(fleet: &Fleet, folder: &DataFolder) -> Outcome<String> {
    // A file that cannot be read is replaced: only this server writes it.
    let kept = LocalAccess::read(&folder.path).ok().flatten();
    if let Some(kept) = kept
        && let Ok(identity) = fleet.tokens.identify(&kept.token).await
        && identity.token.kind == TokenKind::Admin
    {
        return Ok(kept.token);
    }
    let minted = fleet.tokens.mint_operator(TOKEN_NAME).await.map_err(|error| fleet_report(&error))?;
    Ok(minted.secret.reveal().to_owned())
}

//! What is wrong with a request is told to those who may make it. Others are told that they may not.

use warren_model::WorkspaceId;
use warren_service::{Action, Identity};

use crate::App;
use crate::problem::Failure;

/// What a handler read out of its request. Only where it could not be read, access is asked for here: what is well formed
/// goes to a service, which asks before anything else.
pub(crate) async fn access_first<T>(
    app: &App,
    who: &Identity,
    action: Action,
    id: WorkspaceId,
    read: Result<T, Failure>,
) -> Result<T, Failure> {
    match read {
        Ok(read) => Ok(read),
        Err(failure) => {
            app.fleet.workspaces.usable(who, action, id).await?;
            Err(failure)
        }
    }
}

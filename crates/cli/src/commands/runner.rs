//! `warren runner`: the runner for programs outside of boxes, over HTTP. In a box Warren starts the same one by itself.

use warren_model::ErrorCode;
use warren_runner::{Credentials, Error, HttpApi, Settings, work};

use crate::arguments::RunnerArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};

/// Until it is told to stop. What is under way then is let go of: its claim ends, and the message is given out again.
pub(crate) async fn run(context: &Context, arguments: RunnerArguments) -> Outcome<Exit> {
    let api = HttpApi::new(context.url()?);
    let settings = Settings {
        command: arguments.command,
        credentials: Credentials::Files {
            join_token: arguments.credentials.join("join-token"),
            credential: arguments.credentials.join("credential"),
        },
        wedge_signs: arguments.wedge_sign,
    };
    let ended = tokio::select! {
        ended = work(&api, &settings) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    ended.map(|()| Exit::OK).map_err(|error| report(&error).into())
}

fn report(error: &Error) -> Report {
    let (code, hint) = match error {
        Error::NoCredential { .. } | Error::NoJoinToken | Error::Unauthorized => (
            ErrorCode::Unauthenticated,
            "Make a join token with `warren token create NAME --kind join --workspace WORKSPACE`, and put it into \
             `join-token` of the folder.",
        ),
        Error::Keep(_) => {
            (ErrorCode::LocalFileFailed, "Name a folder that you may write to with `--credentials`.")
        }
        Error::Refused(_) | Error::LineEnded => {
            (ErrorCode::PlatformUnavailable, "Check the server with `warren doctor`.")
        }
    };
    Report::new(code).because(error.to_string()).hint(hint)
}

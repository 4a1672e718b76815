//! `warren runner`: the runner for programs outside of boxes, over HTTP. In a box Warren starts the same one by itself.

use std::cell::Cell;
use std::path::Path;

use warren_api::{
    AnswerMessage, Approval, Claim, ClaimMessage, CreateToken, Heartbeat, HeartbeatAnswer, MintableKind,
    ProgressTaken, RegisterRuntime, RegisteredRuntime, ReportProgress, RequestApproval, WithdrawApproval,
};
use warren_model::ErrorCode;
use warren_runner::{
    Adapter, AgentOptions, ApiError, Credentials, Error, HttpApi, Settings, WarrenApi, place, work,
};

use crate::arguments::{AdapterName, RunnerArguments};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

/// A join token that was fetched is used within moments.
const JOIN_SECONDS: u64 = 300;

/// Until it is told to stop. What is under way then is let go of: its claim ends, and the message is given out again.
pub(crate) async fn run(context: &Context, arguments: RunnerArguments) -> Outcome<Exit> {
    let credentials = credentials(context, &arguments).await?;
    let api = TellingApi { api: HttpApi::new(context.url()?), context, was_reached: Cell::new(None) };
    let root = std::env::current_dir().map_err(|error| Report::local_file(Path::new("."), &error))?;
    let options = AgentOptions {
        root,
        mode: arguments.mode,
        initial_prompt: arguments.initial_prompt,
        sessions_file: arguments.credentials.map(|folder| folder.join("acp-sessions.json")),
        tools_url: context.environment.get("WARREN_MCP_URL").map(str::to_owned),
        a2a_url: arguments.a2a_url,
        ..AgentOptions::default()
    };
    let adapter = match arguments.adapter {
        AdapterName::Stdio => Adapter::Stdio,
        AdapterName::Json => Adapter::Json,
        AdapterName::Acp => Adapter::Acp,
        AdapterName::A2a => Adapter::A2a,
    };
    let (command, wedge_signs) = (arguments.command, arguments.wedge_sign);
    let settings = Settings { command, credentials, wedge_signs, adapter, options };
    let ended = tokio::select! {
        ended = work(&api, &settings) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    ended.map(|()| Exit::OK).map_err(|error| report(&error).into())
}

/// Those of the folder, or for a workspace that is named, a join token that is fetched now. A folder that has a credential
/// of an earlier start needs none.
async fn credentials(context: &Context, arguments: &RunnerArguments) -> Outcome<Credentials> {
    let files = |folder: &Path| Credentials::Files {
        join_token: folder.join("join-token"),
        credential: folder.join("credential"),
    };
    match (&arguments.workspace, &arguments.credentials) {
        (None, None) => Err(Report::new(ErrorCode::InvalidUsage)
            .because("--workspace or --credentials is missing")
            .into()),
        (None, Some(folder)) => Ok(files(folder)),
        (Some(workspace), None) => {
            Ok(Credentials::InMemory { join_token: join_token(context, workspace).await? })
        }
        (Some(workspace), Some(folder)) => {
            if !folder.join("credential").exists() && !folder.join("join-token").exists() {
                let token = join_token(context, workspace).await?;
                let path = folder.join("join-token");
                place(&path, token.as_bytes()).map_err(|error| Report::local_file(&path, &error))?;
            }
            Ok(files(folder))
        }
    }
}

async fn join_token(context: &Context, workspace: &str) -> Outcome<String> {
    let client = context.client()?;
    let request = CreateToken {
        kind: MintableKind::Join,
        name: "runner".to_owned(),
        scopes: None,
        workspace_id: Some(resolve(&client, workspace).await?),
        expires_in_seconds: Some(JOIN_SECONDS),
    };
    Ok(client.create_token(&request).await?.secret)
}

/// The API, with a word to the person at the terminal when Warren is reached, and when it no longer is.
struct TellingApi<'a> {
    api: HttpApi,
    context: &'a Context,
    /// Nothing yet: nobody knows.
    was_reached: Cell<Option<bool>>,
}

impl TellingApi<'_> {
    fn tell<T>(&self, answer: Result<T, ApiError>) -> Result<T, ApiError> {
        let is_reached = match &answer {
            Ok(_) => true,
            Err(ApiError::Unreachable(_)) => false,
            Err(_) => return answer,
        };
        if self.was_reached.replace(Some(is_reached)) != Some(is_reached) {
            self.context.output.note(match is_reached {
                true => "Connected; waiting for messages. Ctrl-C ends it.",
                false => "Warren cannot be reached; trying again.",
            });
        }
        answer
    }
}

impl WarrenApi for TellingApi<'_> {
    async fn register(&self, token: &str, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, ApiError> {
        self.tell(self.api.register(token, runtime).await)
    }

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, ApiError> {
        self.tell(self.api.heartbeat(token, heartbeat).await)
    }

    async fn claim(&self, token: &str, workspace: &str, claim: &ClaimMessage) -> Result<Claim, ApiError> {
        self.tell(self.api.claim(token, workspace, claim).await)
    }

    async fn progress(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, ApiError> {
        self.api.progress(token, workspace, message, progress).await
    }

    async fn answer(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        answer: &AnswerMessage,
    ) -> Result<(), ApiError> {
        self.api.answer(token, workspace, message, answer).await
    }

    async fn ask_approval(
        &self,
        token: &str,
        workspace: &str,
        question: &RequestApproval,
    ) -> Result<Approval, ApiError> {
        self.api.ask_approval(token, workspace, question).await
    }

    async fn decision(&self, token: &str, approval: &str, wait_ms: u64) -> Result<Approval, ApiError> {
        self.api.decision(token, approval, wait_ms).await
    }

    async fn withdraw(
        &self,
        token: &str,
        approval: &str,
        withdrawal: &WithdrawApproval,
    ) -> Result<Approval, ApiError> {
        self.api.withdraw(token, approval, withdrawal).await
    }
}

fn report(error: &Error) -> Report {
    let (code, hint) = match error {
        Error::NoCredential { .. } | Error::NoJoinToken | Error::Unauthorized => (
            ErrorCode::Unauthenticated,
            "`--workspace WORKSPACE` fetches a join token; or make one elsewhere with `warren token create NAME --kind join \
             --workspace WORKSPACE`, and put it into `join-token` of the folder.",
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

//! Warren over HTTP, for runners outside of boxes.

use std::cell::RefCell;

use warren_api::client::{Client, Error};
use warren_api::{
    AnswerMessage, Approval, Claim, ClaimMessage, Heartbeat, HeartbeatAnswer, ProgressTaken, RegisterRuntime,
    RegisteredRuntime, ReportProgress, RequestApproval, WithdrawApproval,
};

use crate::{ApiError, WarrenApi};

pub struct HttpApi {
    url: String,
    /// For the credential that was used last, which seldom changes.
    known: RefCell<Option<(String, Client)>>,
}

/// The address only.
impl std::fmt::Debug for HttpApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpApi").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HttpApi {
    /// `url` is the server's address, such as `http://127.0.0.1:7878`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), known: RefCell::default() }
    }

    fn with(&self, token: &str) -> Result<Client, ApiError> {
        let mut known = self.known.borrow_mut();
        match &*known {
            Some((of, client)) if of == token => Ok(client.clone()),
            _ => {
                let client = Client::new(&self.url, Some(token)).map_err(|error| refusal(&error))?;
                *known = Some((token.to_owned(), client.clone()));
                Ok(client)
            }
        }
    }
}

fn refusal(error: &Error) -> ApiError {
    match error {
        Error::Problem(problem) => ApiError::of_status(problem.status, &problem.code),
        Error::InvalidToken => ApiError::Unauthorized,
        Error::InvalidUrl { .. } => ApiError::Refused { code: "invalid_url".into() },
        Error::Unsendable => ApiError::Refused { code: "unsendable".into() },
        Error::Unreachable { .. }
        | Error::Interrupted { .. }
        | Error::Disconnected { .. }
        | Error::Silent
        | Error::BadAnswer { .. } => ApiError::Unreachable(error.to_string()),
    }
}

impl WarrenApi for HttpApi {
    async fn register(&self, token: &str, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, ApiError> {
        self.with(token)?.register(runtime).await.map_err(|error| refusal(&error))
    }

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, ApiError> {
        self.with(token)?.heartbeat(heartbeat).await.map_err(|error| refusal(&error))
    }

    async fn claim(&self, token: &str, workspace: &str, claim: &ClaimMessage) -> Result<Claim, ApiError> {
        self.with(token)?.claim_message(workspace, claim).await.map_err(|error| refusal(&error))
    }

    async fn progress(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, ApiError> {
        let taken = self.with(token)?.report_progress(workspace, message, progress).await;
        taken.map_err(|error| refusal(&error))
    }

    async fn answer(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        answer: &AnswerMessage,
    ) -> Result<(), ApiError> {
        let answered = self.with(token)?.answer_message(workspace, message, answer).await;
        answered.map(drop).map_err(|error| refusal(&error))
    }

    async fn ask_approval(
        &self,
        token: &str,
        workspace: &str,
        question: &RequestApproval,
    ) -> Result<Approval, ApiError> {
        self.with(token)?.request_approval(workspace, question).await.map_err(|error| refusal(&error))
    }

    async fn decision(&self, token: &str, approval: &str, wait_ms: u64) -> Result<Approval, ApiError> {
        self.with(token)?.approval(approval, Some(wait_ms)).await.map_err(|error| refusal(&error))
    }

    async fn withdraw(
        &self,
        token: &str,
        approval: &str,
        withdrawal: &WithdrawApproval,
    ) -> Result<Approval, ApiError> {
        self.with(token)?.withdraw_approval(approval, withdrawal).await.map_err(|error| refusal(&error))
    }
}

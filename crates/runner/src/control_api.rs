//! The calls that a runner makes to Warren.

use warren_api::{
    AnswerMessage, Approval, Claim, ClaimMessage, Heartbeat, HeartbeatAnswer, ProgressTaken, RegisterRuntime,
    RegisteredRuntime, ReportProgress, RequestApproval, WithdrawApproval,
};

/// Why something was not done, by what a runner can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The credential has ended: it is read again.
    #[error("the credential was not accepted")]
    Unauthorized,
    /// The claim has ended, or its message was taken back: its work is let go of.
    #[error("the message was taken back ({code})")]
    Withdrawn { code: String },
    /// Warren heard it and said no.
    #[error("refused: {code}")]
    Refused { code: String },
    /// Not heard, or not answered in time; to be tried again.
    #[error("Warren cannot be reached: {0}")]
    Unreachable(String),
    /// There is nobody to speak to any more.
    #[error("the line to Warren has ended")]
    Ended,
}

impl ApiError {
    /// From the status and the problem's code of an answer.
    pub fn of_status(status: u16, code: &str) -> Self {
        const WITHDRAWN: [&str; 4] = ["claim_lost", "delivery_not_found", "task_not_found", "task_ended"];
        let code = code.to_owned();
        match status {
            401 => Self::Unauthorized,
            _ if WITHDRAWN.contains(&code.as_str()) => Self::Withdrawn { code },
            429 | 500.. => Self::Unreachable(code),
            _ => Self::Refused { code },
        }
    }
}

/// Called by one loop.
#[expect(async_fn_in_trait, reason = "a runner is one task; nothing of it moves between threads")]
pub trait WarrenApi {
    async fn register(&self, token: &str, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, ApiError>;

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, ApiError>;

    async fn claim(&self, token: &str, workspace: &str, claim: &ClaimMessage) -> Result<Claim, ApiError>;

    async fn progress(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, ApiError>;

    async fn answer(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        answer: &AnswerMessage,
    ) -> Result<(), ApiError>;

    /// Asks people for a decision.
    async fn ask_approval(
        &self,
        token: &str,
        workspace: &str,
        question: &RequestApproval,
    ) -> Result<Approval, ApiError>;

    /// The question, once it is decided or after so long.
    async fn decision(&self, token: &str, approval: &str, wait_ms: u64) -> Result<Approval, ApiError>;

    /// Takes a question back.
    async fn withdraw(
        &self,
        token: &str,
        approval: &str,
        withdrawal: &WithdrawApproval,
    ) -> Result<Approval, ApiError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    // F18
    #[test]
    fn answers_are_told_apart_by_what_can_be_done_about_them() {
        assert_eq!(ApiError::of_status(401, "token_expired"), ApiError::Unauthorized);
        let withdrawn = ApiError::of_status(409, "claim_lost");
        assert_eq!(withdrawn, ApiError::Withdrawn { code: "claim_lost".into() });
        assert_eq!(
            ApiError::of_status(503, "platform_unavailable"),
            ApiError::Unreachable("platform_unavailable".into())
        );
        assert_eq!(ApiError::of_status(403, "forbidden"), ApiError::Refused { code: "forbidden".into() });
    }
}

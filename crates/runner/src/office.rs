//! Warren, as a runner sees it: five things that can be asked of it.

use warren_api::{
    AnswerMessage, Claim, ClaimMessage, Heartbeat, HeartbeatAnswer, ProgressTaken, RegisterRuntime,
    RegisteredRuntime, ReportProgress,
};

/// Why something was not done, by what a runner can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
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

impl Refusal {
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

/// Asked by one loop, one thing at a time.
#[expect(async_fn_in_trait, reason = "a runner is one task; nothing of it moves between threads")]
pub trait Office {
    async fn register(&self, token: &str, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, Refusal>;

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, Refusal>;

    async fn claim(&self, token: &str, workspace: &str, claim: &ClaimMessage) -> Result<Claim, Refusal>;

    async fn progress(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, Refusal>;

    async fn answer(
        &self,
        token: &str,
        workspace: &str,
        message: &str,
        answer: &AnswerMessage,
    ) -> Result<(), Refusal>;
}

#[cfg(test)]
mod tests {
    use super::*;

    // F18
    #[test]
    fn answers_are_told_apart_by_what_can_be_done_about_them() {
        assert_eq!(Refusal::of_status(401, "token_expired"), Refusal::Unauthorized);
        let withdrawn = Refusal::of_status(409, "claim_lost");
        assert_eq!(withdrawn, Refusal::Withdrawn { code: "claim_lost".into() });
        assert_eq!(
            Refusal::of_status(503, "platform_unavailable"),
            Refusal::Unreachable("platform_unavailable".into())
        );
        assert_eq!(Refusal::of_status(403, "forbidden"), Refusal::Refused { code: "forbidden".into() });
    }
}

//! Agents that come and ask for their messages: external ones behind a network that nobody calls into or without an
//! interface that Warren speaks, and those in a box of Warren's own, whose runner asks for them over its line. Both claim by
//! the same routes.

use async_trait::async_trait;
use warren_model::{DeliveryReason, Finding};

use super::{AgentAddress, AgentRuntime, DeliveryAttempt, Outcome, Reach, UpdateSink};

#[derive(Debug, Clone, Copy)]
pub(super) struct Asking;

#[async_trait]
impl AgentRuntime for Asking {
    fn reach(&self, _agent: &AgentAddress) -> Reach {
        Reach::Asks
    }

    /// It has to come.
    async fn deliver(&self, _: &AgentAddress, _: &DeliveryAttempt, _: &UpdateSink) -> Outcome {
        Outcome::Failed { reason: DeliveryReason::CannotBeCalled }
    }

    /// It learns that its claim has ended when it next tells of its work; a runner then ends the program.
    async fn cancel(&self, _: &AgentAddress, _: &str) -> Outcome {
        Outcome::Answered
    }

    /// Its queue or its box shows whether it lives, and the fleet looks at those.
    async fn probe(&self, _: &AgentAddress) -> Finding {
        Finding::Unknown
    }
}

//! External agents that come and ask: behind a network that nobody calls into, or without an interface that Warren speaks.

use async_trait::async_trait;
use warren_model::DeliveryReason;
use warren_rules::lifecycle::probes::Finding;

use super::{AgentAddress, AgentRuntime, DeliveryAttempt, Outcome, Reach, UpdateSink};

#[derive(Debug, Clone, Copy)]
pub(super) struct ByPull;

#[async_trait]
impl AgentRuntime for ByPull {
    fn reach(&self, _agent: &AgentAddress) -> Reach {
        Reach::Asks
    }

    /// It has to come.
    async fn deliver(&self, _: &AgentAddress, _: &DeliveryAttempt, _: &UpdateSink) -> Outcome {
        Outcome::Failed { reason: DeliveryReason::CannotBeCalled }
    }

    /// It learns that its claim has ended when it next tells of its work.
    async fn cancel(&self, _: &AgentAddress, _: &str) -> Outcome {
        Outcome::Answered
    }

    /// Its queue shows whether it still comes, and the fleet looks at that.
    async fn probe(&self, _: &AgentAddress) -> Finding {
        Finding::Unknown
    }
}

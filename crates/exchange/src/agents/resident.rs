//! Agents in a box of Warren's own: the runner beside the agent claims messages over its line, by the same routes as an
//! external agent that asks.

use async_trait::async_trait;
use warren_model::DeliveryReason;
use warren_rules::lifecycle::probes::Finding;

use super::{AgentAddress, AgentRuntime, DeliveryAttempt, Outcome, Reach, UpdateSink};

#[derive(Debug, Clone, Copy)]
pub(super) struct Resident;

#[async_trait]
impl AgentRuntime for Resident {
    fn reach(&self, _agent: &AgentAddress) -> Reach {
        Reach::Asks
    }

    /// Its runner has to come.
    async fn deliver(&self, _: &AgentAddress, _: &DeliveryAttempt, _: &UpdateSink) -> Outcome {
        Outcome::Failed { reason: DeliveryReason::CannotBeCalled }
    }

    /// Its runner learns that the claim has ended when it next tells of the work, and ends the program.
    async fn cancel(&self, _: &AgentAddress, _: &str) -> Outcome {
        Outcome::Answered
    }

    /// Its box shows whether it lives, and the fleet looks at that.
    async fn probe(&self, _: &AgentAddress) -> Finding {
        Finding::Unknown
    }
}

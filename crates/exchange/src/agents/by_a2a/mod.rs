//! Speaking A2A with an external agent that can be called (X1, X11).
//!
//! ```text
//!   deliver ──▶ SendStreamingMessage ── events ──▶ sink            the card says that it streams
//!      │             │ cut, and the task is known
//!      │             ▼
//!      │        GetTask ─▶ SubscribeToTask ─▶ …                    until it ends or waits for input
//!      │
//!      └─────▶ SendMessage, not waiting ─▶ GetTask ─▶ GetTask …    it does not
//! ```
//!
//! Once the agent has named its task, the message has arrived; a connection that is cut after that is made again. Cut
//! before, nobody knows: `unknown`, and whether it is sent again is decided elsewhere.
//!
//! Patience is not here. How long work may take and how long it may be silent are values of the delivery, and whoever
//! holds it drops this future when they are used up; the limits of the calls are only a last resort.

mod card;
mod probe;
mod progress;
mod request;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use warren_doors::Clock;
use warren_model::{Backoff, DeliveryReason, Finding, Principal};
use warren_outbound::signing::About;
use warren_outbound::{Answer, Call, CallError, CallLimits, Connector};

use self::card::{Interface, interface_of};
use self::progress::Progress;
use self::request::{Asked, outgoing, read_result};
use self::trouble::Trouble;
use super::{AgentAddress, AgentRuntime, AgentUpdate, DeliveryAttempt, Outcome, Reach, UpdateSink};
use crate::a2a::{SendMessageResponse, StreamResponse, Task};

use crate::signing::Signer;

/// Between two looks at a task that does not stream: first short, then longer.
const PAUSES: Backoff = Backoff::doubling(100, 5_000);
/// Looks in a row that may fail before the rest is unknown.
const MAX_FAILED_LOOKS: u32 = 5;
/// For calls whose answer is the work itself.
fn long() -> CallLimits {
    CallLimits {
        first_byte: Duration::from_secs(24 * 3_600),
        idle: Duration::from_secs(24 * 3_600),
        whole: Duration::from_secs(24 * 3_600),
        body_bytes: 64 << 20,
        line_bytes: 8 << 20,
        ..CallLimits::default()
    }
}

/// Calls agents by A2A, through the connector alone.
#[derive(Debug, Clone)]
pub struct ByA2a {
    connector: Connector,
    clock: Arc<dyn Clock>,
    /// Signs what it sends (X2).
    signer: Signer,
}

impl ByA2a {
    pub fn new(connector: Connector, clock: Arc<dyn Clock>, signer: Signer) -> Self {
        Self { connector, clock, signer }
    }
}

fn interface_for(agent: &AgentAddress) -> Option<Interface> {
    agent.card.as_ref().and_then(interface_of)
}

#[async_trait]
impl AgentRuntime for ByA2a {
    fn reach(&self, agent: &AgentAddress) -> Reach {
        if interface_for(agent).is_some() { Reach::Called } else { Reach::Asks }
    }

    async fn deliver(&self, agent: &AgentAddress, attempt: &DeliveryAttempt, sink: &UpdateSink) -> Outcome {
        let Some(interface) = interface_for(agent) else {
            return Outcome::Failed { reason: DeliveryReason::CannotBeCalled };
        };
        let about = About { author: &attempt.author, message_id: &attempt.message.id };
        let mut exchange = Delivering { agents: self, interface, about, sink, progress: Progress::of(None) };
        exchange.deliver(attempt).await.unwrap_or_else(Trouble::outcome)
    }

    async fn cancel(&self, agent: &AgentAddress, remote_id: &str) -> Outcome {
        let Some(interface) = interface_for(agent) else {
            return Outcome::Failed { reason: DeliveryReason::CannotBeCalled };
        };
        let asked = Asked::Cancel { remote_id };
        let author = Principal::system("exchange");
        let about = About { author: &author, message_id: "" };
        match self.ask::<Task>(&interface, about, &asked, CallLimits::default()).await {
            Ok(_) => Outcome::Answered,
            Err(trouble) => trouble.outcome(),
        }
    }

    async fn extended_card(&self, agent: &AgentAddress) -> Result<Option<serde_json::Value>, Outcome> {
        let Some(interface) = interface_for(agent).filter(|interface| interface.has_extended_card) else {
            return Ok(None);
        };
        let author = Principal::system("exchange");
        let about = About { author: &author, message_id: "" };
        let card = self.ask(&interface, about, &Asked::ExtendedCard, CallLimits::default()).await;
        card.map(Some).map_err(Trouble::outcome)
    }

    fn has_extended_card(&self, agent: &AgentAddress) -> bool {
        interface_for(agent).is_some_and(|interface| interface.has_extended_card)
    }

    async fn probe(&self, agent: &AgentAddress) -> Finding {
        match interface_for(agent) {
            Some(interface) => probe::probe(&self.connector, &interface.url).await,
            None => Finding::Unknown,
        }
    }
}

impl ByA2a {
    /// Asks something that has one answer.
    async fn ask<T: DeserializeOwned>(
        &self,
        interface: &Interface,
        about: About<'_>,
        asked: &Asked<'_>,
        limits: CallLimits,
    ) -> Result<T, Trouble> {
        let answer = self.call(outgoing(interface, asked).limits(limits), about).await?;
        let status = answer.status;
        read_result(interface.binding, status, answer.json().await?)
    }

    /// Calls, and tells apart what is said by the status alone.
    async fn call(&self, call: Call, about: About<'_>) -> Result<Answer, Trouble> {
        let call = self.signer.sign(call, about).map_err(CallError::from)?;
        let answer = self.connector.call(call).await?;
        if answer.is_busy() {
            let retry_after_ms =
                answer.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            return Err(Trouble::Busy { retry_after_ms });
        }
        match answer.status.as_u16() {
            401 => Err(Trouble::Refused(DeliveryReason::Unauthorized)),
            403 => Err(Trouble::Refused(DeliveryReason::Forbidden)),
            // Said by something between us and the agent.
            502 | 504 => Err(Trouble::Cut),
            _ => Ok(answer),
        }
    }
}

/// One message on its way to one agent.
struct Delivering<'a> {
    agents: &'a ByA2a,
    interface: Interface,
    /// What all calls of this delivery are about.
    about: About<'a>,
    sink: &'a UpdateSink,
    progress: Progress,
}

impl Delivering<'_> {
    async fn deliver(&mut self, attempt: &DeliveryAttempt) -> Result<Outcome, Trouble> {
        if attempt.resumes && attempt.remote_id.is_some() {
            self.progress = Progress::of(attempt.remote_id.clone());
            return self.follow().await;
        }
        let sent = if self.interface.streams {
            self.stream(&Asked::Stream { attempt }).await
        } else {
            self.send(attempt).await
        };
        match sent {
            Ok(()) if self.progress.is_over() => Ok(Outcome::Answered),
            // Let go of, or cut, after the agent took it.
            Ok(()) | Err(Trouble::Cut) if self.progress.remote_id().is_some() => self.follow().await,
            Ok(()) => Err(Trouble::Cut),
            Err(trouble) => Err(trouble),
        }
    }

    async fn send(&mut self, attempt: &DeliveryAttempt) -> Result<(), Trouble> {
        let asked = Asked::Send { attempt };
        match self.agents.ask(&self.interface, self.about, &asked, long()).await? {
            SendMessageResponse::Task(task) => self.take(StreamResponse::Task(task)).await,
            SendMessageResponse::Message(message) => self.take(StreamResponse::Message(message)).await,
        }
    }

    /// Takes in a stream until it ends, or nothing more is to come.
    async fn stream(&mut self, asked: &Asked<'_>) -> Result<(), Trouble> {
        let answer = self.agents.call(outgoing(&self.interface, asked).limits(long()), self.about).await?;
        let (binding, status) = (self.interface.binding, answer.status);
        if !answer.is_event_stream() {
            // An error, or an agent that has its whole answer ready.
            let event = read_result(binding, status, answer.json().await?)?;
            return self.take(event).await;
        }
        let mut events = answer.events()?;
        while let Some(event) = events.next().await? {
            let body = serde_json::from_str(&event.data).map_err(|_| Trouble::BadAnswer)?;
            self.take(read_result(binding, status, body)?).await?;
            if self.progress.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Looks after a task that the agent has, until it ends or waits.
    async fn follow(&mut self) -> Result<Outcome, Trouble> {
        let (mut failed_looks, mut looks) = (0, 0);
        loop {
            let looked = self.look().await;
            match looked {
                Ok(()) if self.progress.is_over() => return Ok(Outcome::Answered),
                Ok(()) => failed_looks = 0,
                Err(trouble) if trouble.may_pass() && failed_looks < MAX_FAILED_LOOKS => failed_looks += 1,
                // The message has arrived: it is not one that could be sent again without harm.
                Err(trouble) if trouble.may_pass() => return Ok(Outcome::Unknown),
                Err(trouble) => return Err(trouble),
            }
            tokio::time::sleep(PAUSES.nominal(looks)).await;
            looks += 1;
        }
    }

    /// The task as it is now, and then what happens to it, where the agent tells by itself.
    async fn look(&mut self) -> Result<(), Trouble> {
        let remote_id = self.progress.remote_id().unwrap_or_default().to_owned();
        let asked = Asked::Get { remote_id: &remote_id };
        let task: Task = self.agents.ask(&self.interface, self.about, &asked, CallLimits::default()).await?;
        self.take(StreamResponse::Task(task)).await?;
        if self.progress.is_over() || !self.interface.streams {
            return Ok(());
        }
        self.stream(&Asked::Subscribe { remote_id: &remote_id }).await
    }

    async fn take(&mut self, event: StreamResponse) -> Result<(), Trouble> {
        let updates: Vec<AgentUpdate> = self.progress.take(event, self.agents.clock.now());
        for one in updates {
            if !self.sink.tell(one).await {
                return Err(Trouble::Unheard);
            }
        }
        Ok(())
    }
}

//! Messages, from the sender to the end of the work and back. The way has one direction:
//!
//! ```text
//!   sender            accept.rs              lanes.rs              deliver.rs, claims.rs        record.rs, settle.rs
//!
//!   NewMessage ─────▶ Task and Delivery ───▶ ClaimedDelivery ────▶ DeliveryAttempt ──▶ agent
//!                     (rows: accepted)       (somebody's now)                            │
//!                                                                                        ▼
//!   followers ◀────── at once, masked ◀───────────────────────────────────────── DeliveryReport ──▶ the same rows
//!   (follow.rs)                                                                  (at their pace)
//! ```
//!
//! Four types carry a message: [`NewMessage`] is what a sender says, [`ClaimedDelivery`] is a row that somebody works on,
//! `DeliveryAttempt` is what an agent is handed, and [`DeliveryReport`] is what comes back, be it a word on the way or the
//! end. In between are the rows `Task` and `Delivery`, which alone lead to the end: what a crash leaves is found again from
//! them.
//!
//! | service | for whom |
//! |---|---|
//! | [`Messages`] | those who send, and ask what became of it |
//! | [`Queue`] | those who run a workspace, and agents that come and ask |
//! | [`Deliveries`] | the two above: claims, deliveries and their ends |

mod accept;
mod again;
mod cancel;
mod claims;
mod deliver;
mod files;
mod follow;
mod inputs;
mod lanes;
mod masking;
mod new_message;
mod queue;
mod record;
mod removed;
mod send;
mod settle;
mod tasks;
mod upkeep;
mod workspace_signals;

pub use again::go_on_with_task;
pub use claims::{Answer, Claimed, LEASES_MS, MAX_WAIT_MS};
pub use files::FileView;
pub use follow::Follower;
pub use new_message::{Accepted, NewMessage, OWN_NAMESPACE, PRIORITIES, Sender};
pub use queue::{Placed, Queue};
pub use send::Messages;
pub use settle::result_of;

pub(crate) use accept::{Admission, accept};
pub(crate) use claims::own_workspace;
pub(crate) use deliver::ClaimedDelivery;
pub(crate) use inputs::{Submission, TxInputs};
pub(crate) use masking::{AgentRef, Masking};
pub(crate) use new_message::{check_key, invalid_message};
pub(crate) use record::DeliveryReport;
pub(crate) use settle::append_delegation_event;
pub(crate) use upkeep::Upkeep;

use std::sync::Arc;

use warren_fleet::Fleet;
use warren_service::Context;

use crate::Config;
use crate::agents::Agents;

/// Who has the last word about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    Agent,
    /// The agent said nothing, and Warren says why.
    Warren,
}

/// Messages that were accepted: they are claimed, delivered and brought to their end. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub(crate) struct Deliveries(Arc<DeliveriesInner>);

#[derive(Debug)]
struct DeliveriesInner {
    context: Context,
    fleet: Fleet,
    config: Config,
    agents: Agents,
    masking: Masking,
    answer_files: files::AnswerFiles,
    followers: follow::Followers,
    running: deliver::Running,
    lanes: lanes::Lanes,
    signals: workspace_signals::WorkspaceSignals,
}

impl Deliveries {
    pub(crate) fn new(
        context: Context,
        fleet: Fleet,
        config: Config,
        agents: Agents,
        masking: Masking,
    ) -> Self {
        Self(Arc::new(DeliveriesInner {
            signals: workspace_signals::WorkspaceSignals::new(context.clone(), fleet.clone()),
            answer_files: files::AnswerFiles::new(context.clone(), fleet.clone()),
            context,
            fleet,
            config,
            agents,
            masking,
            followers: follow::Followers::default(),
            running: deliver::Running::default(),
            lanes: lanes::Lanes::default(),
        }))
    }

    /// What a transaction is told, taken now.
    pub(crate) fn inputs(&self) -> TxInputs {
        TxInputs::now(&self.0.context, &self.0.fleet, self.0.config, &self.0.agents)
    }
}

//! What every handler can reach.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use warren_agent::AgentHost;
use warren_doors::{Clock, Entropy};
use warren_exchange::Exchange;
use warren_fleet::Fleet;
use warren_model::Limits;
use warren_operations::Operations;
use warren_outbound::Relay;

use crate::box_doors::BoxLines;
use crate::event_hub::EventHub;
use crate::fleet_metrics::FleetMetrics;
use crate::guard::Guard;
use crate::routes::ProviderSignIn;
use crate::telemetry::Telemetry;

/// How a server is to behave; where it listens is the caller's business.
#[derive(Debug, Clone, Default)]
pub struct ServerConfig {
    /// Host names (with port, if not the default one) beside the address it listens on.
    pub allowed_hosts: Vec<String>,
    /// Origins beside its own, such as a development server of the page.
    pub allowed_origins: Vec<String>,
    /// Whether `/metrics` answers without a token.
    pub has_public_metrics: bool,
    /// Where other replicas reach this one. Absent: at the address that it listens on, if others can reach that.
    pub replica_url: Option<String>,
}

/// The state behind the routes. One per server; nothing is global.
#[derive(Debug)]
pub struct App {
    pub(crate) agents: AgentHost,
    pub(crate) exchange: Exchange,
    pub(crate) fleet: Fleet,
    pub(crate) operations: Operations,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) guard: Guard,
    pub(crate) hub: EventHub,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) fleet_metrics: FleetMetrics,
    pub(crate) event_streams: Arc<Semaphore>,
    /// Streams that read history at the same time. All of them together must not keep the database's readers from
    /// ordinary requests, each of which needs one to find out who asks.
    pub(crate) history_readers: Semaphore,
    pub(crate) has_public_metrics: bool,
    pub(crate) provider_sign_in: Option<ProviderSignIn>,
    /// The way to other replicas.
    pub(crate) relay: Relay,
    /// The way into the boxes that this process has.
    pub(crate) box_lines: BoxLines,
    /// Cancelled when the server is asked to stop: streams say goodbye.
    pub(crate) stopping: CancellationToken,
}

impl App {
    pub(crate) fn limits(&self) -> &Limits {
        self.fleet.context.limits()
    }
}

//! Asks a runtime that can be called whether it is there: its agent card is fetched, with a short deadline (F14).

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use warren_fleet::Prober;
use warren_rules::lifecycle::probes::Finding;

use crate::a2a_client::interface_url;
use crate::connector::{Call, CallError, CallLimits, Connector};

/// Where an agent shows its card.
const WELL_KNOWN: &str = "/.well-known/agent-card.json";
const PATIENCE: Duration = Duration::from_secs(5);

/// Through the one connector, as every call that leaves Warren.
#[derive(Debug, Clone)]
pub struct CardProber {
    connector: Connector,
}

impl CardProber {
    pub fn new(connector: Connector) -> Self {
        Self { connector }
    }
}

#[async_trait]
impl Prober for CardProber {
    fn can_ask(&self, card: &Value) -> bool {
        interface_url(card).is_some()
    }

    async fn ask(&self, card: &Value) -> Finding {
        let url = interface_url(card).and_then(|url| url::Url::parse(&url).ok());
        let Some(url) = url.and_then(|url| url.join(WELL_KNOWN).ok()) else { return Finding::Unknown };
        let limits =
            CallLimits { first_byte: PATIENCE, idle: PATIENCE, whole: PATIENCE, ..CallLimits::default() };
        found(&self.connector.call(Call::get(url).limits(limits)).await.map(drop))
    }
}

/// Any answer is a sign of life, also one that says no. What Warren itself did not send says nothing.
fn found(asked: &Result<(), CallError>) -> Finding {
    match asked {
        Ok(()) | Err(CallError::BadAnswer(_)) => Finding::Answers,
        Err(CallError::NobodyListens { .. } | CallError::Unreachable { .. } | CallError::NoAnswer { .. }) => {
            Finding::Silent
        }
        Err(CallError::Refused(_) | CallError::Untrusted { .. }) => Finding::Unknown,
    }
}

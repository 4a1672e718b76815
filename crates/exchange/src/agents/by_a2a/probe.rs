//! Asks an agent whether it is there: its card is fetched, with a short deadline (F14).

use std::time::Duration;

use warren_model::Finding;
use warren_outbound::{Call, CallError, CallLimits, Connector};

/// Where an agent shows its card.
const WELL_KNOWN: &str = "/.well-known/agent-card.json";
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn probe(connector: &Connector, interface_url: &str) -> Finding {
    let url = url::Url::parse(interface_url).ok().and_then(|url| url.join(WELL_KNOWN).ok());
    let Some(url) = url else { return Finding::Unknown };
    let limits =
        CallLimits { first_byte: PATIENCE, idle: PATIENCE, whole: PATIENCE, ..CallLimits::default() };
    found(&connector.call(Call::get(url).limits(limits)).await.map(drop))
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

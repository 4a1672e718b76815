//! Which providers this server has, whether they work here, and which one is taken when nobody names one.

use std::time::Duration;

use futures_util::future::join_all;
use warren_model::{CapabilitySet, ErrorCode, ProviderKind};
use warren_rules::boxes::default_provider::{self, HostProvider};
use warren_service::Error;

use super::Workspaces;

/// How long a provider may take to say whether it works.
const PATIENCE: Duration = Duration::from_secs(2);

/// A provider of this server.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedProvider {
    pub kind: ProviderKind,
    pub capabilities: CapabilitySet,
    /// Why no workspace of it can be opened here, where that is so.
    pub unavailable: Option<String>,
    /// Whether a workspace that names no provider gets this one.
    pub is_default: bool,
}

impl Workspaces {
    /// The providers of this server, in the order of their kinds.
    pub async fn offered_providers(&self) -> Vec<OfferedProvider> {
        let offered =
            ProviderKind::ALL.into_iter().filter_map(|kind| Some((kind, self.registry.offered(kind).ok()?)));
        let asked = offered.map(async |(kind, capabilities)| (self.host_provider(kind).await, capabilities));
        let (known, capabilities): (Vec<_>, Vec<_>) = join_all(asked).await.into_iter().unzip();
        let default = default_provider::choose(&known).ok();
        let told = |(HostProvider { kind, unavailable }, capabilities)| OfferedProvider {
            kind,
            capabilities,
            unavailable,
            is_default: default == Some(kind),
        };
        known.into_iter().zip(capabilities).map(told).collect()
    }

    /// The provider of a workspace that names none. The next one is asked only if the one before it does not work.
    pub async fn default_provider(&self) -> Result<ProviderKind, Error> {
        let mut known = Vec::new();
        for kind in default_provider::ORDER {
            if self.registry.offered(kind).is_ok() {
                known.push(self.host_provider(kind).await);
            }
            if let Ok(kind) = default_provider::choose(&known) {
                return Ok(kind);
            }
        }
        default_provider::choose(&known)
            .map_err(|problem| Error::with_detail(ErrorCode::ProviderUnavailable, problem))
    }

    /// A provider that does not know in time is not called available.
    async fn host_provider(&self, kind: ProviderKind) -> HostProvider {
        let asked = tokio::time::timeout(PATIENCE, self.registry.availability(kind)).await;
        let unavailable = match asked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it does not answer in time".to_owned()),
        };
        HostProvider { kind, unavailable }
    }
}

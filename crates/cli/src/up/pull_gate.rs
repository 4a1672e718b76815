//! Where images may be pulled from, and as whom: the listed registries, what their names lead to, and the logins that
//! operators have set (W74, F52).
//!
//! ```text
//!   registry ──listed?──▶ leads to an address that may be called? ──▶ its login, if there is one
//! ```
//!
//! The daemon looks the name up once more, by itself. So this keeps names out that lead to the wrong place; a name whose owner
//! has it lead elsewhere a moment later is kept out by the list.

use async_trait::async_trait;
use warren_fleet::ImageLogins;
use warren_model::ErrorCode;
use warren_outbound::{Connector, OutboundPolicy, Refused};
use warren_workspace::{
    AllowedRegistries, Error, Listing, PullGate, RegistryLogin, not_listed, plain_registry,
};

#[derive(Debug)]
pub(super) struct CheckedRegistries {
    listed: AllowedRegistries,
    /// For those that are listed by themselves, and for those that a pattern stands for.
    connectors: [Connector; 2],
    logins: ImageLogins,
}

impl CheckedRegistries {
    pub(super) fn new(listed: AllowedRegistries, policy: &OutboundPolicy, logins: ImageLogins) -> Self {
        let connectors = [Listing::Itself, Listing::ByPattern]
            .map(|listing| Connector::with_system_names(listing.policy(policy)));
        Self { listed, connectors, logins }
    }

    async fn check_address(&self, registry: &str, listing: Listing) -> Result<(), Error> {
        let [itself, by_pattern] = &self.connectors;
        let connector = if listing == Listing::Itself { itself } else { by_pattern };
        let Err(refused) = connector.check(&format!("https://{registry}/")).await else { return Ok(()) };
        let told = match &refused {
            Refused::Url(refusal) if !listing.holds(refusal) => return Ok(()),
            Refused::Url(refusal) => refusal.public(),
            other => other.to_string(),
        };
        tracing::warn!(registry, reason = %refused, "images are not pulled from there");
        let detail = format!(
            "images are not pulled from `{registry}`, which {told}; `outbound.allow_private` opens a private network, and so \
             does a registry that is listed by its whole name"
        );
        Err(Error::permanent(ErrorCode::RegistryNotAllowed, detail))
    }
}

#[async_trait]
impl PullGate for CheckedRegistries {
    async fn admit(&self, registry: Option<&str>) -> Result<Option<RegistryLogin>, Error> {
        let listing = self.listed.listing(registry).ok_or_else(|| not_listed(registry))?;
        let registry = plain_registry(registry);
        self.check_address(&registry, listing).await?;
        self.logins.login_at(&registry).await.map_err(|error| {
            let detail =
                format!("Warren's login at `{registry}` cannot be read; an operator can set it anew");
            match error.code {
                ErrorCode::SecretUnreadable => Error::permanent(error.code, detail),
                _ => Error::transient(ErrorCode::PlatformUnavailable, detail),
            }
        })
    }
}

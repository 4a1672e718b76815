//! From a name to addresses, once per connection, and never to one that may not be called.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use warren_rules::outbound::{Host, OutboundPolicy, UrlRefusal, judge_addresses, judge_name};

/// Looks up names.
#[async_trait]
pub trait Resolver: std::fmt::Debug + Send + Sync {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the machine is set up.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// A resolver with the policy in front of it. The connection is made to what it hands out and to nothing else: the HTTP
/// client has no other way to look up a name.
#[derive(Debug, Clone)]
pub(super) struct Guarded {
    pub(super) policy: Arc<OutboundPolicy>,
    pub(super) resolver: Arc<dyn Resolver>,
}

/// Why a name led to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookUpError {
    #[error(transparent)]
    Refused(#[from] UrlRefusal),
    #[error("the name could not be looked up")]
    Failed(#[from] io::Error),
}

impl Guarded {
    pub(super) async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, LookUpError> {
        match judge_name(name, &self.policy)? {
            Host::Name(name) => {
                let addresses = self.resolver.look_up(&name).await?;
                Ok(judge_addresses(addresses, &self.policy)?)
            }
            Host::Loopback(addresses) => Ok(addresses),
            Host::Address(address) => Ok(vec![address]),
        }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guarded = self.clone();
        Box::pin(async move {
            let addresses = guarded.look_up(name.as_str()).await?;
            // Port 0 is replaced by the URL's.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

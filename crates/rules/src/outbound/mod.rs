//! What may be called from here, judged before a name is looked up and again for every address that it leads to (X6).
//!
//! ```text
//!   text ──judge_url──▶ Target ──▶ Host::Address   judged already
//!                              ├─▶ Host::Name      look it up once, then judge_addresses
//!                              └─▶ Host::Loopback  no name server is asked
//! ```
//!
//! The text is refused for what a strict reader would not write (spaces, control characters, backslashes, a user name),
//! since readers of URLs differ most where the text is odd, and only one of them is ours.

mod address;
mod card;
pub mod network;

pub use address::{Cidr, CidrError, Range};
pub use card::{CardUrl, UrlUse, card_urls};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

/// As long as a URL may be.
pub const MAX_URL_BYTES: usize = 4_096;
/// As many addresses as one name may lead to.
pub const MAX_ADDRESSES: usize = 64;

/// What the deployment says about calls that leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// Private blocks that may be called. Metadata, link-local and the like stay shut even if they are named here.
    pub allow_private: Vec<Cidr>,
    /// To look up the name, connect and agree on TLS.
    pub connect_timeout_ms: u64,
}

impl Default for OutboundPolicy {
    fn default() -> Self {
        Self { allow_private: Vec::new(), connect_timeout_ms: 5_000 }
    }
}

impl OutboundPolicy {
    /// Opens every private network, for what an operator has named by itself.
    #[must_use]
    pub fn with_private_networks(mut self) -> Self {
        self.allow_private = Cidr::PRIVATE.to_vec();
        self
    }

    /// Opens this machine's own addresses, for tests and for a laptop whose agents listen on it.
    #[must_use]
    pub fn with_loopback(mut self) -> Self {
        self.allow_private.extend(Cidr::LOOPBACK);
        self
    }
}

/// Why something is not called. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    #[error("is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    #[error("holds a space, a control character, a backslash, or a character outside ASCII")]
    Characters,
    #[error("is not one")]
    NotAUrl,
    #[error("begins with neither http:// nor https://")]
    Scheme,
    #[error("holds a user name or a password")]
    UserInfo,
    #[error("names port 0")]
    Port,
    #[error("names a host of metadata services")]
    MetadataHost,
    /// The URL itself names the address.
    #[error("points to {0}")]
    Address(Range),
    /// What a name led to. Told apart from [`UrlRefusal::NoAddress`] in the log alone.
    #[error("leads to {range} ({address})")]
    LeadsTo { address: IpAddr, range: Range },
    #[error("leads to no address")]
    NoAddress,
}

impl UrlRefusal {
    /// For whoever wrote the URL. What a name leads to, or whether it leads anywhere, is not theirs to know: it would
    /// make this a map of the network behind us.
    pub fn public(&self) -> String {
        match self {
            Self::LeadsTo { .. } | Self::NoAddress => "leads to no address that may be called".to_owned(),
            other => other.to_string(),
        }
    }
}

/// Where a URL points: the URL as it is called, in its plainest spelling and without a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub url: Url,
    pub host: Host,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A literal that may be called.
    Address(IpAddr),
    /// To be looked up, once; every address of the answer must pass [`judge_addresses`].
    Name(String),
    /// `localhost`: by its definition this machine, so that nobody is asked.
    Loopback(Vec<IpAddr>),
}

/// Names under which clouds serve their metadata. Their addresses are shut as well; this holds where a resolver lies.
const METADATA_HOSTS: [&str; 7] = [
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.tencentyun.com",
];

/// Judges the text alone.
pub fn judge_url(text: &str, policy: &OutboundPolicy) -> Result<Target, UrlRefusal> {
    if text.len() > MAX_URL_BYTES {
        return Err(UrlRefusal::TooLong);
    }
    if text.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'\\') {
        return Err(UrlRefusal::Characters);
    }
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err(UrlRefusal::Scheme);
    }
    let mut url = Url::parse(text).map_err(|_| UrlRefusal::NotAUrl)?;
    if !url.username().is_empty() || url.password().is_some() || authority(text).contains('@') {
        return Err(UrlRefusal::UserInfo);
    }
    if url.port() == Some(0) {
        return Err(UrlRefusal::Port);
    }
    let host = match url.host() {
        Some(url::Host::Ipv4(address)) => literal(IpAddr::V4(address), policy)?,
        Some(url::Host::Ipv6(address)) => literal(IpAddr::V6(address), policy)?,
        Some(url::Host::Domain(name)) => judge_name(name, policy)?,
        None => return Err(UrlRefusal::NotAUrl),
    };
    if let Host::Address(address) = host {
        // Whoever connects goes to what was judged, and not to another spelling of it.
        url.set_ip_host(address).map_err(|()| UrlRefusal::NotAUrl)?;
    }
    url.set_fragment(None);
    Ok(Target { url, host })
}

/// Judges a host's name, before it is looked up.
pub fn judge_name(name: &str, policy: &OutboundPolicy) -> Result<Host, UrlRefusal> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        return Err(UrlRefusal::NotAUrl);
    }
    if METADATA_HOSTS.contains(&name) {
        return Err(UrlRefusal::MetadataHost);
    }
    if name == "localhost" || name.ends_with(".localhost") {
        let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let open: Vec<IpAddr> =
            own.into_iter().filter(|one| address::judge(*one, &policy.allow_private).is_ok()).collect();
        return if open.is_empty() {
            Err(UrlRefusal::Address(Range::Private))
        } else {
            Ok(Host::Loopback(open))
        };
    }
    Ok(Host::Name(name.to_owned()))
}

/// Judges everything that a name leads to: one address that may not be called spoils the whole answer, since whoever
/// controls the name chooses which of them is used.
pub fn judge_addresses(
    addresses: impl IntoIterator<Item = IpAddr>,
    policy: &OutboundPolicy,
) -> Result<Vec<IpAddr>, UrlRefusal> {
    let judged = addresses.into_iter().take(MAX_ADDRESSES + 1).map(|address| {
        address::judge(address, &policy.allow_private)
            .map_err(|range| UrlRefusal::LeadsTo { address: address.to_canonical(), range })
    });
    let judged = judged.collect::<Result<Vec<_>, _>>()?;
    if judged.is_empty() || judged.len() > MAX_ADDRESSES { Err(UrlRefusal::NoAddress) } else { Ok(judged) }
}

/// What stands between the scheme and the path, as it is written.
fn authority(text: &str) -> &str {
    let behind = text.split_once("//").map_or("", |(_, rest)| rest);
    behind.split(['/', '?', '#']).next().unwrap_or_default()
}

fn literal(address: IpAddr, policy: &OutboundPolicy) -> Result<Host, UrlRefusal> {
    address::judge(address, &policy.allow_private).map(Host::Address).map_err(UrlRefusal::Address)
}

#[cfg(test)]
mod tests;

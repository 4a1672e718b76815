//! Which registries images are pulled from (W74).
//!
//! The name of an image names a host, and the Docker daemon, which is root on the host's network, calls it. So whoever may name
//! an image could have it call anything. It is told to pull from the registries that the config lists, and from no
//! other; the list holds for everybody, operators too. What is here already needs no registry.
//!
//! An address (`10.0.0.7:5000`), and this machine, are pulled from only if they are listed as they are written: no pattern
//! stands for them.
//!
//! What a listed name leads to is judged as every call that leaves Warren is (`outbound`). One that is listed by itself may
//! be in a private network, since whoever wrote it there said so; one that a pattern stands for only where the deployment
//! opens that network. Metadata services and the like are shut to both.

use std::net::IpAddr;

use crate::outbound::{OutboundPolicy, UrlRefusal};

/// Public ones, whose names nobody else can point elsewhere.
pub const DEFAULT_REGISTRIES: [&str; 8] = [
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "quay.io",
    "registry.gitlab.com",
    "registry.k8s.io",
];

/// Where a name without a host is looked for.
const DOCKER_HUB: &str = "docker.io";

/// What the config lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedRegistries(Vec<Pattern>);

/// `registry.example.com`, with a port (`:5000`) or any (`:*`), or all hosts below a name (`*.example.com`).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    host: HostPattern,
    port: PortPattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exactly(String),
    /// With its dot.
    Below(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortPattern {
    /// None is written.
    Usual,
    Exactly(u16),
    Any,
}

impl Default for AllowedRegistries {
    fn default() -> Self {
        Self(DEFAULT_REGISTRIES.iter().filter_map(|text| Pattern::parse(text)).collect())
    }
}

impl AllowedRegistries {
    /// The error is the first text that names no registry.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let parsed = texts.into_iter().map(|text| Pattern::parse(text).ok_or_else(|| text.to_owned()));
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// How an image's registry is listed; `registry` as its name has it, absent where it names none.
    pub fn listing(&self, registry: Option<&str>) -> Option<Listing> {
        let registry = plain_registry(registry);
        let (host, port) = match registry.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (registry.as_str(), None),
        };
        let mut found = self.0.iter().filter(|pattern| pattern.matches(host, port)).peekable();
        found.peek()?;
        let is_itself = found.any(|pattern| matches!(pattern.host, HostPattern::Exactly(_)));
        Some(if is_itself { Listing::Itself } else { Listing::ByPattern })
    }

    pub fn allows(&self, registry: Option<&str>) -> bool {
        self.listing(registry).is_some()
    }
}

/// How the config names a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    Itself,
    /// As one of all hosts below a name.
    ByPattern,
}

impl Listing {
    /// The rules for what the name leads to, from those of the deployment.
    pub fn policy(self, deployment: &OutboundPolicy) -> OutboundPolicy {
        match self {
            Self::Itself => deployment.clone().with_private_networks(),
            Self::ByPattern => deployment.clone(),
        }
    }

    /// Whether a refusal of these rules holds. A name that leads nowhere from here may lead somewhere from the daemon, which may
    /// ask other servers for names, or a proxy; one that is listed by itself is left to it.
    pub fn holds(self, refusal: &UrlRefusal) -> bool {
        !(self == Self::Itself && *refusal == UrlRefusal::NoAddress)
    }
}

/// The host of an image's name in one spelling.
pub fn plain_registry(registry: Option<&str>) -> String {
    let lower = registry.unwrap_or(DOCKER_HUB).to_ascii_lowercase();
    let plain = lower.strip_suffix(":443").unwrap_or(&lower);
    if plain == "index.docker.io" { DOCKER_HUB.to_owned() } else { plain.to_owned() }
}

/// What somebody wrote, in one spelling; absent if it cannot be a registry's host.
pub fn parse_registry(text: &str) -> Option<String> {
    let pattern = Pattern::parse(text)?;
    let is_one = matches!(pattern.host, HostPattern::Exactly(_)) && pattern.port != PortPattern::Any;
    is_one.then(|| plain_registry(Some(text)))
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (host, port) = match text.split_once(':') {
            None => (text.as_str(), PortPattern::Usual),
            Some((host, "*")) => (host, PortPattern::Any),
            Some((host, port)) => match port.parse().ok().filter(|port| *port > 0)? {
                443 => (host, PortPattern::Usual),
                port => (host, PortPattern::Exactly(port)),
            },
        };
        let host = match host.strip_prefix("*.") {
            // All of `.com` is not a registry's.
            Some(below) if below.contains('.') && is_host(below) => HostPattern::Below(format!(".{below}")),
            Some(_) => return None,
            None if is_host(host) => HostPattern::Exactly(host.to_owned()),
            None => return None,
        };
        Some(Self { host, port })
    }

    fn matches(&self, host: &str, port: Option<u16>) -> bool {
        let is_host = match &self.host {
            HostPattern::Exactly(own) => own == host,
            HostPattern::Below(end) => {
                host.ends_with(end.as_str()) && host.len() > end.len() && host.parse::<IpAddr>().is_err()
            }
        };
        let is_port = match self.port {
            PortPattern::Usual => port.is_none(),
            PortPattern::Exactly(own) => port == Some(own),
            PortPattern::Any => true,
        };
        is_host && is_port
    }
}

fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    // W74, sec/A11
    #[test]
    fn images_come_from_public_registries_unless_others_are_listed() {
        let usual = AllowedRegistries::default();
        for registry in
            [None, Some("docker.io"), Some("index.docker.io"), Some("GHCR.io"), Some("quay.io:443")]
        {
            assert!(usual.allows(registry), "{registry:?}");
        }
        for registry in [
            "127.0.0.1",
            "127.0.0.1:9900",
            "localhost",
            "localhost:5000",
            "10.0.0.7:5000",
            "169.254.169.254",
            "metadata.google.internal",
            "registry.internal:5000",
            "evil.example",
            "docker.io.evil.example",
            "evilghcr.io",
            "ghcr.io:22",
            "docker.io.",
            "2130706433.",
            "0x7f.1",
        ] {
            assert!(!usual.allows(Some(registry)), "{registry}");
        }
    }

    // W74, sec/A11
    #[test]
    fn what_is_listed_is_allowed_as_it_is_written_and_nothing_near_it() {
        let listed =
            AllowedRegistries::parse(["Registry.Example:5000", "*.pkg.dev", "127.0.0.1:*", "10.0.0.7"])
                .unwrap();
        for registry in [
            "registry.example:5000",
            "us-docker.pkg.dev",
            "us-docker.pkg.dev:443",
            "a.b.pkg.dev",
            "127.0.0.1:9900",
            "127.0.0.1",
            "10.0.0.7",
        ] {
            assert!(listed.allows(Some(registry)), "{registry}");
        }
        for registry in [
            "registry.example",
            "registry.example:5001",
            "pkg.dev",
            "evilpkg.dev",
            "us.pkg.dev:22",
            "10.0.0.7:22",
        ] {
            assert!(!listed.allows(Some(registry)), "{registry}");
        }
        assert!(!listed.allows(None), "a list replaces the usual one");
        assert!(!AllowedRegistries::parse([]).unwrap().allows(None));
    }

    // W74, sec/A11
    #[test]
    fn a_private_network_is_called_for_what_is_listed_by_itself_and_metadata_for_nothing() {
        use crate::outbound::judge_url;

        let listed =
            AllowedRegistries::parse(["*.example.com", "registry.example.com:5000", "10.0.0.7"]).unwrap();
        let deployment = OutboundPolicy::default();
        assert_eq!(listed.listing(Some("a.example.com")), Some(Listing::ByPattern));
        assert_eq!(listed.listing(Some("a.example.com:22")), None);
        assert_eq!(listed.listing(Some("registry.example.com")), Some(Listing::ByPattern));
        assert_eq!(listed.listing(Some("registry.example.com:5000")), Some(Listing::Itself));
        let is_open = |listing: Listing, url: &str| judge_url(url, &listing.policy(&deployment)).is_ok();
        assert!(
            is_open(Listing::Itself, "https://10.0.0.7/") && is_open(Listing::Itself, "https://127.0.0.1/")
        );
        assert!(!is_open(Listing::ByPattern, "https://10.0.0.7/"));
        for listing in [Listing::Itself, Listing::ByPattern] {
            assert!(is_open(listing, "https://registry.example.com/"));
            for shut in
                ["https://169.254.169.254/", "https://metadata.google.internal/", "https://100.64.0.1/"]
            {
                assert!(!is_open(listing, shut), "{shut}");
            }
        }
        assert!(
            !Listing::Itself.holds(&UrlRefusal::NoAddress)
                && Listing::ByPattern.holds(&UrlRefusal::NoAddress)
        );
        assert!(Listing::Itself.holds(&UrlRefusal::MetadataHost));
    }

    // F52
    #[test]
    fn a_registry_has_one_spelling() {
        for (text, plain) in [
            ("Registry.Example:5000", Some("registry.example:5000")),
            ("quay.io:443", Some("quay.io")),
            ("index.docker.io", Some("docker.io")),
            ("*.example.com", None),
            ("example.com:*", None),
            ("https://example.com", None),
            ("a/b", None),
            ("", None),
        ] {
            assert_eq!(parse_registry(text).as_deref(), plain, "{text}");
        }
    }

    // W74
    #[test]
    fn what_names_no_registry_is_told() {
        for bad in [
            "",
            "*",
            "*.",
            "*.com",
            "a b",
            "https://x.y",
            "x.y/z",
            "x.y:0",
            "x.y:",
            "x.y:99999",
            "-x.y",
            "é.y",
        ] {
            assert_eq!(AllowedRegistries::parse(["docker.io", bad]), Err(bad.to_owned()));
        }
    }
}

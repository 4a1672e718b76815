//! What a box may reach of the web (A81): nothing, unless its workspace's policy names it.
//!
//! ```text
//!   "none"                                      nothing; the default
//!   { "allow": ["pypi", "example.com"] }        these, and nothing else
//!   { "allow": [], "ask": true }                a person is asked about every other host
//! ```
//!
//! This is the policy as it is written and stored. What it means, and whether its hosts can be granted at all, is
//! judged by `warren_rules::outbound::network`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text_enum::text_enum;

text_enum! {
    /// Hosts that are granted under one name, since they are needed together.
    NetworkSet {
        /// Packages of Python.
        Pypi = "pypi",
        /// Packages of Node.
        Npm = "npm",
        /// Packages of Rust.
        Crates = "crates",
        Github = "github",
        /// Packages of Debian.
        Debian = "debian",
    }
}

impl NetworkSet {
    pub const fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::Pypi => &["pypi.org", "files.pythonhosted.org"],
            Self::Npm => &["registry.npmjs.org"],
            Self::Crates => &["crates.io", "index.crates.io", "static.crates.io"],
            Self::Github => &[
                "github.com",
                "api.github.com",
                "codeload.github.com",
                "objects.githubusercontent.com",
                "raw.githubusercontent.com",
                "release-assets.githubusercontent.com",
            ],
            Self::Debian => &["deb.debian.org", "security.debian.org"],
        }
    }

    /// Whether its hosts are reached by plain HTTP too: Debian signs its packages and serves them that way.
    pub const fn is_plain_too(self) -> bool {
        match self {
            Self::Debian => true,
            Self::Pypi | Self::Npm | Self::Crates | Self::Github => false,
        }
    }
}

text_enum! {
    /// How a host is reached.
    NetworkScheme {
        /// TLS from the box to the host, through a tunnel: Warren sees the name of the host and nothing else.
        Https = "https",
        /// Plain HTTP all the way.
        Http = "http",
        /// Plain HTTP from the box to Warren, TLS from Warren to the host: Warren sees the request, so that methods and
        /// paths can be granted and credentials put in.
        Secured = "secured",
    }
}

impl NetworkScheme {
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Https | Self::Secured => 443,
            Self::Http => 80,
        }
    }
}

/// One host, or all hosts below a name, and what may be asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGrant {
    /// `example.com`, or `*.example.com` for what is below it.
    pub host: String,
    /// Absent: that of the scheme.
    pub port: Option<u16>,
    pub scheme: NetworkScheme,
    /// Empty: all.
    pub methods: Vec<String>,
    /// What a path begins with. Empty: all.
    pub paths: Vec<String>,
}

impl HostGrant {
    /// All of a host, by HTTPS.
    pub fn of(host: impl Into<String>) -> Self {
        let scheme = NetworkScheme::Https;
        Self { host: host.into(), port: None, scheme, methods: Vec::new(), paths: Vec::new() }
    }

    fn is_plain(&self) -> bool {
        self.scheme == NetworkScheme::Https && self.methods.is_empty() && self.paths.is_empty()
    }
}

/// One entry of what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkGrant {
    Set(NetworkSet),
    Host(HostGrant),
}

impl NetworkGrant {
    /// Reads `pypi`, `example.com`, `*.example.com` or `example.com:8443`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(set) = NetworkSet::parse(text) {
            return Ok(Self::Set(set));
        }
        if !text.contains(['.', ':']) {
            let sets: Vec<_> = NetworkSet::ALL.iter().map(|set| set.as_str()).collect();
            let sets = sets.join(", ");
            return Err(format!("expected a host such as `example.com`, or one of the sets {sets}"));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
                (host, Some(port))
            }
            Some(_) | None => (text, None),
        };
        Ok(Self::Host(HostGrant { port, ..HostGrant::of(host) }))
    }
}

/// What a box may reach. The default is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    pub allow: Vec<NetworkGrant>,
    /// Whether people are asked about hosts that are not named.
    pub ask: bool,
}

impl NetworkPolicy {
    pub const MAX_GRANTS: usize = 128;
    pub const MAX_METHODS: usize = 16;
    pub const MAX_PATHS: usize = 32;
    pub const MAX_PATH_BYTES: usize = 512;

    /// Whether there is no way out at all, so that a box needs no door.
    pub fn is_none(&self) -> bool {
        self.allow.is_empty() && !self.ask
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFields {
    #[serde(default)]
    allow: Vec<NetworkGrant>,
    #[serde(default)]
    ask: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantFields {
    host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(default = "https")]
    scheme: NetworkScheme,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    methods: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
}

const fn https() -> NetworkScheme {
    NetworkScheme::Https
}

const NONE: &str = "none";

impl Serialize for NetworkPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_none() {
            return serializer.serialize_str(NONE);
        }
        PolicyFields { allow: self.allow.clone(), ask: self.ask }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NetworkPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = NetworkPolicy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none`, or an object with `allow` and `ask`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NetworkPolicy, E> {
                match text {
                    NONE => Ok(NetworkPolicy::default()),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NetworkPolicy, A::Error> {
                let PolicyFields { allow, ask } = Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                Ok(NetworkPolicy { allow, ask })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for NetworkGrant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(set) => set.serialize(serializer),
            Self::Host(grant) if grant.is_plain() => match grant.port {
                Some(port) => serializer.collect_str(&format_args!("{}:{port}", grant.host)),
                None => serializer.serialize_str(&grant.host),
            },
            Self::Host(grant) => {
                let HostGrant { host, port, scheme, methods, paths } = grant.clone();
                GrantFields { host, port, scheme, methods, paths }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for NetworkGrant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = NetworkGrant;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a host, the name of a set, or an object with a `host`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NetworkGrant, E> {
                NetworkGrant::parse(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NetworkGrant, A::Error> {
                let fields: GrantFields = Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                if fields.port == Some(0) {
                    return Err(A::Error::custom("port 0 is no port"));
                }
                let GrantFields { host, port, scheme, methods, paths } = fields;
                Ok(NetworkGrant::Host(HostGrant { host, port, scheme, methods, paths }))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<NetworkPolicy, String> {
        crate::from_json(value).map_err(|error| format!("{}: {}", error.path(), error.inner()))
    }

    // A81
    #[test]
    fn a_policy_is_read_and_written_in_its_plainest_form() {
        for value in [
            json!("none"),
            json!({ "allow": ["pypi", "example.com", "*.example.com:8443"], "ask": false }),
            json!({ "allow": [], "ask": true }),
            json!({ "allow": [{ "host": "example.com", "scheme": "secured", "methods": ["GET"], "paths": ["/a/"] }],
                    "ask": false }),
            json!({ "allow": [{ "host": "example.com", "port": 8080, "scheme": "http" }], "ask": false }),
        ] {
            let policy = read(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&policy).unwrap(), value);
        }
        assert!(read(json!({})).unwrap().is_none());
        let object = read(json!({ "allow": [{ "host": "example.com" }] })).unwrap();
        assert_eq!(serde_json::to_value(&object).unwrap(), json!({ "allow": ["example.com"], "ask": false }));
    }

    // A81
    #[test]
    fn what_is_no_policy_is_refused_with_its_path() {
        for (value, path) in [
            (json!("all"), "."),
            (json!(true), "."),
            (json!([]), "."),
            (json!({ "deny": [] }), "deny"),
            (json!({ "ask": "yes" }), "ask"),
            (json!({ "allow": "pypi" }), "allow"),
            (json!({ "allow": ["pipy"] }), "allow[0]"),
            (json!({ "allow": ["pypi", 7] }), "allow[1]"),
            (json!({ "allow": ["example.com:99999"] }), "allow[0]"),
            (json!({ "allow": [{ "port": 443 }] }), "allow[0]"),
            (json!({ "allow": [{ "host": "example.com", "path": "/" }] }), "allow[0].path"),
            (json!({ "allow": [{ "host": "example.com", "scheme": "ftp" }] }), "allow[0].scheme"),
            (json!({ "allow": [{ "host": "example.com", "port": 0 }] }), "allow[0]"),
            (json!({ "allow": [{ "host": "example.com", "port": 70000 }] }), "allow[0].port"),
            (json!({ "allow": [{ "host": "example.com", "methods": "GET" }] }), "allow[0].methods"),
        ] {
            let error = read(value.clone()).unwrap_err();
            assert!(error.starts_with(&format!("{path}: ")), "{value}: {error}");
        }
    }
}

//! What programs of a box reach of the web, as it is written in requests. Read by Warren itself, so that what is wrong is told
//! with its place.

use serde::{Deserialize, Serialize};

use crate::schema::ToSchema;

/// `none`, or which hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum NetworkAccess {
    None(NoNetwork),
    Policy(NetworkPolicy),
}

/// Nothing is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoNetwork {
    None,
}

/// Hosts that are reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkPolicy {
    #[schema(max_items = 128)]
    pub allow: Vec<NetworkGrant>,
    /// Whether people are asked about hosts that are not named, in their inbox.
    pub ask: bool,
}

/// A host with everything on it, the name of a set of hosts, or a host with what may be asked of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum NetworkGrant {
    /// `example.com`, `*.example.com`, `example.com:8443`, or one of the sets `pypi`, `npm`, `crates`, `github`, `debian`.
    Name(String),
    Host(HostGrant),
}

/// A host, and what may be asked of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGrant {
    /// `example.com`, or `*.example.com` for what is below it.
    pub host: String,
    /// 80, 443, or from 1024 on. Absent: 443, and 80 for `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Absent: `https`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<NetworkScheme>,
    /// Such as `GET`. Empty: all. Not for `https`, of which Warren sees no request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 16)]
    pub methods: Vec<String>,
    /// What a path begins with, such as `/org/project/`. Empty: all. Not for `https`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 32)]
    pub paths: Vec<String>,
}

/// How a host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkScheme {
    /// TLS from the box to the host.
    Https,
    /// Plain HTTP all the way.
    Http,
    /// Plain HTTP from the box to Warren, TLS from Warren to the host, with the credential that is bound to it.
    Secured,
}

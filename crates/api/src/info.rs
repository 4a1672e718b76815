use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::{Capability, Status};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`, or the code of what is wrong.
    pub status: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServerInfo {
    pub version: String,
    pub providers: Vec<ProviderInfo>,
    /// The kind that a workspace gets whose request names none: `sandbox` where it works, else `docker`. Absent: neither
    /// works here, and such a request is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_provider: Option<String>,
    /// `sqlite` or `postgres`.
    pub database: String,
    pub durability: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProviderInfo {
    pub kind: String,
    pub capabilities: Vec<Capability>,
    /// What somebody who picks it should know.
    pub note: String,
    /// Why no workspace of it can be opened here, and what to do about it. Absent: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// What the registry knows about a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RegistryDescription {
    pub state: String,
    pub provider: String,
    pub opened_at: Option<String>,
    pub last_error: Option<String>,
    pub last_attempt_at: Option<String>,
    pub last_success_at: Option<String>,
    pub opens: u64,
    pub evictions: u64,
    /// As the open workspace tells them; absent unless it is open.
    #[schema(value_type = Option<Object>)]
    pub limits: Option<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceHealth {
    pub workspace_id: String,
    pub status: Status,
    pub reason: Option<String>,
    /// `null` when this server does not hold the workspace.
    pub registry: Option<RegistryDescription>,
}

/// A JSON Web Key Set (RFC 7517).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SigningKeys {
    pub keys: Vec<SigningKey>,
}

/// A public key of the kind Ed25519 (RFC 8037).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SigningKey {
    /// `OKP`.
    pub kty: String,
    /// `Ed25519`.
    pub crv: String,
    /// `EdDSA`.
    pub alg: String,
    /// `sig`.
    #[serde(rename = "use")]
    pub usage: String,
    /// The key's thumbprint (RFC 7638).
    pub kid: String,
    /// The key, in base64url.
    pub x: String,
}

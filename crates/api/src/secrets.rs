use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::Principal;

/// Whose secret it is: an org's, for all its workspaces, or one workspace's own, which wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretOwner {
    Org,
    Workspace,
}

/// A secret as it may be shown: never the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// The variable that it becomes.
    pub name: String,
    pub owner: SecretOwner,
    pub workspace_id: Option<String>,
    /// Goes up with each new value.
    pub version: u64,
    /// The key that it is sealed under.
    pub key_id: String,
    /// Whether the server has that key. Without it, commands of the workspaces concerned are refused.
    pub is_readable: bool,
    pub created_at: String,
    pub updated_at: String,
    pub updated_by: Principal,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretPage {
    pub items: Vec<Secret>,
    pub next_cursor: Option<String>,
    /// Names of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A value on its way in. It does not come out again.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    /// Text without NUL, at least one character.
    #[schema(min_length = 1, max_length = 65536, write_only)]
    pub value: String,
}

impl std::fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SetSecret(…)")
    }
}

/// What a rotation of the key did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeyRotation {
    /// The key that all secrets are under now.
    pub key_id: String,
    /// Whether it was made for this. Where keys come from a variable or a command, their owner makes them: put the new
    /// one in front of the old and start Warren again.
    pub is_new_key: bool,
    pub resealed: u64,
    /// Secrets that no key at hand opens, or that this version of Warren cannot read; they were left as they are.
    pub unreadable: u64,
    /// The latter, by name; those of a workspace as `ID/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable_rows: Vec<String>,
}

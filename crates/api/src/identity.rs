use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::{OrgMembership, SignedInUser};

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    Admin,
    User,
    Workspace,
    Join,
    Runner,
    Login,
    #[serde(rename = "session")]
    SignIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    User,
    Workspace,
    Schedule,
    Channel,
    System,
}

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Principal {
    pub kind: PrincipalKind,
    pub id: String,
    /// What a person is called, where the answer looks it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A token as it may be shown: never the secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    pub id: String,
    pub kind: TokenKind,
    pub name: String,
    /// The beginning of the secret, to recognize it by.
    pub prefix: String,
    pub owner: Principal,
    pub workspace_id: Option<String>,
    pub scopes: Vec<String>,
    pub created_at: String,
    pub expires_at: Option<String>,
    pub last_used_at: Option<String>,
    pub revoked_at: Option<String>,
}

/// What kinds of token are made on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MintableKind {
    Admin,
    User,
    Workspace,
    /// Lets the runtime of one workspace register, once, within an hour unless told.
    Join,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    pub kind: MintableKind,
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// For `user`: what it may do. See the reference for the names. Absent: `workspaces:read`, `workspaces:write`,
    /// `workspaces:use` and `events:read`, as far as the caller may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// For `workspace` and `join`: the only one it speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Absent: does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 315_360_000)]
    pub expires_in_seconds: Option<u64>,
}

/// The one answer that holds a token's secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// Shown once, stored nowhere.
    pub secret: String,
    pub token: Token,
}

/// Something that was made with a token and is still active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeWithToken {
    /// `token`, `schedule`, `webhook` or `channel`.
    pub kind: String,
    pub id: String,
    pub name: String,
    pub workspace_id: Option<String>,
}

/// What was made with a token and is still active, by itself or with tokens that were made with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeWithTokenList {
    /// How many there are of each kind.
    pub counts: BTreeMap<String, u64>,
    /// The first thousand of them.
    pub items: Vec<MadeWithToken>,
}

/// A token that is revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedToken {
    pub id: String,
    /// Whether what was made with it was ended with it: tokens are revoked, schedules paused, webhooks stopped, channels
    /// removed.
    pub ended: bool,
    pub made: MadeWithTokenList,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenPage {
    pub items: Vec<Token>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// The secret of a sign-in link, exchanged for a cookie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UseSignInLink {
    pub secret: String,
}

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    pub principal: Principal,
    pub token_kind: TokenKind,
    /// What the caller may do: of a person, what their role in the org lets them.
    pub scopes: Vec<String>,
    pub expires_at: Option<String>,
    /// Absent for those who are no person.
    pub user: Option<SignedInUser>,
    /// The org in which the caller works now.
    pub org: OrgMembership,
    /// Whether they run this Warren.
    pub is_admin: bool,
    /// Where else they may work; for who runs this Warren, everywhere. The first hundred.
    pub orgs: Vec<OrgMembership>,
}

/// A new sign-in link. It works once, within ten minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SignInLink {
    /// Path and fragment, to be put behind the server's address. A fragment is never sent, so it enters no log.
    pub path: String,
    pub expires_at: String,
}

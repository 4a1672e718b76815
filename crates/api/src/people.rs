//! People, orgs and invitations.

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::{MadeWithTokenList, Principal, Tier};

/// What a person may do in an org: `viewer` reads, `member` works, `operator` runs the org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrgRole {
    Viewer,
    Member,
    Operator,
}

/// A person, as an org knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    pub id: String,
    pub name: String,
    pub display_name: String,
    /// Shown to operators, and to the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether they run this Warren.
    pub is_admin: bool,
    /// Absent: they are not in the org, and run this Warren.
    pub role: Option<OrgRole>,
    /// Since when they are in the org.
    pub since: Option<String>,
    /// When one of their tokens or browsers was last used in the org, to the minute. Shown to operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<String>,
    /// When they left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UserPage {
    pub items: Vec<User>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A person who is to be in the org. They come in by a sign-in link or a sign-in provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUser {
    /// 1 to 63 of `a-z 0-9 . _ -`. Who runs this Warren may name somebody who is in another org.
    pub name: String,
    /// Absent: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 80)]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    pub role: OrgRole,
}

/// What is to change about a person. Absent fields stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchUser {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 80)]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<OrgRole>,
    /// By those who run this Warren.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_admin: Option<bool>,
}

/// A person who is no longer in the org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedUser {
    pub id: String,
    pub name: String,
    /// Whether what acts in their name was ended with it.
    pub ended: bool,
    pub made: MadeWithTokenList,
}

/// How much an org may have. Absent: as much as this Warren allows anybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrgQuotas {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_workspaces: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_members: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sessions_running: Option<u32>,
    /// What all its workspaces together may spend in a month, in millionths of the currency's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monthly_spend_micros: Option<u64>,
    /// The highest tier that the org's operators may give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tier: Option<Tier>,
}

/// How much an org has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OrgUsage {
    pub workspaces: u64,
    pub members: u64,
    pub sessions_running: u64,
    /// Such as `2026-11`.
    pub month: String,
    pub spent_micros: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Org {
    pub id: String,
    pub name: String,
    /// One's own role there; absent for who runs this Warren and is not in it.
    pub role: Option<OrgRole>,
    pub created_at: String,
    /// Shown to the org's operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<OrgQuotas>,
    /// Shown to the org's operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<OrgUsage>,
}

/// The orgs that one is in; for who runs this Warren, all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OrgPage {
    pub items: Vec<Org>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateOrg {
    /// 1 to 63 of `a-z 0-9 . _ -`.
    pub name: String,
    /// Absent: nothing above the tier `basic`, and no other limits of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<OrgQuotas>,
}

/// What is to change about an org. Absent fields stay; `quotas` is written as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchOrg {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<OrgQuotas>,
}

/// How an invitation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvitationState {
    Open,
    Used,
    Expired,
    Revoked,
}

/// A way into the org for one person; never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invitation {
    pub id: String,
    pub role: OrgRole,
    /// Only a provider's sign-in with this address may take it.
    pub email: Option<String>,
    pub state: InvitationState,
    pub invited_by: Principal,
    pub created_at: String,
    pub expires_at: String,
    pub used_at: Option<String>,
    pub used_by: Option<Principal>,
    pub revoked_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InvitationPage {
    pub items: Vec<Invitation>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateInvitation {
    pub role: OrgRole,
    /// Whom it is for: then only a provider's sign-in with this address, proven by the provider, may take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Absent: seven days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_592_000)]
    pub expires_in_seconds: Option<u64>,
}

/// The one answer that holds an invitation's secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedInvitation {
    /// Path and fragment, to be put behind the server's address. A fragment is never sent, so it enters no log.
    pub path: String,
    pub invitation: Invitation,
}

/// The secret of an invitation, to see what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowInvitation {
    pub secret: String,
}

/// What an invitation leads to. Looking does not use it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvitationPreview {
    /// The name of the org.
    pub org: String,
    pub role: OrgRole,
    /// The name of whoever made it.
    pub invited_by: String,
    pub expires_at: String,
    /// Whether it is taken by a provider's sign-in alone: it was made for one address.
    pub needs_provider: bool,
}

/// Takes an invitation. Whoever is signed in joins the org as who they are, and says no names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UseInvitation {
    pub secret: String,
    /// 1 to 63 of `a-z 0-9 . _ -`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Absent: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 80)]
    pub display_name: Option<String>,
}

/// Another org to work in, by name or id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchOrg {
    pub org: String,
}

/// How one may sign in to this Warren.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInWays {
    /// By a link that somebody hands out.
    pub link: bool,
    /// By the organisation's own sign-in.
    pub provider: Option<SignInProvider>,
}

/// The organisation's own sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInProvider {
    /// As its button says.
    pub name: String,
    /// Where the browser is to go.
    pub path: String,
}

/// The secret of an invitation that a sign-in by the provider is to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginProviderSignIn {
    #[schema(max_length = 256)]
    pub invitation: String,
}

/// Where the provider asks who it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderAddress {
    /// Where the browser is to go now.
    pub url: String,
}

/// The person who is asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignedInUser {
    pub id: String,
    pub name: String,
    pub display_name: String,
}

/// An org that one is in, and what one may do there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OrgMembership {
    pub id: String,
    pub name: String,
    /// Absent: they are not in it, and run this Warren.
    pub role: Option<OrgRole>,
}

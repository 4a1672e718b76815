//! People, the orgs they work in, and how they come in.
//!
//! ```text
//!   User ──▶ Member (org, role) ◀── Org (quotas)
//!     ▲                              ▲
//!     └── UserIdentity               └── Invitation (role; used once)
//!         (who a sign-in provider says it is)
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::token::SecretText;
use crate::{
    InvalidToken, InvitationId, OrgId, Principal, Scope, ScopeSet, Tier, Timestamp, TokenHash, UserId,
};

text_enum! {
    /// What a person may do in an org. Who runs this Warren may do everything in every org, and is no role.
    OrgRole {
        /// Reads.
        Viewer = "viewer",
        /// Works: makes and uses workspaces, decides approvals.
        Member = "member",
        /// Runs the org: people, secrets, tokens, quotas seen.
        Operator = "operator",
    }
}

impl OrgRole {
    /// What the role lets its holder do, in the words that tokens have for it.
    pub fn scopes(self) -> ScopeSet {
        let reads = [Scope::WorkspacesRead, Scope::EventsRead];
        let works = [
            Scope::WorkspacesWrite,
            Scope::WorkspacesUse,
            Scope::ApprovalsDecide,
            Scope::TokensRead,
            Scope::TokensWrite,
            Scope::SecretsRead,
        ];
        match self {
            Self::Viewer => reads.into_iter().collect(),
            Self::Member => reads.into_iter().chain(works).collect(),
            Self::Operator => ScopeSet::all(),
        }
    }
}

/// The name by which a person or an org is called: 1 to 63 of `a-z 0-9 . _ -`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShortName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 63 of a-z, 0-9, `.`, `_`, `-`, and begins with a letter or digit")]
pub struct InvalidShortName;

impl ShortName {
    pub const MAX_BYTES: usize = 63;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ShortName {
    type Err = InvalidShortName;

    fn from_str(text: &str) -> Result<Self, InvalidShortName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let begins_well = text.bytes().next().is_some_and(is_plain);
        let is_well = text.bytes().all(|byte| is_plain(byte) || matches!(byte, b'.' | b'_' | b'-'));
        // An id is never a name: both stand in the same place of an address.
        let is_id = text.parse::<UserId>().is_ok();
        if begins_well && is_well && text.len() <= Self::MAX_BYTES && !is_id {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidShortName)
        }
    }
}

impl TryFrom<String> for ShortName {
    type Error = InvalidShortName;

    fn try_from(text: String) -> Result<Self, InvalidShortName> {
        text.parse()
    }
}

impl From<ShortName> for String {
    fn from(name: ShortName) -> Self {
        name.0
    }
}

impl fmt::Display for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub name: ShortName,
    /// As they want to be called; checked by `rules`.
    pub display_name: String,
    pub email: Option<String>,
    /// Whether they run this Warren.
    pub is_admin: bool,
    pub created_at: Timestamp,
    /// Since when they may not come in any more, in any org.
    pub removed_at: Option<Timestamp>,
}

impl User {
    pub fn principal(&self) -> Principal {
        Principal::user(self.id)
    }
}

/// How much an org may have. Absent: as much as Warren allows anybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrgQuotas {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workspaces: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_members: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sessions_running: Option<u32>,
    /// What all its workspaces together may spend in a month, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_spend_micros: Option<u64>,
    /// The highest tier that its operators may give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tier: Option<Tier>,
}

impl OrgQuotas {
    /// Those of a new org: nothing beyond the boxes of its workspaces.
    pub fn of_new_org() -> Self {
        Self { max_tier: Some(Tier::Basic), ..Self::default() }
    }
}

/// An organization: what is in one is not there for the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Org {
    pub id: OrgId,
    pub name: ShortName,
    pub quotas: OrgQuotas,
    pub created_at: Timestamp,
    pub removed_at: Option<Timestamp>,
}

/// A person in an org. Kept when they leave, so that what they said keeps its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub org_id: OrgId,
    pub user_id: UserId,
    pub role: OrgRole,
    pub since: Timestamp,
    pub left_at: Option<Timestamp>,
}

/// How a sign-in provider knows a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIdentity {
    pub issuer: String,
    pub subject: String,
    pub user_id: UserId,
}

/// A way into an org, for one person, once. Its secret is shown when it is made, and only its hash is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub id: InvitationId,
    pub org_id: OrgId,
    pub role: OrgRole,
    pub hash: TokenHash,
    /// Whom it is for: only a provider's sign-in with this address may take it.
    pub email: Option<String>,
    pub invited_by: Principal,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
    pub used_by: Option<UserId>,
    pub revoked_at: Option<Timestamp>,
}

text_enum! {
    /// How an invitation stands.
    InvitationState {
        Open = "open",
        Used = "used",
        Revoked = "revoked",
        Expired = "expired",
    }
}

impl Invitation {
    pub fn state(&self, now: Timestamp) -> InvitationState {
        match self {
            Self { used_at: Some(_), .. } => InvitationState::Used,
            Self { revoked_at: Some(_), .. } => InvitationState::Revoked,
            Self { expires_at, .. } if *expires_at <= now => InvitationState::Expired,
            _ => InvitationState::Open,
        }
    }
}

/// An invitation's text, in the one moment in which it exists. Printing it takes `reveal`.
#[derive(Clone, PartialEq, Eq)]
pub struct InvitationSecret(SecretText);

impl InvitationSecret {
    const WORD: &'static str = "invitation";

    pub fn new(random: [u8; 32]) -> Self {
        Self(SecretText::new(Self::WORD, random))
    }

    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        SecretText::parse(text, |word| word == Self::WORD).map(Self)
    }

    pub fn hash(&self) -> TokenHash {
        self.0.hash()
    }

    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl fmt::Debug for InvitationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationSecret(…)")
    }
}

/// Whose token it is, as they stand at this moment: found in the same read as the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub user_id: UserId,
    pub name: ShortName,
    pub display_name: String,
    pub is_admin: bool,
    /// They may not come in any more.
    pub is_removed: bool,
    /// In the org of the token; absent where they are not in it.
    pub role: Option<OrgRole>,
    /// The org of the token is gone.
    pub is_org_removed: bool,
    pub org_name: Option<ShortName>,
}

impl Holder {
    /// What they may do in the org of the token.
    pub fn role_there(&self) -> Option<OrgRole> {
        if self.is_admin { Some(OrgRole::Operator) } else { self.role }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TokenKind, TokenSecret};

    // F9
    #[test]
    fn a_name_is_short_plain_and_never_an_id() {
        for good in ["a", "alice", "0x", "a.b_c-d", &"a".repeat(63)] {
            assert_eq!(good.parse::<ShortName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        let id = UserId::OPERATOR.to_string();
        for bad in ["", "Alice", "-a", ".", "a b", "ä", "a/b", "a\n", &"a".repeat(64), &id] {
            assert_eq!(bad.parse::<ShortName>(), Err(InvalidShortName), "{bad}");
        }
    }

    // F30: each role may what the one below it may
    #[test]
    fn a_higher_role_may_all_that_a_lower_one_may() {
        let all: Vec<_> = OrgRole::ALL.iter().map(|role| role.scopes()).collect();
        assert!(all[0].is_within(all[1]) && all[1].is_within(all[2]));
        assert!(!all[1].is_within(all[0]) && !all[2].is_within(all[1]));
        assert!(!all[0].contains(Scope::ApprovalsDecide) && !all[1].contains(Scope::SecretsWrite));
    }

    // F30: one kind of secret is never taken for another
    #[test]
    fn an_invitation_is_no_token_and_a_token_no_invitation() {
        let secret = InvitationSecret::new([7; 32]);
        assert_eq!(InvitationSecret::parse(secret.reveal()), Ok(secret.clone()));
        assert_eq!(TokenSecret::parse(secret.reveal()), Err(InvalidToken));
        for kind in TokenKind::ALL {
            assert_eq!(InvitationSecret::parse(TokenSecret::new(kind, [7; 32]).reveal()), Err(InvalidToken));
        }
        assert!(!format!("{secret:?}").contains(&secret.reveal()[20..]));
    }
}

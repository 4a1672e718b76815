//! Tokens: 256 random bits behind a prefix that says what they are and a checksum that catches typos.
//!
//! The text `wrn_<kind>_<43 characters><6 characters>` is shown once. Only its SHA-256 is stored, and look-up is
//! by that hash, so that comparing leaks no timing of the secret.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{OrgId, Principal, Timestamp, TokenId, WorkspaceId};

/// What a token is for; each kind may do different things (see `rules`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Everything.
    Admin,
    /// A person or their program, within scopes.
    User,
    /// A workspace acting for itself only.
    Workspace,
    /// Registers the runtime of one workspace, once.
    Join,
    /// A runtime's own credential, for one boot.
    Runner,
    /// A sign-in link, once.
    Login,
    /// A browser that signed in; lives in a cookie. It was called a session when the first of them was stored, and still is
    /// in the database and on the wire.
    #[serde(rename = "session")]
    SignIn,
}

impl TokenKind {
    pub const ALL: [Self; 7] =
        [Self::Admin, Self::User, Self::Workspace, Self::Join, Self::Runner, Self::Login, Self::SignIn];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Join => "join",
            Self::Runner => "runner",
            Self::Login => "login",
            Self::SignIn => "session",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Works once and is then used up.
    pub const fn is_single_use(self) -> bool {
        matches!(self, Self::Join | Self::Login)
    }
}

/// What a `user` token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    #[serde(rename = "workspaces:read")]
    WorkspacesRead,
    #[serde(rename = "workspaces:write")]
    WorkspacesWrite,
    /// Run commands and use tools in a workspace, and change its files.
    #[serde(rename = "workspaces:use")]
    WorkspacesUse,
    #[serde(rename = "events:read")]
    EventsRead,
    #[serde(rename = "tokens:read")]
    TokensRead,
    #[serde(rename = "tokens:write")]
    TokensWrite,
    /// See which secrets there are; values are never shown.
    #[serde(rename = "secrets:read")]
    SecretsRead,
    #[serde(rename = "secrets:write")]
    SecretsWrite,
    /// Decide what workspaces ask people for.
    #[serde(rename = "approvals:decide")]
    ApprovalsDecide,
    /// Run the org: its people, invitations, tokens of others, audit log, and resets.
    #[serde(rename = "org:operate")]
    OrgOperate,
}

impl Scope {
    pub const ALL: [Self; 10] = [
        Self::WorkspacesRead,
        Self::WorkspacesWrite,
        Self::WorkspacesUse,
        Self::EventsRead,
        Self::TokensRead,
        Self::TokensWrite,
        Self::SecretsRead,
        Self::SecretsWrite,
        Self::ApprovalsDecide,
        Self::OrgOperate,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WorkspacesRead => "workspaces:read",
            Self::WorkspacesWrite => "workspaces:write",
            Self::WorkspacesUse => "workspaces:use",
            Self::EventsRead => "events:read",
            Self::TokensRead => "tokens:read",
            Self::TokensWrite => "tokens:write",
            Self::SecretsRead => "secrets:read",
            Self::SecretsWrite => "secrets:write",
            Self::ApprovalsDecide => "approvals:decide",
            Self::OrgOperate => "org:operate",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// A set of scopes, written as a sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeSet(u16);

impl ScopeSet {
    pub const EMPTY: Self = Self(0);

    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u16) != 0
    }

    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Scope>>(iter: I) -> Self {
        Self(iter.into_iter().fold(0, |bits, scope| bits | 1 << scope as u16))
    }
}

/// SHA-256 of a token's whole text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// A secret's text: a word that says what it is for, 256 random bits, and a checksum.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a Warren token, or mistyped: its checksum does not match")]
pub struct InvalidToken;

impl SecretText {
    const LENGTH_OF_BODY: usize = 43 + 6;

    pub(crate) fn new(word: &str, random: [u8; 32]) -> Self {
        let body = format!("wrn_{word}_{}", URL_SAFE_NO_PAD.encode(random));
        let sum = checksum(&body);
        Self(body + &sum)
    }

    pub(crate) fn parse(text: &str, is_word: impl FnOnce(&str) -> bool) -> Result<Self, InvalidToken> {
        let rest = text.strip_prefix("wrn_").ok_or(InvalidToken)?;
        let (word, secret) = rest.split_once('_').ok_or(InvalidToken)?;
        if !is_word(word) || secret.len() != Self::LENGTH_OF_BODY || !secret.is_ascii() {
            return Err(InvalidToken);
        }
        let (body, sum) = text.split_at(text.len() - 6);
        if checksum(body) == sum { Ok(Self(text.to_owned())) } else { Err(InvalidToken) }
    }

    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// A token's text, in the one moment in which it exists. Printing it takes `reveal`.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(SecretText);

impl TokenSecret {
    pub fn new(kind: TokenKind, random: [u8; 32]) -> Self {
        Self(SecretText::new(kind.as_str(), random))
    }

    /// Accepts a well-formed token; everything else is refused before the database is asked.
    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        SecretText::parse(text, |word| TokenKind::parse(word).is_some()).map(Self)
    }

    pub fn hash(&self) -> TokenHash {
        self.0.hash()
    }

    /// The part that may be shown in lists: kind and four characters.
    pub fn display_prefix(&self) -> String {
        let text = self.reveal();
        text[..text.len() - SecretText::LENGTH_OF_BODY + 4].to_owned()
    }

    /// The whole text. Only for the answer that hands it out.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenSecret({}…)", self.display_prefix())
    }
}

fn checksum(body: &str) -> String {
    URL_SAFE_NO_PAD.encode(crc32fast::hash(body.as_bytes()).to_be_bytes())
}

/// A token as it is stored: never the secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub id: TokenId,
    pub kind: TokenKind,
    pub hash: TokenHash,
    pub prefix: String,
    pub name: String,
    pub owner: Principal,
    pub org_id: OrgId,
    /// The only workspace it speaks for; set for `workspace`, `join` and `runner`.
    pub workspace_id: Option<WorkspaceId>,
    pub scopes: ScopeSet,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// When a single-use token was used up.
    pub used_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // F30
    #[test]
    fn every_kind_survives_its_text_and_every_typo_is_caught() {
        for kind in TokenKind::ALL {
            let secret = TokenSecret::new(kind, [9; 32]);
            assert_eq!(TokenSecret::parse(secret.reveal()), Ok(secret.clone()));
            for at in 0..secret.reveal().len() {
                let mut bytes = secret.reveal().as_bytes().to_vec();
                bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
                let typo = String::from_utf8(bytes).unwrap();
                assert_eq!(TokenSecret::parse(&typo), Err(InvalidToken), "{typo}");
            }
        }
        for text in ["", "wrn_", "wrn_admin_", "Bearer x", "wrn_root_abc"] {
            assert_eq!(TokenSecret::parse(text), Err(InvalidToken));
        }
    }

    // F30
    #[test]
    fn debug_output_never_holds_the_secret() {
        let secret = TokenSecret::new(TokenKind::Admin, [3; 32]);
        assert!(!format!("{secret:?}").contains(&secret.reveal()[16..]));
    }
}

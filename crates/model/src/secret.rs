//! Secrets: values that commands need and nobody reads back (F32).
//!
//! What is stored is a [`SealedSecret`]: the value sealed under a key, for one owner, one name and one version. A row
//! that is moved to another owner or name, or put back from an earlier version, does not open, since these are part of
//! what the seal vouches for.

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

use crate::text_enum::text_enum;
use crate::{OrgId, Principal, Timestamp, WorkspaceId};

/// The name of a secret, which is the name of the variable it becomes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret's name has 1 to 128 letters, digits and `_`, and does not begin with a digit")]
pub struct InvalidSecretName;

impl SecretName {
    pub const MAX_BYTES: usize = 128;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = InvalidSecretName;

    fn from_str(text: &str) -> Result<Self, InvalidSecretName> {
        let has_good_length = (1..=Self::MAX_BYTES).contains(&text.len());
        let has_good_letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let has_good_start = !text.starts_with(|first: char| first.is_ascii_digit());
        if has_good_length && has_good_letters && has_good_start {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSecretName)
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_enum! {
    /// What a secret belongs to.
    SecretOwnerKind {
        Org = "org",
        Workspace = "workspace",
    }
}

/// Whose secret it is: an org's, for all its workspaces, or one workspace's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretOwner {
    Org(OrgId),
    Workspace { id: WorkspaceId, org_id: OrgId },
}

impl SecretOwner {
    pub const fn org_id(self) -> OrgId {
        match self {
            Self::Org(org_id) | Self::Workspace { org_id, .. } => org_id,
        }
    }

    pub const fn workspace_id(self) -> Option<WorkspaceId> {
        match self {
            Self::Org(_) => None,
            Self::Workspace { id, .. } => Some(id),
        }
    }

    pub const fn kind(self) -> SecretOwnerKind {
        match self {
            Self::Org(_) => SecretOwnerKind::Org,
            Self::Workspace { .. } => SecretOwnerKind::Workspace,
        }
    }

    /// The owner's own id, by which its secrets are found.
    pub const fn id_bytes(&self) -> &[u8; 16] {
        match self {
            Self::Org(org_id) => org_id.as_bytes(),
            Self::Workspace { id, .. } => id.as_bytes(),
        }
    }
}

/// A secret's text, in the moments in which it exists. It is wiped when dropped, and printing it takes `reveal`.
#[derive(Clone)]
pub struct SecretValue(Zeroizing<String>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret's value is text of at least one character, without NUL")]
pub struct InvalidSecretValue;

impl SecretValue {
    /// What a variable can hold: text without NUL, and not nothing.
    pub fn new(text: Zeroizing<String>) -> Result<Self, InvalidSecretValue> {
        if text.is_empty() || text.contains('\0') { Err(InvalidSecretValue) } else { Ok(Self(text)) }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text itself. Only for the environment of a command and for sealing.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

/// Which key sealed a secret: a fingerprint, so that the wrong key is known for what it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// `k` and sixteen hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('k')?;
        let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digits.len() == 16 && is_hex).then(|| Self(text.to_owned()))
    }

    /// The fingerprint as text.
    pub fn from_fingerprint(fingerprint: [u8; 8]) -> Self {
        Self(format!("k{:016x}", u64::from_be_bytes(fingerprint)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A secret as it stands in the database.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret {
    pub owner: SecretOwner,
    pub name: SecretName,
    /// Raised by each new value; sealing the same value anew under another key leaves it.
    pub version: u64,
    pub key_id: KeyId,
    pub nonce: [u8; 12],
    /// Ciphertext and tag.
    pub sealed: Vec<u8>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub updated_by: Principal,
}

impl SealedSecret {
    /// What the seal vouches for beside the value (sec/U08). Every part has its length in front, so that no two
    /// rows have the same bytes.
    pub fn associated_data(&self) -> Vec<u8> {
        let mut data = b"warren.secret.1".to_vec();
        let (org_id, workspace_id) = (self.owner.org_id(), self.owner.workspace_id());
        let version = self.version.to_be_bytes();
        let parts: [&[u8]; 6] = [
            self.key_id.as_str().as_bytes(),
            self.owner.kind().as_str().as_bytes(),
            org_id.as_bytes(),
            workspace_id.as_ref().map_or(&[], |id| id.as_bytes()),
            self.name.as_str().as_bytes(),
            &version,
        ];
        for part in parts {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part);
        }
        data
    }
}

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedSecret")
            .field("owner", &self.owner)
            .field("name", &self.name)
            .field("version", &self.version)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F32
    #[test]
    fn names_are_those_of_variables() {
        for good in ["A", "_", "API_KEY", "a1", &"X".repeat(128)] {
            assert!(good.parse::<SecretName>().is_ok(), "{good}");
        }
        for bad in ["", "1A", "A-B", "A B", "A=B", "é", "A\0", "../A", &"X".repeat(129)] {
            assert_eq!(bad.parse::<SecretName>(), Err(InvalidSecretName), "{bad:?}");
        }
    }

    // F32
    #[test]
    fn printing_a_value_for_programmers_tells_nothing_of_it() {
        let value = SecretValue::new(Zeroizing::new("hunter2".to_owned())).unwrap();
        assert_eq!(format!("{value:?}"), "SecretValue(…)");
        assert_eq!(value.reveal(), "hunter2");
    }

    // F32
    #[test]
    fn a_value_is_what_a_variable_can_hold() {
        for bad in ["", "a\0b"] {
            assert!(SecretValue::new(Zeroizing::new(bad.to_owned())).is_err(), "{bad:?}");
        }
        assert!(SecretValue::new(Zeroizing::new("two\nlines".to_owned())).is_ok());
    }

    #[test]
    fn a_key_id_has_exactly_one_spelling() {
        let id = KeyId::from_fingerprint([0, 1, 2, 3, 4, 5, 6, 0xff]);
        assert_eq!(id.as_str(), "k00010203040506ff");
        assert_eq!(KeyId::parse(id.as_str()), Some(id));
        for bad in ["", "k", "00010203040506ff", "k00010203040506FF", "k00010203040506f"] {
            assert_eq!(KeyId::parse(bad), None, "{bad}");
        }
    }

    // F32, sec/U08
    #[test]
    fn every_part_of_a_rows_identity_changes_what_the_seal_vouches_for() {
        let at = Timestamp::from_micros(1);
        let row = SealedSecret {
            owner: SecretOwner::Org(OrgId::DEFAULT),
            name: "A".parse().unwrap(),
            version: 1,
            key_id: KeyId::from_fingerprint([1; 8]),
            nonce: [0; 12],
            sealed: Vec::new(),
            created_at: at,
            updated_at: at,
            updated_by: Principal::system("test"),
        };
        let workspace = |seed| WorkspaceId::from_parts(at, [seed; 10]);
        let own = |seed| SecretOwner::Workspace { id: workspace(seed), org_id: OrgId::DEFAULT };
        let others = [
            SealedSecret { owner: SecretOwner::Org(OrgId::from_bytes([7; 16])), ..row.clone() },
            SealedSecret { owner: own(1), ..row.clone() },
            SealedSecret { owner: own(2), ..row.clone() },
            SealedSecret { name: "B".parse().unwrap(), ..row.clone() },
            SealedSecret { version: 2, ..row.clone() },
            SealedSecret { key_id: KeyId::from_fingerprint([2; 8]), ..row.clone() },
        ];
        let mut seen = std::collections::BTreeSet::from([row.associated_data()]);
        for other in others {
            assert!(seen.insert(other.associated_data()), "{other:?}");
        }
    }
}

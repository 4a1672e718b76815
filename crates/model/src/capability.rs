//! What a workspace can do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Fs,
    Shell,
    Code,
    Script,
    Snapshot,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown capability `{0}`: expected one of fs, shell, code, script, snapshot")]
pub struct UnknownCapability(String);

impl Capability {
    pub const ALL: [Self; 5] = [Self::Fs, Self::Shell, Self::Code, Self::Script, Self::Snapshot];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::Shell => "shell",
            Self::Code => "code",
            Self::Script => "script",
            Self::Snapshot => "snapshot",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Capability {
    type Err = UnknownCapability;

    fn from_str(text: &str) -> Result<Self, UnknownCapability> {
        Self::ALL
            .into_iter()
            .find(|one| one.as_str() == text)
            .ok_or_else(|| UnknownCapability(text.to_owned()))
    }
}

/// A set of capabilities; written as a sorted list without repetition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Capability>", into = "Vec<Capability>")]
pub struct CapabilitySet(u8);

impl CapabilitySet {
    pub const EMPTY: Self = Self(0);

    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | 1 << capability as u8)
    }

    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is here and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |one| self.contains(*one))
    }
}

impl FromIterator<Capability> for CapabilitySet {
    fn from_iter<I: IntoIterator<Item = Capability>>(iter: I) -> Self {
        iter.into_iter().fold(Self::EMPTY, Self::with)
    }
}
impl From<Vec<Capability>> for CapabilitySet {
    fn from(list: Vec<Capability>) -> Self {
        list.into_iter().collect()
    }
}
impl From<CapabilitySet> for Vec<Capability> {
    fn from(set: CapabilitySet) -> Self {
        set.iter().collect()
    }
}
impl fmt::Debug for CapabilitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
impl fmt::Display for CapabilitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Capability::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

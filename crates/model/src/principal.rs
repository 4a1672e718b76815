//! Who acts.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    User,
    Workspace,
    Schedule,
    Channel,
    System,
}

impl PrincipalKind {
    pub const ALL: [Self; 5] = [Self::User, Self::Workspace, Self::Schedule, Self::Channel, Self::System];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Schedule => "schedule",
            Self::Channel => "channel",
            Self::System => "system",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Who acts: a kind and an id within it, written `kind:id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Principal {
    pub kind: PrincipalKind,
    pub id: String,
}

impl Principal {
    pub fn user(id: crate::UserId) -> Self {
        Self { kind: PrincipalKind::User, id: id.to_string() }
    }

    pub fn workspace(id: crate::WorkspaceId) -> Self {
        Self { kind: PrincipalKind::Workspace, id: id.to_string() }
    }

    pub fn channel(id: crate::ChannelId) -> Self {
        Self { kind: PrincipalKind::Channel, id: id.to_string() }
    }

    pub fn schedule(id: crate::ScheduleId) -> Self {
        Self { kind: PrincipalKind::Schedule, id: id.to_string() }
    }

    /// A part of Warren itself, such as `reconciler`.
    pub fn system(part: &str) -> Self {
        Self { kind: PrincipalKind::System, id: part.to_owned() }
    }

    /// Reads the `kind:id` form back.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, id) = text.split_once(':')?;
        Some(Self { kind: PrincipalKind::parse(kind)?, id: id.to_owned() })
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}

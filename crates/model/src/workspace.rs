//! The workspace: its identity, what is wanted of it, and what is known about it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{CapabilitySet, OrgId, ProviderConfig, Ref, Timestamp, WorkspaceId};

macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

text_enum! {
    /// How a workspace is (F1). The SQL constraint, the API schema and the page are made from this one enum.
    Status {
        /// Being brought up.
        Provisioning = "provisioning",
        /// Its place is ready; its agent has not registered yet.
        AwaitingAgent = "awaiting_agent",
        Online = "online",
        /// Alive, but failing, wedged or stalled.
        Degraded = "degraded",
        /// Silent past its deadline.
        Offline = "offline",
        /// Could not be brought up.
        Failed = "failed",
        Paused = "paused",
        /// Asleep until a message comes.
        Hibernated = "hibernated",
        /// Gone for good.
        Removed = "removed",
    }
}

text_enum! {
    /// What is wanted of a workspace (F3).
    Desired {
        Running = "running",
        Paused = "paused",
        Hibernated = "hibernated",
        Removed = "removed",
    }
}

text_enum! {
    /// What runs the agent of a workspace.
    Runtime {
        /// Warren's own agent loop: the place is all that must be ready.
        Hosted = "hosted",
        /// A program inside the box, supervised by a runner that registers.
        Resident = "resident",
        /// Runs elsewhere and registers.
        External = "external",
    }
}

/// Why a workspace has its status: a public sentence, never an internal cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReason(String);

impl StatusReason {
    pub const MAX_BYTES: usize = 1_024;

    pub fn new(sentence: &str) -> Self {
        Self(crate::truncate_utf8(sentence, Self::MAX_BYTES).to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A workspace's name: 1 to 100 characters without control characters or surrounding space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 100 characters, no control characters, and no space at its ends")]
pub struct InvalidName;

impl WorkspaceName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WorkspaceName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let length = text.chars().count();
        let is_clean = text.trim() == text && !text.chars().any(char::is_control);
        if (1..=100).contains(&length) && is_clean { Ok(Self(text.to_owned())) } else { Err(InvalidName) }
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wanted. A change raises the workspace's generation. Stored as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceSpec {
    pub desired: Desired,
    pub runtime: Runtime,
    pub provider: ProviderConfig,
    /// What its users may count on; within what the provider offers (W3).
    pub capabilities: CapabilitySet,
}

/// What a runtime says of itself beyond being alive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RuntimeState {
    #[default]
    Well,
    Wedged,
    /// A word of its own that Warren keeps and does not interpret.
    Other(String),
}

impl RuntimeState {
    pub fn from_report(text: &str) -> Self {
        match text {
            "" => Self::Well,
            "wedged" => Self::Wedged,
            other => Self::Other(crate::truncate_utf8(other, 64).to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Well => "",
            Self::Wedged => "wedged",
            Self::Other(word) => word,
        }
    }
}

/// What is known about a workspace's runtime from its reports. Absent means unchanged (F11).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vitals {
    pub error_rate: f64,
    pub active_tasks: u32,
    pub runtime_state: RuntimeState,
    /// The runtime declared `status_mgmt`: Warren infers nothing from its numbers (F13).
    pub manages_own_status: bool,
    pub last_heartbeat_at: Option<Timestamp>,
    /// Silent past this: offline (F16).
    pub liveness_deadline: Option<Timestamp>,
}

/// A workspace as it stands in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub org_id: OrgId,
    pub parent_id: Option<WorkspaceId>,
    pub name: WorkspaceName,
    pub spec: WorkspaceSpec,
    /// Raised by each change of the spec (F3).
    pub generation: u64,
    /// The generation that was last brought about.
    pub observed_generation: u64,
    /// Raised by every write; a writer names the version it read.
    pub version: u64,
    pub status: Status,
    pub reason: Option<StatusReason>,
    /// How its provider finds it again; absent until it was first opened.
    pub reference: Option<Ref>,
    pub vitals: Vitals,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub provisioning_started_at: Option<Timestamp>,
    pub removed_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // F1
    #[test]
    fn every_status_survives_its_text() {
        assert_eq!(Status::ALL.len(), 9);
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(*status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        assert_eq!(Status::parse("Online"), None);
    }

    #[test]
    fn names_are_checked() {
        for good in ["a", "build box", "日本", &"x".repeat(100)] {
            assert!(good.parse::<WorkspaceName>().is_ok(), "{good}");
        }
        for bad in ["", " a", "a ", "a\nb", "\u{7}", &"x".repeat(101)] {
            assert!(bad.parse::<WorkspaceName>().is_err(), "{bad:?}");
        }
    }
}

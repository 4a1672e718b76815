//! The workspace: its identity, what is wanted of it, and what is known about it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::{
    AgentSpec, CapabilitySet, DoorSpec, OrgId, PeerPolicy, ProviderConfig, Ref, TemplateStamp, Timestamp,
    WorkspaceId,
};

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

text_enum! {
    /// How much a workspace may be given beyond its own box (F9). Everything above `basic` is named and audited, and
    /// given by operators only.
    Tier {
        /// Nothing but its box.
        Basic = "basic",
        /// Folders of the host may be mounted into its box.
        Extended = "extended",
        /// The hardening of its box may be relaxed, knob by knob.
        Privileged = "privileged",
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
    #[serde(default = "least_privilege")]
    pub tier: Tier,
    /// What it is there for, in a few words, such as `reviewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How long it may take from the start of provisioning to its first sign of life; absent: the default (F5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provision_timeout_seconds: Option<u32>,
    /// Asleep after so long without a task; absent: never (F7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernate_after_seconds: Option<u32>,
    /// Tasks that it takes at once; absent: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_tasks: Option<u32>,
    /// What its agent is told to be (F50).
    #[serde(default, skip_serializing_if = "AgentSpec::is_empty")]
    pub agent: AgentSpec,
    /// What its programs reach through Warren (A81).
    #[serde(default, skip_serializing_if = "DoorSpec::is_empty")]
    pub doors: DoorSpec,
    /// What it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateStamp>,
    /// Whom it talks to; absent: its family (X3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<PeerPolicy>,
    /// What it may spend in a month, in millionths of the currency's unit; absent: no limit (F36).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monthly_budget_micros: Option<u64>,
}

impl WorkspaceSpec {
    /// Tasks at once, where a spec says nothing.
    pub const DEFAULT_CONCURRENCY: u32 = 1;

    /// Tasks that it takes at once.
    pub fn concurrency(&self) -> u32 {
        self.max_concurrent_tasks.unwrap_or(Self::DEFAULT_CONCURRENCY)
    }

    /// A hosted workspace that runs on this provider, with nothing else said.
    pub fn new(provider: ProviderConfig, capabilities: CapabilitySet) -> Self {
        Self {
            desired: Desired::Running,
            runtime: Runtime::Hosted,
            provider,
            capabilities,
            tier: Tier::Basic,
            role: None,
            provision_timeout_seconds: None,
            hibernate_after_seconds: None,
            max_concurrent_tasks: None,
            agent: AgentSpec::default(),
            doors: DoorSpec::default(),
            template: None,
            peers: None,
            monthly_budget_micros: None,
        }
    }
}

const fn least_privilege() -> Tier {
    Tier::Basic
}

/// Tries to bring a workspace back without anybody's asking: restarts after silence, stops that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mending {
    pub attempts: u32,
    pub next_at: Option<Timestamp>,
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
    /// The generation since which nothing but secrets raised it (F33). Absent where something else did last.
    pub secrets_since: Option<u64>,
    /// Raised by every write; a writer names the version it read.
    pub version: u64,
    pub status: Status,
    pub reason: Option<StatusReason>,
    /// How its provider finds it again; absent until it was first opened.
    pub reference: Option<Ref>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The clock of provisioning: when its place began to be brought up, not when the row was last touched (F4).
    pub provisioning_started_at: Option<Timestamp>,
    /// Not alive by then: failed (F5). Absent once it is.
    pub provision_deadline: Option<Timestamp>,
    /// When the next try to mend it alone is due, and how many there were since it was last well.
    pub mending: Mending,
    pub removed_at: Option<Timestamp>,
    /// Somebody wants the rows erased once nothing is left behind them (F8).
    pub is_purged: bool,
}

/// Why a workspace runs with something older than is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BehindOf {
    /// Secrets alone.
    Secrets,
    /// Something else, whatever its secrets.
    Change,
}

impl Workspace {
    /// Something changed that it must be brought up for; secrets have a way of their own.
    pub fn raise_generation(&mut self) {
        self.generation += 1;
        self.secrets_since = None;
    }

    pub fn behind_of(&self) -> Option<BehindOf> {
        match self.secrets_since {
            _ if self.observed_generation >= self.generation => None,
            Some(since) if self.observed_generation >= since => Some(BehindOf::Secrets),
            Some(_) | None => Some(BehindOf::Change),
        }
    }
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

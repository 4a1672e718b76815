//! What callers ask for when they create or change a workspace.

use std::collections::BTreeMap;

use warren_model::{
    AgentName, AgentSpec, CapabilitySet, Desired, DoorSpec, ErrorCode, PeerPolicy, ProviderConfig, Runtime,
    TemplateStamp, Tier, WorkspaceId, WorkspaceName,
};
use warren_service::Error;

const MAX_ROLE_CHARACTERS: usize = 100;
/// The longest time that a spec may name.
const MAX_SECONDS: u32 = 365 * 24 * 3_600;

/// A workspace that somebody wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateWorkspace {
    pub name: WorkspaceName,
    pub provider: ProviderConfig,
    /// Absent: all that the provider offers.
    pub capabilities: Option<CapabilitySet>,
    pub parent_id: Option<WorkspaceId>,
    pub runtime: Runtime,
    /// Absent: the least that the config needs.
    pub tier: Option<Tier>,
    pub options: WorkspaceOptions,
    pub agent: AgentSpec,
    /// What it is made from.
    pub template: Option<TemplateStamp>,
}

/// What may be said of a workspace beside where it lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceOptions {
    pub role: Option<String>,
    pub provision_timeout_seconds: Option<u32>,
    pub hibernate_after_seconds: Option<u32>,
    pub max_concurrent_tasks: Option<u32>,
    pub doors: DoorSpec,
}

impl WorkspaceOptions {
    pub(super) fn check(&self) -> Result<(), Error> {
        let invalid = |detail: &str| Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        if let Some(role) = &self.role {
            let length = role.chars().count();
            if !(1..=MAX_ROLE_CHARACTERS).contains(&length) || role.chars().any(char::is_control) {
                return invalid("role: 1 to 100 characters without control characters");
            }
        }
        let is_time = |seconds: Option<u32>| seconds.is_none_or(|time| (1..=MAX_SECONDS).contains(&time));
        if !is_time(self.provision_timeout_seconds) {
            return invalid("provision_timeout_seconds: expected 1 to 31536000");
        }
        if !is_time(self.hibernate_after_seconds) {
            return invalid("hibernate_after_seconds: expected 1 to 31536000");
        }
        if self.max_concurrent_tasks.is_some_and(|count| !(1..=1_000).contains(&count)) {
            return invalid("max_concurrent_tasks: expected 1 to 1000");
        }
        if let Some(problem) = self.doors.problem() {
            return invalid(&problem);
        }
        Ok(())
    }
}

/// A change of a workspace. Absent means unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PatchWorkspace {
    pub name: Option<WorkspaceName>,
    pub parent_id: Option<Option<WorkspaceId>>,
    pub desired: Option<Desired>,
    /// An inner `None` unsets it.
    pub role: Option<Option<String>>,
    pub provision_timeout_seconds: Option<Option<u32>>,
    pub hibernate_after_seconds: Option<Option<u32>>,
    pub max_concurrent_tasks: Option<Option<u32>>,
    /// The program of a resident agent; empty: none. Counts from the next start of its runner on.
    pub command: Option<Vec<String>>,
    /// The stored agent of a hosted workspace. Counts for sessions that begin from now on.
    pub agent: Option<Option<AgentName>>,
    /// The same for its model.
    pub model: Option<Option<String>>,
    /// By name; an inner `None` takes one away, others stay.
    pub prompts: BTreeMap<String, Option<String>>,
    /// Fields of the provider's config, as [`ProviderConfig::changed`] takes them. All but what models may run needs a new
    /// box: the workspace is brought up anew.
    pub provider: Option<serde_json::Value>,
    /// An inner `None`: all that the provider offers. They need a new box too.
    pub capabilities: Option<Option<CapabilitySet>>,
    pub tier: Option<Tier>,
    /// Whom it talks to; an inner `None`: its family.
    pub peers: Option<Option<PeerPolicy>>,
    /// All of them anew.
    pub doors: Option<DoorSpec>,
}

impl PatchWorkspace {
    /// Whether it says something of what a workspace is given, which is not everybody's to give.
    pub(super) fn is_about_place(&self) -> bool {
        self.provider.is_some() || self.capabilities.is_some() || self.tier.is_some()
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let options = WorkspaceOptions {
            role: self.role.clone().flatten(),
            provision_timeout_seconds: self.provision_timeout_seconds.flatten(),
            hibernate_after_seconds: self.hibernate_after_seconds.flatten(),
            max_concurrent_tasks: self.max_concurrent_tasks.flatten(),
            doors: self.doors.clone().unwrap_or_default(),
        };
        options.check()?;
        self.peers.iter().flatten().try_for_each(check_peer_policy)
    }
}

pub(super) fn check_peer_policy(policy: &PeerPolicy) -> Result<(), Error> {
    if policy.allow.len().max(policy.deny.len()) > PeerPolicy::MAX_NAMED {
        let detail = format!("allow, deny: at most {} workspaces each", PeerPolicy::MAX_NAMED);
        return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
    }
    Ok(())
}

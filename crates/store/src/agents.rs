//! Agents: every version that was stored, and which one a name stands for now (A6).

use warren_model::{AgentName, AgentVersion, OrgId, StoredAgent, Timestamp};

use crate::{Error, Page};

/// Which versions of a name are listed, those that were stored first last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentVersionQuery {
    pub org_id: OrgId,
    pub name: AgentName,
    /// Only those behind this one.
    pub behind: Option<AgentVersionMark>,
    pub limit: u32,
}

/// Where a list of versions goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentVersionMark {
    pub created_at: Timestamp,
    pub hash: String,
}

pub trait AgentReads {
    /// The version that the name stands for now.
    fn agent(&mut self, org_id: OrgId, name: &AgentName) -> Result<Option<StoredAgent>, Error>;
    fn agent_version(&mut self, org_id: OrgId, version: &AgentVersion) -> Result<Option<StoredAgent>, Error>;
    /// The current version of each name, by name.
    fn agents(
        &mut self,
        org_id: OrgId,
        after: Option<&AgentName>,
        limit: u32,
    ) -> Result<Page<StoredAgent, AgentName>, Error>;
    fn agent_versions(
        &mut self,
        query: &AgentVersionQuery,
    ) -> Result<Page<StoredAgent, AgentVersionMark>, Error>;
}

pub trait AgentWrites {
    /// Makes this version the one that its name stands for. Content that was stored before stays as it was, with who
    /// stored it first and when. Of two at once, the last one counts. Returns whether the content is new.
    fn put_agent(&mut self, agent: &StoredAgent) -> Result<bool, Error>;
}

//! Agents as people store them: each content once, and a name that stands for the latest (A1, A6).

use serde_json::Value;
use warren_model::{AgentDefinition, AgentName, AgentVersion, ErrorCode, StoredAgent, Workspace};
use warren_rules::lifecycle::hosted;
use warren_service::{Action, Context, Error, Identity};
use warren_store::Page;

/// Stored agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Definitions {
    context: Context,
}

impl Definitions {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    /// Reads and checks a document without storing it.
    pub fn check(document: Value) -> Result<AgentDefinition, Error> {
        AgentDefinition::read(document)
            .map_err(|problem| Error::with_detail(ErrorCode::InvalidAgent, problem.to_string()))
    }

    /// Lets go on only who may store agents: what is wrong with a document is told to nobody else.
    pub fn require_put(&self, who: &Identity) -> Result<(), Error> {
        who.may_in_own_org(Action::WriteWorkspaces)
    }

    /// Stores an agent. The same content again is the same version. Returns whether the content is new.
    #[tracing::instrument(name = "agent.definitions.put", skip_all)]
    pub async fn put(&self, who: &Identity, agent: AgentDefinition) -> Result<(StoredAgent, bool), Error> {
        self.require_put(who)?;
        if hosted::is_reserved(&agent.name) {
            let detail = "name: names that begin with `workspace.` are those of agents that workspaces describe themselves";
            return Err(Error::with_detail(ErrorCode::InvalidAgent, detail));
        }
        let stored = StoredAgent {
            org_id: who.token.org_id,
            version: agent.version(),
            definition: agent,
            created_at: self.context.now(),
            created_by: who.principal.clone(),
        };
        let written = stored.clone();
        self.context
            .store()
            .write(move |tx| {
                let is_new = tx.put_agent(&written)?;
                let now = tx.agent_version(written.org_id, &written.version)?;
                Ok((now.unwrap_or_else(|| written.clone()), is_new))
            })
            .await
    }

    /// The version that a name stands for now.
    pub async fn get(&self, who: &Identity, name: &AgentName) -> Result<StoredAgent, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (org_id, name) = (who.token.org_id, name.clone());
        let found = self.context.store().read(move |tx| tx.agent(org_id, &name).map_err(Error::from)).await?;
        found.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))
    }

    /// The agent of a hosted workspace, as a session that begins now would have it. Whether the caller may know the
    /// workspace was asked before.
    pub async fn of_workspace(&self, row: &Workspace) -> Result<Option<AgentDefinition>, Error> {
        if !hosted::has_agent(&row.spec) {
            return Ok(None);
        }
        let (org_id, name) = (row.org_id, row.spec.agent.name.clone());
        let read = move |tx: &mut dyn warren_store::ReadTx| match &name {
            Some(name) => tx.agent(org_id, name).map_err(Error::from),
            None => Ok(None),
        };
        let stored = self.context.store().read(read).await?.map(|stored| stored.definition);
        hosted::definition(row.id, &row.spec.agent, stored)
            .map_err(|problem| Error::with_detail(ErrorCode::InvalidAgent, problem.to_string()))
    }

    pub async fn get_version(&self, who: &Identity, version: &AgentVersion) -> Result<StoredAgent, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (org_id, version) = (who.token.org_id, version.clone());
        let read =
            move |tx: &mut dyn warren_store::ReadTx| tx.agent_version(org_id, &version).map_err(Error::from);
        let found = self.context.store().read(read).await?;
        found.ok_or_else(|| Error::new(ErrorCode::AgentNotFound))
    }

    /// The current version of each name, by name.
    pub async fn list(
        &self,
        who: &Identity,
        after: Option<AgentName>,
        limit: u32,
    ) -> Result<Page<StoredAgent, AgentName>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let limit = limit.clamp(1, self.context.limits().max_page_size);
        let org_id = who.token.org_id;
        let read = move |tx: &mut dyn warren_store::ReadTx| {
            tx.agents(org_id, after.as_ref(), limit).map_err(Error::from)
        };
        self.context.store().read(read).await
    }
}

//! Agents and their versions in SQL.

use warren_model::{AgentName, AgentVersion, OrgId, StoredAgent};
use warren_store::{AgentReads, AgentVersionMark, AgentVersionQuery, AgentWrites, Error, Page};

use crate::row::Columns;
use crate::select::Select;
use crate::stored::{Codec, Json, Plain, Stored as _};
use crate::table::{Statement, table};
use crate::transaction::{Listing, Transaction, text_id};
use crate::value::Value;

table! {
    VERSIONS: StoredAgent in "agent_versions" {
        version: VersionColumns [name, hash], org_id, definition: Json, created_at, created_by,
    }
}

static GET: Statement = Statement::new(|| {
    VERSIONS.select(
        "WHERE org_id = $1 AND name = $2 \
         AND hash = (SELECT agents.hash FROM agents WHERE agents.org_id = $1 AND agents.name = $2)",
    )
});
static GET_VERSION: Statement =
    Statement::new(|| VERSIONS.select("WHERE org_id = $1 AND name = $2 AND hash = $3"));
static LIST: Statement = Statement::new(|| {
    let columns: Vec<String> = VERSIONS.columns().split(", ").map(|name| format!("one.{name}")).collect();
    format!(
        "SELECT {} FROM agents JOIN agent_versions AS one \
         ON one.org_id = agents.org_id AND one.name = agents.name AND one.hash = agents.hash",
        columns.join(", ")
    )
});
static LIST_VERSIONS: Statement = Statement::new(|| VERSIONS.select(""));
static INSERT_VERSION: Statement =
    Statement::new(|| VERSIONS.insert("ON CONFLICT (org_id, name, hash) DO NOTHING"));
const MAKE_CURRENT: &str = "INSERT INTO agents (org_id, name, hash) VALUES ($1, $2, $3) \
     ON CONFLICT (org_id, name) DO UPDATE SET hash = excluded.hash";

impl AgentReads for Transaction<'_> {
    fn agent(&mut self, org_id: OrgId, name: &AgentName) -> Result<Option<StoredAgent>, Error> {
        VERSIONS.first(self, &GET, &[org_id.into(), name.as_str().into()])
    }

    fn agent_version(&mut self, org_id: OrgId, version: &AgentVersion) -> Result<Option<StoredAgent>, Error> {
        let values = [org_id.into(), version.name.as_str().into(), version.hash.as_str().into()];
        VERSIONS.first(self, &GET_VERSION, &values)
    }

    fn agents(
        &mut self,
        org_id: OrgId,
        after: Option<&AgentName>,
        limit: u32,
    ) -> Result<Page<StoredAgent, AgentName>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("agents.org_id =", org_id);
        if let Some(after) = after {
            select.and_value("agents.name >", after.as_str());
        }
        let list = Listing { table: VERSIONS.name, read: VERSIONS.read, key: AgentName::read, id: text_id };
        self.page_of(&list, &select.page("agents.name", limit), limit)
    }

    fn agent_versions(
        &mut self,
        query: &AgentVersionQuery,
    ) -> Result<Page<StoredAgent, AgentVersionMark>, Error> {
        let mut select = Select::new(&LIST_VERSIONS);
        select.and_value("org_id =", query.org_id);
        select.and_value("name =", query.name.as_str());
        if let Some(mark) = &query.behind {
            let hash = mark.hash.as_str().into();
            select.and_pair_before("(created_at, hash)", mark.created_at.into(), hash);
        }
        let list = Listing { table: VERSIONS.name, read: VERSIONS.read, key: read_mark, id: text_id };
        self.page_of(&list, &select.page("created_at DESC, hash DESC", query.limit), query.limit)
    }
}

impl AgentWrites for Transaction<'_> {
    fn put_agent(&mut self, agent: &StoredAgent) -> Result<bool, Error> {
        let is_new = self.execute(&INSERT_VERSION, &VERSIONS.values(agent)?)? > 0;
        let AgentVersion { name, hash } = &agent.version;
        let values = [agent.org_id.into(), name.as_str().into(), hash.as_str().into()];
        self.execute(MAKE_CURRENT, &values)?;
        Ok(is_new)
    }
}

fn read_mark(row: &mut Columns<'_>) -> Result<AgentVersionMark, Error> {
    let hash = VersionColumns::read(row)?.hash;
    row.go_to(VERSIONS.position("created_at"));
    Ok(AgentVersionMark { created_at: row.time()?, hash })
}

/// The name of an agent and the hash of its content.
pub(crate) struct VersionColumns;

impl Codec<AgentVersion> for VersionColumns {
    fn write<'a>(version: &'a AgentVersion, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        Plain::write(&version.name, values)?;
        Plain::write(&version.hash, values)
    }

    fn read(row: &mut Columns<'_>) -> Result<AgentVersion, Error> {
        Ok(AgentVersion { name: Plain::read(row)?, hash: Plain::read(row)? })
    }
}

//! Sessions in SQL: the row of each.

use std::collections::BTreeSet;

use warren_model::session::{Lineage, Phase, PhaseKind, Session, SessionLease, SessionName};
use warren_model::{OrgId, SessionId};
use warren_store::{Error, Page, SessionQuery, SessionReads, SessionWrites};

use crate::agents::VersionColumns;
use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::session_stream::latest_entry;
use crate::stored::{BoundedJson, Codec, Json, OptionalJson, Plain};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    /// Updates leave lease and epoch alone; see `session_leases`. `epoch` stands behind `lease`, which reads it too.
    SESSIONS: Session in "sessions" {
        id, org_id, workspace_id, name, created_by, branched_from: BranchColumns [branched_from, branched_at], created_at,
        version, lease: LeaseColumns [lease_owner, lease_until], epoch;
        title, agent: VersionColumns [agent_name, agent_hash], phase: PhaseColumns [phase, phase_detail], generation, run,
        last_step, open_step, lineage: Json, state: BoundedJson, stop: OptionalJson, limits: Json, usage: Json,
        total_usage: Json, reserved_micros, reserved_at, loop_watch: Json, wake_at, latest_sequence, updated_at,
    }
}

static GET: Statement = Statement::new(|| SESSIONS.select("WHERE id = $1"));
static GET_BY_NAME: Statement = Statement::new(|| SESSIONS.select("WHERE org_id = $1 AND name = $2"));
static LIST: Statement = Statement::new(|| SESSIONS.select(""));
static INSERT: Statement = Statement::new(|| SESSIONS.insert("ON CONFLICT (org_id, name) DO NOTHING"));
/// Sessions of the same workspace only: what one of them shows would go with another workspace.
const ADD_SOURCE: &str = "INSERT INTO session_sources (session_id, source_id) \
     SELECT $1, id FROM sessions WHERE id = $2 AND workspace_id = $3";
const REMOVE_SOURCE: &str = "DELETE FROM session_sources WHERE session_id = $1 AND source_id = $2";
const COUNT_USERS: &str = "SELECT count(*) FROM session_sources WHERE source_id = $1";
/// Whatever else belongs to a session goes with its row.
const DELETE: [&str; 2] =
    ["DELETE FROM session_keys WHERE scope_id = $1", "DELETE FROM sessions WHERE id = $1"];

impl SessionReads for Transaction<'_> {
    fn session(&mut self, id: SessionId) -> Result<Option<Session>, Error> {
        let found = SESSIONS.first(self, &GET, &[id.into()])?;
        with_pieces(self, found)
    }

    fn session_by_name(&mut self, org_id: OrgId, name: &SessionName) -> Result<Option<Session>, Error> {
        let found = SESSIONS.first(self, &GET_BY_NAME, &[org_id.into(), name.as_str().into()])?;
        with_pieces(self, found)
    }

    fn sessions(&mut self, query: &SessionQuery) -> Result<Page<Session, SessionId>, Error> {
        SESSIONS.page(self, &listing(query), query.limit, read_id)
    }
}

fn listing(query: &SessionQuery) -> (String, Vec<Value<'_>>) {
    let mut select = Select::new(&LIST);
    match (query.workspace_id, query.org_id) {
        (Some(workspace_id), org_id) => {
            select.and_value("workspace_id =", workspace_id);
            if let Some(org_id) = org_id {
                // Written so that no index by org is taken for it: a workspace has fewer sessions than its org.
                select.and_value("coalesce(org_id, workspace_id) =", org_id);
            }
        }
        (None, Some(org_id)) => select.and_value("org_id =", org_id),
        (None, None) => {}
    }
    if let Some(phase) = query.phase {
        // As text: an index over some phases is not found for a value.
        select.and(match phase {
            PhaseKind::Idle => "phase = 'idle'",
            PhaseKind::Active => "phase = 'active'",
            PhaseKind::Suspended => "phase = 'suspended'",
            PhaseKind::Completed => "phase = 'completed'",
            PhaseKind::Failed => "phase = 'failed'",
            PhaseKind::Interrupted => "phase = 'interrupted'",
        });
    }
    if let Some(agent) = &query.agent {
        select.and_value("agent_name =", agent.as_str());
    }
    if let Some(before) = query.before {
        select.and_value("id <", before);
    }
    select.page("id DESC", query.limit)
}

impl SessionWrites for Transaction<'_> {
    fn insert_session(&mut self, session: &Session) -> Result<(), Error> {
        if self.execute(&INSERT, &SESSIONS.values(session)?)? == 0 {
            return Err(Error::AlreadyExists);
        }
        change_sources(self, session, &Lineage::default())
    }

    fn hold_session(&mut self, id: SessionId) -> Result<Option<Session>, Error> {
        let sql = format!("{}{}", *GET, self.row_hold());
        let held = SESSIONS.first(self, &sql, &[id.into()])?;
        with_pieces(self, held)
    }

    fn update_session(&mut self, from: &Session, to: &Session) -> Result<u64, Error> {
        // The row does not know of pieces that were shown since; their numbers are used up from now on.
        let (sql, changes) =
            SESSIONS.update_versioned_differences(from, to, &["latest_sequence"], &["id", "version"])?;
        let version = self.update_versioned(&sql, changes, [to.id.into()], from.version)?;
        if from.lineage != to.lineage {
            change_sources(self, to, &from.lineage)?;
        }
        Ok(version)
    }

    fn delete_session(&mut self, id: SessionId) -> Result<bool, Error> {
        if self.first("session_sources", COUNT_USERS, &[id.into()], read_count)?.unwrap_or(0) > 0 {
            return Err(Error::InUse);
        }
        let mut deleted = 0;
        for sql in DELETE {
            deleted = self.execute(sql, &[id.into()])?;
        }
        Ok(deleted > 0)
    }
}

/// Pieces of an open step are numbered behind what the row says: it is not written for each of them.
pub(crate) fn with_pieces(
    tx: &mut Transaction<'_>,
    session: Option<Session>,
) -> Result<Option<Session>, Error> {
    let Some(mut session) = session else { return Ok(None) };
    if session.open_step.is_some() {
        session.latest_sequence = session.latest_sequence.max(latest_entry(tx, session.id)?);
    }
    Ok(Some(session))
}

/// Keeps the list of the sessions of which this one shows steps.
fn change_sources(tx: &mut Transaction<'_>, session: &Session, before: &Lineage) -> Result<(), Error> {
    let (before, after) = (sources(session.id, before), sources(session.id, &session.lineage));
    for gone in before.difference(&after) {
        tx.execute(REMOVE_SOURCE, &[session.id.into(), (*gone).into()])?;
    }
    for new in after.difference(&before) {
        let values = [session.id.into(), (*new).into(), session.workspace_id.into()];
        if tx.execute(ADD_SOURCE, &values)? == 0 {
            let problem = format!("session {new} is not one of the same workspace");
            return tx.remember(Err(Error::Refused(problem)));
        }
    }
    Ok(())
}

fn sources(id: SessionId, lineage: &Lineage) -> BTreeSet<SessionId> {
    lineage.spans().iter().map(|span| span.session).filter(|session| *session != id).collect()
}

/// The word by which sessions are found, and everything else that a phase says.
struct PhaseColumns;

impl Codec<Phase> for PhaseColumns {
    fn write<'a>(phase: &'a Phase, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        let has_detail = match phase {
            Phase::Idle | Phase::Active | Phase::Interrupted => false,
            Phase::Suspended { .. } | Phase::Completed { .. } | Phase::Failed { .. } => true,
        };
        values.push(phase.as_str().into());
        values.push(if has_detail { Value::json(phase)? } else { Value::Json(None) });
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Phase, Error> {
        let kind = row.word(PhaseKind::parse)?;
        let phase = match (kind, row.optional_json::<Phase>()?) {
            (PhaseKind::Idle, None) => Some(Phase::Idle),
            (PhaseKind::Active, None) => Some(Phase::Active),
            (PhaseKind::Interrupted, None) => Some(Phase::Interrupted),
            (kind, Some(phase)) if phase.kind() == kind => Some(phase),
            (_, _) => None,
        };
        phase.ok_or_else(|| row.corrupt(format_args!("not the detail of `{kind}`")))
    }
}

/// A free session has no owner. Its `lease_until` then only says where it stands among those that can be claimed.
struct LeaseColumns;

impl Codec<Option<SessionLease>> for LeaseColumns {
    fn write<'a>(lease: &'a Option<SessionLease>, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(lease.as_ref().map(|lease| lease.owner.as_str()).into());
        values.push(lease.as_ref().map_or(Value::Int(Some(0)), |lease| lease.expires_at.into()));
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Option<SessionLease>, Error> {
        let (owner, expires_at) = (row.optional_text()?, row.time()?);
        let after = row.position();
        let epoch = row.count()?;
        row.go_to(after);
        Ok(owner.map(|owner| SessionLease { owner: owner.to_owned(), epoch, expires_at }))
    }
}

struct BranchColumns;

impl Codec<Option<(SessionId, u32)>> for BranchColumns {
    fn write<'a>(from: &'a Option<(SessionId, u32)>, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(from.map(|(session, _)| session).into());
        values.push(Value::Int(from.map(|(_, step)| step.into())));
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Option<(SessionId, u32)>, Error> {
        let (session, step): (_, Option<u32>) = (row.optional_id()?, Plain::read(row)?);
        Ok(session.zip(step))
    }
}

pub(crate) fn read_session(row: &mut Columns<'_>) -> Result<Session, Error> {
    (SESSIONS.read)(row)
}

pub(crate) fn columns() -> String {
    SESSIONS.columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;
    use warren_model::WorkspaceId;

    /// How a list is read: by this index, from its newest row, without sorting or looking at other rows.
    fn assert_read_by(query: SessionQuery, expected: &str) {
        let before = Some(SessionId::from_bytes([9; 16]));
        for query in [query.clone(), SessionQuery { before, ..query }] {
            let plan = plan_of(&listing(&query).0);
            assert!(plan.contains(expected), "{query:?}: {plan}");
            assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN sessions\n"), "{query:?}: {plan}");
        }
    }

    // A70, P14
    #[test]
    fn a_page_of_sessions_is_read_from_an_index_in_its_order() {
        let of_org = SessionQuery { org_id: Some(OrgId::DEFAULT), limit: 50, ..SessionQuery::default() };
        let workspace_id = Some(WorkspaceId::from_bytes([1; 16]));
        let of_workspace = SessionQuery { workspace_id, ..of_org.clone() };
        let agent = Some("helper".parse().unwrap());
        assert_read_by(of_org.clone(), "sessions_by_org (org_id=?");
        assert_read_by(of_workspace.clone(), "sessions_by_workspace (workspace_id=?");
        assert_read_by(
            SessionQuery { agent, ..of_org.clone() },
            "sessions_by_agent (org_id=? AND agent_name=?",
        );
        for phase in [PhaseKind::Active, PhaseKind::Suspended, PhaseKind::Failed, PhaseKind::Interrupted] {
            let phase = Some(phase);
            assert_read_by(
                SessionQuery { phase, ..of_org.clone() },
                "sessions_by_phase (org_id=? AND phase=?",
            );
            let query = SessionQuery { phase, ..of_workspace.clone() };
            assert_read_by(query, "sessions_by_workspace_phase (workspace_id=? AND phase=?");
        }
        let resting = SessionQuery { phase: Some(PhaseKind::Completed), ..of_org };
        assert_read_by(resting, "sessions_by_org (org_id=?");
    }

    // P9
    #[test]
    fn a_session_is_found_by_its_keys() {
        for sql in [GET.as_str(), GET_BY_NAME.as_str(), COUNT_USERS, ADD_SOURCE, REMOVE_SOURCE] {
            assert!(!plan_of(sql).contains("SCAN"), "{sql}: {}", plan_of(sql));
        }
    }
}

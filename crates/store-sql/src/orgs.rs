//! Orgs and who is in them, in SQL.

use warren_model::{Member, Org, OrgId, OrgRole, ShortName, User, UserId};
use warren_store::{Error, MemberQuery, OrgReads, OrgWrites, Page};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::{Json, Stored as _};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    ORGS: Org in "orgs" {
        id, created_at; name, quotas: Json, removed_at,
    }
}

table! {
    MEMBERS: Member in "members" {
        org_id, user_id; role, since, left_at,
    }
}

static GET: Statement = Statement::new(|| ORGS.select("WHERE id = $1"));
static BY_NAME: Statement = Statement::new(|| ORGS.select("WHERE name = $1 AND removed_at IS NULL"));
static LIST: Statement = Statement::new(|| ORGS.select(""));
static INSERT: Statement = Statement::new(|| ORGS.insert("ON CONFLICT DO NOTHING"));
static UPDATE: Statement = Statement::new(|| ORGS.update(&["id"]));
static MEMBER: Statement = Statement::new(|| MEMBERS.select("WHERE org_id = $1 AND user_id = $2"));
static PUT_MEMBER: Statement = Statement::new(|| MEMBERS.put(&["org_id", "user_id"]));
/// The id comes first: by it the next page begins, and a row that cannot be read is named.
const PEOPLE: &str = "SELECT u.id, u.name, u.display_name, u.email, u.is_admin, u.created_at, u.removed_at, \
     m.org_id, m.role, m.since, m.left_at FROM members m JOIN users u ON u.id = m.user_id";
const ORGS_OF: &str = "SELECT o.id, o.created_at, o.name, o.quotas, o.removed_at, m.role FROM members m \
     JOIN orgs o ON o.id = m.org_id WHERE m.user_id = $1 AND m.left_at IS NULL AND o.removed_at IS NULL \
     ORDER BY o.id";
const COUNT: &str = "SELECT count(*) FROM members WHERE org_id = $1 AND left_at IS NULL";
const COUNT_ROLE: &str = "SELECT count(*) FROM members WHERE org_id = $1 AND left_at IS NULL AND role = $2";
const SPENT: &str = "SELECT CAST(coalesce(sum(s.micros), 0) AS bigint) FROM spending s \
     WHERE s.org_id = $1 AND s.month = $2";
const RUNNING: &str = "SELECT count(*) FROM sessions WHERE org_id = $1 AND phase = 'active'";

impl OrgReads for Transaction<'_> {
    fn org(&mut self, id: OrgId) -> Result<Option<Org>, Error> {
        ORGS.first(self, &GET, &[id.into()])
    }

    fn org_by_name(&mut self, name: &ShortName) -> Result<Option<Org>, Error> {
        ORGS.first(self, &BY_NAME, &[name.as_str().into()])
    }

    fn orgs(&mut self, after: Option<OrgId>, limit: u32) -> Result<Page<Org, OrgId>, Error> {
        let mut select = Select::new(&LIST);
        select.and("removed_at IS NULL");
        if let Some(after) = after {
            select.and_value("id >", after);
        }
        ORGS.page(self, &select.page("id", limit), limit, read_id)
    }

    fn member(&mut self, org_id: OrgId, user_id: UserId) -> Result<Option<Member>, Error> {
        MEMBERS.first(self, &MEMBER, &[org_id.into(), user_id.into()])
    }

    fn members(&mut self, query: &MemberQuery) -> Result<Page<(User, Member), UserId>, Error> {
        let mut select = Select::new(PEOPLE);
        select.and_value("m.org_id =", query.org_id);
        if !query.includes_past {
            select.and("m.left_at IS NULL");
        }
        if let Some(after) = query.after {
            select.and_value("m.user_id >", after);
        }
        self.page("members", &select.page("m.user_id", query.limit), query.limit, read_person, read_id)
    }

    fn orgs_of(&mut self, user_id: UserId) -> Result<Vec<(Org, OrgRole)>, Error> {
        self.rows("members", ORGS_OF, &[user_id.into()], |row| {
            let org = (ORGS.read)(row)?;
            Ok((org, OrgRole::read(row)?))
        })
    }

    fn count_members(&mut self, org_id: OrgId, role: Option<OrgRole>) -> Result<u64, Error> {
        let found = match role {
            None => self.first("members", COUNT, &[org_id.into()], read_count)?,
            Some(role) => {
                let values: [Value<'_>; 2] = [org_id.into(), role.as_str().into()];
                self.first("members", COUNT_ROLE, &values, read_count)?
            }
        };
        Ok(found.unwrap_or(0))
    }

    fn spent_by_org(&mut self, org_id: OrgId, month: &str) -> Result<u64, Error> {
        let values: [Value<'_>; 2] = [org_id.into(), month.into()];
        Ok(self.first("spending", SPENT, &values, read_count)?.unwrap_or(0))
    }

    fn count_running_sessions(&mut self, org_id: OrgId) -> Result<u64, Error> {
        Ok(self.first("sessions", RUNNING, &[org_id.into()], read_count)?.unwrap_or(0))
    }
}

impl OrgWrites for Transaction<'_> {
    fn insert_org(&mut self, org: &Org) -> Result<(), Error> {
        match self.execute(&INSERT, &ORGS.values(org)?)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_org(&mut self, org: &Org) -> Result<bool, Error> {
        let mut values = ORGS.changes(org)?;
        values.push(org.id.into());
        Ok(self.execute(&UPDATE, &values)? == 1)
    }

    fn hold_org(&mut self, id: OrgId) -> Result<Option<Org>, Error> {
        let sql = format!("{}{}", *GET, self.row_hold());
        ORGS.first(self, &sql, &[id.into()])
    }

    fn put_member(&mut self, member: &Member) -> Result<(), Error> {
        self.execute(&PUT_MEMBER, &MEMBERS.values(member)?).map(drop)
    }
}

fn read_person(row: &mut Columns<'_>) -> Result<(User, Member), Error> {
    let user = User {
        id: row.id()?,
        name: ShortName::read(row)?,
        display_name: row.text()?.to_owned(),
        email: row.optional_text()?.map(str::to_owned),
        is_admin: row.bool()?,
        created_at: row.time()?,
        removed_at: row.optional_time()?,
    };
    let member = Member {
        org_id: row.id()?,
        user_id: user.id,
        role: OrgRole::read(row)?,
        since: row.time()?,
        left_at: row.optional_time()?,
    };
    Ok((user, member))
}

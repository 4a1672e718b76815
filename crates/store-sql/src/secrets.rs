//! Secrets in SQL: sealed bytes and who they are for.

use warren_model::{KeyId, OrgId, SealedSecret, SecretName, SecretOwner, Timestamp, WorkspaceId};
use warren_store::{Error, Page, Reach, SecretKey, SecretQuery, SecretReads, SecretWrites};

use crate::row::{Columns, Row, read_count};
use crate::select::Select;
use crate::stored::{Codec, Stored as _};
use crate::table::{Statement, table};
use crate::transaction::{Listing, Transaction, text_id};
use crate::value::Value;

table! {
    SECRETS: SealedSecret in "secrets" {
        name, owner: OwnerColumns [org_id, workspace_id], created_at;
        version, key_id, nonce, sealed, updated_at, updated_by,
    }
}

static GET: Statement = Statement::new(|| SECRETS.select("WHERE owner_id = $1 AND name = $2"));
static LIST: Statement = Statement::new(|| SECRETS.select(""));
/// Every message asks for them. SQLite would make a table of a list of two.
static FOR_WORKSPACE: Statement = Statement::new(|| {
    let (org, workspace) = (SECRETS.select("WHERE owner_id = $1"), SECRETS.select("WHERE owner_id = $2"));
    format!("{org} UNION ALL {workspace}")
});
const COUNT: &str = "SELECT count(*) FROM secrets WHERE owner_id = $1";
const COUNT_BY_KEY: &str = "SELECT key_id, count(*) FROM secrets GROUP BY key_id ORDER BY key_id";
static INSERT: Statement =
    Statement::new(|| SECRETS.insert_with(&["owner_id"], "ON CONFLICT (owner_id, name) DO NOTHING"));
static UPDATE: Statement = Statement::new(|| SECRETS.update(&["owner_id", "name", "version", "key_id"]));
const DELETE: &str = "DELETE FROM secrets WHERE owner_id = $1 AND name = $2";
const DELETE_OF_WORKSPACE: &str = "DELETE FROM secrets WHERE workspace_id = $1";

/// Those that are up or on their way up; the others get new values when they are brought up again. A look at the text
/// of the spec is enough to leave out those without a shell, whose restart would be for nothing; one too many is no harm.
macro_rules! raise {
    ($condition:literal) => {
        concat!(
            "UPDATE workspaces SET secrets_since = coalesce(secrets_since, generation), generation = generation + 1, \
             version = version + 1, updated_at = $1 WHERE ",
            $condition,
            " AND status IN ('provisioning', 'awaiting_agent', 'online', 'degraded', 'offline') \
             AND CAST(spec AS text) LIKE '%\"shell\"%'"
        )
    };
}
const RAISE_ONE: &str = raise!("id = $2");
const RAISE_ALL: &str = raise!(
    "org_id = $2 AND NOT EXISTS (SELECT 1 FROM secrets WHERE owner_id = workspaces.id AND secrets.name = $3)"
);

impl SecretReads for Transaction<'_> {
    fn secret(&mut self, owner: SecretOwner, name: &SecretName) -> Result<Option<SealedSecret>, Error> {
        SECRETS.first(self, &GET, &[owner_id(owner), name.as_str().into()])
    }

    fn secrets(&mut self, query: &SecretQuery) -> Result<Page<SealedSecret, SecretName>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("owner_id =", owner_id(query.owner));
        if let Some(after) = &query.after {
            select.and_value("name >", after.as_str());
        }
        let list = Listing { table: SECRETS.name, read: SECRETS.read, key: SecretName::read, id: text_id };
        self.page_of(&list, &select.page("name", query.limit), query.limit)
    }

    fn secrets_for(&mut self, org_id: OrgId, workspace_id: WorkspaceId) -> Result<Vec<SealedSecret>, Error> {
        SECRETS.rows(self, &FOR_WORKSPACE, &[org_id.into(), workspace_id.into()])
    }

    fn count_secrets(&mut self, owner: SecretOwner) -> Result<u64, Error> {
        Ok(self.first("secrets", COUNT, &[owner_id(owner)], read_count)?.unwrap_or(0))
    }

    fn count_secrets_by_key(&mut self) -> Result<Vec<(KeyId, u64)>, Error> {
        // An id that cannot be read is of no key that could be at hand.
        let read = |row: &mut Columns<'_>| Ok((KeyId::parse(row.text()?), row.count()?));
        let counts = self.rows("secrets", COUNT_BY_KEY, &[], read)?;
        Ok(counts.into_iter().filter_map(|(id, count)| Some((id?, count))).collect())
    }

    fn secrets_not_under(
        &mut self,
        key_id: &KeyId,
        after: Option<&SecretKey>,
        limit: u32,
    ) -> Result<Page<SealedSecret, SecretKey>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("key_id <>", key_id.as_str());
        if let Some(after) = after {
            select.and_pair_after("(owner_id, name)", owner_id(after.owner), after.name.as_str().into());
        }
        let list = Listing { table: SECRETS.name, read: SECRETS.read, key: read_key, id: owned_name };
        self.page_of(&list, &select.page("owner_id, name", limit), limit)
    }
}

impl SecretWrites for Transaction<'_> {
    fn insert_secret(&mut self, secret: &SealedSecret) -> Result<(), Error> {
        let mut values = SECRETS.values(secret)?;
        values.push(owner_id(secret.owner));
        match self.execute(&INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_secret(
        &mut self,
        secret: &SealedSecret,
        expected_version: u64,
        expected_key: &KeyId,
    ) -> Result<(), Error> {
        let mut values = SECRETS.changes(secret)?;
        values.extend([
            owner_id(secret.owner),
            secret.name.as_str().into(),
            Value::count(expected_version)?,
            expected_key.as_str().into(),
        ]);
        match self.execute(&UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }

    fn delete_secret(&mut self, owner: SecretOwner, name: &SecretName) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[owner_id(owner), name.as_str().into()])? == 1)
    }

    fn delete_secrets_of(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        self.execute(DELETE_OF_WORKSPACE, &[workspace_id.into()])
    }

    fn raise_generations(&mut self, reach: &Reach, at: Timestamp) -> Result<u64, Error> {
        match reach.owner {
            SecretOwner::Workspace { id, .. } => self.execute(RAISE_ONE, &[at.into(), id.into()]),
            SecretOwner::Org(org_id) => {
                self.execute(RAISE_ALL, &[at.into(), org_id.into(), reach.name.as_str().into()])
            }
        }
    }
}

fn owner_id(owner: SecretOwner) -> Value<'static> {
    Value::Uuid(Some(*owner.id_bytes()))
}

/// Names a row where those of all owners are listed: a workspace's own by its id too.
fn owned_name(row: &dyn Row) -> String {
    let owner = row.uuid(2).ok().flatten().map(WorkspaceId::from_bytes);
    owner.map(|id| format!("{id}/")).unwrap_or_default() + &text_id(row)
}

fn read_key(row: &mut Columns<'_>) -> Result<SecretKey, Error> {
    Ok(SecretKey { name: SecretName::read(row)?, owner: OwnerColumns::read(row)? })
}

/// The org that a secret belongs to, and the workspace if it is a workspace's own.
struct OwnerColumns;

impl Codec<SecretOwner> for OwnerColumns {
    fn write<'a>(owner: &'a SecretOwner, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.extend([owner.org_id().into(), owner.workspace_id().into()]);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<SecretOwner, Error> {
        let org_id = row.id()?;
        Ok(match row.optional_id()? {
            Some(id) => SecretOwner::Workspace { id, org_id },
            None => SecretOwner::Org(org_id),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::{makes_a_table, plan_of};

    // P9, F32
    #[test]
    fn the_secrets_that_an_agent_may_say_are_found_without_making_a_table() {
        assert!(!makes_a_table(&FOR_WORKSPACE), "{}", *FOR_WORKSPACE);
        let plan = plan_of(&FOR_WORKSPACE);
        assert_eq!(plan.matches("(owner_id=?)").count(), 2, "{plan}");
    }
}

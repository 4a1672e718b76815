//! Secrets in SQL: sealed bytes and who they are for.

use warren_model::{KeyId, OrgId, Principal, SealedSecret, SecretName, SecretOwner, Timestamp, WorkspaceId};
use warren_store::{Error, Page, Reach, SecretKey, SecretQuery, SecretReads, SecretWrites};

use crate::row::{Columns, Row, read_count};
use crate::select::Select;
use crate::transaction::{Listing, Transaction, text_id};
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "name, org_id, workspace_id, version, key_id, nonce, sealed, created_at, updated_at, updated_by"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM secrets WHERE owner_id = $1 AND name = $2");
const LIST: &str = concat!("SELECT ", columns!(), " FROM secrets");
/// Every message asks for them. SQLite would make a table of a list of two.
const FOR_WORKSPACE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM secrets WHERE owner_id = $1 UNION ALL SELECT ",
    columns!(),
    " FROM secrets WHERE owner_id = $2"
);
const COUNT: &str = "SELECT count(*) FROM secrets WHERE owner_id = $1";
const COUNT_BY_KEY: &str = "SELECT key_id, count(*) FROM secrets GROUP BY key_id ORDER BY key_id";
const INSERT: &str = concat!(
    "INSERT INTO secrets (owner_id, ",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (owner_id, name) DO NOTHING"
);
const UPDATE: &str = "UPDATE secrets SET version = $1, key_id = $2, nonce = $3, sealed = $4, updated_at = $5, \
     updated_by = $6 WHERE owner_id = $7 AND name = $8 AND version = $9 AND key_id = $10";
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
        self.first("secrets", GET, &[owner_id(owner), name.as_str().into()], read)
    }

    fn secrets(&mut self, query: &SecretQuery) -> Result<Page<SealedSecret, SecretName>, Error> {
        let mut select = Select::new(LIST);
        select.and_value("owner_id =", owner_id(query.owner));
        if let Some(after) = &query.after {
            select.and_value("name >", after.as_str());
        }
        let list = Listing { table: "secrets", read, key: read_name, id: text_id };
        self.page_of(&list, &select.page("name", query.limit), query.limit)
    }

    fn secrets_for(&mut self, org_id: OrgId, workspace_id: WorkspaceId) -> Result<Vec<SealedSecret>, Error> {
        self.rows("secrets", FOR_WORKSPACE, &[org_id.into(), workspace_id.into()], read)
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
        let mut select = Select::new(LIST);
        select.and_value("key_id <>", key_id.as_str());
        if let Some(after) = after {
            select.and_pair_after("(owner_id, name)", owner_id(after.owner), after.name.as_str().into());
        }
        let list = Listing { table: "secrets", read, key: read_key, id: owned_name };
        self.page_of(&list, &select.page("owner_id, name", limit), limit)
    }
}

impl SecretWrites for Transaction<'_> {
    fn insert_secret(&mut self, secret: &SealedSecret) -> Result<(), Error> {
        let updated_by = secret.updated_by.to_string();
        let values = [
            owner_id(secret.owner),
            secret.name.as_str().into(),
            secret.owner.org_id().into(),
            secret.owner.workspace_id().into(),
            Value::count(secret.version)?,
            secret.key_id.as_str().into(),
            Value::Bytes(&secret.nonce),
            Value::Bytes(&secret.sealed),
            secret.created_at.into(),
            secret.updated_at.into(),
            updated_by.as_str().into(),
        ];
        match self.execute(INSERT, &values)? {
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
        let updated_by = secret.updated_by.to_string();
        let values = [
            Value::count(secret.version)?,
            secret.key_id.as_str().into(),
            Value::Bytes(&secret.nonce),
            Value::Bytes(&secret.sealed),
            secret.updated_at.into(),
            updated_by.as_str().into(),
            owner_id(secret.owner),
            secret.name.as_str().into(),
            Value::count(expected_version)?,
            expected_key.as_str().into(),
        ];
        match self.execute(UPDATE, &values)? {
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

fn read(row: &mut Columns<'_>) -> Result<SealedSecret, Error> {
    let SecretKey { owner, name } = read_key(row)?;
    Ok(SealedSecret {
        owner,
        name,
        version: row.count()?,
        key_id: row.word(KeyId::parse)?,
        nonce: read_nonce(row)?,
        sealed: row.bytes()?.to_vec(),
        created_at: row.time()?,
        updated_at: row.time()?,
        updated_by: row.word(Principal::parse)?,
    })
}

/// Names a row where those of all owners are listed: a workspace's own by its id too.
fn owned_name(row: &dyn Row) -> String {
    let owner = row.uuid(2).ok().flatten().map(WorkspaceId::from_bytes);
    owner.map(|id| format!("{id}/")).unwrap_or_default() + &text_id(row)
}

fn read_key(row: &mut Columns<'_>) -> Result<SecretKey, Error> {
    let name = read_name(row)?;
    let org_id = row.id()?;
    let owner = match row.optional_id()? {
        Some(id) => SecretOwner::Workspace { id, org_id },
        None => SecretOwner::Org(org_id),
    };
    Ok(SecretKey { owner, name })
}

fn read_name(row: &mut Columns<'_>) -> Result<SecretName, Error> {
    row.word(|name| name.parse().ok())
}

fn read_nonce(row: &mut Columns<'_>) -> Result<[u8; 12], Error> {
    let bytes = row.bytes()?;
    bytes.try_into().map_err(|_| row.corrupt("a nonce has 12 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::{makes_a_table, plan_of};

    // P9, F32
    #[test]
    fn the_secrets_that_an_agent_may_say_are_found_without_making_a_table() {
        assert!(!makes_a_table(FOR_WORKSPACE), "{FOR_WORKSPACE}");
        let plan = plan_of(FOR_WORKSPACE);
        assert_eq!(plan.matches("(owner_id=?)").count(), 2, "{plan}");
    }
}

//! Tokens in SQL: hashes only.

use warren_model::{
    Holder, OrgId, OrgRole, Principal, Scope, ScopeSet, ShortName, Timestamp, Token, TokenHash, TokenId,
    TokenKind, UserId, WorkspaceId,
};
use warren_store::{Error, Page, TokenQuery, TokenReads, TokenWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::Stored;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    TOKENS: Token in "tokens" {
        id, kind, hash, prefix, name, owner, org_id, workspace_id, scopes, created_at, expires_at, last_used_at,
        revoked_at, used_at,
    }
}

static GET: Statement = Statement::new(|| TOKENS.select("WHERE id = $1"));
static BY_HASH: Statement = Statement::new(|| TOKENS.select("WHERE hash = $1"));
static HELD: Statement = Statement::new(|| held("tokens.id = $1"));
static HELD_BY_HASH: Statement = Statement::new(|| held("tokens.hash = $1"));
static LIST: Statement = Statement::new(|| TOKENS.select(""));
const LAST_USES: &str = "SELECT owner, max(last_used_at) FROM tokens";
const MOVE: &str = "UPDATE tokens SET org_id = $1 WHERE id = $2";
const COUNT: &str = "SELECT count(*) FROM tokens WHERE owner = $1 AND kind NOT IN ('login', 'session') \
     AND revoked_at IS NULL AND used_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
static INSERT: Statement = Statement::new(|| TOKENS.insert("ON CONFLICT DO NOTHING"));
const REVOKE: &str = "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
const REVOKE_ALL: &str =
    "UPDATE tokens SET revoked_at = $1 WHERE workspace_id = $2 AND kind = $3 AND revoked_at IS NULL";
const PRUNE: &str = "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE revoked_at < $1 OR used_at < $1 \
     OR expires_at < $1 LIMIT $2)";
const USE_UP: &str =
    "UPDATE tokens SET used_at = $1 WHERE id = $2 AND used_at IS NULL AND revoked_at IS NULL";
/// Late reports do not turn the time back.
const TOUCH: &str =
    "UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)";

/// A token and, where its owner is a person, how they stand in its org.
fn held(condition: &str) -> String {
    let columns: Vec<_> = TOKENS.columns().split(", ").map(|name| format!("tokens.{name}")).collect();
    format!(
        "SELECT {}, u.id, u.name, u.display_name, u.is_admin, u.removed_at, m.role, o.removed_at, o.name FROM tokens \
         LEFT JOIN users u ON u.principal = tokens.owner \
         LEFT JOIN members m ON m.org_id = tokens.org_id AND m.user_id = u.id AND m.left_at IS NULL \
         LEFT JOIN orgs o ON o.id = tokens.org_id WHERE {condition}",
        columns.join(", ")
    )
}

fn read_held(row: &mut Columns<'_>) -> Result<(Token, Option<Holder>), Error> {
    let token = (TOKENS.read)(row)?;
    let user_id: Option<UserId> = row.optional_id()?;
    let Some(user_id) = user_id else { return Ok((token, None)) };
    let holder = Holder {
        user_id,
        name: ShortName::read(row)?,
        display_name: row.text()?.to_owned(),
        is_admin: row.bool()?,
        is_removed: row.optional_time()?.is_some(),
        role: row.optional_word(OrgRole::parse)?,
        is_org_removed: row.optional_time()?.is_some(),
        org_name: row.optional_word(|name| name.parse().ok())?,
    };
    Ok((token, Some(holder)))
}

impl TokenReads for Transaction<'_> {
    fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error> {
        TOKENS.first(self, &GET, &[id.into()])
    }

    fn token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Token>, Error> {
        TOKENS.first(self, &BY_HASH, &[Value::Bytes(&hash.0)])
    }

    fn held_token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<(Token, Option<Holder>)>, Error> {
        self.first("tokens", &HELD_BY_HASH, &[Value::Bytes(&hash.0)], read_held)
    }

    fn held_token(&mut self, id: TokenId) -> Result<Option<(Token, Option<Holder>)>, Error> {
        self.first("tokens", &HELD, &[id.into()], read_held)
    }

    fn tokens(&mut self, query: &TokenQuery) -> Result<Page<Token, TokenId>, Error> {
        let owner = query.owner.as_ref().map(Principal::to_string);
        let only_of = query.only_of.as_ref().map(Principal::to_string);
        let mut select = Select::new(&LIST);
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        if let Some(owner) = &owner {
            select.and_value("owner =", owner.as_str());
        }
        if let Some(person) = &only_of {
            select.and_around("(workspace_id IS NOT NULL OR owner =", person.as_str(), ")");
        }
        if !query.includes_ended {
            select.and("revoked_at IS NULL AND used_at IS NULL");
        }
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        TOKENS.page(self, &select.page("id", query.limit), query.limit, read_id)
    }

    fn last_uses(
        &mut self,
        org_id: OrgId,
        owners: &[Principal],
    ) -> Result<Vec<(Principal, Timestamp)>, Error> {
        if owners.is_empty() {
            return Ok(Vec::new());
        }
        let owners: Vec<String> = owners.iter().map(Principal::to_string).collect();
        let mut select = Select::new(LAST_USES);
        select.and_any_of("owner", owners.iter().map(String::as_str));
        select.and_value("org_id =", org_id);
        select.and("last_used_at IS NOT NULL");
        let (mut sql, values) = select.all();
        sql.push_str(" GROUP BY owner");
        self.rows("tokens", &sql, &values, |row| Ok((Principal::read(row)?, Timestamp::read(row)?)))
    }

    fn count_tokens(&mut self, owner: &Principal, now: Timestamp) -> Result<u64, Error> {
        let owner = owner.to_string();
        let values = [owner.as_str().into(), now.into()];
        Ok(self.first("tokens", COUNT, &values, read_count)?.unwrap_or(0))
    }
}

impl TokenWrites for Transaction<'_> {
    fn insert_token(&mut self, token: &Token) -> Result<(), Error> {
        match self.execute(&INSERT, &TOKENS.values(token)?)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(REVOKE, &[at.into(), id.into()])? == 1)
    }

    fn use_up_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(USE_UP, &[at.into(), id.into()])? == 1)
    }

    fn touch_token(&mut self, id: TokenId, at: Timestamp) -> Result<(), Error> {
        self.execute(TOUCH, &[at.into(), id.into()]).map(drop)
    }

    fn move_token(&mut self, id: TokenId, org_id: OrgId) -> Result<(), Error> {
        self.execute(MOVE, &[org_id.into(), id.into()]).map(drop)
    }

    fn revoke_tokens_of(
        &mut self,
        workspace_id: WorkspaceId,
        kind: TokenKind,
        at: Timestamp,
    ) -> Result<u64, Error> {
        self.execute(REVOKE_ALL, &[at.into(), workspace_id.into(), kind.as_str().into()])
    }

    fn prune_tokens(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }
}

impl Stored for TokenHash {
    fn write(&self) -> Result<Value<'_>, Error> {
        self.0.write()
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        Stored::read(row).map(Self)
    }
}

/// Scopes as words with spaces between, as OAuth writes them. A scope that is unknown makes the token unreadable rather
/// than narrower or wider than it was made.
impl Stored for ScopeSet {
    fn write(&self) -> Result<Value<'_>, Error> {
        let words: Vec<_> = self.iter().map(Scope::as_str).collect();
        Ok(words.join(" ").into())
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        row.word(|text| text.split_ascii_whitespace().map(Scope::parse).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::{makes_a_table, plan_of};

    // P1: every request begins with it
    #[test]
    fn a_token_and_who_holds_it_are_found_by_indexes_alone() {
        let plan = plan_of(&HELD_BY_HASH);
        assert!(!plan.contains("SCAN") && !makes_a_table(&HELD_BY_HASH), "{plan}");
    }
}

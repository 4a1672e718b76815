//! Tokens in SQL: hashes only.

use warren_model::{
    Principal, Scope, ScopeSet, Timestamp, Token, TokenHash, TokenId, TokenKind, WorkspaceId,
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
static LIST: Statement = Statement::new(|| TOKENS.select(""));
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

impl TokenReads for Transaction<'_> {
    fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error> {
        TOKENS.first(self, &GET, &[id.into()])
    }

    fn token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Token>, Error> {
        TOKENS.first(self, &BY_HASH, &[Value::Bytes(&hash.0)])
    }

    fn tokens(&mut self, query: &TokenQuery) -> Result<Page<Token, TokenId>, Error> {
        let owner = query.owner.as_ref().map(Principal::to_string);
        let mut select = Select::new(&LIST);
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        if let Some(owner) = &owner {
            select.and_value("owner =", owner.as_str());
        }
        if !query.includes_ended {
            select.and("revoked_at IS NULL AND used_at IS NULL");
        }
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        TOKENS.page(self, &select.page("id", query.limit), query.limit, read_id)
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

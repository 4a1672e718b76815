//! Tokens in SQL: hashes only.

use warren_model::{
    Principal, Scope, ScopeSet, Timestamp, Token, TokenHash, TokenId, TokenKind, WorkspaceId,
};
use warren_store::{Error, Page, TokenQuery, TokenReads, TokenWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

macro_rules! columns {
    () => {
        "id, kind, hash, prefix, name, owner, org_id, workspace_id, scopes, created_at, expires_at, last_used_at, \
         revoked_at, used_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM tokens WHERE id = $1");
const BY_HASH: &str = concat!("SELECT ", columns!(), " FROM tokens WHERE hash = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM tokens");
const COUNT: &str = "SELECT count(*) FROM tokens WHERE owner = $1 AND kind NOT IN ('login', 'session') \
     AND revoked_at IS NULL AND used_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
const INSERT: &str = concat!(
    "INSERT INTO tokens (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING"
);
const REVOKE: &str = "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
const REVOKE_ALL: &str =
    "UPDATE tokens SET revoked_at = $1 WHERE workspace_id = $2 AND kind = $3 AND revoked_at IS NULL";
const PRUNE: &str = "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE revoked_at < $1 OR used_at < $1 \
     OR expires_at < $1 LIMIT $2)";
const USE_UP: &str = "UPDATE tokens SET used_at = $1 WHERE id = $2 AND used_at IS NULL";
/// Late reports do not turn the time back.
const TOUCH: &str =
    "UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)";

impl TokenReads for Transaction<'_> {
    fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error> {
        self.first("tokens", GET, &[id.into()], read)
    }

    fn token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Token>, Error> {
        self.first("tokens", BY_HASH, &[Value::Bytes(&hash.0)], read)
    }

    fn tokens(&mut self, query: &TokenQuery) -> Result<Page<Token, TokenId>, Error> {
        let owner = query.owner.as_ref().map(Principal::to_string);
        let mut select = Select::new(LIST);
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
        self.page("tokens", &select.page("id", query.limit), query.limit, read, read_id)
    }

    fn count_tokens(&mut self, owner: &Principal, now: Timestamp) -> Result<u64, Error> {
        let owner = owner.to_string();
        let values = [owner.as_str().into(), now.into()];
        Ok(self.first("tokens", COUNT, &values, read_count)?.unwrap_or(0))
    }
}

impl TokenWrites for Transaction<'_> {
    fn insert_token(&mut self, token: &Token) -> Result<(), Error> {
        let owner = token.owner.to_string();
        let scopes = write_scopes(token.scopes);
        let values = [
            token.id.into(),
            token.kind.as_str().into(),
            Value::Bytes(&token.hash.0),
            token.prefix.as_str().into(),
            token.name.as_str().into(),
            owner.as_str().into(),
            token.org_id.into(),
            token.workspace_id.into(),
            scopes.as_str().into(),
            token.created_at.into(),
            token.expires_at.into(),
            token.last_used_at.into(),
            token.revoked_at.into(),
            token.used_at.into(),
        ];
        match self.execute(INSERT, &values)? {
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

fn read(row: &mut Columns<'_>) -> Result<Token, Error> {
    Ok(Token {
        id: row.id()?,
        kind: row.word(TokenKind::parse)?,
        hash: read_hash(row)?,
        prefix: row.text()?.to_owned(),
        name: row.text()?.to_owned(),
        owner: row.word(Principal::parse)?,
        org_id: row.id()?,
        workspace_id: row.optional_id()?,
        scopes: row.word(read_scopes)?,
        created_at: row.time()?,
        expires_at: row.optional_time()?,
        last_used_at: row.optional_time()?,
        revoked_at: row.optional_time()?,
        used_at: row.optional_time()?,
    })
}

fn read_hash(row: &mut Columns<'_>) -> Result<TokenHash, Error> {
    let bytes = row.bytes()?;
    let hash = bytes.try_into().map_err(|_| row.corrupt("a hash has 32 bytes"))?;
    Ok(TokenHash(hash))
}

/// Scopes as words with spaces between, as OAuth writes them.
fn write_scopes(scopes: ScopeSet) -> String {
    let words: Vec<_> = scopes.iter().map(Scope::as_str).collect();
    words.join(" ")
}

/// A scope that is unknown makes the token unreadable rather than narrower or wider than it was made.
fn read_scopes(text: &str) -> Option<ScopeSet> {
    text.split_ascii_whitespace().map(Scope::parse).collect()
}

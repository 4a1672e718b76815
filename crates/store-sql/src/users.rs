//! People in SQL.

use warren_model::{ShortName, User, UserId};
use warren_store::{Error, UserReads, UserWrites};

use crate::row::{read_count, read_id};
use crate::select::Select;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    USERS: User in "users" {
        id, created_at; name, display_name, email, is_admin, removed_at,
    }
}
/// By which tokens find them.
const COPIES: &[&str] = &["principal"];

static GET: Statement = Statement::new(|| USERS.select("WHERE id = $1"));
static BY_NAME: Statement = Statement::new(|| USERS.select("WHERE name = $1 AND removed_at IS NULL"));
static BY_IDENTITY: Statement = Statement::new(|| {
    USERS.select("WHERE id = (SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2)")
});
static LIST: Statement = Statement::new(|| USERS.select(""));
const COUNT_ADMINS: &str = "SELECT count(*) FROM users WHERE is_admin AND removed_at IS NULL";
static INSERT: Statement = Statement::new(|| USERS.insert_with(COPIES, "ON CONFLICT DO NOTHING"));
static UPDATE: Statement = Statement::new(|| USERS.update(&["id"]));
const LINK: &str =
    "INSERT INTO user_identities (issuer, subject, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
const LINKED: &str = "SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2";
const UNLINK: &str = "DELETE FROM user_identities WHERE user_id = $1";
const FORGET_LOOKS: &str = "DELETE FROM user_looks WHERE user_id = $1";
const CLAIM_LOOK: &str = "INSERT INTO user_looks (look, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const LOOK: &str = "SELECT user_id FROM user_looks WHERE look = $1";

impl UserReads for Transaction<'_> {
    fn user(&mut self, id: UserId) -> Result<Option<User>, Error> {
        USERS.first(self, &GET, &[id.into()])
    }

    fn user_by_name(&mut self, name: &ShortName) -> Result<Option<User>, Error> {
        USERS.first(self, &BY_NAME, &[name.as_str().into()])
    }

    fn user_by_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<User>, Error> {
        USERS.first(self, &BY_IDENTITY, &[issuer.into(), subject.into()])
    }

    fn users_by_ids(&mut self, ids: &[UserId]) -> Result<Vec<User>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut select = Select::new(&LIST);
        select.and_any_of("id", ids.iter().copied());
        let (sql, values) = select.all();
        USERS.rows(self, &sql, &values)
    }

    fn look_holder(&mut self, looks: &[String]) -> Result<Option<UserId>, Error> {
        for look in looks {
            let holder = self.first("user_looks", LOOK, &[look.as_str().into()], read_id)?;
            if holder.is_some() {
                return Ok(holder);
            }
        }
        Ok(None)
    }

    fn count_admins(&mut self) -> Result<u64, Error> {
        Ok(self.first("users", COUNT_ADMINS, &[], read_count)?.unwrap_or(0))
    }
}

impl UserWrites for Transaction<'_> {
    fn insert_user(&mut self, user: &User) -> Result<(), Error> {
        let mut values = USERS.values(user)?;
        values.push(user.principal().to_string().into());
        match self.execute(&INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_user(&mut self, user: &User) -> Result<bool, Error> {
        let mut values = USERS.changes(user)?;
        values.push(user.id.into());
        Ok(self.execute(&UPDATE, &values)? == 1)
    }

    fn link_identity(&mut self, user_id: UserId, issuer: &str, subject: &str) -> Result<(), Error> {
        if self.execute(LINK, &[issuer.into(), subject.into(), user_id.into()])? == 1 {
            return Ok(());
        }
        let key: [Value<'_>; 2] = [issuer.into(), subject.into()];
        match self.first("user_identities", LINKED, &key, read_id)? {
            Some(known) if known == user_id => Ok(()),
            _ => Err(Error::AlreadyExists),
        }
    }

    fn unlink_identities(&mut self, user_id: UserId) -> Result<u64, Error> {
        self.execute(UNLINK, &[user_id.into()])
    }

    fn claim_looks(&mut self, user_id: UserId, looks: &[String]) -> Result<Option<UserId>, Error> {
        self.execute(FORGET_LOOKS, &[user_id.into()])?;
        for look in looks {
            if self.execute(CLAIM_LOOK, &[look.as_str().into(), user_id.into()])? == 1 {
                continue;
            }
            let holder = self.first("user_looks", LOOK, &[look.as_str().into()], read_id)?;
            if let Some(other) = holder.filter(|holder| *holder != user_id) {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }
}

//! Leases in SQL: one row per name, for ever, so that its fence only grows.

use warren_model::Timestamp;
use warren_store::{Error, Lease, LeaseReads, LeaseWrites};

use crate::row::read_count;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    LEASES: Lease in "leases" { name, owner, fence, expires_at }
}

static GET: Statement = Statement::new(|| LEASES.select("WHERE name = $1 AND owner IS NOT NULL"));
/// One statement, so that of many who try at once exactly one gets a row back.
static TAKE: Statement = Statement::new(|| {
    format!(
        "INSERT INTO leases ({columns}) VALUES ($1, $2, 1, $3) \
         ON CONFLICT (name) DO UPDATE SET \
           fence = CASE WHEN leases.owner = excluded.owner THEN leases.fence ELSE leases.fence + 1 END, \
           owner = excluded.owner, expires_at = excluded.expires_at \
         WHERE leases.owner IS NULL OR leases.owner = excluded.owner OR leases.expires_at <= $4 \
         RETURNING {columns}",
        columns = LEASES.columns()
    )
});
const CHECK: &str =
    "SELECT fence FROM leases WHERE name = $1 AND owner = $2 AND fence = $3 AND expires_at > $4";
const RELEASE: &str = "UPDATE leases SET owner = NULL WHERE name = $1 AND owner = $2 AND fence = $3";

impl LeaseReads for Transaction<'_> {
    fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error> {
        LEASES.first(self, &GET, &[name.into()])
    }
}

impl LeaseWrites for Transaction<'_> {
    fn take_lease(
        &mut self,
        name: &str,
        owner: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, Error> {
        let values = [name.into(), owner.into(), expires_at.into(), now.into()];
        LEASES.first(self, &TAKE, &values)
    }

    /// The row stays locked until the commit: nobody can take the lease over between the check and the write that
    /// it guards.
    fn check_lease(&mut self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        let sql = format!("{CHECK}{}", self.row_lock());
        let [name, owner, fence] = key(lease)?;
        let held = self.first("leases", &sql, &[name, owner, fence, now.into()], read_count)?;
        held.map(drop).ok_or(Error::LeaseLost)
    }

    fn release_lease(&mut self, lease: &Lease) -> Result<(), Error> {
        self.execute(RELEASE, &key(lease)?).map(drop)
    }
}

fn key(lease: &Lease) -> Result<[Value<'_>; 3], Error> {
    Ok([lease.name.as_str().into(), lease.owner.as_str().into(), Value::count(lease.fence)?])
}

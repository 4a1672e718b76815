//! What models were asked with, in SQL.

use warren_model::OrgId;
use warren_store::{Error, RequestHeadReads, RequestHeadWrites};

use crate::transaction::Transaction;
use crate::value::Value;

const GET: &str = "SELECT head FROM request_heads WHERE org_id = $1 AND hash = $2";
const PUT: &str = "INSERT INTO request_heads (org_id, hash, head) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

impl RequestHeadReads for Transaction<'_> {
    fn request_head(&mut self, org_id: OrgId, hash: &str) -> Result<Option<Vec<u8>>, Error> {
        self.first("request_heads", GET, &[org_id.into(), hash.into()], |row| Ok(row.bytes()?.to_vec()))
    }
}

impl RequestHeadWrites for Transaction<'_> {
    fn put_request_head(&mut self, org_id: OrgId, hash: &str, bytes: &[u8]) -> Result<(), Error> {
        self.execute(PUT, &[org_id.into(), hash.into(), Value::Bytes(bytes)]).map(drop)
    }
}

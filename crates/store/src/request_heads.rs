//! What models were asked with besides the conversation: instructions, tools, parameters. The same is kept once (A19).

use warren_model::OrgId;

use crate::Error;

pub trait RequestHeadReads {
    fn request_head(&mut self, org_id: OrgId, hash: &str) -> Result<Option<Vec<u8>>, Error>;
}

pub trait RequestHeadWrites {
    /// Keeps it, unless it is there.
    fn put_request_head(&mut self, org_id: OrgId, hash: &str, bytes: &[u8]) -> Result<(), Error>;
}

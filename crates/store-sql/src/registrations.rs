//! How runtimes registered, in SQL.

use warren_model::{Registration, WorkspaceId};
use warren_store::{Error, RegistrationReads, RegistrationWrites};

use crate::stored::OptionalJson;
use crate::table::{Statement, table};
use crate::transaction::Transaction;

table! {
    REGISTRATIONS: Registration in "registrations" {
        workspace_id; boots, registered_at, version, agent_card: OptionalJson,
    }
}

static GET: Statement = Statement::new(|| REGISTRATIONS.select("WHERE workspace_id = $1"));
static PUT: Statement = Statement::new(|| REGISTRATIONS.put(&["workspace_id"]));

impl RegistrationReads for Transaction<'_> {
    fn registration(&mut self, id: WorkspaceId) -> Result<Option<Registration>, Error> {
        REGISTRATIONS.first(self, &GET, &[id.into()])
    }
}

impl RegistrationWrites for Transaction<'_> {
    fn put_registration(&mut self, registration: &Registration) -> Result<(), Error> {
        self.execute(&PUT, &REGISTRATIONS.values(registration)?).map(drop)
    }
}

//! How a runtime registered: which version it is and which agent card it has.

use warren_model::{Registration, WorkspaceId};

use crate::Error;

pub trait RegistrationReads {
    fn registration(&mut self, id: WorkspaceId) -> Result<Option<Registration>, Error>;
}

pub trait RegistrationWrites {
    fn put_registration(&mut self, registration: &Registration) -> Result<(), Error>;
}

//! What a client is told of a call that Warren does not make. The cause stays in the log.

use warren_outbound::{PublicFailure, Refused};

use crate::Error;

pub(crate) fn of_refusal(refused: &Refused) -> Error {
    let PublicFailure { code, detail } = refused.public();
    let mut error = Error::new(code).caused_by(refused.to_string());
    error.detail = detail;
    error
}

//! What a transaction cannot find out by itself.

use warren_model::{Principal, Timestamp};

/// Who acts, when, and under which configuration of the service. A transaction may be run again, so that these are taken
/// before it begins.
#[derive(Debug, Clone)]
pub struct TxInputs<C> {
    pub by: Principal,
    pub now: Timestamp,
    pub config: C,
}

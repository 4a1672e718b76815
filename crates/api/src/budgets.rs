use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// What a workspace spent this month, and what it may. Amounts are millionths of the currency's unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    /// Such as `2026-11`, in UTC.
    pub month: String,
    /// Absent: no limit.
    pub monthly_limit_micros: Option<u64>,
    pub spent_micros: u64,
    /// Absent: no limit.
    pub left_micros: Option<u64>,
}

/// What a workspace may spend in a month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBudget {
    /// `null`: no limit.
    #[schema(required)]
    pub monthly_limit_micros: Option<u64>,
}

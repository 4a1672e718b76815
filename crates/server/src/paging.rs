//! Lists come in pages: where one begins, and how long it is.

use std::str::FromStr;

use serde::Deserialize;
use utoipa::IntoParams;
use warren_model::ErrorCode;
use warren_service::Unreadable;

use crate::problem::Failure;

const DEFAULT_PAGE: u32 = 100;

/// What a list without filters takes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageParams {
    /// From `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<u32>,
}

/// Where a page begins; absent or empty: at the start.
pub(crate) fn cursor<T: FromStr>(text: Option<String>) -> Result<Option<T>, Failure> {
    text.filter(|text| !text.is_empty())
        .map(|text| text.parse().map_err(|_| Failure::from(ErrorCode::InvalidCursor)))
        .transpose()
}

/// What a list lacks, by id.
pub(crate) fn unreadable(rows: &[Unreadable]) -> Vec<String> {
    rows.iter().map(|row| row.id.clone()).collect()
}

/// A page size within the limits; nothing is cut in silence.
pub(crate) fn page_size(asked: Option<u32>, max: u32) -> Result<u32, Failure> {
    let limit = asked.unwrap_or(DEFAULT_PAGE.min(max));
    if (1..=max).contains(&limit) {
        return Ok(limit);
    }
    Err(Failure::new(ErrorCode::InvalidRequest, format!("limit: expected 1 to {max}")))
}

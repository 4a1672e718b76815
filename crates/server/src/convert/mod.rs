//! Between the wire and the model, by hand, one file per noun. Every match is exhaustive: a new variant does not compile
//! until it has a name on the wire (F1).

mod admin;
mod approvals;
mod bundles;
pub(crate) mod chat;
mod commands;
mod events;
pub(crate) mod exchange;
mod files;
mod memories;
mod new_workspaces;
mod people;
mod runtimes;
pub(crate) mod session_steps;
pub(crate) mod sessions;
mod tokens;
mod tools;
mod workspaces;

pub(crate) use self::admin::*;
pub(crate) use self::approvals::*;
pub(crate) use self::bundles::*;
pub(crate) use self::commands::*;
pub(crate) use self::events::*;
pub(crate) use self::files::*;
pub(crate) use self::memories::*;
pub(crate) use self::new_workspaces::*;
pub(crate) use self::people::*;
pub(crate) use self::runtimes::*;
pub(crate) use self::tokens::*;
pub(crate) use self::tools::*;
pub(crate) use self::workspaces::*;

use warren_api as api;
use warren_model as model;
use warren_model::{ErrorCode, IdKind, Timestamp};

use crate::problem::Failure;

/// The farthest that a caller may put an end: a year.
const MAX_SPAN_MS: u64 = 365 * 24 * 3_600_000;

pub(crate) fn principal(principal: &model::Principal) -> api::Principal {
    let kind = match principal.kind {
        model::PrincipalKind::User => api::PrincipalKind::User,
        model::PrincipalKind::Workspace => api::PrincipalKind::Workspace,
        model::PrincipalKind::Schedule => api::PrincipalKind::Schedule,
        model::PrincipalKind::Channel => api::PrincipalKind::Channel,
        model::PrincipalKind::System => api::PrincipalKind::System,
    };
    api::Principal { kind, id: principal.id.clone(), name: None }
}

/// An id in a body or query, with its field's name in the error.
pub(crate) fn id_from<K: IdKind>(field: &str, text: &str) -> Result<model::Id<K>, Failure> {
    text.parse().map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("{field}: {error}")))
}

/// The same, where it may be absent.
pub(crate) fn optional_id_from<T: std::str::FromStr>(
    field: &str,
    text: Option<&str>,
) -> Result<Option<T>, Failure> {
    let wrong = || Failure::new(ErrorCode::InvalidRequest, format!("{field}: not an id"));
    text.map(|text| text.parse().map_err(|_| wrong())).transpose()
}

/// A moment that a caller names by its distance from now.
pub(crate) fn moment_from(
    now: Timestamp,
    field: &str,
    ms: Option<u64>,
) -> Result<Option<Timestamp>, Failure> {
    let Some(ms) = ms else { return Ok(None) };
    if !(1..=MAX_SPAN_MS).contains(&ms) {
        return Err(Failure::new(ErrorCode::InvalidRequest, format!("{field}: expected 1 to {MAX_SPAN_MS}")));
    }
    Ok(Some(now.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX))))
}

#[cfg(test)]
mod tests {
    use super::people::{role, role_from};
    use super::tokens::{token_kind, token_kind_from};
    use super::*;

    // F1
    #[test]
    fn every_status_has_the_same_name_on_the_wire_as_in_the_model() {
        for one in model::Status::ALL {
            assert_eq!(serde_json::to_value(status(*one)).unwrap(), one.as_str());
        }
    }

    // F9
    #[test]
    fn every_role_has_the_same_name_on_the_wire_as_in_the_model() {
        for one in model::OrgRole::ALL {
            assert_eq!(serde_json::to_value(role(*one)).unwrap(), one.as_str());
            assert_eq!(role_from(role(*one)), *one);
        }
    }

    #[test]
    fn every_kind_of_token_survives_the_wire() {
        for kind in model::TokenKind::ALL {
            assert_eq!(token_kind_from(token_kind(kind)), kind);
        }
    }
}

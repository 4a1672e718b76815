//! Between the wire and the model, by hand, one file per noun. Every match is exhaustive: a new variant does not compile
//! until it has a name on the wire (F1).

mod admin;
pub(crate) mod chat;
mod commands;
mod events;
pub(crate) mod exchange;
mod files;
mod runtimes;
pub(crate) mod session_steps;
pub(crate) mod sessions;
mod tokens;
mod tools;
mod workspaces;

pub(crate) use self::admin::*;
pub(crate) use self::commands::*;
pub(crate) use self::events::*;
pub(crate) use self::files::*;
pub(crate) use self::runtimes::*;
pub(crate) use self::tokens::*;
pub(crate) use self::tools::*;
pub(crate) use self::workspaces::*;

use warren_api as api;
use warren_model as model;
use warren_model::{ErrorCode, IdKind};

use crate::problem::Failure;

pub(crate) fn principal(principal: &model::Principal) -> api::Principal {
    let kind = match principal.kind {
        model::PrincipalKind::User => api::PrincipalKind::User,
        model::PrincipalKind::Workspace => api::PrincipalKind::Workspace,
        model::PrincipalKind::Schedule => api::PrincipalKind::Schedule,
        model::PrincipalKind::Channel => api::PrincipalKind::Channel,
        model::PrincipalKind::System => api::PrincipalKind::System,
    };
    api::Principal { kind, id: principal.id.clone() }
}

/// An id in a body or query, with its field's name in the error.
pub(crate) fn id_from<K: IdKind>(field: &str, text: &str) -> Result<model::Id<K>, Failure> {
    text.parse().map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("{field}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::tokens::{token_kind, token_kind_from};
    use super::*;

    // F1
    #[test]
    fn every_status_has_the_same_name_on_the_wire_as_in_the_model() {
        for one in model::Status::ALL {
            assert_eq!(serde_json::to_value(status(*one)).unwrap(), one.as_str());
        }
    }

    #[test]
    fn every_kind_of_token_survives_the_wire() {
        for kind in model::TokenKind::ALL {
            assert_eq!(token_kind_from(token_kind(kind)), kind);
        }
    }
}

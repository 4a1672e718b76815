//! Tokens, sign-ins and secrets between the wire and the model.

use warren_api as api;
use warren_fleet::{ImageLogin, SecretSummary};
use warren_model as model;
use warren_model::ErrorCode;

use super::principal;
use crate::problem::Failure;

pub(super) fn token_kind(kind: model::TokenKind) -> api::TokenKind {
    match kind {
        model::TokenKind::Admin => api::TokenKind::Admin,
        model::TokenKind::User => api::TokenKind::User,
        model::TokenKind::Workspace => api::TokenKind::Workspace,
        model::TokenKind::Join => api::TokenKind::Join,
        model::TokenKind::Runner => api::TokenKind::Runner,
        model::TokenKind::Login => api::TokenKind::Login,
        model::TokenKind::SignIn => api::TokenKind::SignIn,
    }
}

pub(crate) fn mintable_from(kind: api::MintableKind) -> model::TokenKind {
    match kind {
        api::MintableKind::Admin => model::TokenKind::Admin,
        api::MintableKind::User => model::TokenKind::User,
        api::MintableKind::Workspace => model::TokenKind::Workspace,
        api::MintableKind::Join => model::TokenKind::Join,
    }
}

#[cfg(test)]
pub(super) fn token_kind_from(kind: api::TokenKind) -> model::TokenKind {
    match kind {
        api::TokenKind::Admin => model::TokenKind::Admin,
        api::TokenKind::User => model::TokenKind::User,
        api::TokenKind::Workspace => model::TokenKind::Workspace,
        api::TokenKind::Join => model::TokenKind::Join,
        api::TokenKind::Runner => model::TokenKind::Runner,
        api::TokenKind::Login => model::TokenKind::Login,
        api::TokenKind::SignIn => model::TokenKind::SignIn,
    }
}

pub(super) fn scopes(set: model::ScopeSet) -> Vec<String> {
    set.iter().map(|scope| scope.as_str().to_owned()).collect()
}

pub(crate) fn scopes_from(names: &[String]) -> Result<model::ScopeSet, Failure> {
    let one = |(at, name): (usize, &String)| {
        model::Scope::parse(name).ok_or_else(|| {
            let known = model::Scope::ALL.map(model::Scope::as_str).join(", ");
            let detail = format!("scopes[{at}]: unknown scope `{name}`; expected one of {known}");
            Failure::new(ErrorCode::InvalidRequest, detail)
        })
    };
    names.iter().enumerate().map(one).collect()
}

pub(crate) fn token(token: &model::Token) -> api::Token {
    api::Token {
        id: token.id.to_string(),
        kind: token_kind(token.kind),
        name: token.name.clone(),
        prefix: token.prefix.clone(),
        owner: principal(&token.owner),
        workspace_id: token.workspace_id.map(|id| id.to_string()),
        scopes: scopes(token.scopes),
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.map(|at| at.to_string()),
        last_used_at: token.last_used_at.map(|at| at.to_string()),
        revoked_at: token.revoked_at.map(|at| at.to_string()),
    }
}

pub(crate) fn secret(secret: &SecretSummary) -> api::Secret {
    let row = &secret.row;
    api::Secret {
        name: row.name.to_string(),
        owner: match row.owner {
            model::SecretOwner::Org(_) => api::SecretOwner::Org,
            model::SecretOwner::Workspace { .. } => api::SecretOwner::Workspace,
        },
        workspace_id: row.owner.workspace_id().map(|id| id.to_string()),
        version: row.version,
        key_id: row.key_id.to_string(),
        is_readable: secret.is_readable,
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
        updated_by: principal(&row.updated_by),
    }
}

pub(crate) fn image_login(login: &ImageLogin) -> api::ImageLogin {
    api::ImageLogin {
        registry: login.registry.clone(),
        username: login.username.clone(),
        updated_at: login.updated_at.to_string(),
        updated_by: principal(&login.updated_by),
    }
}

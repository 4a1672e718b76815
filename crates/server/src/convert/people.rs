//! People, orgs and invitations between the wire and the model.

use warren_api as api;
use warren_fleet::{Minted, OrgPerson, OrgView};
use warren_model as model;
use warren_model::Timestamp;
use warren_service::Identity;

use super::{principal, scopes, tier, tier_from, token_kind};
use crate::names::Names;

pub(crate) fn role(role: model::OrgRole) -> api::OrgRole {
    match role {
        model::OrgRole::Viewer => api::OrgRole::Viewer,
        model::OrgRole::Member => api::OrgRole::Member,
        model::OrgRole::Operator => api::OrgRole::Operator,
    }
}

pub(crate) fn role_from(role: api::OrgRole) -> model::OrgRole {
    match role {
        api::OrgRole::Viewer => model::OrgRole::Viewer,
        api::OrgRole::Member => model::OrgRole::Member,
        api::OrgRole::Operator => model::OrgRole::Operator,
    }
}

pub(crate) fn user(person: &OrgPerson) -> api::User {
    let (user, member) = (&person.user, person.member.as_ref());
    let current = member.filter(|member| member.left_at.is_none());
    api::User {
        id: user.id.to_string(),
        name: user.name.to_string(),
        display_name: user.display_name.clone(),
        email: user.email.clone().filter(|_| person.shows_email),
        is_admin: user.is_admin,
        role: current.map(|member| role(member.role)),
        since: member.map(|member| member.since.to_string()),
        last_seen_at: person.last_seen_at.map(|at| at.to_string()),
        left_at: member.and_then(|member| member.left_at).map(|at| at.to_string()),
    }
}

pub(crate) fn org(view: &OrgView) -> api::Org {
    let shows_quotas = view.usage.is_some();
    api::Org {
        id: view.org.id.to_string(),
        name: view.org.name.to_string(),
        role: view.role.map(role),
        created_at: view.org.created_at.to_string(),
        quotas: shows_quotas.then(|| quotas(&view.org.quotas)),
        usage: view.usage.as_ref().map(|usage| api::OrgUsage {
            workspaces: usage.workspaces,
            members: usage.members,
            sessions_running: usage.sessions_running,
            month: usage.month.clone(),
            spent_micros: usage.spent_micros,
        }),
    }
}

fn quotas(quotas: &model::OrgQuotas) -> api::OrgQuotas {
    api::OrgQuotas {
        max_workspaces: quotas.max_workspaces,
        max_members: quotas.max_members,
        max_sessions_running: quotas.max_sessions_running,
        monthly_spend_micros: quotas.monthly_spend_micros,
        max_tier: quotas.max_tier.map(tier),
    }
}

pub(crate) fn quotas_from(quotas: &api::OrgQuotas) -> model::OrgQuotas {
    model::OrgQuotas {
        max_workspaces: quotas.max_workspaces,
        max_members: quotas.max_members,
        max_sessions_running: quotas.max_sessions_running,
        monthly_spend_micros: quotas.monthly_spend_micros,
        max_tier: quotas.max_tier.map(tier_from),
    }
}

pub(crate) fn invitation(row: &model::Invitation, now: Timestamp, names: &Names) -> api::Invitation {
    let state = match row.state(now) {
        model::InvitationState::Open => api::InvitationState::Open,
        model::InvitationState::Used => api::InvitationState::Used,
        model::InvitationState::Expired => api::InvitationState::Expired,
        model::InvitationState::Revoked => api::InvitationState::Revoked,
    };
    api::Invitation {
        id: row.id.to_string(),
        role: role(row.role),
        email: row.email.clone(),
        state,
        invited_by: names.principal(&row.invited_by),
        created_at: row.created_at.to_string(),
        expires_at: row.expires_at.to_string(),
        used_at: row.used_at.map(|at| at.to_string()),
        used_by: row.used_by.map(|id| names.principal(&model::Principal::user(id))),
        revoked_at: row.revoked_at.map(|at| at.to_string()),
    }
}

pub(crate) fn sign_in_link(minted: &Minted) -> api::SignInLink {
    let expires_at = minted.token.expires_at.unwrap_or(minted.token.created_at).to_string();
    api::SignInLink { path: format!("/#sign-in={}", minted.secret.reveal()), expires_at }
}

/// Who is asking, and where else they may work.
pub(crate) fn sign_in(who: &Identity, orgs: &[(model::Org, Option<model::OrgRole>)]) -> api::SignIn {
    let membership = |(org, of): &(model::Org, Option<model::OrgRole>)| api::OrgMembership {
        id: org.id.to_string(),
        name: org.name.to_string(),
        role: of.map(role),
    };
    let holder = who.holder.as_ref();
    let here = orgs.iter().find(|(org, _)| org.id == who.token.org_id).map(membership);
    let org = here.unwrap_or_else(|| api::OrgMembership {
        id: who.token.org_id.to_string(),
        name: holder.and_then(|holder| holder.org_name.as_ref()).map(ToString::to_string).unwrap_or_default(),
        role: holder.and_then(|holder| holder.role).map(role),
    });
    api::SignIn {
        principal: api::Principal {
            name: holder.map(|holder| holder.display_name.clone()),
            ..principal(&who.principal)
        },
        token_kind: token_kind(who.token.kind),
        scopes: scopes(who.scopes()),
        expires_at: who.token.expires_at.map(|at| at.to_string()),
        user: holder.map(|holder| api::SignedInUser {
            id: holder.user_id.to_string(),
            name: holder.name.to_string(),
            display_name: holder.display_name.clone(),
        }),
        org,
        is_admin: who.runs_warren(),
        orgs: orgs.iter().map(membership).collect(),
    }
}

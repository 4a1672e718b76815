//! Invitations: a link that takes one person into an org, once (F9).

use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, Invitation, InvitationId, InvitationSecret,
    OrgRole, ShortName, TokenHash, TokenKind, User,
};
use warren_rules::access::people::{self, InvitationRefusal, Taker};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{Page, WriteTx};

use crate::orgs::org_in;
use crate::tokens::{Minted, SignInInputs, browser_token, insert_browser};
use crate::users::{Joining, NewPerson, insert_person, join, parse_email, user_id};

/// Invitations of an org that wait for somebody.
const MAX_OPEN: u64 = 1_000;

/// An invitation that somebody wants made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    pub role: OrgRole,
    pub email: Option<String>,
    pub expires_in_seconds: Option<u64>,
}

/// What an invitation leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationPreview {
    pub invitation: Invitation,
    pub org: ShortName,
    /// What whoever made it is called.
    pub invited_by: String,
}

/// Ways in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Invitations {
    context: Context,
}

impl Invitations {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    /// Makes an invitation into the org in which the caller works. Its secret is known only now.
    #[tracing::instrument(name = "fleet.invitations.create", skip_all)]
    pub async fn create(
        &self,
        who: &Identity,
        invite: Invite,
    ) -> Result<(Invitation, InvitationSecret), Error> {
        who.may_in_own_org(Action::OperateOrg)?;
        let lifetime_ms = people::invitation_lifetime_ms(invite.expires_in_seconds).ok_or_else(|| {
            Error::with_detail(ErrorCode::InvalidRequest, "expires_in_seconds: expected 1 to 2592000")
        })?;
        let (now, secret) = (self.context.now(), InvitationSecret::new(self.context.entropy().secret()));
        let invitation = Invitation {
            id: self.context.new_id(),
            org_id: who.token.org_id,
            role: invite.role,
            hash: secret.hash(),
            email: parse_email(invite.email.as_deref())?,
            invited_by: who.principal.clone(),
            created_at: now,
            expires_at: now.plus_ms(lifetime_ms),
            used_at: None,
            used_by: None,
            revoked_at: None,
        };
        let (row, actor) = (invitation.clone(), Actor::of(who));
        self.context
            .store()
            .write(move |tx| {
                org_in(tx, row.org_id)?;
                if tx.count_open_invitations(row.org_id, now)? >= MAX_OPEN {
                    let detail = format!("invitations that wait: at most {MAX_OPEN} in this org");
                    return Err(Error::with_detail(ErrorCode::QuotaExceeded, detail));
                }
                tx.insert_invitation(&row)?;
                tell(tx, &row, AuditAction::InvitationCreated, &actor, now)
            })
            .await?;
        Ok((invitation, secret))
    }

    /// Those of the org in which the caller works, also the past ones, oldest first.
    #[tracing::instrument(name = "fleet.invitations.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        after: Option<InvitationId>,
        limit: u32,
    ) -> Result<Page<Invitation, InvitationId>, Error> {
        who.may_in_own_org(Action::OperateOrg)?;
        let (org_id, limit) = (who.token.org_id, limit.clamp(1, self.context.limits().max_page_size));
        let page = self
            .context
            .store()
            .read(move |tx| tx.invitations(org_id, after, limit).map_err(Error::from))
            .await?;
        Ok(self.context.listed(page))
    }

    /// Takes one back that nobody used. Doing it twice is fine.
    #[tracing::instrument(name = "fleet.invitations.revoke", skip_all)]
    pub async fn revoke(&self, who: &Identity, id: InvitationId) -> Result<(), Error> {
        who.may_in_own_org(Action::OperateOrg)?;
        let (visible, actor, now) = (who.visible_org(), Actor::of(who), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let found = tx.invitation(id)?;
                let found = found.filter(|one| visible.is_none_or(|org| org == one.org_id));
                let invitation = found.ok_or_else(|| Error::new(ErrorCode::InvitationNotFound))?;
                if tx.revoke_invitation(id, now)? {
                    tell(tx, &invitation, AuditAction::InvitationRevoked, &actor, now)?;
                } else if invitation.used_at.is_some() {
                    return Err(Error::new(ErrorCode::InvitationUsed));
                }
                Ok(())
            })
            .await
    }

    /// What an invitation leads to, for whoever has its secret. It stays unused.
    #[tracing::instrument(name = "fleet.invitations.preview", skip_all)]
    pub async fn preview(&self, secret: &str) -> Result<InvitationPreview, Error> {
        let (hash, now) = (hash_of(secret)?, self.context.now());
        self.context
            .store()
            .read(move |tx| {
                let found = tx.invitation_by_hash(&hash)?;
                let invitation = found.ok_or_else(|| Error::new(ErrorCode::InvitationNotFound))?;
                people::standing(&invitation, now).map_err(refused)?;
                let org = org_in(tx, invitation.org_id)?;
                let maker = user_id(&invitation.invited_by).map(|id| tx.user(id)).transpose()?.flatten();
                let invited_by = maker.map_or_else(|| "Warren".to_owned(), |user| user.display_name);
                Ok(InvitationPreview { invitation, org: org.name, invited_by })
            })
            .await
    }

    /// Takes an invitation as somebody new, and lets their browser in. Of two that try, one succeeds.
    #[tracing::instrument(name = "fleet.invitations.accept", skip_all)]
    pub async fn accept(
        &self,
        secret: &str,
        name: &str,
        display_name: Option<&str>,
        request_id: Option<String>,
    ) -> Result<Minted, Error> {
        let hash = hash_of(secret)?;
        let inputs = SignInInputs::new(&self.context, request_id);
        let (id, name) = (self.context.new_id(), name.to_owned());
        let display_name = display_name.unwrap_or(&name).to_owned();
        let secret = inputs.secret.clone();
        let token = self
            .context
            .store()
            .write(move |tx| {
                let invitation = open_for_bearer(tx, &hash, &inputs)?;
                let new = NewPerson { id, name: &name, display_name: &display_name, email: None };
                let user = insert_person(tx, &new, inputs.now, None)?;
                take(tx, &invitation, &user, &inputs)?;
                let browser = browser_token(user.principal(), invitation.org_id, &inputs);
                insert_browser(tx, &browser, &inputs)?;
                Ok::<_, Error>(browser)
            })
            .await?;
        Ok(Minted { token, secret })
    }

    /// Takes an invitation as who one is already. The browser works in that org from now on.
    #[tracing::instrument(name = "fleet.invitations.join", skip_all)]
    pub async fn join(&self, who: &Identity, secret: &str) -> Result<Identity, Error> {
        let own_id = user_id(&who.principal).filter(|_| who.token.kind == TokenKind::SignIn);
        let own_id = own_id.ok_or_else(|| {
            Error::with_detail(ErrorCode::Forbidden, "an invitation is taken by a person, in the browser")
        })?;
        let hash = hash_of(secret)?;
        let (who, inputs) = (who.clone(), SignInInputs::new(&self.context, who.request_id.clone()));
        self.context
            .store()
            .write(move |tx| {
                let invitation = open_for_bearer(tx, &hash, &inputs)?;
                let user = tx.user(own_id)?.ok_or_else(|| Error::new(ErrorCode::UserNotFound))?;
                take(tx, &invitation, &user, &inputs)?;
                tx.move_token(who.token.id, invitation.org_id)?;
                let held = tx.held_token(who.token.id)?;
                let (token, holder) = held.ok_or_else(|| Error::new(ErrorCode::TokenExpired))?;
                Ok(Identity { request_id: who.request_id.clone(), ..Identity::of_holder(token, holder) })
            })
            .await
    }
}

fn hash_of(secret: &str) -> Result<TokenHash, Error> {
    let parsed = InvitationSecret::parse(secret);
    parsed.map(|secret| secret.hash()).map_err(|_| Error::new(ErrorCode::InvitationNotFound))
}

fn open_for_bearer(
    tx: &mut dyn WriteTx,
    hash: &TokenHash,
    inputs: &SignInInputs,
) -> Result<Invitation, Error> {
    let found = tx.invitation_by_hash(hash)?;
    let invitation = found.ok_or_else(|| Error::new(ErrorCode::InvitationNotFound))?;
    people::may_take(&invitation, Taker::Bearer, inputs.now).map_err(refused)?;
    org_in(tx, invitation.org_id)?;
    Ok(invitation)
}

/// Uses an invitation up for this person, and takes them into its org. What it leads to was judged before.
pub(crate) fn take(
    tx: &mut dyn WriteTx,
    invitation: &Invitation,
    user: &User,
    inputs: &SignInInputs,
) -> Result<(), Error> {
    let by = user.principal();
    // They act for themselves, in the org that they come into.
    let actor = Actor::person(user, invitation.org_id, inputs.request_id.clone());
    let joining =
        Joining { org_id: invitation.org_id, role: invitation.role, now: inputs.now, by: &by, actor: &actor };
    join(tx, user, &joining)?;
    if !tx.use_invitation(invitation.id, user.id, inputs.now)? {
        return Err(Error::new(ErrorCode::InvitationUsed));
    }
    let used = Invitation { used_by: Some(user.id), ..invitation.clone() };
    tell(tx, &used, AuditAction::InvitationUsed, &actor, inputs.now)
}

pub(crate) fn refused(refusal: InvitationRefusal) -> Error {
    Error::new(match refusal {
        InvitationRefusal::Used => ErrorCode::InvitationUsed,
        InvitationRefusal::Expired => ErrorCode::InvitationExpired,
        InvitationRefusal::Revoked => ErrorCode::InvitationRevoked,
        InvitationRefusal::ForAnother => ErrorCode::InvitationForAnother,
    })
}

fn tell(
    tx: &mut dyn WriteTx,
    invitation: &Invitation,
    action: AuditAction,
    actor: &Actor,
    now: warren_model::Timestamp,
) -> Result<(), Error> {
    let Invitation { role, email, used_by, .. } = invitation;
    let details = AuditDetails::Invitation { role: *role, email: email.clone(), used_by: *used_by };
    let (id, actor) = (invitation.id.to_string(), actor.clone().in_org(invitation.org_id));
    tx.append_audit(&actor.did(now, action, AuditTargetKind::Invitation, &id, &details))?;
    Ok(())
}

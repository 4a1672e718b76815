//! How a person leaves: what lets them in ends in the same transaction, and so does what acts in their name. What they have
//! open at that moment ends within seconds, since every stream asks again whether it may go on (sec/U05).

use std::collections::BTreeSet;

use warren_model::event::UserLeft;
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, MadeWithToken, Member, OrgId, OrgRole, User,
};
use warren_rules::access::people;
use warren_service::{Action, Actor, Error, Identity};
use warren_store::{ReadTx, TokenQuery, WriteTx};

use super::{Users, event, find_user, org_of, require_another_admin, require_person};
use crate::tokens::{Ending, Made, MadeThing, active_things, end, thing};

const TOKENS_PAGE: u32 = 500;

/// A person who is no longer there, and what acted in their name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    pub user: User,
    pub made: Vec<MadeThing>,
}

impl Users {
    /// Takes a person out of an org; whoever is in it may leave it themselves.
    #[tracing::instrument(name = "fleet.users.remove", skip_all)]
    pub async fn remove(
        &self,
        who: &Identity,
        org: Option<String>,
        user: &str,
        made: Made,
    ) -> Result<Departure, Error> {
        require_person(who)?;
        let (who, user, now) = (who.clone(), user.to_owned(), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let org_id = org_of(tx, &who, org.as_deref())?;
                let (user, member) = find_user(tx, &who, org_id, &user)?;
                if user.principal() != who.principal {
                    who.may_in_own_org(Action::OperateOrg)?;
                }
                let member = member.filter(|member| member.left_at.is_none());
                let member = member.ok_or_else(|| Error::new(ErrorCode::UserNotFound))?;
                tx.hold_org(org_id)?;
                let operators = tx.count_members(org_id, Some(OrgRole::Operator))?;
                if people::leaves_no_operator(member.role, None, operators, who.runs_warren()) {
                    return Err(Error::new(ErrorCode::LastOperator));
                }
                let actor = Actor::of(&who);
                let ending = Ending { by: &who.principal, actor: &actor, now };
                let made = leave(tx, &user, &member, &ending, made)?;
                Ok(Departure { user, made })
            })
            .await
    }

    /// Has a person come in nowhere any more. Their name is free for others.
    #[tracing::instrument(name = "fleet.users.remove_everywhere", skip_all)]
    pub async fn remove_everywhere(
        &self,
        who: &Identity,
        user: &str,
        made: Made,
    ) -> Result<Departure, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        let (who, user, now) = (who.clone(), user.to_owned(), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let (mut user, _) = find_user(tx, &who, who.token.org_id, &user)?;
                if user.is_admin {
                    require_another_admin(tx, &user)?;
                }
                let actor = Actor::of(&who);
                let ending = Ending { by: &who.principal, actor: &actor, now };
                let mut things = Vec::new();
                for (org, role) in tx.orgs_of(user.id)? {
                    let member = Member {
                        org_id: org.id,
                        user_id: user.id,
                        role,
                        since: org.created_at,
                        left_at: None,
                    };
                    let member = tx.member(org.id, user.id)?.unwrap_or(member);
                    things.extend(leave(tx, &user, &member, &ending, made)?);
                }
                // An admin has tokens in orgs that they are not in.
                things.extend(end_tokens(tx, &user, None, &ending, made)?);
                tx.claim_looks(user.id, &[])?;
                tx.unlink_identities(user.id)?;
                user.removed_at = user.removed_at.or(Some(now));
                user.is_admin = false;
                tx.update_user(&user)?;
                let details =
                    AuditDetails::UserLeft { name: user.name.to_string(), ended: things.len() as u64 };
                let (action, kind) = (AuditAction::UserRemoved, AuditTargetKind::User);
                tx.append_audit(&actor.did(now, action, kind, &user.id.to_string(), &details))?;
                Ok(Departure { user, made: things })
            })
            .await
    }
}

/// Ends a person's membership and all that hangs on it.
fn leave(
    tx: &mut dyn WriteTx,
    user: &User,
    member: &Member,
    ending: &Ending<'_>,
    made: Made,
) -> Result<Vec<MadeThing>, Error> {
    let (org_id, principal) = (member.org_id, user.principal());
    let actor = ending.actor.clone().in_org(org_id);
    let ending = &Ending { actor: &actor, ..*ending };
    let mut things = end_tokens(tx, user, Some(org_id), ending, made)?;
    // Also what was made with tokens that are long gone.
    for one in tx.made_by(&principal, org_id)? {
        if things.iter().any(|known| known.made == one) {
            continue;
        }
        if let Some(found) = thing(tx, one, ending.now)?.filter(|found| found.is_active) {
            if made == Made::Ends {
                end(tx, &found, ending)?;
            }
            things.push(found);
        }
    }
    // A link that they kept would be their way back in.
    tx.revoke_invitations_by(org_id, &principal, ending.now)?;
    tx.put_member(&Member { left_at: Some(ending.now), ..member.clone() })?;
    let data = UserLeft { user_id: user.id, name: user.name.to_string() };
    tx.append_event(&event(org_id, ending.by, ending.now, data))?;
    let details = AuditDetails::UserLeft { name: user.name.to_string(), ended: things.len() as u64 };
    let (action, kind) = (AuditAction::UserLeft, AuditTargetKind::User);
    tx.append_audit(&ending.actor.did(ending.now, action, kind, &user.id.to_string(), &details))?;
    Ok(things)
}

/// Ends all that lets a person in, in one org or in all. What was made with it ends too, unless it is to stay.
fn end_tokens(
    tx: &mut dyn WriteTx,
    user: &User,
    org_id: Option<OrgId>,
    ending: &Ending<'_>,
    made: Made,
) -> Result<Vec<MadeThing>, Error> {
    let (mut things, mut seen) = (Vec::new(), BTreeSet::new());
    for id in tokens_of(tx, user, org_id)? {
        if seen.insert(MadeWithToken::Token(id).id()) {
            things.extend(active_things(tx, id, ending.now)?);
        }
        if let Some(own) = thing(tx, MadeWithToken::Token(id), ending.now)?.filter(|own| own.is_active) {
            end(tx, &own, ending)?;
        }
    }
    let mut known = BTreeSet::new();
    things.retain(|thing| known.insert((thing.made.kind(), thing.made.id())));
    if made == Made::Ends {
        things.iter().try_for_each(|thing| end(tx, thing, ending))?;
    }
    // What was told of already as theirs is not told of again as made with it.
    things.retain(|thing| !matches!(thing.made, MadeWithToken::Token(id) if seen.contains(&id.to_string())));
    Ok(things)
}

fn tokens_of(
    tx: &mut (impl ReadTx + ?Sized),
    user: &User,
    org_id: Option<OrgId>,
) -> Result<Vec<warren_model::TokenId>, Error> {
    let owner = Some(user.principal());
    let mut query =
        TokenQuery { org_id, owner, only_of: None, includes_ended: true, after: None, limit: TOKENS_PAGE };
    let mut ids = Vec::new();
    loop {
        let page = tx.tokens(&query)?;
        ids.extend(page.rows.iter().map(|token| token.id));
        query.after = page.next;
        if query.after.is_none() {
            return Ok(ids);
        }
    }
}

//! What was made with a token, and what becomes of it when the token is revoked
//! ([decision](../../../../docs/decisions/0028-a-revocation-ends-what-acts-in-its-name.md)).
//!
//! ```text
//!   token ──▶ tokens, schedules, webhooks, channels
//!               └──▶ what was made with those tokens, and so on
//! ```

use std::collections::{BTreeMap, BTreeSet};

use warren_model::event::{ChannelRemoved, ScheduleChanged, WebhookStopped};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, EventData, MadeWithToken, NewEvent, OrgId, Principal,
    ScheduleChange, Timestamp, TokenId, WebhookStopReason, WorkspaceId,
};
use warren_rules::access;
use warren_service::{Action, Actor, Error, Identity, Sealer};
use warren_store::{ReadTx, WriteTx};

use super::{Sight, Tokens, revoked, token_entry, token_event, visible_token};

/// Something that was made with a token, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeThing {
    pub made: MadeWithToken,
    pub name: String,
    pub workspace_id: Option<WorkspaceId>,
    /// Whether it still does something: it is not revoked, used up, paused or stopped.
    pub is_active: bool,
    org_id: OrgId,
}

/// What becomes of what was made with a token that is revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It ends too.
    Ends,
    /// It goes on as it is.
    Stays,
}

/// How many there are of each kind.
pub fn count_kinds(things: &[MadeThing]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for thing in things {
        *counts.entry(thing.made.kind()).or_default() += 1;
    }
    counts
}

impl Tokens {
    /// What was made with a token and is still active, by itself or by tokens that were made with it.
    #[tracing::instrument(name = "fleet.tokens.made_with", skip_all, fields(token.id = %id))]
    pub async fn made_with(&self, who: &Identity, id: TokenId) -> Result<Vec<MadeThing>, Error> {
        who.may_in_own_org(Action::ReadTokens)?;
        let (sight, now) = (Sight::of(who), self.context.now());
        self.context
            .store()
            .read(move |tx| {
                visible_token(tx, &sight, id)?;
                active_things(tx, id, now)
            })
            .await
    }
}

/// All that is active, whatever it was made through.
pub(crate) fn active_things(
    tx: &mut dyn ReadTx,
    id: TokenId,
    now: Timestamp,
) -> Result<Vec<MadeThing>, Error> {
    let (mut things, mut seen, mut open) = (Vec::new(), BTreeSet::from([id]), vec![id]);
    while let Some(token) = open.pop() {
        for made in tx.made_with(token)? {
            if let MadeWithToken::Token(id) = made
                && seen.insert(id)
            {
                // One that has ended may have made what has not.
                open.push(id);
            }
            things.extend(thing(tx, made, now)?.filter(|thing| thing.is_active));
        }
    }
    Ok(things)
}

/// As it stands now; absent: it is gone.
pub(crate) fn thing(
    tx: &mut dyn ReadTx,
    made: MadeWithToken,
    now: Timestamp,
) -> Result<Option<MadeThing>, Error> {
    Ok(match made {
        MadeWithToken::Token(id) => tx.token(id)?.map(|row| MadeThing {
            made,
            is_active: !access::has_ended(&row, now),
            name: row.name,
            workspace_id: row.workspace_id,
            org_id: row.org_id,
        }),
        // What cannot be read does not fire, and is not written over.
        MadeWithToken::Schedule(id) => tx.schedule(id)?.map(|row| MadeThing {
            made,
            is_active: !row.is_paused && row.unreadable.is_none(),
            name: row.name,
            workspace_id: Some(row.workspace_id),
            org_id: row.org_id,
        }),
        MadeWithToken::Webhook(id) => tx.webhook(id)?.map(|row| MadeThing {
            made,
            is_active: row.is_active,
            name: row.name,
            workspace_id: row.workspace_id,
            org_id: row.org_id,
        }),
        MadeWithToken::Channel(id) => tx.channel(id)?.map(|row| MadeThing {
            made,
            is_active: true,
            name: row.name,
            workspace_id: Some(row.workspace_id),
            org_id: row.org_id,
        }),
    })
}

/// Who ends it, and when.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) by: &'a Principal,
    pub(crate) actor: &'a Actor,
    pub(crate) now: Timestamp,
}

/// Ends one thing, with its event and its entry in the audit log.
pub(crate) fn end(tx: &mut dyn WriteTx, thing: &MadeThing, ending: &Ending<'_>) -> Result<(), Error> {
    match thing.made {
        MadeWithToken::Token(id) => {
            let Some(token) = tx.token(id)? else { return Ok(()) };
            if tx.revoke_token(id, ending.now)? {
                tx.append_event(&token_event(&token, revoked(&token), ending.by, ending.now))?;
                let entry = token_entry(&token, AuditAction::TokenRevoked, ending.actor, ending.now);
                tx.append_audit(&entry)?;
            }
            Ok(())
        }
        MadeWithToken::Schedule(id) => {
            let Some(mut row) = tx.schedule(id)? else { return Ok(()) };
            let expected = row.version;
            row.is_paused = true;
            (row.next_slot, row.next_at, row.updated_at) = (None, None, ending.now);
            tx.update_schedule(&row, expected)?;
            let (name, change) = (row.name.clone(), ScheduleChange::Revoked);
            let data = ScheduleChanged { schedule_id: id, name: name.clone(), change, problem: None };
            let details = AuditDetails::ScheduleChanged { name, change, workspace_id: row.workspace_id };
            let target = (AuditAction::ScheduleChanged, AuditTargetKind::Schedule);
            tell(tx, thing, ending, data.into(), target, &details)
        }
        MadeWithToken::Webhook(id) => {
            if !tx.set_webhook_active(id, false)? {
                return Ok(());
            }
            let data = WebhookStopped { webhook_id: id, reason: WebhookStopReason::Revoked };
            let details = AuditDetails::WebhookChanged { is_active: false };
            let target = (AuditAction::WebhookChanged, AuditTargetKind::Webhook);
            tell(tx, thing, ending, data.into(), target, &details)
        }
        // There is no such thing as one that is stopped: its secret is all that it is.
        MadeWithToken::Channel(id) => {
            if !tx.delete_channel(id)? {
                return Ok(());
            }
            tx.delete_secret(Sealer::SYSTEM_SECRETS, &Sealer::system_secret_name(id))?;
            let target = (AuditAction::ChannelRemoved, AuditTargetKind::Channel);
            tell(tx, thing, ending, ChannelRemoved { channel_id: id }.into(), target, &AuditDetails::None)
        }
    }
}

fn tell(
    tx: &mut dyn WriteTx,
    thing: &MadeThing,
    ending: &Ending<'_>,
    data: EventData,
    (action, kind): (AuditAction, AuditTargetKind),
    details: &AuditDetails,
) -> Result<(), Error> {
    let (org_id, workspace_id) = (thing.org_id, thing.workspace_id);
    let (at, principal) = (ending.now, ending.by.clone());
    tx.append_event(&NewEvent { at, org_id, workspace_id, principal, data })?;
    tx.append_audit(&ending.actor.did(at, action, kind, &thing.made.id(), details))?;
    Ok(())
}

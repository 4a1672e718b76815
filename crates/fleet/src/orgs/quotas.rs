//! How much an org may have, and how much its people may give (F36, F9).

use warren_model::{ErrorCode, OrgId, OrgQuotas, Tier, Timestamp, TokenKind};
use warren_rules::access::budget::{Month, Standing, standing};
use warren_rules::access::people;
use warren_service::{Context, Error, Identity};
use warren_store::{OrgReads, ReadTx, WriteTx};

/// How much a caller may give a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) highest_tier: Tier,
    /// The ceilings of tiers do not hold.
    pub(crate) is_unlimited: bool,
}

/// Whoever runs this Warren gives what they like; an org's operators, in the browser, up to the tier that the org may have;
/// others, boxes. A program with a `user` token never gives more, whatever its scopes.
pub(crate) async fn grant_of(context: &Context, who: &Identity) -> Result<Grant, Error> {
    if who.runs_warren() {
        return Ok(Grant { highest_tier: Tier::Privileged, is_unlimited: true });
    }
    if !who.runs_org() || who.token.kind != TokenKind::SignIn {
        return Ok(Grant { highest_tier: Tier::Basic, is_unlimited: false });
    }
    let org_id = who.token.org_id;
    let quotas = context.store().read_few(move |tx| quotas_of(tx, org_id)).await?;
    Ok(Grant { highest_tier: quotas.max_tier.unwrap_or(Tier::Privileged), is_unlimited: false })
}

/// An org without a row has no quotas of its own.
pub(crate) fn quotas_of(tx: &mut (impl OrgReads + ?Sized), org_id: OrgId) -> Result<OrgQuotas, Error> {
    Ok(tx.org(org_id)?.map(|org| org.quotas).unwrap_or_default())
}

/// How many workspaces an org may have, and whether that is a quota of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkspaceRoom {
    pub(crate) max: u64,
    is_quota: bool,
}

impl WorkspaceRoom {
    pub(crate) fn of(tx: &mut dyn ReadTx, org_id: OrgId, max: u64) -> Result<Self, Error> {
        let quota = quotas_of(tx, org_id)?.max_workspaces.map(u64::from).filter(|quota| *quota < max);
        Ok(Self { max: quota.unwrap_or(max), is_quota: quota.is_some() })
    }

    pub(crate) fn refusal(self) -> Error {
        if self.is_quota { exceeded("workspaces", self.max) } else { Error::new(ErrorCode::WorkspaceLimit) }
    }
}

pub(crate) fn require_room_for_workspace(tx: &mut dyn ReadTx, org_id: OrgId, max: u64) -> Result<(), Error> {
    let room = WorkspaceRoom::of(tx, org_id, max)?;
    if tx.count_workspaces(org_id)? < room.max { Ok(()) } else { Err(room.refusal()) }
}

pub(crate) fn require_room_for_member(tx: &mut dyn WriteTx, org_id: OrgId) -> Result<(), Error> {
    let max = tx.hold_org(org_id)?.and_then(|org| org.quotas.max_members);
    if people::has_room(max, tx.count_members(org_id, None)?) {
        return Ok(());
    }
    Err(exceeded("people", max.unwrap_or_default().into()))
}

/// Lets a session begin to work only while fewer of the org do than may.
pub fn require_session_room(tx: &mut (impl OrgReads + ?Sized), org_id: OrgId) -> Result<(), Error> {
    let Some(max) = quotas_of(tx, org_id)?.max_sessions_running else { return Ok(()) };
    if people::has_room(Some(max), tx.count_running_sessions(org_id)?) {
        return Ok(());
    }
    Err(exceeded("sessions at work", max.into()))
}

/// What an org may still spend this month, beside what was set aside for the one who asks; absent: it has no quota.
pub fn left_for_org(
    tx: &mut (impl OrgReads + ?Sized),
    org_id: OrgId,
    own_micros: u64,
    now: Timestamp,
) -> Result<Option<u64>, Error> {
    let limit = quotas_of(tx, org_id)?.monthly_spend_micros;
    if limit.is_none() {
        return Ok(None);
    }
    let spent = tx.spent_by_org(org_id, &Month::of(now).to_string())?;
    Ok(match standing(limit, spent.saturating_sub(own_micros)) {
        Standing::Unlimited => None,
        Standing::Within { left_micros } => Some(left_micros),
        Standing::Exhausted => Some(0),
    })
}

fn exceeded(what: &str, max: u64) -> Error {
    Error::with_detail(ErrorCode::QuotaExceeded, format!("{what}: at most {max} in this org"))
}

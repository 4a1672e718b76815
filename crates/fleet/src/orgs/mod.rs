//! Orgs: what is in one is not there for the others (F9, F36). Those who run this Warren make them and say how much they
//! may have.

mod quotas;

pub(crate) use quotas::{
    Grant, WorkspaceRoom, grant_of, require_room_for_member, require_room_for_workspace,
};
pub use quotas::{left_for_org, require_session_room};

use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, Org, OrgId, OrgQuotas, OrgRole, ShortName,
    TokenKind,
};
use warren_rules::access::budget::Month;
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{Page, ReadTx, WriteTx};

use crate::users::user_id;

/// How much an org has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgUsage {
    pub workspaces: u64,
    pub members: u64,
    pub sessions_running: u64,
    pub month: String,
    pub spent_micros: u64,
}

/// An org as the caller may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgView {
    pub org: Org,
    /// The caller's own role there.
    pub role: Option<OrgRole>,
    /// For those who run it.
    pub usage: Option<OrgUsage>,
}

/// What is to change about an org.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeOrg {
    pub name: Option<String>,
    pub quotas: Option<OrgQuotas>,
}

/// Orgs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Orgs {
    context: Context,
}

impl Orgs {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    /// The orgs that the caller is in; for who runs this Warren, all.
    #[tracing::instrument(name = "fleet.orgs.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        after: Option<OrgId>,
        limit: u32,
    ) -> Result<Page<OrgView, OrgId>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (who, limit) = (who.clone(), limit.clamp(1, self.context.limits().max_page_size));
        let now = self.context.now();
        let page = self
            .context
            .store()
            .read(move |tx| {
                let page = if who.runs_warren() { tx.orgs(after, limit)? } else { own_orgs(tx, &who)? };
                let (next, unreadable) = (page.next, page.unreadable);
                let rows: Result<_, Error> = page
                    .rows
                    .into_iter()
                    .map(|org| view(tx, &who, org, &Month::of(now).to_string()))
                    .collect();
                Ok::<_, Error>(Page { rows: rows?, next, unreadable })
            })
            .await?;
        Ok(self.context.listed(page))
    }

    /// By name or id.
    #[tracing::instrument(name = "fleet.orgs.get", skip_all)]
    pub async fn get(&self, who: &Identity, org: &str) -> Result<OrgView, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (who, org, now) = (who.clone(), org.to_owned(), self.context.now());
        self.context
            .store()
            .read(move |tx| {
                let org = find_org(tx, &org)?;
                let view = view(tx, &who, org, &Month::of(now).to_string())?;
                let is_persons = who.token.kind == TokenKind::SignIn && view.role.is_some();
                // A program's token is of one org, whatever else its holder is in.
                if who.runs_warren() || is_persons || view.org.id == who.token.org_id {
                    Ok(view)
                } else {
                    Err(Error::new(ErrorCode::OrgNotFound))
                }
            })
            .await
    }

    #[tracing::instrument(name = "fleet.orgs.create", skip_all)]
    pub async fn create(
        &self,
        who: &Identity,
        name: &str,
        quotas: Option<OrgQuotas>,
    ) -> Result<OrgView, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        let org = Org {
            id: self.context.new_id(),
            name: parse_name(name)?,
            quotas: check_quotas(quotas.unwrap_or_else(OrgQuotas::of_new_org))?,
            created_at: self.context.now(),
            removed_at: None,
        };
        let (row, actor, who) = (org, Actor::of(who), who.clone());
        let now = self.context.now();
        self.context
            .store()
            .write(move |tx| {
                match tx.insert_org(&row) {
                    Err(warren_store::Error::AlreadyExists) => return Err(Error::new(ErrorCode::NameTaken)),
                    written => written?,
                }
                tell(tx, &row, AuditAction::OrgCreated, &actor, now)?;
                view(tx, &who, row.clone(), &Month::of(now).to_string())
            })
            .await
    }

    #[tracing::instrument(name = "fleet.orgs.change", skip_all)]
    pub async fn change(&self, who: &Identity, org: &str, change: ChangeOrg) -> Result<OrgView, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        let name = change.name.as_deref().map(parse_name).transpose()?;
        let quotas = change.quotas.map(check_quotas).transpose()?;
        let (who, org, now) = (who.clone(), org.to_owned(), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let mut org = find_org(tx, &org)?;
                if let Some(name) = &name {
                    if tx.org_by_name(name)?.is_some_and(|other| other.id != org.id) {
                        return Err(Error::new(ErrorCode::NameTaken));
                    }
                    org.name = name.clone();
                }
                if let Some(quotas) = &quotas {
                    org.quotas = quotas.clone();
                }
                tx.update_org(&org)?;
                tell(tx, &org, AuditAction::OrgChanged, &Actor::of(&who), now)?;
                view(tx, &who, org, &Month::of(now).to_string())
            })
            .await
    }

    /// Removes an org that has no workspaces any more. Whoever is in it is let in no more.
    #[tracing::instrument(name = "fleet.orgs.remove", skip_all)]
    pub async fn remove(&self, who: &Identity, org: &str) -> Result<(), Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        let (org, actor, now) = (org.to_owned(), Actor::of(who), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let mut org = find_org(tx, &org)?;
                if org.id == OrgId::DEFAULT {
                    return Err(Error::new(ErrorCode::OrgProtected));
                }
                if tx.count_workspaces(org.id)? > 0 {
                    return Err(Error::new(ErrorCode::OrgNotEmpty));
                }
                org.removed_at = Some(now);
                tx.update_org(&org)?;
                tell(tx, &org, AuditAction::OrgRemoved, &actor, now)
            })
            .await
    }
}

/// By name or id; one that is removed is not there.
pub(crate) fn find_org(tx: &mut (impl ReadTx + ?Sized), text: &str) -> Result<Org, Error> {
    let not_found = || Error::new(ErrorCode::OrgNotFound);
    let found = match text.parse::<OrgId>() {
        Ok(id) => tx.org(id)?.filter(|org| org.removed_at.is_none()),
        Err(_) => tx.org_by_name(&text.parse().map_err(|_| not_found())?)?,
    };
    found.ok_or_else(not_found)
}

/// An org that is there.
pub(crate) fn org_in(tx: &mut (impl ReadTx + ?Sized), id: OrgId) -> Result<Org, Error> {
    let found = tx.org(id)?.filter(|org| org.removed_at.is_none());
    found.ok_or_else(|| Error::new(ErrorCode::OrgNotFound))
}

fn own_orgs(tx: &mut dyn ReadTx, who: &Identity) -> Result<Page<Org, OrgId>, Error> {
    let mut own = user_id(&who.principal).map_or(Ok(Vec::new()), |id| tx.orgs_of(id))?;
    own.retain(|(org, _)| who.token.kind == TokenKind::SignIn || org.id == who.token.org_id);
    Ok(Page { rows: own.into_iter().map(|(org, _)| org).collect(), next: None, unreadable: Vec::new() })
}

fn view(tx: &mut (impl ReadTx + ?Sized), who: &Identity, org: Org, month: &str) -> Result<OrgView, Error> {
    let member = user_id(&who.principal).map(|id| tx.member(org.id, id)).transpose()?.flatten();
    let role = member.filter(|member| member.left_at.is_none()).map(|member| member.role);
    // A narrow token of an operator is not shown more than its scopes say.
    let runs_it = who.runs_org() && org.id == who.token.org_id;
    let usage = if who.runs_warren() || runs_it { Some(usage_of(tx, org.id, month)?) } else { None };
    Ok(OrgView { org, role, usage })
}

fn usage_of(tx: &mut (impl ReadTx + ?Sized), id: OrgId, month: &str) -> Result<OrgUsage, Error> {
    Ok(OrgUsage {
        workspaces: tx.count_workspaces(id)?,
        members: tx.count_members(id, None)?,
        sessions_running: tx.count_running_sessions(id)?,
        month: month.to_owned(),
        spent_micros: tx.spent_by_org(id, month)?,
    })
}

fn parse_name(text: &str) -> Result<ShortName, Error> {
    let wrong = |error| Error::with_detail(ErrorCode::InvalidRequest, format!("name: {error}"));
    text.parse().map_err(wrong)
}

fn check_quotas(quotas: OrgQuotas) -> Result<OrgQuotas, Error> {
    if quotas.monthly_spend_micros.is_some_and(|limit| i64::try_from(limit).is_err()) {
        let detail = "quotas.monthly_spend_micros: that is more than can be counted";
        return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
    }
    Ok(quotas)
}

fn tell(
    tx: &mut dyn WriteTx,
    org: &Org,
    action: AuditAction,
    actor: &Actor,
    now: warren_model::Timestamp,
) -> Result<(), Error> {
    let actor = actor.clone().in_org(org.id);
    let details = AuditDetails::Org { name: org.name.to_string(), quotas: org.quotas.clone() };
    tx.append_audit(&actor.did(now, action, AuditTargetKind::Org, &org.id.to_string(), &details))?;
    Ok(())
}

//! What workspaces spend, and what they may (F36). Counted by Warren, never by what a runtime says.

use warren_model::event::{WorkspaceBudgetExhausted, WorkspaceModelCalled, WorkspaceSpecChanged};
use warren_model::{AuditAction, AuditDetails, ErrorCode, Principal, Timestamp, Workspace, WorkspaceId};
use warren_rules::access::budget::{Month, Standing, standing};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{OrgReads, SpendingReads};

use crate::access::WorkspaceAccess;
use crate::lifecycle::event_of;
use crate::orgs::left_for_org;
use crate::workspaces::live_row;

/// How a workspace stands in a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Such as `2026-11`, in UTC.
    pub month: String,
    pub limit_micros: Option<u64>,
    pub spent_micros: u64,
    pub standing: Standing,
}

/// What is set aside for a call that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    id: WorkspaceId,
    at: Timestamp,
    /// Nothing where nobody counts.
    micros: u64,
}

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Budgets {
    context: Context,
    access: WorkspaceAccess,
}

impl Budgets {
    pub(crate) fn new(context: Context, access: WorkspaceAccess) -> Self {
        Self { context, access }
    }

    #[tracing::instrument(name = "fleet.budgets.get", skip_all, fields(workspace.id = %id))]
    pub async fn get(&self, who: &Identity, id: WorkspaceId) -> Result<Budget, Error> {
        let row = self.access.get(who, Action::ReadWorkspaces, id).await?;
        self.budget_of(&row).await
    }

    /// Sets what a workspace may spend in a month, or takes the limit away.
    #[tracing::instrument(name = "fleet.budgets.set", skip_all, fields(workspace.id = %id))]
    pub async fn set(
        &self,
        who: &Identity,
        id: WorkspaceId,
        limit_micros: Option<u64>,
    ) -> Result<Budget, Error> {
        if limit_micros.is_some_and(|limit| i64::try_from(limit).is_err()) {
            let detail = "monthly_limit_micros: that is more than can be counted";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let (inputs, actor) = (self.context.inputs(&who.principal, ()), Actor::of(who));
        let row = self
            .context
            .write_with_retries(true, move |tx| {
                let mut row = live_row(tx, id)?;
                if row.spec.monthly_budget_micros != limit_micros {
                    let details = AuditDetails::BudgetSet {
                        from_micros: row.spec.monthly_budget_micros,
                        to_micros: limit_micros,
                    };
                    let action = AuditAction::BudgetSet;
                    tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                    row.spec.monthly_budget_micros = limit_micros;
                    row.updated_at = inputs.now;
                    let fields = vec!["monthly_budget_micros".to_owned()];
                    let data = WorkspaceSpecChanged { fields, generation: row.generation };
                    tx.append_event(&event_of(&row, &inputs.by, inputs.now, data))?;
                    row.version = tx.update_workspace(&row, row.version)?;
                }
                Ok(row)
            })
            .await?;
        self.budget_of(&row).await
    }

    /// Adds what a piece of work cost. The moment the budget is used up is told once.
    #[tracing::instrument(name = "fleet.budgets.charge", skip_all, fields(workspace.id = %id))]
    pub async fn charge(&self, id: WorkspaceId, micros: u64) -> Result<(), Error> {
        let inputs = self.context.inputs(&Principal::system("budgets"), ());
        let month = Month::of(inputs.now).to_string();
        self.context
            .store()
            .write(move |tx| {
                let spent = tx.add_spending(id, &month, i64::try_from(micros).unwrap_or(i64::MAX))?;
                let Some(row) = tx.workspace(id)? else { return Ok(()) };
                let limit = row.spec.monthly_budget_micros;
                let before = standing(limit, spent.saturating_sub(micros));
                if standing(limit, spent) == Standing::Exhausted && before != Standing::Exhausted {
                    let month = month.clone();
                    let data = WorkspaceBudgetExhausted { month, limit_micros: limit, spent_micros: spent };
                    tx.append_event(&event_of(&row, &inputs.by, inputs.now, data))?;
                }
                Ok(())
            })
            .await
    }

    /// Lets work begin only while there is budget left for it.
    pub async fn check(&self, row: &Workspace) -> Result<(), Error> {
        let (row, now) = (row.clone(), self.context.now());
        self.context.store().read_few(move |tx| require_budget(tx, &row, now)).await
    }

    /// Sets aside the most that a call may cost, where somebody counts; refused where so much is not left (A14). What is
    /// not settled, since this process died, stays spent: the call may have cost as much.
    pub async fn reserve(&self, row: &Workspace, most_micros: u64) -> Result<Reservation, Error> {
        let (row, now) = (row.clone(), self.context.now());
        let id = row.id;
        let seen = row.clone();
        let is_counted = self
            .context
            .store()
            .read_few(move |tx| {
                let of_org = left_for_org(tx, seen.org_id, 0, now)?;
                Ok::<_, Error>(of_org.is_some() || seen.spec.monthly_budget_micros.is_some())
            })
            .await?;
        if !is_counted {
            return Ok(Reservation { id, at: now, micros: 0 });
        }
        let reserved = self
            .context
            .store()
            .write(move |tx| {
                require_budget(tx, &row, now)?;
                let month = Month::of(now).to_string();
                let of_org = left_for_org(tx, row.org_id, 0, now)?;
                let of_workspace = match standing(row.spec.monthly_budget_micros, tx.spent(row.id, &month)?) {
                    Standing::Unlimited => None,
                    Standing::Within { left_micros } => Some(left_micros),
                    Standing::Exhausted => Some(0),
                };
                let Some(left) = [of_org, of_workspace].into_iter().flatten().min() else { return Ok(0) };
                if most_micros > left {
                    let detail =
                        format!("{left} millionths are left this month, and the call may cost {most_micros}");
                    return Err(Error::with_detail(ErrorCode::BudgetExhausted, detail));
                }
                tx.add_spending(row.id, &month, i64::try_from(most_micros).unwrap_or(i64::MAX))?;
                Ok(most_micros)
            })
            .await?;
        Ok(Reservation { id, at: now, micros: reserved })
    }

    /// Puts what a call cost in place of what was set aside for it, and tells of it.
    pub async fn settle(&self, reservation: Reservation, called: WorkspaceModelCalled) -> Result<(), Error> {
        let inputs = self.context.inputs(&Principal::workspace(reservation.id), ());
        self.context
            .store()
            .write(move |tx| {
                let Reservation { id, at, micros } = reservation;
                let (then, month) = (Month::of(at).to_string(), Month::of(inputs.now).to_string());
                if micros > 0 {
                    tx.add_spending(id, &then, i64::try_from(micros).map_or(i64::MIN, |micros| -micros))?;
                }
                let cost = called.cost_micros;
                let spent = tx.add_spending(id, &month, i64::try_from(cost).unwrap_or(i64::MAX))?;
                let Some(row) = tx.workspace(id)? else { return Ok(()) };
                tx.append_event(&event_of(&row, &inputs.by, inputs.now, called.clone()))?;
                let limit = row.spec.monthly_budget_micros;
                let before = standing(limit, spent.saturating_sub(cost));
                if standing(limit, spent) == Standing::Exhausted && before != Standing::Exhausted {
                    let data = WorkspaceBudgetExhausted { month, limit_micros: limit, spent_micros: spent };
                    tx.append_event(&event_of(&row, &inputs.by, inputs.now, data))?;
                }
                Ok(())
            })
            .await
    }

    async fn budget_of(&self, row: &Workspace) -> Result<Budget, Error> {
        let (id, limit_micros) = (row.id, row.spec.monthly_budget_micros);
        let month = Month::of(self.context.now()).to_string();
        let asked = month.clone();
        let spent_micros =
            self.context.store().read(move |tx| tx.spent(id, &asked).map_err(Error::from)).await?;
        Ok(Budget { month, limit_micros, spent_micros, standing: standing(limit_micros, spent_micros) })
    }
}

/// As [`Budgets::check`], for those who accept work in a transaction of their own.
pub fn require_budget(
    tx: &mut (impl SpendingReads + OrgReads + ?Sized),
    row: &Workspace,
    now: Timestamp,
) -> Result<(), Error> {
    if left_for_org(tx, row.org_id, 0, now)? == Some(0) {
        let detail = "the org has spent its quota for this month; who runs this Warren may raise it";
        return Err(Error::with_detail(ErrorCode::BudgetExhausted, detail));
    }
    let limit = row.spec.monthly_budget_micros;
    if limit.is_none() {
        return Ok(());
    }
    let month = Month::of(now).to_string();
    let spent = tx.spent(row.id, &month)?;
    match standing(limit, spent) {
        Standing::Unlimited | Standing::Within { .. } => Ok(()),
        Standing::Exhausted => {
            let detail = format!("{spent} of it were spent in {month}");
            Err(Error::with_detail(ErrorCode::BudgetExhausted, detail))
        }
    }
}

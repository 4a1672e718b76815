//! Questions of workspaces to people: asked, decided once, and waited for (X51).
//!
//! ```text
//!   agent ── ask ──▶ row, event ──▶ people see it
//!     │                              │ decide: compare-and-set on `pending`, event, audit entry
//!     └── GET …?wait_ms ◀── woken by the event, on this replica or another; the row is the truth
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use warren_fleet::Fleet;
use warren_model::event::{ApprovalDecided, ApprovalRequested};
use warren_model::{
    Approval, ApprovalId, ApprovalState, AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData,
    NewEvent, Principal, RuleScopeKind, SessionId, Status, TaskId, Timestamp, WorkspaceId,
};
use warren_rules::messages::approvals::{
    self, ApprovalRefusal, DEFAULT_WAIT_SECONDS, Decider, Decision, MAX_WAIT_SECONDS,
};
use warren_rules::messages::memory::scrub;
use warren_rules::text::redaction::Redactor;
use warren_service::Action;
use warren_service::{Actor, Context, Error, Identity};
use warren_store::{ApprovalQuery, Page, WriteTx};

pub use warren_rules::messages::approvals::Decision as ApprovalDecision;

/// How long one request may wait for a decision.
pub const MAX_APPROVAL_WAIT_MS: u64 = 60_000;
/// Between two looks at the row while other things happen.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const BATCH: u32 = 100;

/// A question that a workspace has.
#[derive(Debug, Clone, PartialEq)]
pub struct AskApproval {
    pub action: String,
    pub reason: String,
    /// An object.
    pub context: Value,
    /// Nobody decided after so long: expired. Absent: after a day.
    pub expires_in_seconds: Option<u32>,
    pub task_id: Option<TaskId>,
}

/// Whoever waits for decisions about tool calls: the sessions of hosted agents. The decision and what follows from it are
/// one transaction.
#[async_trait]
pub trait CallDecisions: Send + Sync + std::fmt::Debug {
    /// Whether the call can be carried out with these arguments instead; asked before the decision is written.
    async fn check_edited(&self, approval: &Approval, arguments: &Value) -> Result<(), Error>;
    /// A question about a tool call was decided, or nobody decided it in time. An error undoes the decision.
    fn decided(&self, tx: &mut dyn WriteTx, approval: &Approval, now: Timestamp) -> Result<(), Error>;
    /// With a decision a person asked that such calls are allowed from now on. An error undoes the decision.
    fn remember(
        &self,
        tx: &mut dyn WriteTx,
        approval: &Approval,
        remembered: &RememberDecision,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<(), Error>;
    /// It is on disk: whoever waits may go on.
    fn committed(&self, approval: &Approval);
}

/// What somebody decides about a question.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalAnswer {
    pub decision: Decision,
    pub note: Option<String>,
    /// Other arguments for the tool call that is asked about.
    pub edited: Option<Value>,
    /// Such calls are allowed from now on.
    pub remember: Option<RememberDecision>,
    /// The caller said that it may say the same again: who decided just so before is answered with what was decided (A7).
    pub is_repeatable: bool,
}

impl ApprovalAnswer {
    pub const fn new(decision: Decision) -> Self {
        Self { decision, note: None, edited: None, remember: None, is_repeatable: false }
    }

    /// Whether this is what was decided, by the same one.
    fn is_repeat_of(&self, row: &Approval, by: &Principal) -> bool {
        let state = match self.decision {
            Decision::Approve => ApprovalState::Approved,
            Decision::Deny => ApprovalState::Denied,
        };
        row.state == state
            && row.decided_by.as_ref() == Some(by)
            && row.note == self.note
            && row.edited == self.edited
    }
}

/// A rule that a person makes with an approval: "always allow" (A23).
#[derive(Debug, Clone, PartialEq)]
pub struct RememberDecision {
    /// Where the calls are allowed.
    pub scope: RuleScopeKind,
    /// Patterns for arguments; empty: every call of the tool.
    pub arguments: BTreeMap<String, String>,
    /// Absent: until it is revoked.
    pub expires_in_seconds: Option<u32>,
}

/// Questions of workspaces to people.
#[derive(Debug, Clone)]
pub struct Approvals {
    context: Context,
    fleet: Fleet,
    call_decisions: Arc<OnceLock<Arc<dyn CallDecisions>>>,
}

impl Approvals {
    pub(crate) fn new(context: Context, fleet: Fleet) -> Self {
        Self { context, fleet, call_decisions: Arc::default() }
    }

    /// Says who waits for decisions about tool calls. Once, where everything is put together.
    pub fn tell_call_decisions_to(&self, sessions: Arc<dyn CallDecisions>) {
        let _ = self.call_decisions.set(sessions);
    }

    fn follow_up(
        call_decisions: Option<&Arc<dyn CallDecisions>>,
        tx: &mut dyn WriteTx,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<(), Error> {
        match call_decisions {
            Some(sessions) if approval.subject.is_some() => sessions.decided(tx, approval, now),
            Some(_) | None => Ok(()),
        }
    }

    fn after_commit(&self, approval: &Approval) {
        if let Some(sessions) = self.call_decisions.get()
            && approval.subject.is_some()
        {
            sessions.committed(approval);
        }
    }

    /// Asks people. Credentials in what they are shown are masked.
    #[tracing::instrument(name = "exchange.approvals.ask", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn ask(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        ask: AskApproval,
    ) -> Result<Approval, Error> {
        let row = self.fleet.workspaces.get(who, Action::UseWorkspace, workspace_id).await?;
        check(&ask)?;
        let known = self.fleet.redactors.of_workspace(&row).await?;
        let now = self.context.now();
        let wait = ask.expires_in_seconds.unwrap_or(DEFAULT_WAIT_SECONDS);
        let approval = Approval {
            id: self.context.entropy().id(now),
            org_id: row.org_id,
            workspace_id,
            task_id: ask.task_id,
            action: scrub(&ask.action, &known).text,
            reason: scrub(&ask.reason, &known).text,
            context: scrub_json(ask.context, &known),
            subject: None,
            asked_by: who.principal.clone(),
            state: ApprovalState::Pending,
            decided_by: None,
            decided_at: None,
            note: None,
            edited: None,
            created_at: now,
            expires_at: now.plus_ms(i64::from(wait) * 1_000),
        };
        let (asked, max) = (approval.clone(), u64::from(self.context.limits().max_pending_approvals));
        self.context
            .store()
            .write(move |tx| {
                let place = tx.workspace(workspace_id)?.filter(|row| row.status != Status::Removed);
                place.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                if let Some(task_id) = asked.task_id {
                    let task = tx.task(task_id)?.filter(|task| task.workspace_id == workspace_id);
                    task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
                }
                if tx.count_pending_approvals(workspace_id)? >= max {
                    return Err(Error::new(ErrorCode::ApprovalLimit));
                }
                tx.insert_approval(&asked)?;
                let data = ApprovalRequested {
                    approval_id: asked.id,
                    action: asked.action.clone(),
                    expires_at: asked.expires_at,
                };
                Ok(tx.append_event(&event_of(&asked, &asked.asked_by, asked.created_at, data))?)
            })
            .await?;
        Ok(approval)
    }

    /// As it is now: what is late is expired, whether somebody has noted that or not.
    #[tracing::instrument(name = "exchange.approvals.get", skip_all, fields(approval.id = %id))]
    pub async fn get(&self, who: &Identity, id: ApprovalId) -> Result<Approval, Error> {
        let row = self.find(id).await?;
        self.may(who, Action::ReadWorkspaces, &row).await?;
        Ok(approvals::expire(&row, self.context.now()).unwrap_or(row))
    }

    /// The same, once it is decided, or after a while.
    #[tracing::instrument(name = "exchange.approvals.wait_for", skip_all, fields(approval.id = %id))]
    pub async fn wait_for(&self, who: &Identity, id: ApprovalId, wait_ms: u64) -> Result<Approval, Error> {
        // Listening begins before the row is read, so that nothing falls between.
        let mut newest = self.context.store().newest_event();
        let wait = Duration::from_millis(wait_ms.min(MAX_APPROVAL_WAIT_MS));
        let mut over = std::pin::pin!(tokio::time::sleep(wait));
        loop {
            newest.borrow_and_update();
            let row = self.get(who, id).await?;
            if row.state != ApprovalState::Pending || over.is_elapsed() {
                return Ok(row);
            }
            tokio::select! {
                () = self.context.stopping().cancelled() => return Ok(row),
                () = &mut over => {}
                _ = newest.changed() => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }

    /// Those of one workspace, or all that the caller may see; the newest first.
    #[tracing::instrument(name = "exchange.approvals.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        mut query: ApprovalQuery,
    ) -> Result<Page<Approval, ApprovalId>, Error> {
        match query.workspace_id {
            Some(id) => drop(self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?),
            None => who.may_in_own_org(Action::ReadWorkspaces)?,
        }
        query.org_id = who.visible_org();
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        let page = self.context.store().read(move |tx| tx.approvals(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// Decides, as a person.
    #[tracing::instrument(name = "exchange.approvals.decide", skip_all, fields(approval.id = %id))]
    pub async fn decide(
        &self,
        who: &Identity,
        id: ApprovalId,
        answer: ApprovalAnswer,
    ) -> Result<Approval, Error> {
        let row = self.find(id).await?;
        if !who.is_person() {
            self.may(who, Action::ReadWorkspaces, &row).await?;
            return Err(Error::new(ErrorCode::NotAPerson));
        }
        self.may(who, Action::DecideApprovals, &row).await?;
        check_note(answer.note.as_deref())?;
        if answer.edited.is_some() && (row.subject.is_none() || answer.decision == Decision::Deny) {
            let detail = "arguments: only an approved tool call has arguments that can be changed";
            return Err(Error::with_detail(ErrorCode::InvalidApproval, detail));
        }
        if let Some(remember) = &answer.remember {
            if row.subject.is_none() || answer.decision == Decision::Deny {
                let detail = "remember: only an approved tool call can be allowed from now on";
                return Err(Error::with_detail(ErrorCode::InvalidApproval, detail));
            }
            // What counts beyond the workspace is for those who decide beyond it.
            match remember.scope {
                RuleScopeKind::Session | RuleScopeKind::Workspace => {}
                RuleScopeKind::Agent | RuleScopeKind::Org => who.may_in_own_org(Action::DecideApprovals)?,
            }
        }
        if let (Some(edited), Some(sessions)) = (&answer.edited, self.call_decisions.get()) {
            sessions.check_edited(&row, edited).await?;
        }
        let decider = Decider::Caller { principal: who.principal.clone(), token: who.token.kind };
        self.write_decision(id, decider, Actor::of(who), answer).await
    }

    /// Decides about a tool call of this session. A question of another one does not exist here.
    pub async fn decide_in_session(
        &self,
        who: &Identity,
        session_id: SessionId,
        id: ApprovalId,
        answer: ApprovalAnswer,
    ) -> Result<Approval, Error> {
        let row = self.find(id).await?;
        if row.subject.is_none_or(|subject| subject.session_id != session_id) {
            return Err(Error::new(ErrorCode::ApprovalNotFound));
        }
        self.decide(who, id, answer).await
    }

    /// Decides by a rule that people wrote down beforehand.
    #[tracing::instrument(name = "exchange.approvals.decide_by_policy", skip_all, fields(approval.id = %id))]
    pub async fn decide_by_policy(
        &self,
        policy: &str,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, Error> {
        let row = self.find(id).await?;
        let actor = Actor::system(&format!("policy/{policy}"), row.org_id);
        let answer = ApprovalAnswer::new(decision);
        self.write_decision(id, Decider::Policy(policy.to_owned()), actor, answer).await
    }

    async fn write_decision(
        &self,
        id: ApprovalId,
        decider: Decider,
        actor: Actor,
        answer: ApprovalAnswer,
    ) -> Result<Approval, Error> {
        let now = self.context.now();
        let call_decisions = self.call_decisions.get().cloned();
        let decided = self
            .context
            .store()
            .write(move |tx| {
                let row = tx.approval(id)?.ok_or_else(|| Error::new(ErrorCode::ApprovalNotFound))?;
                if answer.is_repeatable && answer.is_repeat_of(&row, &decider.principal()) {
                    return Ok((row, false));
                }
                let decision = answer.decision;
                let decided = approvals::decide(&row, &decider, decision, answer.note.clone(), now)
                    .map_err(of_refusal)?;
                let decided = Approval { edited: answer.edited.clone(), ..decided };
                if !tx.settle_approval(&decided)? {
                    return Err(Error::new(ErrorCode::ApprovalOver));
                }
                tell_decided(tx, &decided, &decider.principal(), now)?;
                let action = match decision {
                    Decision::Approve => AuditAction::ApprovalApproved,
                    Decision::Deny => AuditAction::ApprovalDenied,
                };
                let details = AuditDetails::ApprovalDecided {
                    action: decided.action.clone(),
                    workspace_id: decided.workspace_id,
                };
                let kind = AuditTargetKind::Approval;
                tx.append_audit(&actor.did(now, action, kind, &id.to_string(), &details))?;
                Self::follow_up(call_decisions.as_ref(), tx, &decided, now)?;
                if let (Some(remember), Some(sessions)) = (&answer.remember, &call_decisions) {
                    sessions.remember(tx, &decided, remember, &actor, now)?;
                }
                Ok::<_, Error>((decided, true))
            })
            .await?;
        let (decided, is_new) = decided;
        if is_new {
            self.after_commit(&decided);
        }
        Ok(decided)
    }

    /// Takes a question of one's own back: who asked it does not wait for the answer any more.
    #[tracing::instrument(name = "exchange.approvals.withdraw", skip_all, fields(approval.id = %id))]
    pub async fn withdraw(
        &self,
        who: &Identity,
        id: ApprovalId,
        note: Option<String>,
    ) -> Result<Approval, Error> {
        let row = self.find(id).await?;
        self.may(who, Action::UseWorkspace, &row).await?;
        check_note(note.as_deref())?;
        let workspace = self.fleet.workspaces.get(who, Action::UseWorkspace, row.workspace_id).await?;
        let known = self.fleet.redactors.of_workspace(&workspace).await?;
        let note = note.map(|note| scrub(&note, &known).text);
        if row.subject.is_some() {
            let detail = "a question about a tool call is taken back by its session alone";
            return Err(Error::with_detail(ErrorCode::Forbidden, detail));
        }
        self.void(vec![id], who.principal.clone(), note).await?;
        self.get(who, id).await
    }

    /// The agent of a workspace has ended, and with it whoever waited for answers: what it asked for a task is void.
    #[tracing::instrument(name = "exchange.approvals.void_of_former_runner", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn void_of_former_runner(&self, workspace_id: WorkspaceId) -> Result<(), Error> {
        let asker = Principal::workspace(workspace_id);
        loop {
            let query = ApprovalQuery {
                org_id: None,
                workspace_id: Some(workspace_id),
                state: Some(ApprovalState::Pending),
                before: None,
                limit: BATCH,
            };
            let page = self.context.store().read(move |tx| tx.approvals(&query).map_err(Error::from)).await?;
            let of_tasks = page
                .rows
                .iter()
                .filter(|row| row.task_id.is_some() && row.subject.is_none() && row.asked_by == asker);
            let ids: Vec<ApprovalId> = of_tasks.map(|row| row.id).collect();
            if ids.is_empty() {
                return Ok(());
            }
            let note = "the runner of the agent that asked has ended";
            self.void(ids, asker.clone(), Some(note.to_owned())).await?;
        }
    }

    async fn void(&self, ids: Vec<ApprovalId>, by: Principal, note: Option<String>) -> Result<(), Error> {
        let (now, is_one) = (self.context.now(), ids.len() == 1);
        self.context
            .store()
            .write(move |tx| {
                for id in &ids {
                    let row = tx.approval(*id)?.ok_or_else(|| Error::new(ErrorCode::ApprovalNotFound))?;
                    let void = match approvals::withdraw(&row, &by, note.clone(), now) {
                        Ok(void) => void,
                        // Of many, some may be over by now.
                        Err(refusal) if is_one => return Err(of_refusal(refusal)),
                        Err(_) => continue,
                    };
                    if tx.settle_approval(&void)? {
                        tell_decided(tx, &void, &by, now)?;
                    }
                }
                Ok::<_, Error>(())
            })
            .await
    }

    /// Notes what nobody decided in time, so that who waits is told.
    pub(crate) async fn expire_late(&self) -> Result<(), Error> {
        let now = self.context.now();
        let late =
            self.context.store().read(move |tx| tx.late_approvals(now, BATCH).map_err(Error::from)).await?;
        let late = self.context.readable(late);
        if late.is_empty() {
            return Ok(());
        }
        let call_decisions = self.call_decisions.get().cloned();
        let expired = self
            .context
            .store()
            .write(move |tx| {
                let mut settled = Vec::new();
                for row in &late {
                    let Some(expired) = approvals::expire(row, now) else { continue };
                    if tx.settle_approval(&expired)? {
                        tell_decided(tx, &expired, &Principal::system("exchange"), now)?;
                        Self::follow_up(call_decisions.as_ref(), tx, &expired, now)?;
                        settled.push(expired);
                    }
                }
                Ok::<_, Error>(settled)
            })
            .await?;
        expired.iter().for_each(|approval| self.after_commit(approval));
        Ok(())
    }

    async fn find(&self, id: ApprovalId) -> Result<Approval, Error> {
        let row = self.context.store().read(move |tx| tx.approval(id).map_err(Error::from)).await?;
        row.ok_or_else(|| Error::new(ErrorCode::ApprovalNotFound))
    }

    /// To those who may not know its workspace, the question does not exist.
    async fn may(&self, who: &Identity, action: Action, row: &Approval) -> Result<(), Error> {
        match self.fleet.workspaces.get(who, action, row.workspace_id).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == ErrorCode::WorkspaceNotFound => {
                Err(Error::new(ErrorCode::ApprovalNotFound))
            }
            Err(error) => Err(error),
        }
    }
}

fn of_refusal(refusal: ApprovalRefusal) -> Error {
    match refusal {
        ApprovalRefusal::NotAPerson => Error::new(ErrorCode::NotAPerson),
        ApprovalRefusal::OwnQuestion => {
            Error::with_detail(ErrorCode::Forbidden, "nobody decides a question of their own")
        }
        ApprovalRefusal::NotTheAsker => {
            Error::with_detail(ErrorCode::Forbidden, "a question is taken back by who asked it")
        }
        ApprovalRefusal::Over(state) => {
            Error::with_detail(ErrorCode::ApprovalOver, format!("the question is {state}"))
        }
    }
}

fn check_note(note: Option<&str>) -> Result<(), Error> {
    let text = note.unwrap_or_default();
    within("note", text.len(), Approval::MAX_NOTE_BYTES)?;
    if text.contains('\0') {
        return Err(Error::with_detail(ErrorCode::InvalidApproval, "note: expected text without NUL"));
    }
    Ok(())
}

fn check(ask: &AskApproval) -> Result<(), Error> {
    let invalid = |detail: String| Err(Error::with_detail(ErrorCode::InvalidApproval, detail));
    let characters = ask.action.chars().count();
    if !(1..=Approval::MAX_ACTION_CHARACTERS).contains(&characters)
        || ask.action.chars().any(char::is_control)
    {
        let max = Approval::MAX_ACTION_CHARACTERS;
        return invalid(format!("action: expected 1 to {max} characters without control characters"));
    }
    if ask.reason.is_empty() || ask.reason.contains('\0') {
        return invalid("reason: expected some text, without NUL".to_owned());
    }
    let context = ask.context.to_string();
    if !ask.context.is_object() || context.contains("\\u0000") {
        return invalid("context: expected an object, without NUL".to_owned());
    }
    within("reason", ask.reason.len(), Approval::MAX_REASON_BYTES)?;
    within("context", context.len(), Approval::MAX_CONTEXT_BYTES)?;
    if ask.expires_in_seconds.is_some_and(|seconds| !(1..=MAX_WAIT_SECONDS).contains(&seconds)) {
        return invalid(format!("expires_in_seconds: expected 1 to {MAX_WAIT_SECONDS}"));
    }
    Ok(())
}

/// X5: a size has a limit with an answer of its own.
fn within(field: &str, bytes: usize, max: usize) -> Result<(), Error> {
    if bytes <= max {
        return Ok(());
    }
    let detail = format!("{field}: it has {bytes} bytes, and may have {max}");
    Err(Error::with_detail(ErrorCode::PayloadTooLarge, detail))
}

/// Texts at any depth; names of fields too.
fn scrub_json(value: Value, known: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(scrub(&text, known).text),
        Value::Array(items) => items.into_iter().map(|item| scrub_json(item, known)).collect(),
        Value::Object(fields) => {
            let scrubbed =
                |(name, value): (String, Value)| (scrub(&name, known).text, scrub_json(value, known));
            Value::Object(fields.into_iter().map(scrubbed).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn tell_decided(tx: &mut dyn WriteTx, row: &Approval, by: &Principal, now: Timestamp) -> Result<(), Error> {
    let data = ApprovalDecided { approval_id: row.id, action: row.action.clone(), state: row.state };
    Ok(tx.append_event(&event_of(row, by, now, data))?)
}

fn event_of(row: &Approval, by: &Principal, at: Timestamp, data: impl Into<EventData>) -> NewEvent {
    let (org_id, workspace_id) = (row.org_id, Some(row.workspace_id));
    NewEvent { at, org_id, workspace_id, principal: by.clone(), data: data.into() }
}

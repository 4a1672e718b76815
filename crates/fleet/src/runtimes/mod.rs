//! Runtimes that make themselves known, and what they report (F10 to F17).

mod probes;

pub(crate) use probes::Probes;
pub use probes::{NoProbe, RuntimeProbe};

use warren_model::event::{WorkspaceCardChanged, WorkspaceHeartbeat, WorkspaceRegistered};
use warren_model::session::PhaseKind;
use warren_model::{
    AuditAction, AuditDetails, ErrorCode, MadeWithToken, NewEvent, Principal, Registration, ReportDoubt,
    Runtime, RuntimeReport, ScopeSet, Status, StatusReason, Timestamp, Token, TokenKind, TokenSecret, Vitals,
    Workspace, WorkspaceId, truncate_utf8,
};
use warren_rules::lifecycle::reconcile::is_well_again;
use warren_rules::lifecycle::vitals::{
    after_report, after_sessions, is_news, mask_report, wedge_reason, without_fresh_start,
};
use warren_rules::lifecycle::{Signal, residents};
use warren_service::{Actor, Context, Error, Identity, Redactors};
use warren_store::{SessionQuery, WriteTx};

use crate::lifecycle::{SignalOptions, TxInputs, apply_signal_knowing, event_of};
use crate::workspaces::live_row;
use crate::{Config, Minted};

/// Sessions that are counted; a workspace with more is as busy.
const MAX_COUNTED: u32 = 500;

/// What a runtime says when it registers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Register {
    pub version: Option<String>,
    /// How the agent describes itself; kept as it is.
    pub agent_card: Option<serde_json::Value>,
    pub report: RuntimeReport,
}

/// A runtime that was taken in, with the credential of this boot.
#[derive(Debug, Clone)]
pub struct Registered {
    pub workspace: Workspace,
    pub boots: u64,
    pub credential: Minted,
    /// Silent for longer: offline.
    pub liveness_ms: i64,
    pub doubts: Vec<ReportDoubt>,
    /// It counts as wedged, by this error; one that begins anew goes on from there.
    pub wedge: Option<String>,
}

/// The answer to a report.
#[derive(Debug, Clone)]
pub struct Heard {
    pub workspace: Workspace,
    pub vitals: Vitals,
    pub liveness_ms: i64,
    pub doubts: Vec<ReportDoubt>,
}

/// Takes in runtimes and their reports. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtimes {
    context: Context,
    config: Config,
    redactors: Redactors,
    probes: Probes,
}

impl Runtimes {
    pub(crate) fn new(context: Context, config: Config, redactors: Redactors, probes: Probes) -> Self {
        Self { context, config, redactors, probes }
    }

    /// Something waits for a runtime of which nothing was heard: it is asked now rather than with the next sweep.
    pub fn look_for(&self, id: WorkspaceId) {
        self.probes.look_for_in_background(id);
    }

    /// How long work may show no progress, where a workspace says nothing itself.
    pub fn idle_timeout_ms(&self) -> i64 {
        self.config.expectations.idle_timeout_ms
    }

    /// What the workspace's runtime said about itself when it registered last; absent: none ever did.
    pub async fn registration(&self, id: WorkspaceId) -> Result<Option<Registration>, Error> {
        self.context.store().read(move |tx| tx.registration(id).map_err(Error::from)).await
    }

    /// Whether this caller may register with what it says. Asked before the URLs of a card are judged: that looks their names
    /// up, which is itself a way to tell somebody something (sec/S28).
    pub async fn check_registration(&self, who: &Identity, register: &Register) -> Result<(), Error> {
        let id = joining(who)?;
        let Some(card) = &register.agent_card else { return Ok(()) };
        check_card(Some(card))?;
        let row = self.context.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        check_may_have_card(&row, Some(card))
    }

    /// Takes in the runtime of the workspace that the caller's join token was made for. The token is used up, the
    /// credential of an earlier boot ends, and the new one is handed out, in one transaction.
    #[tracing::instrument(name = "fleet.runtimes.register", skip_all, fields(workspace.id = who.token.workspace_id.map(tracing::field::display)))]
    pub async fn register(&self, who: &Identity, mut register: Register) -> Result<Registered, Error> {
        let id = joining(who)?;
        check_card(register.agent_card.as_ref())?;
        self.mask_report(who, id, &mut register.report).await;
        let (inputs, actor) = (self.context.inputs(&Principal::workspace(id), self.config), Actor::of(who));
        let secret = TokenSecret::new(TokenKind::Runner, self.context.entropy().secret());
        let credential = runner_token(&who.token, &secret, self.context.entropy().id(inputs.now), inputs.now);
        let (join_id, row_token) = (who.token.id, credential.clone());
        let (workspace, boots, doubts, wedge) = self
            .context
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                check_may_have_card(&row, register.agent_card.as_ref())?;
                if !tx.use_up_token(join_id, inputs.now)? {
                    return Err(Error::new(ErrorCode::TokenExpired));
                }
                tx.revoke_tokens_of(id, TokenKind::Runner, inputs.now)?;
                tx.insert_token(&row_token)?;
                tx.note_made_with(join_id, MadeWithToken::Token(row_token.id))?;
                let boots = tx.registration(id)?.map_or(0, |known| known.boots) + 1;
                let version = register
                    .version
                    .as_deref()
                    .map(|text| truncate_utf8(text, Registration::MAX_VERSION_BYTES));
                tx.put_registration(&Registration {
                    workspace_id: id,
                    boots,
                    registered_at: inputs.now,
                    version: version.map(str::to_owned),
                    agent_card: register.agent_card.clone(),
                })?;
                let data = WorkspaceRegistered { boots, version: version.map(str::to_owned) };
                tx.append_event(&event_of(&row, &inputs.by, inputs.now, data))?;
                let details = AuditDetails::RuntimeRegistered { boots, token_id: row_token.id };
                let action = AuditAction::RuntimeRegistered;
                tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                let report = match row.spec.runtime {
                    Runtime::Resident => without_fresh_start(&tx.vitals(id)?, register.report.clone()),
                    Runtime::Hosted | Runtime::External => register.report.clone(),
                };
                let heard = hear(tx, row, &report, &inputs)?;
                let wedge = wedge_reason(&heard.vitals).map(|_| heard.vitals.sample_error);
                Ok((heard.workspace, boots, heard.doubts, wedge.map(Option::unwrap_or_default)))
            })
            .await?;
        Ok(Registered {
            workspace,
            boots,
            credential: Minted { token: credential, secret },
            liveness_ms: self.config.expectations.liveness_ms,
            doubts,
            wedge,
        })
    }

    /// Whether this caller may describe itself so. Asked before the URLs of the card are judged, as when it registers.
    pub async fn check_card_change(
        &self,
        who: &Identity,
        card: Option<&serde_json::Value>,
    ) -> Result<(), Error> {
        let id = reporting(who)?;
        check_card(card)?;
        let row = self.context.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        check_may_have_card(&row, card)
    }

    /// Puts another card in the place of the one that the runtime registered with; `None` takes it away. Only the runtime of
    /// the latest boot has a say in it. A proof of life, as a report is.
    #[tracing::instrument(name = "fleet.runtimes.change_card", skip_all, fields(workspace.id = who.token.workspace_id.map(tracing::field::display)))]
    pub async fn change_card(
        &self,
        who: &Identity,
        card: Option<serde_json::Value>,
    ) -> Result<Registration, Error> {
        let id = reporting(who)?;
        check_card(card.as_ref())?;
        let (inputs, actor) = (self.context.inputs(&who.principal, self.config), Actor::of(who));
        let token_id = who.token.id;
        let changed = self
            .context
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                check_may_have_card(&row, card.as_ref())?;
                // A boot that came meanwhile has said how it describes itself.
                if tx.token(token_id)?.is_none_or(|token| token.revoked_at.is_some()) {
                    return Err(Error::new(ErrorCode::TokenExpired));
                }
                let Some(known) = tx.registration(id)? else {
                    return Err(Error::new(ErrorCode::TokenExpired));
                };
                if known.agent_card == card {
                    return Ok(known);
                }
                let registration = Registration { agent_card: card.clone(), ..known };
                tx.put_registration(&registration)?;
                let data = WorkspaceCardChanged { boots: registration.boots, has_card: card.is_some() };
                let event = event_of(&row, &inputs.by, inputs.now, data);
                tx.append_event(&event)?;
                let (action, details) = (AuditAction::RuntimeCardChanged, AuditDetails::Event(event.data));
                tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                Ok(registration)
            })
            .await?;
        self.note_sign_of_life(who).await;
        Ok(changed)
    }

    /// Looks at the sessions of a hosted workspace: how many work shows whether it is busy, and from when on it may sleep.
    #[tracing::instrument(name = "fleet.runtimes.note_sessions", level = "debug", skip_all, fields(workspace.id = %id))]
    pub async fn note_sessions(&self, id: WorkspaceId) -> Result<(), Error> {
        let inputs = self.context.inputs(&Principal::workspace(id), self.config);
        self.context.write_with_retries(true, move |tx| note(tx, id, &inputs)).await
    }

    /// Takes a report of the runtime that holds this credential. What it does not mention stays as it was.
    #[tracing::instrument(name = "fleet.runtimes.heartbeat", level = "debug", skip_all, fields(workspace.id = who.token.workspace_id.map(tracing::field::display)))]
    pub async fn heartbeat(&self, who: &Identity, mut report: RuntimeReport) -> Result<Heard, Error> {
        let id = reporting(who)?;
        self.mask_report(who, id, &mut report).await;
        let inputs = self.context.inputs(&who.principal, self.config);
        let heard = self
            .context
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                hear(tx, row, &report, &inputs)
            })
            .await?;
        self.tell_heartbeat(&heard);
        Ok(heard)
    }

    /// Masks what a runtime says in words before it is kept and shown (F32). Where the secrets cannot be read that these
    /// may hold, they count as not said: a sign of life is not lost over them.
    async fn mask_report(&self, who: &Identity, id: WorkspaceId, report: &mut RuntimeReport) {
        if report.words().next().is_none() {
            return;
        }
        let org_id = who.token.org_id;
        match self.context.store().read_few(move |tx| tx.secrets_for(org_id, id).map_err(Error::from)).await {
            Ok(secrets) => {
                if let Some(known) = self.redactors.from_rows(id, secrets) {
                    mask_report(report, &known);
                }
            }
            Err(error) => {
                tracing::warn!(workspace.id = %id, %error, "the words of a report are left out, since its workspace's secrets cannot be read");
                report.forget_words();
            }
        }
    }

    /// A runtime that asks for work, or tells of it, lives (F16): a report that mentions nothing. Only with the credential
    /// of its boot, since anybody may hold another of its workspace's. What it asked for matters more than this note of
    /// it, so that one that cannot be written is told to the log alone.
    pub async fn note_sign_of_life(&self, who: &Identity) {
        let (TokenKind::Runner, Some(id)) = (who.token.kind, who.token.workspace_id) else { return };
        let inputs = self.context.inputs(&who.principal, self.config);
        if let Err(error) = self.hear_of_life(id, inputs).await {
            tracing::warn!(workspace.id = %id, %error, "that a runtime lives could not be written down");
        }
    }

    async fn hear_of_life(&self, id: WorkspaceId, inputs: TxInputs) -> Result<(), Error> {
        let (expectations, now) = (inputs.config.expectations, inputs.now);
        let is_news = move |row: &Workspace, known: &Vitals| is_news(row.status, known, &expectations, now);
        // Reading costs no commit; most end here.
        let news = self
            .context
            .store()
            .read_few(move |tx| {
                let Some(row) = tx.workspace(id)? else { return Ok(false) };
                Ok::<_, Error>(is_news(&row, &tx.vitals(id)?))
            })
            .await?;
        if !news {
            return Ok(());
        }
        self.context
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                // Of many at once, one is enough.
                if is_news(&row, &tx.hold_vitals(id)?) {
                    hear(tx, row, &RuntimeReport::default(), &inputs)?;
                }
                Ok(())
            })
            .await
    }

    /// Nobody listening is fine; a listener that is too slow misses some, which changes nothing.
    fn tell_heartbeat(&self, heard: &Heard) {
        let Heard { workspace, vitals, .. } = heard;
        self.context.tell_live(|| NewEvent {
            at: vitals.last_heartbeat_at.unwrap_or(workspace.updated_at),
            org_id: workspace.org_id,
            workspace_id: Some(workspace.id),
            principal: Principal::workspace(workspace.id),
            data: WorkspaceHeartbeat {
                error_rate: vitals.error_rate,
                active_tasks: vitals.active_tasks,
                current_task: vitals.current_task.clone(),
                uptime_s: vitals.uptime_s,
                runtime_state: vitals.runtime_state.as_str().to_owned(),
                status: workspace.status,
            }
            .into(),
        });
    }
}

/// What the sessions of a hosted workspace show of it, written where it changed.
fn note(tx: &mut dyn WriteTx, id: WorkspaceId, inputs: &TxInputs) -> Result<(), Error> {
    let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
    if row.spec.runtime != Runtime::Hosted || !matches!(row.status, Status::Online | Status::Degraded) {
        return Ok(());
    }
    let known = tx.hold_vitals(id)?;
    let query = SessionQuery {
        org_id: None,
        workspace_id: Some(id),
        phase: Some(PhaseKind::Active),
        agent: None,
        before: None,
        limit: MAX_COUNTED,
    };
    let working = tx.sessions(&query)?.rows;
    let count = u32::try_from(working.len()).unwrap_or(MAX_COUNTED);
    let title = working.last().map(|session| session.title.as_str());
    let next = after_sessions(&known, count, title, &row.spec, inputs.now);
    if (next.active_tasks, &next.current_task) != (known.active_tasks, &known.current_task)
        || next.idle_deadline.is_some() != known.idle_deadline.is_some()
        || count > 0
    {
        tx.put_vitals(id, &next)?;
    }
    if row.status == Status::Degraded {
        // Nobody reports for it: what its work shows is its sign of life.
        apply_signal_knowing(tx, &mut row, &next, Signal::Heartbeat, inputs, &SignalOptions::default())?;
        if row.status != Status::Degraded {
            tx.update_workspace(&row, row.version)?;
        }
    }
    Ok(())
}

/// Puts a report into the record and asks the table what follows from it.
fn hear(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    report: &RuntimeReport,
    inputs: &TxInputs,
) -> Result<Heard, Error> {
    let expectations = &inputs.config.expectations;
    let known = tx.hold_vitals(row.id)?;
    let (mut vitals, doubts) = after_report(&known, report, &row.spec, expectations, inputs.now);
    for doubt in &doubts {
        tracing::warn!(workspace.id = %row.id, "a report was not taken as it was said: {}", doubt.sentence());
    }
    if matches!(row.status, Status::Paused | Status::Hibernated) {
        // Nobody expects it to report: it is not taken offline for falling silent.
        vitals.liveness_deadline = None;
        vitals.stall_deadline = None;
        vitals.idle_deadline = None;
    }
    tx.put_vitals(row.id, &vitals)?;
    let before = (row.status, row.mending, row.reason.clone());
    let wedged = wedge_reason(&vitals);
    let options = SignalOptions { reason: wedged.clone(), is_forced: false };
    apply_signal_knowing(tx, &mut row, &vitals, Signal::Heartbeat, inputs, &options)?;
    if let Some(reason) = wedged.filter(|_| row.status == Status::Degraded) {
        // Also where it was degraded already, for this or for something else.
        row.reason = Some(StatusReason::new(&reason));
    }
    if is_well_again(&row, inputs.now) {
        row.mending = warren_model::Mending::default();
    }
    if (row.status, row.mending, row.reason.clone()) != before {
        row.version = tx.update_workspace(&row, row.version)?;
    }
    Ok(Heard { workspace: row, vitals, liveness_ms: expectations.liveness_ms, doubts })
}

/// The workspace that this caller may register a runtime for.
fn joining(who: &Identity) -> Result<WorkspaceId, Error> {
    match (who.token.kind, who.token.workspace_id) {
        (TokenKind::Join, Some(id)) => Ok(id),
        _ => {
            let detail = "a runtime registers with a join token";
            Err(Error::with_detail(ErrorCode::Forbidden, detail))
        }
    }
}

/// The workspace whose runtime this caller is.
fn reporting(who: &Identity) -> Result<WorkspaceId, Error> {
    match (who.token.kind, who.token.workspace_id) {
        (TokenKind::Runner, Some(id)) => Ok(id),
        _ => {
            let detail = "a runtime reports with the credential that it got when it registered";
            Err(Error::with_detail(ErrorCode::Forbidden, detail))
        }
    }
}

fn check_may_have_card(row: &Workspace, card: Option<&serde_json::Value>) -> Result<(), Error> {
    if card.is_none() || residents::may_have_card(&row.spec) {
        return Ok(());
    }
    let detail =
        "agent_card: Warren runs this agent itself and reaches it through its runner; leave the card out";
    Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
}

fn check_card(card: Option<&serde_json::Value>) -> Result<(), Error> {
    let Some(card) = card else { return Ok(()) };
    if !card.is_object() {
        return Err(Error::with_detail(ErrorCode::InvalidRequest, "agent_card: expected an object"));
    }
    let max = Registration::MAX_CARD_BYTES;
    if card.to_string().len() > max {
        return Err(Error::with_detail(
            ErrorCode::PayloadTooLarge,
            format!("agent_card: at most {max} bytes"),
        ));
    }
    Ok(())
}

/// The credential of one boot. It ends with the next registration, or when the workspace is put away.
fn runner_token(join: &Token, secret: &TokenSecret, id: warren_model::TokenId, now: Timestamp) -> Token {
    Token {
        id,
        kind: TokenKind::Runner,
        hash: secret.hash(),
        prefix: secret.display_prefix(),
        name: "runtime".to_owned(),
        owner: join.owner.clone(),
        org_id: join.org_id,
        workspace_id: join.workspace_id,
        scopes: ScopeSet::EMPTY,
        created_at: now,
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        used_at: None,
    }
}

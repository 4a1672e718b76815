//! Between the wire and the model, by hand. Every match is exhaustive: a new variant does not compile until it
//! has a name on the wire (F1).

use serde_json::Value;
use warren_api as api;
use warren_fleet::{RemovalCounts, SecretSummary, SweepOutcome, SweepReport};
use warren_model as model;
use warren_model::{Displacement, RuntimeReport as Report};
use warren_model::{ErrorCode, IdKind, Timestamp};
use warren_service::Identity;
use warren_workspace::registry::Description;
use warren_workspace::{fs, shell};

use crate::problem::Failure;

pub(crate) fn status(status: model::Status) -> api::Status {
    match status {
        model::Status::Provisioning => api::Status::Provisioning,
        model::Status::AwaitingAgent => api::Status::AwaitingAgent,
        model::Status::Online => api::Status::Online,
        model::Status::Degraded => api::Status::Degraded,
        model::Status::Offline => api::Status::Offline,
        model::Status::Failed => api::Status::Failed,
        model::Status::Paused => api::Status::Paused,
        model::Status::Hibernated => api::Status::Hibernated,
        model::Status::Removed => api::Status::Removed,
    }
}

pub(crate) fn desired(desired: model::Desired) -> api::Desired {
    match desired {
        model::Desired::Running => api::Desired::Running,
        model::Desired::Paused => api::Desired::Paused,
        model::Desired::Hibernated => api::Desired::Hibernated,
        model::Desired::Removed => api::Desired::Removed,
    }
}

pub(crate) fn desired_from(desired: api::Desired) -> model::Desired {
    match desired {
        api::Desired::Running => model::Desired::Running,
        api::Desired::Paused => model::Desired::Paused,
        api::Desired::Hibernated => model::Desired::Hibernated,
        api::Desired::Removed => model::Desired::Removed,
    }
}

fn runtime(runtime: model::Runtime) -> api::Runtime {
    match runtime {
        model::Runtime::Hosted => api::Runtime::Hosted,
        model::Runtime::Resident => api::Runtime::Resident,
        model::Runtime::External => api::Runtime::External,
    }
}

pub(crate) fn runtime_from(runtime: api::Runtime) -> model::Runtime {
    match runtime {
        api::Runtime::Hosted => model::Runtime::Hosted,
        api::Runtime::Resident => model::Runtime::Resident,
        api::Runtime::External => model::Runtime::External,
    }
}

pub(crate) fn capabilities(set: model::CapabilitySet) -> Vec<api::Capability> {
    let one = |capability| match capability {
        model::Capability::Fs => api::Capability::Fs,
        model::Capability::Shell => api::Capability::Shell,
        model::Capability::Code => api::Capability::Code,
        model::Capability::Script => api::Capability::Script,
        model::Capability::Snapshot => api::Capability::Snapshot,
    };
    set.iter().map(one).collect()
}

pub(crate) fn capabilities_from(list: &[api::Capability]) -> model::CapabilitySet {
    let one = |capability: &api::Capability| match capability {
        api::Capability::Fs => model::Capability::Fs,
        api::Capability::Shell => model::Capability::Shell,
        api::Capability::Code => model::Capability::Code,
        api::Capability::Script => model::Capability::Script,
        api::Capability::Snapshot => model::Capability::Snapshot,
    };
    list.iter().map(one).collect()
}

pub(crate) fn tier(tier: model::Tier) -> api::Tier {
    match tier {
        model::Tier::Basic => api::Tier::Basic,
        model::Tier::Extended => api::Tier::Extended,
        model::Tier::Privileged => api::Tier::Privileged,
    }
}

pub(crate) fn tier_from(tier: api::Tier) -> model::Tier {
    match tier {
        api::Tier::Basic => model::Tier::Basic,
        api::Tier::Extended => model::Tier::Extended,
        api::Tier::Privileged => model::Tier::Privileged,
    }
}

pub(crate) fn workspace(
    row: &model::Workspace,
    vitals: Option<&model::Vitals>,
    provision_timeout_ms: i64,
) -> api::Workspace {
    api::Workspace {
        id: row.id.to_string(),
        org_id: row.org_id.to_string(),
        parent_id: row.parent_id.map(|id| id.to_string()),
        name: row.name.to_string(),
        status: status(row.status),
        reason: row.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        desired: desired(row.spec.desired),
        runtime: runtime(row.spec.runtime),
        provider: serde_json::to_value(&row.spec.provider).unwrap_or(Value::Null),
        capabilities: capabilities(row.spec.capabilities),
        tier: tier(row.spec.tier),
        role: row.spec.role.clone(),
        provision_timeout_ms: provision_timeout_ms.unsigned_abs(),
        provisioning_started_at: row.provisioning_started_at.map(|at| at.to_string()),
        hibernate_after_seconds: row.spec.hibernate_after_seconds,
        max_concurrent_tasks: row.spec.max_concurrent_tasks,
        template: row.spec.template.as_ref().map(stamp),
        agent: Some(agent(&row.spec.agent)),
        position: None,
        vitals: vitals.map(self::vitals),
        generation: row.generation,
        observed_generation: row.observed_generation,
        behind_of: row.behind_of().map(behind_of),
        version: row.version,
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
        removed_at: row.removed_at.map(|at| at.to_string()),
    }
}

fn behind_of(cause: model::BehindOf) -> api::BehindOf {
    match cause {
        model::BehindOf::Secrets => api::BehindOf::Secrets,
        model::BehindOf::Change => api::BehindOf::Change,
    }
}

fn stamp(stamp: &model::TemplateStamp) -> api::TemplateStamp {
    api::TemplateStamp { name: stamp.name.to_string(), hash: stamp.hash.clone() }
}

fn agent(agent: &model::AgentSpec) -> api::Agent {
    let schedule = |one: &model::ScheduleSpec| api::ScheduleSpec {
        name: one.name.clone(),
        cron: one.cron.clone(),
        every_seconds: one.every_seconds,
        time_zone: one.time_zone.clone(),
        prompt: one.prompt.clone(),
    };
    api::Agent {
        model: agent.model.clone(),
        prompts: agent.prompts.clone(),
        skills: agent.skills.clone(),
        schedules: agent.schedules.iter().map(schedule).collect(),
        required_env: agent.required_env.clone(),
        command: agent.command.clone(),
        wedge_signs: agent.wedge_signs.clone(),
    }
}

pub(crate) fn removal_counts(counts: RemovalCounts) -> api::RemovalCounts {
    api::RemovalCounts {
        marked: counts.marked,
        finished: counts.finished,
        failed: counts.failed,
        pending: counts.pending,
    }
}

pub(crate) fn position(position: model::Position) -> api::Position {
    api::Position { x: position.x, y: position.y }
}

fn vitals(vitals: &model::Vitals) -> api::Vitals {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let model::Displaced { scheduler, session, status_mgmt, deduplication } = vitals.displaced;
    let displaced = [
        ("scheduler", scheduler),
        ("session", session),
        ("status_mgmt", status_mgmt),
        ("deduplication", deduplication),
    ];
    api::Vitals {
        error_rate: vitals.error_rate,
        sample_error: vitals.sample_error.clone(),
        active_tasks: vitals.active_tasks,
        current_task: vitals.current_task.clone(),
        uptime_s: vitals.uptime_s,
        runtime_state: vitals.runtime_state.as_str().to_owned(),
        displaces: displaced.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (*name).to_owned()).collect(),
        idle_timeout_seconds: vitals.idle_timeout_seconds,
        seen_outcomes: count(vitals.outcomes.recent.len()),
        seen_failures: count(vitals.outcomes.failures()),
        last_outcome_at: text(vitals.outcomes.last_at),
        last_heartbeat_at: text(vitals.last_heartbeat_at),
        last_progress_at: text(vitals.last_progress_at),
        last_task_at: text(vitals.last_task_at),
    }
}

/// A report as the rules read it.
pub(crate) fn report_from(heartbeat: api::Heartbeat) -> Result<Report, Failure> {
    let metadata = heartbeat.runtime_metadata.unwrap_or_default();
    let switches = metadata.capabilities.unwrap_or_default();
    let last_progress_at = heartbeat.last_progress_at.map(|text| text.parse()).transpose();
    Ok(Report {
        error_rate: heartbeat.error_rate,
        sample_error: heartbeat.sample_error,
        active_tasks: heartbeat.active_tasks,
        current_task: heartbeat.current_task,
        uptime_s: heartbeat.uptime_s,
        last_progress_at: last_progress_at.map_err(|error: model::InvalidTimestamp| {
            Failure::new(ErrorCode::InvalidRequest, format!("last_progress_at: {error}"))
        })?,
        runtime_state: heartbeat.runtime_state.as_deref().map(model::RuntimeState::from_report),
        displaced: Displacement {
            scheduler: switches.scheduler,
            session: switches.session,
            status_mgmt: switches.status_mgmt,
            deduplication: switches.deduplication,
        },
        idle_timeout_seconds: metadata.idle_timeout_seconds,
    })
}

pub(crate) fn live_event(event: &model::NewEvent) -> api::LiveEvent {
    api::LiveEvent {
        at: event.at.to_string(),
        kind: event.kind().as_str().to_owned(),
        workspace_id: event.workspace_id.map(|id| id.to_string()),
        data: event.data.to_json(),
    }
}

pub(crate) fn sweep(report: &SweepReport) -> api::Sweep {
    let outcome = |outcome: &SweepOutcome| match outcome {
        SweepOutcome::Done { looked_at, acted_on, failed } => {
            api::SweepOutcome::Done { looked_at: *looked_at, acted_on: *acted_on, failed: *failed }
        }
        SweepOutcome::Elsewhere { owner } => api::SweepOutcome::Elsewhere { owner: owner.clone() },
        SweepOutcome::TakenOver { owner, looked_at, acted_on, failed } => api::SweepOutcome::TakenOver {
            owner: owner.clone(),
            looked_at: *looked_at,
            acted_on: *acted_on,
            failed: *failed,
        },
        SweepOutcome::Failed { code, looked_at, acted_on, failed } => api::SweepOutcome::Failed {
            code: code.as_str().to_owned(),
            looked_at: *looked_at,
            acted_on: *acted_on,
            failed: *failed,
        },
        SweepOutcome::Panicked => api::SweepOutcome::Panicked,
    };
    api::Sweep {
        name: report.name.to_owned(),
        meaning: report.meaning.trim().to_owned(),
        interval_ms: report.interval_ms,
        last_run: report.last_run.as_ref().map(|run| api::SweepRun {
            started_at: run.started_at.to_string(),
            finished_at: run.finished_at.to_string(),
            outcome: outcome(&run.outcome),
        }),
        runs: report.runs,
        acted_on: report.acted_on,
        failures: report.failures,
        panics: report.panics,
    }
}

pub(crate) fn principal(principal: &model::Principal) -> api::Principal {
    let kind = match principal.kind {
        model::PrincipalKind::User => api::PrincipalKind::User,
        model::PrincipalKind::Workspace => api::PrincipalKind::Workspace,
        model::PrincipalKind::Schedule => api::PrincipalKind::Schedule,
        model::PrincipalKind::Channel => api::PrincipalKind::Channel,
        model::PrincipalKind::System => api::PrincipalKind::System,
    };
    api::Principal { kind, id: principal.id.clone() }
}

pub(crate) fn event(event: &model::Event) -> api::Event {
    api::Event {
        seq: event.seq,
        at: event.at.to_string(),
        kind: event.kind.as_str().to_owned(),
        workspace_id: event.workspace_id.map(|id| id.to_string()),
        principal: principal(&event.principal),
        data: event.data.as_value().clone(),
    }
}

fn token_kind(kind: model::TokenKind) -> api::TokenKind {
    match kind {
        model::TokenKind::Admin => api::TokenKind::Admin,
        model::TokenKind::User => api::TokenKind::User,
        model::TokenKind::Workspace => api::TokenKind::Workspace,
        model::TokenKind::Join => api::TokenKind::Join,
        model::TokenKind::Runner => api::TokenKind::Runner,
        model::TokenKind::Login => api::TokenKind::Login,
        model::TokenKind::Session => api::TokenKind::Session,
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
fn token_kind_from(kind: api::TokenKind) -> model::TokenKind {
    match kind {
        api::TokenKind::Admin => model::TokenKind::Admin,
        api::TokenKind::User => model::TokenKind::User,
        api::TokenKind::Workspace => model::TokenKind::Workspace,
        api::TokenKind::Join => model::TokenKind::Join,
        api::TokenKind::Runner => model::TokenKind::Runner,
        api::TokenKind::Login => model::TokenKind::Login,
        api::TokenKind::Session => model::TokenKind::Session,
    }
}

fn scopes(set: model::ScopeSet) -> Vec<String> {
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

/// Details that are no JSON any more are shown as they stand; their hash tells.
pub(crate) fn audit_entry(entry: &model::AuditEntry) -> api::AuditEntry {
    api::AuditEntry {
        seq: entry.seq,
        at: entry.at.to_string(),
        org_id: entry.org_id.to_string(),
        principal: entry.principal.clone(),
        token_id: entry.token_id.map(|id| id.to_string()),
        token_prefix: entry.token_prefix.clone(),
        action: entry.action.clone(),
        target: api::AuditTarget { kind: entry.target_kind.clone(), id: entry.target_id.clone() },
        outcome: entry.outcome.clone(),
        request_id: entry.request_id.clone(),
        details: serde_json::from_str(&entry.details)
            .unwrap_or_else(|_| serde_json::Value::from(entry.details.as_str())),
        previous_hash: entry.previous_hash.to_string(),
        hash: entry.hash.to_string(),
    }
}

pub(crate) fn session(identity: &Identity) -> api::Session {
    api::Session {
        principal: principal(&identity.principal),
        token_kind: token_kind(identity.token.kind),
        scopes: scopes(identity.token.scopes),
        expires_at: identity.token.expires_at.map(|at| at.to_string()),
    }
}

pub(crate) fn entry(entry: &fs::Entry) -> api::Entry {
    let kind = match entry.kind {
        fs::EntryKind::File => api::EntryKind::File,
        fs::EntryKind::Directory => api::EntryKind::Directory,
        fs::EntryKind::Symlink => api::EntryKind::Symlink,
        fs::EntryKind::Special => api::EntryKind::Special,
    };
    api::Entry {
        path: entry.path.clone(),
        is_lossy: entry.is_lossy,
        kind,
        bytes: entry.bytes,
        modified_at: entry.modified_at.to_string(),
        mode: format!("{:04o}", entry.mode),
        link_target: entry.link_target.clone(),
    }
}

pub(crate) fn exec_result(result: &shell::RunResult) -> api::ExecResult {
    let (stdout, stdout_base64) = text_or_base64(&result.stdout.bytes);
    let (stderr, stderr_base64) = text_or_base64(&result.stderr.bytes);
    api::ExecResult {
        exit_code: result.exit_code,
        signal: result.signal,
        stdout,
        stderr,
        stdout_base64,
        stderr_base64,
        timed_out: result.timed_out,
        truncated: result.stdout.truncated || result.stderr.truncated,
        total_bytes: result.stdout.total_bytes + result.stderr.total_bytes,
        duration_ms: result.duration_ms,
    }
}

fn text_or_base64(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Some(base64(bytes))),
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub(crate) fn process(info: &shell::ProcessInfo) -> api::Process {
    let (state, exit_code, signal, timed_out) = process_state(&info.state);
    api::Process {
        id: info.id.0,
        program: info.program.clone(),
        state,
        exit_code,
        signal,
        timed_out,
        started_at: info.started_at.to_string(),
        output_bytes: info.output_bytes,
        has_pty: info.has_pty,
    }
}

pub(crate) fn process_output(polled: &shell::Polled) -> api::ProcessOutput {
    let (output, output_base64) = text_or_base64(&polled.bytes);
    let (state, exit_code, signal, timed_out) = process_state(&polled.state);
    api::ProcessOutput {
        output,
        output_base64,
        offset: polled.offset,
        next_offset: polled.next_offset,
        state,
        exit_code,
        signal,
        timed_out,
    }
}

/// State, exit code, signal, and whether it timed out.
fn process_state(state: &shell::ProcessState) -> (api::ProcessState, Option<i32>, Option<i32>, bool) {
    match *state {
        shell::ProcessState::Running => (api::ProcessState::Running, None, None, false),
        shell::ProcessState::Exited { exit_code, signal, timed_out } => {
            (api::ProcessState::Exited, exit_code, signal, timed_out)
        }
    }
}

pub(crate) fn signal_from(signal: api::SignalName) -> shell::Signal {
    match signal {
        api::SignalName::Interrupt => shell::Signal::Interrupt,
        api::SignalName::Terminate => shell::Signal::Terminate,
        api::SignalName::Kill => shell::Signal::Kill,
    }
}

/// Rows and columns that a terminal can have; `field` begins the error.
pub(crate) fn pty_size_from(field: &str, rows: u16, columns: u16) -> Result<shell::PtySize, Failure> {
    const MAX: u16 = 4_096;
    for (name, value) in [("rows", rows), ("columns", columns)] {
        if !(1..=MAX).contains(&value) {
            let detail = format!("{field}{name}: expected 1 to {MAX}");
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
    }
    Ok(shell::PtySize { rows, columns })
}

pub(crate) fn description(description: &Description) -> api::RegistryDescription {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    api::RegistryDescription {
        state: description.state.to_string(),
        provider: description.provider.to_string(),
        opened_at: text(description.opened_at),
        last_error: description.last_error.as_ref().map(ToString::to_string),
        last_attempt_at: text(description.last_attempt_at),
        last_success_at: text(description.last_success_at),
        opens: description.opens,
        evictions: description.evictions,
        limits: Some(description.limits.clone()).filter(|limits| !limits.is_null()),
    }
}

/// An id in a body or query, with its field's name in the error.
pub(crate) fn id_from<K: IdKind>(field: &str, text: &str) -> Result<model::Id<K>, Failure> {
    text.parse().map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("{field}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    // F1
    #[test]
    fn every_status_has_the_same_name_on_the_wire_as_in_the_model() {
        for one in model::Status::ALL {
            assert_eq!(serde_json::to_value(status(*one)).unwrap(), one.as_str());
        }
    }

    #[test]
    fn every_kind_of_token_survives_the_wire() {
        for kind in model::TokenKind::ALL {
            assert_eq!(token_kind_from(token_kind(kind)), kind);
        }
    }
}

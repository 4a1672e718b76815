//! What runtimes report, between the wire and the model.

use warren_api as api;
use warren_model as model;
use warren_model::{Displacement, ErrorCode, RuntimeReport, Timestamp};

use crate::problem::Failure;

pub(super) fn vitals(vitals: &model::Vitals) -> api::Vitals {
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
pub(crate) fn report_from(heartbeat: api::Heartbeat) -> Result<RuntimeReport, Failure> {
    let metadata = heartbeat.runtime_metadata.unwrap_or_default();
    let switches = metadata.capabilities.unwrap_or_default();
    let last_progress_at = heartbeat.last_progress_at.map(|text| text.parse()).transpose();
    Ok(RuntimeReport {
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

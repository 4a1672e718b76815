//! What operators look at: sweeps and the audit log.

use warren_api as api;
use warren_fleet::{SweepOutcome, SweepReport};
use warren_model as model;

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

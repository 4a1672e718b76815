//! Schedules that workspaces are made with (F50). What becomes of them afterwards is the exchange's business.

use warren_model::{
    ErrorCode, Limits, MadeWithToken, OrgId, Principal, ScheduleSpec, Timestamp, Workspace, WorkspaceId,
};
use warren_rules::messages::schedules::{self, Making, NewSchedule, template_schedule_id};
use warren_service::{Actor, Error};
use warren_store::WriteTx;

/// Whether all of them can be made.
pub(crate) fn check(specs: &[ScheduleSpec], now: Timestamp, limits: &Limits) -> Result<(), Error> {
    if specs.len() > limits.max_schedules_per_workspace as usize {
        return Err(Error::new(ErrorCode::ScheduleLimit));
    }
    let nobody = WorkspaceId::from_bytes([0; 16]);
    for (at, spec) in specs.iter().enumerate() {
        let making = Making {
            id: template_schedule_id(nobody, at, now),
            org_id: OrgId::DEFAULT,
            workspace_id: nobody,
            by: Principal::system("fleet"),
            now,
            min_seconds: limits.min_schedule_interval_seconds,
        };
        schedules::draft(NewSchedule::of_spec(spec), making).map_err(|problem| {
            let Error { code, detail, .. } = Error::from(&problem);
            Error::with_detail(code, format!("schedules[{at}].{}", detail.unwrap_or_default()))
        })?;
    }
    Ok(())
}

/// Makes those that a new workspace's spec names.
pub(crate) fn insert(
    tx: &mut dyn WriteTx,
    row: &Workspace,
    by: &Principal,
    actor: &Actor,
    max_per_org: u64,
) -> Result<(), Error> {
    let specs = &row.spec.agent.schedules;
    if !specs.is_empty() && tx.count_schedules(row.org_id)? + specs.len() as u64 > max_per_org {
        return Err(Error::new(ErrorCode::ScheduleLimit));
    }
    for (at, spec) in specs.iter().enumerate() {
        let making = Making {
            id: template_schedule_id(row.id, at, row.created_at),
            org_id: row.org_id,
            workspace_id: row.id,
            by: by.clone(),
            now: row.created_at,
            // What is too frequent was refused when the workspace was drafted.
            min_seconds: 1,
        };
        let schedule = schedules::draft(NewSchedule::of_spec(spec), making)?;
        tx.insert_schedule(&schedule)?;
        actor.note_made(tx, MadeWithToken::Schedule(schedule.id))?;
    }
    Ok(())
}

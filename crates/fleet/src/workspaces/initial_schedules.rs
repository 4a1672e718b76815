//! Schedules that workspaces are made with (F50, F51). What becomes of them afterwards is the exchange's business.

use warren_model::{
    BundleSchedule, ErrorCode, Limits, MadeWithToken, OrgId, Principal, ScheduleSpec, Timestamp, Workspace,
    WorkspaceId,
};
use warren_rules::lifecycle::bundles::schedule_from_bundle;
use warren_rules::messages::schedules::{self, Making, NewSchedule, template_schedule_id};
use warren_service::{Actor, Error};
use warren_store::WriteTx;

/// A schedule that a workspace is to have from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InitialSchedule {
    new: NewSchedule,
    is_paused: bool,
}

impl InitialSchedule {
    pub(crate) fn of_specs(specs: &[ScheduleSpec]) -> Vec<Self> {
        specs.iter().map(|spec| Self { new: NewSchedule::of_spec(spec), is_paused: false }).collect()
    }

    pub(crate) fn of_bundle(schedules: &[BundleSchedule]) -> Vec<Self> {
        let one = |schedule: &BundleSchedule| Self {
            new: schedule_from_bundle(schedule),
            is_paused: schedule.is_paused,
        };
        schedules.iter().map(one).collect()
    }
}

/// Whether all of them can be made.
pub(crate) fn check(wanted: &[InitialSchedule], now: Timestamp, limits: &Limits) -> Result<(), Error> {
    if wanted.len() > limits.max_schedules_per_workspace as usize {
        return Err(Error::new(ErrorCode::ScheduleLimit));
    }
    let nobody = WorkspaceId::from_bytes([0; 16]);
    for (at, one) in wanted.iter().enumerate() {
        let making = Making {
            id: template_schedule_id(nobody, at, now),
            org_id: OrgId::DEFAULT,
            workspace_id: nobody,
            by: Principal::system("fleet"),
            now,
            min_seconds: limits.min_schedule_interval_seconds,
        };
        schedules::draft(one.new.clone(), making).map_err(|problem| {
            let Error { code, detail, .. } = Error::from(&problem);
            Error::with_detail(code, format!("schedules[{at}].{}", detail.unwrap_or_default()))
        })?;
    }
    Ok(())
}

/// Makes them for a new workspace. They are whoever's who makes it.
pub(crate) fn insert(
    tx: &mut dyn WriteTx,
    row: &Workspace,
    wanted: &[InitialSchedule],
    by: &Principal,
    actor: &Actor,
    max_per_org: u64,
) -> Result<(), Error> {
    if !wanted.is_empty() && tx.count_schedules(row.org_id)? + wanted.len() as u64 > max_per_org {
        return Err(Error::new(ErrorCode::ScheduleLimit));
    }
    for (at, one) in wanted.iter().enumerate() {
        let making = Making {
            id: template_schedule_id(row.id, at, row.created_at),
            org_id: row.org_id,
            workspace_id: row.id,
            by: by.clone(),
            now: row.created_at,
            // What is too frequent was refused when the workspace was drafted.
            min_seconds: 1,
        };
        let mut schedule = schedules::draft(one.new.clone(), making)?;
        if one.is_paused {
            (schedule.is_paused, schedule.next_slot, schedule.next_at) = (true, None, None);
        }
        tx.insert_schedule(&schedule)?;
        actor.note_made(tx, MadeWithToken::Schedule(schedule.id))?;
    }
    Ok(())
}

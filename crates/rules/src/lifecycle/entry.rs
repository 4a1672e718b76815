//! What a new status brings with it in the row: its reason, its clocks, and when to look after it.

use warren_model::{Mending, Status, StatusReason, Timestamp, Workspace};

use super::{Change, is_booting, provision_timeout_ms};
use crate::lifecycle::reconcile::{LOOK_AGAIN_MS, is_mended, is_well_again, next_mending};

/// Stops the clock of provisioning while something is fetched that is no part of the boot, such as an image (F4). The row
/// says when somebody is to look after it, so that whoever fetches may die.
pub fn hold_boot_clock(row: &mut Workspace) {
    if row.status == Status::Provisioning {
        row.provision_deadline = None;
    }
}

/// The boot begins now: what was fetched is here.
pub fn start_boot_clock(row: &mut Workspace, fleet_wide_ms: Option<i64>, now: Timestamp) {
    if row.status == Status::Provisioning {
        row.provisioning_started_at = Some(now);
        row.provision_deadline = Some(now.plus_ms(provision_timeout_ms(&row.spec, fleet_wide_ms)));
    }
}

/// Puts a change of the table into the row. `reason` stands in for the table's own; `fleet_wide_ms` is the time for
/// provisioning that holds for all, if there is one (F5).
pub fn enter(
    row: &mut Workspace,
    change: Change,
    reason: Option<&str>,
    fleet_wide_ms: Option<i64>,
    now: Timestamp,
) {
    let was_well = is_well_again(row, now);
    let budget = provision_timeout_ms(&row.spec, fleet_wide_ms);
    row.status = change.to;
    row.reason = change.reason.map(|fixed| StatusReason::new(reason.unwrap_or(fixed)));
    row.updated_at = now;
    if change.loses_place {
        row.provisioning_started_at = None;
    }
    if !is_booting(change.to) {
        row.provision_deadline = None;
    }
    match change.to {
        Status::Provisioning => {
            row.provisioning_started_at = Some(now);
            row.provision_deadline = Some(now.plus_ms(budget));
            row.mending.next_at = Some(now.plus_ms(LOOK_AGAIN_MS));
        }
        Status::Removed => {
            row.removed_at = Some(now);
            row.mending = Mending { attempts: 0, next_at: Some(now.plus_ms(LOOK_AGAIN_MS)) };
        }
        Status::Paused | Status::Hibernated => {
            row.mending = Mending { attempts: 0, next_at: Some(now.plus_ms(LOOK_AGAIN_MS)) };
        }
        Status::Offline => {
            // Only what Warren itself brings up can be brought up again (F16).
            let is_ours = is_mended(row.spec.runtime);
            if was_well {
                row.mending.attempts = 0;
            }
            row.mending.next_at = is_ours.then(|| next_mending(row.mending.attempts, now));
        }
        Status::AwaitingAgent => {
            row.mending.next_at = None;
            // A place that was ready too late had lost its deadline; its agent is not waited for without end.
            row.provision_deadline.get_or_insert(now.plus_ms(budget));
        }
        Status::Online | Status::Degraded | Status::Failed => {
            row.mending.next_at = None;
        }
    }
}

//! Metrics of the fleet and the exchange (O3). Nothing counts while work is done: when somebody asks for metrics, the state
//! of things is read from the database, and what happened since the last time is read from the log of events.
//!
//! All replicas on one database see the same log and the same queue. Over replicas these are to be taken as the maximum, not
//! as a sum; `docs/operate/README.md` says which.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use warren_model::{Event, EventData, Status};
use warren_service::{Census, Error, EventQuery};

use crate::{App, Telemetry};

/// Whoever asks again within this time is told the same: a database must not pay for somebody's hurry.
const FRESH: Duration = Duration::from_secs(1);
const PAGE: u32 = 500;
/// What one question reads of the log; the rest is read by the next.
const MAX_PAGES: usize = 200;

/// Counters, and what they count.
pub(crate) const COUNTERS: &[(&str, &str)] = &[
    ("warren_events_total", "Events in the log since this process started, by kind."),
    ("warren_workspace_status_changes_total", "Changes of a workspace's status, by the status it came to."),
    (
        "warren_deliveries_total",
        "Messages by what became of them: ended, put back into the queue, or refused.",
    ),
    ("warren_schedule_slots_total", "Slots of schedules by what became of them: fired, skipped or failed."),
    ("warren_tool_refusals_total", "Tool calls that policy refused, by why."),
    ("warren_sweep_runs_total", "Runs of each sweep."),
    ("warren_sweep_failures_total", "Things that each sweep tried to do and could not."),
    ("warren_sweep_panics_total", "Runs of each sweep that broke off."),
    ("warren_heartbeats_total", "Reports of runtimes, by whether they were taken."),
    ("warren_refusals_total", "Requests that were refused or failed, by code."),
];

/// Gauges, and what they show.
pub(crate) const GAUGES: &[(&str, &str)] = &[
    ("warren_workspaces", "Workspaces that are not removed, by status."),
    ("warren_queue_messages", "Messages that wait for an agent (queued) or are with one (claimed)."),
    (
        "warren_queue_oldest_age_seconds",
        "How long the oldest message that is queued has been on its way; 0 for none.",
    ),
    ("warren_sweep_last_run_timestamp_seconds", "When each sweep last ended, as seconds since 1970."),
    ("warren_terminals", "Terminals open now."),
];

#[derive(Debug, Default)]
pub(crate) struct FleetMetrics(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// How far the log was read.
    cursor: Option<u64>,
    read_at: Option<Instant>,
}

impl FleetMetrics {
    /// Counts from the end of the log on.
    pub(crate) async fn begin(&self, app: &App) {
        let mut progress = self.0.lock().await;
        if let Ok(bounds) = app.fleet.event_log.bounds().await {
            progress.cursor.get_or_insert(bounds.newest);
        }
    }

    /// Brings the metrics up to date.
    pub(crate) async fn refresh(&self, app: &App) -> Result<(), Error> {
        let mut progress = self.0.lock().await;
        if progress.read_at.is_some_and(|at| at.elapsed() < FRESH) {
            return Ok(());
        }
        show_census(app, &Census::of(&app.fleet.context).await?);
        show_sweeps(app);
        let mut cursor = match progress.cursor {
            Some(cursor) => cursor,
            None => app.fleet.event_log.bounds().await?.newest,
        };
        for _ in 0..MAX_PAGES {
            let query = EventQuery { after: cursor, org_id: None, workspace_id: None, limit: PAGE };
            let page = app.fleet.event_log.tail(query).await?;
            page.rows.iter().for_each(|event| count(&app.telemetry, event));
            cursor = page.rows.last().map_or(cursor, |event| event.seq);
            progress.cursor = Some(cursor);
            match page.next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        progress.cursor = Some(cursor);
        progress.read_at = Some(Instant::now());
        Ok(())
    }
}

fn show_census(app: &App, census: &Census) {
    for status in Status::ALL.iter().filter(|status| **status != Status::Removed) {
        let known = census.workspaces.iter().find(|(one, _)| one == status);
        let count = known.map_or(0, |(_, count)| *count);
        app.telemetry.gauge("warren_workspaces", &[("status", status.as_str())]).set(count as f64);
    }
    let queue = &census.queue;
    for (state, count) in [("queued", queue.queued), ("claimed", queue.claimed)] {
        app.telemetry.gauge("warren_queue_messages", &[("state", state)]).set(count as f64);
    }
    let age_ms = queue.oldest_queued_at.map_or(0, |at| app.clock.now().ms_since(at).max(0));
    app.telemetry.gauge("warren_queue_oldest_age_seconds", &[]).set(age_ms as f64 / 1_000.0);
}

fn show_sweeps(app: &App) {
    for report in app.fleet.sweeps.reports() {
        let sweep = [("sweep", report.name)];
        app.telemetry.counter("warren_sweep_runs_total", &sweep).absolute(report.runs);
        app.telemetry.counter("warren_sweep_failures_total", &sweep).absolute(report.failures);
        app.telemetry.counter("warren_sweep_panics_total", &sweep).absolute(report.panics);
        if let Some(last) = report.last_run {
            let seconds = last.finished_at.as_micros() as f64 / 1_000_000.0;
            app.telemetry.gauge("warren_sweep_last_run_timestamp_seconds", &sweep).set(seconds);
        }
    }
}

fn count(telemetry: &Telemetry, event: &Event) {
    let add = |name, label: (&'static str, &str), count| telemetry.counter(name, &[label]).increment(count);
    add("warren_events_total", ("kind", event.kind.as_str()), 1);
    // What another version of Warren wrote differently is counted as an event, and no more.
    let Ok(data) = event.read() else { return };
    match data {
        EventData::WorkspaceStatusChanged(change) => {
            add("warren_workspace_status_changes_total", ("to", change.to.as_str()), 1);
        }
        EventData::WorkspaceRemoved(change) => {
            add("warren_workspace_status_changes_total", ("to", change.to.as_str()), 1);
        }
        EventData::TaskChanged(change) if change.to.is_final() => {
            add("warren_deliveries_total", ("outcome", change.to.as_str()), 1);
        }
        EventData::DeliveryRequeued(_) => add("warren_deliveries_total", ("outcome", "requeued"), 1),
        EventData::MessageRefused(_) => add("warren_deliveries_total", ("outcome", "refused"), 1),
        EventData::ScheduleFired(_) => add("warren_schedule_slots_total", ("outcome", "fired"), 1),
        EventData::ScheduleSkipped(skipped) => {
            add("warren_schedule_slots_total", ("outcome", "skipped"), u64::from(skipped.slots));
        }
        EventData::ScheduleFailed(_) => add("warren_schedule_slots_total", ("outcome", "failed"), 1),
        EventData::WorkspaceToolRefused(refused) => {
            add("warren_tool_refusals_total", ("kind", refused.kind.as_str()), refused.count);
        }
        _ => {}
    }
}

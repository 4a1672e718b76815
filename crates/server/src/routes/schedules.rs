//! Messages at set times: schedules, their runs, and when they would fire (X40).

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use warren_api::{
    CreateSchedule, MissedPolicy, OverlapPolicy, PatchSchedule, PreviewSchedule, Problem, RunCause, RunState,
    Schedule, SchedulePage, SchedulePreview, ScheduleRun, ScheduleRunPage,
};
use warren_exchange::{MAX_PREVIEW, NewSchedule, PatchSchedule as Patch};
use warren_model as model;
use warren_model::{ErrorCode, Timing};

use super::workspaces::expected_version;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

const DEFAULT_PREVIEW: u32 = 10;
/// Slots that are told with a schedule.
const UPCOMING: u32 = 5;

/// Make a schedule of a workspace.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/schedules", operation_id = "create_schedule", tag = "schedules",
    params(("id" = String, Path)), request_body = CreateSchedule,
    responses((status = 201, body = Schedule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<CreateSchedule>,
) -> Result<Response, Failure> {
    let new = NewSchedule {
        name: body.name,
        timing: timing(body.cron, body.every_seconds, body.time_zone)?,
        prompt: body.prompt,
        jitter_seconds: body.jitter_seconds.unwrap_or(0),
        missed: body.missed.map_or(model::MissedPolicy::Once, missed_from),
        overlap: body.overlap.map_or(model::OverlapPolicy::Skip, overlap_from),
    };
    let row = app.exchange.schedules.create(&who, id, new).await?;
    let location = format!("/api/v1/schedules/{}", row.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], answer(&app, &row)).into_response())
}

/// List the schedules of a workspace.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/schedules", operation_id = "list_workspace_schedules", tag = "schedules",
    params(("id" = String, Path), PageParams),
    responses((status = 200, body = SchedulePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list_of_workspace(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<SchedulePage>, Failure> {
    page(&app, &who, Some(id), params).await
}

/// List all schedules.
#[utoipa::path(
    get, path = "/api/v1/schedules", operation_id = "list_schedules", tag = "schedules", params(PageParams),
    responses((status = 200, body = SchedulePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<SchedulePage>, Failure> {
    page(&app, &who, None, params).await
}

async fn page(
    app: &App,
    who: &warren_service::Identity,
    of: Option<model::WorkspaceId>,
    params: PageParams,
) -> Result<axum::Json<SchedulePage>, Failure> {
    let (after, limit) = (cursor(params.cursor)?, page_size(params.limit, app.limits().max_page_size)?);
    let page = app.exchange.schedules.list(who, of, after, limit).await?;
    Ok(axum::Json(SchedulePage {
        items: page.rows.iter().map(|row| to_wire(app, row)).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show one schedule, with its next slots.
#[utoipa::path(
    get, path = "/api/v1/schedules/{id}", operation_id = "show_schedule", tag = "schedules",
    params(("id" = String, Path)),
    responses((status = 200, body = Schedule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
) -> Result<Response, Failure> {
    Ok(answer(&app, &app.exchange.schedules.get(&who, id).await?))
}

/// Change a schedule. What is absent stays.
#[utoipa::path(
    patch, path = "/api/v1/schedules/{id}", operation_id = "change_schedule", tag = "schedules",
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "Only if this is still its ETag.")),
    request_body = PatchSchedule,
    responses((status = 200, body = Schedule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn patch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
    headers: HeaderMap,
    Json(body): Json<PatchSchedule>,
) -> Result<Response, Failure> {
    let timing = match (body.cron, body.every_seconds, body.time_zone) {
        (None, None, None) => None,
        // The zone alone: the expression is the one that is there.
        (None, None, Some(time_zone)) => match app.exchange.schedules.get(&who, id).await?.timing {
            Timing::Cron { expression, .. } => Some(Timing::Cron { expression, time_zone }),
            Timing::Every { .. } => return Err(zone_without_cron()),
        },
        // The expression alone: the zone is the one that is there.
        (Some(expression), None, None) => {
            let time_zone = match app.exchange.schedules.get(&who, id).await?.timing {
                Timing::Cron { time_zone, .. } => time_zone,
                Timing::Every { .. } => "UTC".to_owned(),
            };
            Some(Timing::Cron { expression, time_zone })
        }
        (cron, every_seconds, time_zone) => Some(timing(cron, every_seconds, time_zone)?),
    };
    let patch = Patch {
        timing,
        prompt: body.prompt,
        jitter_seconds: body.jitter_seconds,
        missed: body.missed.map(missed_from),
        overlap: body.overlap.map(overlap_from),
    };
    let row = app.exchange.schedules.patch(&who, id, patch, expected_version(&headers)?).await?;
    Ok(answer(&app, &row))
}

/// Remove a schedule, with the record of its runs.
#[utoipa::path(
    delete, path = "/api/v1/schedules/{id}", operation_id = "remove_schedule", tag = "schedules",
    params(("id" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
) -> Result<StatusCode, Failure> {
    app.exchange.schedules.remove(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a schedule. Slots that pass meanwhile are not missed.
#[utoipa::path(
    post, path = "/api/v1/schedules/{id}/pause", operation_id = "pause_schedule", tag = "schedules",
    params(("id" = String, Path)),
    responses((status = 200, body = Schedule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
) -> Result<Response, Failure> {
    Ok(answer(&app, &app.exchange.schedules.pause(&who, id).await?))
}

/// Resume a schedule: its next slot is the first from now on.
#[utoipa::path(
    post, path = "/api/v1/schedules/{id}/resume", operation_id = "resume_schedule", tag = "schedules",
    params(("id" = String, Path)),
    responses((status = 200, body = Schedule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
) -> Result<Response, Failure> {
    Ok(answer(&app, &app.exchange.schedules.resume(&who, id).await?))
}

/// Have a schedule fire now, whether it is paused or not.
///
/// The answer is durable; what became of it is in the list of runs.
#[utoipa::path(
    post, path = "/api/v1/schedules/{id}/run", operation_id = "run_schedule", tag = "schedules",
    params(("id" = String, Path)),
    responses((status = 202, body = ScheduleRun), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn run(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
) -> Result<Response, Failure> {
    let run = app.exchange.schedules.run(&who, id).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(run_to_wire(&run))).into_response())
}

/// What became of a schedule's slots, the newest first.
#[utoipa::path(
    get, path = "/api/v1/schedules/{id}/runs", operation_id = "list_schedule_runs", tag = "schedules",
    params(("id" = String, Path), PageParams),
    responses((status = 200, body = ScheduleRunPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn runs(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ScheduleKind>,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<ScheduleRunPage>, Failure> {
    let (before, limit) = (cursor(params.cursor)?, page_size(params.limit, app.limits().max_page_size)?);
    let page = app.exchange.schedules.runs(&who, id, before, limit).await?;
    Ok(axum::Json(ScheduleRunPage {
        items: page.rows.iter().map(run_to_wire).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// When a schedule would fire. Nothing is stored.
#[utoipa::path(
    post, path = "/api/v1/schedules/preview", operation_id = "preview_schedule", tag = "schedules",
    request_body = PreviewSchedule,
    responses((status = 200, body = SchedulePreview), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn preview(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<PreviewSchedule>,
) -> Result<axum::Json<SchedulePreview>, Failure> {
    let count = body.count.unwrap_or(DEFAULT_PREVIEW);
    if !(1..=MAX_PREVIEW).contains(&count) {
        let detail = format!("count: expected 1 to {MAX_PREVIEW}");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    let timing = timing(body.cron, body.every_seconds, body.time_zone)?;
    let slots = app.exchange.schedules.preview(&who, &timing, count)?;
    Ok(axum::Json(SchedulePreview { slots: slots.iter().map(ToString::to_string).collect() }))
}

fn timing(
    cron: Option<String>,
    every_seconds: Option<u32>,
    time_zone: Option<String>,
) -> Result<Timing, Failure> {
    match (cron, every_seconds) {
        (Some(expression), None) => {
            Ok(Timing::Cron { expression, time_zone: time_zone.unwrap_or_else(|| "UTC".into()) })
        }
        (None, Some(_)) if time_zone.is_some() => Err(zone_without_cron()),
        (None, Some(seconds)) => Ok(Timing::Every { seconds }),
        (Some(_), Some(_)) | (None, None) => {
            Err(Failure::new(ErrorCode::InvalidSchedule, "cron: expected either `cron` or `every_seconds`"))
        }
    }
}

fn zone_without_cron() -> Failure {
    Failure::new(ErrorCode::InvalidSchedule, "time_zone: an interval has none")
}

fn answer(app: &App, row: &model::Schedule) -> Response {
    ([(header::ETAG, format!("\"{}\"", row.version))], axum::Json(to_wire(app, row))).into_response()
}

fn to_wire(app: &App, row: &model::Schedule) -> Schedule {
    let (cron, time_zone, every_seconds) = match &row.timing {
        Timing::Cron { expression, time_zone } => (Some(expression.clone()), Some(time_zone.clone()), None),
        Timing::Every { seconds } => (None, None, Some(*seconds)),
    };
    Schedule {
        id: row.id.to_string(),
        workspace_id: row.workspace_id.to_string(),
        name: row.name.clone(),
        cron,
        time_zone,
        every_seconds,
        prompt: row.prompt.clone(),
        jitter_seconds: row.jitter_seconds,
        missed: convert::missed(row.missed),
        overlap: convert::overlap(row.overlap),
        is_paused: row.is_paused,
        upcoming: app.exchange.schedules.upcoming(row, UPCOMING).iter().map(ToString::to_string).collect(),
        next_at: row.next_at.map(|at| at.to_string()),
        created_by: convert::principal(&row.created_by),
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
        version: row.version,
        problem: row.unreadable.clone(),
    }
}

fn run_to_wire(run: &model::ScheduleRun) -> ScheduleRun {
    ScheduleRun {
        id: run.id.to_string(),
        schedule_id: run.schedule_id.to_string(),
        slot: run.slot.map(|slot| slot.to_string()),
        last_slot: run.last_slot.map(|slot| slot.to_string()),
        slots: run.slots,
        cause: match run.cause {
            model::RunCause::Slot => RunCause::Slot,
            model::RunCause::Missed => RunCause::Missed,
            model::RunCause::Manual => RunCause::Manual,
        },
        state: match run.state {
            model::RunState::Claimed => RunState::Claimed,
            model::RunState::Waiting => RunState::Waiting,
            model::RunState::Fired => RunState::Fired,
            model::RunState::Skipped => RunState::Skipped,
            model::RunState::Failed => RunState::Failed,
        },
        reason: run.reason.clone(),
        task_id: run.task_id.map(|id| id.to_string()),
        asked_by: run.asked_by.as_ref().map(convert::principal),
        attempts: run.attempts,
        created_at: run.created_at.to_string(),
        ended_at: run.ended_at.map(|at| at.to_string()),
    }
}

fn missed_from(policy: MissedPolicy) -> model::MissedPolicy {
    match policy {
        MissedPolicy::Skip => model::MissedPolicy::Skip,
        MissedPolicy::Once => model::MissedPolicy::Once,
        MissedPolicy::All => model::MissedPolicy::All,
    }
}

fn overlap_from(policy: OverlapPolicy) -> model::OverlapPolicy {
    match policy {
        OverlapPolicy::Skip => model::OverlapPolicy::Skip,
        OverlapPolicy::Queue => model::OverlapPolicy::Queue,
        OverlapPolicy::Allow => model::OverlapPolicy::Allow,
    }
}

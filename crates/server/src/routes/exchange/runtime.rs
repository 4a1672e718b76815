//! For runtimes that come and ask for their messages.

use std::sync::Arc;

use axum::extract::State;
use warren_api::{
    AnswerMessage, AnswerOutcome, Claim, ClaimMessage, Problem, ProgressTaken, ReportProgress, Task,
    TaskMessage,
};
use warren_exchange::{Answer, Outcome};
use warren_model as model;
use warren_model::{DeliveryReason, ErrorCode, TaskState, TaskUpdate};

use crate::App;
use crate::auth::Caller;
use crate::convert::exchange as convert;
use crate::extract::{Json, PathId, PathPair};
use crate::problem::Failure;

/// Take the next message of one's own workspace.
///
/// For the workspace's runtime alone. It tells how it goes with `progress`, which also renews the claim, and ends it with
/// `answer`; a claim that is neither renewed nor ended is lost.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/queue/claim", operation_id = "claim_message", tag = "exchange",
    params(("id" = String, Path)), request_body = ClaimMessage,
    responses((status = 200, body = Claim), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn claim(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<ClaimMessage>,
) -> Result<axum::Json<Claim>, Failure> {
    let lease_ms = body.lease_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
    let claimed = app.exchange.queue.claim(&who, id, body.wait_ms, lease_ms).await?;
    Ok(axum::Json(Claim { claimed: claimed.as_ref().map(convert::claimed) }))
}

/// Tell how work goes on, and renew the claim.
///
/// With nothing in it the claim is renewed and the work has not moved: a runtime that only does this is found out.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/queue/{delivery}/progress", operation_id = "report_progress", tag = "exchange",
    params(("id" = String, Path), ("delivery" = String, Path)), request_body = ReportProgress,
    responses((status = 200, body = ProgressTaken), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn progress(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, delivery): PathPair<model::DeliveryKind>,
    Json(report): Json<ReportProgress>,
) -> Result<axum::Json<ProgressTaken>, Failure> {
    let mut updates = convert::artifacts_from(report.artifacts)?;
    let message = said(&app, report.message)?;
    if message.is_some() || report.moved {
        updates.push(TaskUpdate::Status { state: TaskState::Working, message, at: app.clock.now() });
    }
    let (_, row) = app.exchange.queue.progress(&who, id, delivery, report.attempt, updates).await?;
    Ok(axum::Json(ProgressTaken { lease_until: row.lease_until.map(|at| at.to_string()) }))
}

/// End a claim: answered, busy or failed.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/queue/{delivery}/answer", operation_id = "answer_message", tag = "exchange",
    params(("id" = String, Path), ("delivery" = String, Path)), request_body = AnswerMessage,
    responses((status = 200, body = Task), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, delivery): PathPair<model::DeliveryKind>,
    Json(answer): Json<AnswerMessage>,
) -> Result<axum::Json<Task>, Failure> {
    let mut updates = convert::artifacts_from(answer.artifacts)?;
    let outcome = match answer.outcome {
        AnswerOutcome::Answered => Outcome::Answered,
        AnswerOutcome::Busy => Outcome::Busy { retry_after_ms: answer.retry_after_ms },
        AnswerOutcome::Failed => Outcome::Failed { reason: DeliveryReason::Failed },
    };
    let state = match (answer.outcome, answer.state.map(convert::task_state_from)) {
        (AnswerOutcome::Answered, Some(state)) if state.is_final() || state.is_interrupted() => state,
        (AnswerOutcome::Answered, None) => TaskState::Completed,
        (AnswerOutcome::Failed, None) => TaskState::Failed,
        (AnswerOutcome::Busy, None) => TaskState::Submitted,
        _ => {
            let detail =
                "state: with an answer, one in which the work has ended or waits for input; else none";
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
    };
    let message = said(&app, answer.message)?;
    if answer.outcome != AnswerOutcome::Busy {
        updates.push(TaskUpdate::Status { state, message, at: app.clock.now() });
    }
    let answer = Answer { delivery_id: delivery, attempt: answer.attempt, outcome, updates };
    let task = app.exchange.queue.answer(&who, id, answer).await?;
    Ok(axum::Json(convert::task(&task)))
}

/// What the agent says is the agent's, whatever the message claims.
fn said(app: &App, message: Option<TaskMessage>) -> Result<Option<model::Message>, Failure> {
    let Some(message) = message else { return Ok(None) };
    let id = app.entropy.id::<model::DeliveryKind>(app.clock.now()).to_string();
    let message = convert::message_from(message, id, "message")?;
    Ok(Some(model::Message { role: model::Role::Agent, ..message }))
}

//! HTTP before `agent::ModelDoor`: nothing is decided here.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use warren_agent::{DoorAnswer, DoorBody, DoorRequest, MAX_DOOR_BODY_BYTES, ModelDoor};
use warren_model::WorkspaceId;

use super::{BODY_PATIENCE, Inner, said};

pub(super) async fn answer(doors: &Inner, workspace: WorkspaceId, request: Request<Incoming>) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let is_post = head.method == Method::POST;
    if !is_post && !matches!(head.method, Method::GET | Method::HEAD) {
        return said(StatusCode::METHOD_NOT_ALLOWED, "the model door takes GET and POST");
    }
    let reading = Limited::new(body, MAX_DOOR_BODY_BYTES).collect();
    let body = match tokio::time::timeout(BODY_PATIENCE, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return respond(ModelDoor::too_large(&path)),
        Ok(Err(_)) => return said(StatusCode::BAD_REQUEST, "the request was cut off"),
        Err(_) => return said(StatusCode::REQUEST_TIMEOUT, "the request did not come in time"),
    };
    let headers = head.headers.iter().filter_map(|(name, value)| {
        // A name that stands twice says two things; neither is taken.
        let is_single = head.headers.get_all(name).iter().count() == 1;
        let value = value.to_str().ok().filter(|_| is_single)?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    let query = head.uri.query().unwrap_or_default().to_owned();
    let request = DoorRequest { is_post, path, query, headers: headers.collect(), body };
    respond(doors.app.agents.model_door.answer(workspace, request).await)
}

fn respond(answer: DoorAnswer) -> Response {
    let body = match answer.body {
        DoorBody::Whole(bytes) => Body::from(bytes),
        // As it comes, piece by piece; a program that hangs up drops it.
        DoorBody::Stream(answer) => Body::from_stream(stream::unfold(answer, |mut answer| async move {
            let piece = answer.next().await?;
            Some((piece, answer))
        })),
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

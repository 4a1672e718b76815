//! A request by A2A on its way in: who asks, of which workspace, in which version, and with what.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use warren_exchange::FileView;
use warren_exchange::a2a::{
    ErrorKind, MEDIA_TYPE, ProtocolError, VERSION, VERSION_HEADER, is_supported_version,
};
use warren_model::{ErrorCode, TaskId, Workspace};
use warren_operations::AccessWatch;
use warren_service::Identity;

use super::error::A2aError;
use crate::App;
use crate::auth::Caller;
use crate::extract::{BodyLimits, PathId, read_body};
use crate::problem::Failure;

/// A request of somebody who may speak with the workspace.
#[derive(Debug, Clone)]
pub(super) struct A2aRequest {
    pub(super) app: Arc<App>,
    pub(super) who: Identity,
    pub(super) workspace: Workspace,
    /// Where this Warren was called: scheme and host.
    pub(super) base_url: String,
}

/// The version is left to the binding: each has its own way to refuse it.
impl FromRequestParts<Arc<App>> for A2aRequest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Failure> {
        let Caller(who) = Caller::from_request_parts(parts, app).await?;
        let PathId(id) = PathId::from_request_parts(parts, app).await?;
        let workspace = app.exchange.peers.reach(&who, id).await?;
        Ok(Self { app: Arc::clone(app), who, workspace, base_url: base_url(&parts.headers) })
    }
}

/// As the caller reached us. The host is one of those that are served; a proxy that ends TLS says so, and who pretends
/// to be one deceives nobody but themselves.
fn base_url(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let scheme = if text("x-forwarded-proto").eq_ignore_ascii_case("https") { "https" } else { "http" };
    format!("{scheme}://{}", text("host"))
}

impl A2aRequest {
    /// With whose eyes tasks are shown to them.
    pub(super) fn sight(&self) -> FileView {
        FileView::of(&self.who, self.workspace.id)
    }

    /// Completes when a stream must end, with the reason (sec/U05). A workspace that rests is no reason: its task goes on when it
    /// wakes.
    pub(super) async fn lost(self) -> ErrorCode {
        let mut recheck = tokio::time::interval(AccessWatch::INTERVAL);
        loop {
            tokio::select! {
                () = self.app.stopping.cancelled() => return ErrorCode::ShuttingDown,
                _ = recheck.tick() => {}
            }
            // A database that is away is no reason to hang up on a reader who was let in.
            if let Ok(false) = self.app.fleet.tokens.is_still_valid(&self.who).await {
                return ErrorCode::TokenExpired;
            }
            match self.app.exchange.peers.reach(&self.who, self.workspace.id).await {
                Err(error) if error.code != ErrorCode::PlatformUnavailable => return error.code,
                Ok(_) | Err(_) => {}
            }
        }
    }
}

/// What came with the request besides who sent it.
pub(super) fn check_version(parts: &Parts) -> Result<(), ProtocolError> {
    let by_header =
        parts.headers.get(VERSION_HEADER).map(|value| value.to_str().unwrap_or("?").trim().to_owned());
    let version = by_header.filter(|version| !version.is_empty()).or_else(|| version_of_query(parts));
    // Without one, the protocol says, it is a request of 0.3.
    let version = version.unwrap_or_else(|| "0.3".to_owned());
    if is_supported_version(&version) {
        return Ok(());
    }
    let message = format!("this agent speaks A2A {VERSION}; send the header `A2A-Version: {VERSION}`");
    Err(ProtocolError::new(ErrorKind::VersionNotSupported, message).with("supportedVersions", VERSION))
}

/// For clients that cannot set a header.
fn version_of_query(parts: &Parts) -> Option<String> {
    let pairs = parts.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| name.eq_ignore_ascii_case(VERSION_HEADER))
        .map(|(_, value)| value.to_owned())
        .next()
}

/// A JSON body under the limits of the API. Strict about its media type, which no form of another site can send.
pub(super) async fn json_body(request: Request, app: &App) -> Result<Bytes, A2aError> {
    let media_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    if ![MEDIA_TYPE, "application/json"].iter().any(|taken| essence.eq_ignore_ascii_case(taken)) {
        let words = format!("Content-Type: expected {MEDIA_TYPE} or application/json");
        return Err(ProtocolError::new(ErrorKind::ContentTypeNotSupported, words).into());
    }
    read_body(request.into_body(), BodyLimits::of(app.limits())).await.map_err(|failure| {
        match failure.code() {
            ErrorCode::PayloadTooLarge => {
                let limit = app.limits().max_body_bytes;
                let message = format!("the request has more than {limit} bytes (`limits.max_body_bytes`)");
                ProtocolError::new(ErrorKind::Warren(ErrorCode::PayloadTooLarge), message).into()
            }
            _ => failure.into(),
        }
    })
}

/// Reads a request type; an error names the field by its path.
pub(super) fn read<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, ProtocolError> {
    warren_model::from_json(value).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        ProtocolError::invalid(if path == "." { inner.to_string() } else { format!("{path}: {inner}") })
    })
}

/// What is not an id of ours cannot be a task of ours.
pub(super) fn task_id(text: &str) -> Result<TaskId, ProtocolError> {
    text.parse().map_err(|_| ProtocolError::task_not_found())
}

/// A segment of the path.
pub(super) async fn segment(parts: &mut Parts, name: &str) -> Result<String, Failure> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params = params.map_err(|_| Failure::from(ErrorCode::RouteNotFound))?;
    let found = params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    found.ok_or_else(|| ErrorCode::RouteNotFound.into())
}

//! Extractors that answer bad input with our own problem documents, naming the field.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use bytes::Bytes;
use http::header;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use warren_model::session::SessionName;
use warren_model::{
    DocumentError, ErrorCode, Id, IdKind, Limits, MAX_DOCUMENT_BYTES, MemoryScope, SessionMessageId,
    WorkspaceId, WorkspaceKind, from_json, parse_yaml,
};
use warren_workspace::shell::ProcessId;

use crate::App;
use crate::problem::Failure;

/// What YAML is called on the wire; the first is the registered name.
const YAML_TYPES: [&str; 4] = [warren_api::YAML, "application/x-yaml", "text/yaml", "text/x-yaml"];

/// A JSON body: limited in size and time, strict about its media type and its fields.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        read_json(request, BodyLimits::of(app.limits())).await.map(Self)
    }
}

/// The same for a bundle, which may be larger.
#[derive(Debug)]
pub(crate) struct BundleJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for BundleJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        read_json(request, BodyLimits::of_bundle(app.limits())).await.map(Self)
    }
}

async fn read_json<T: DeserializeOwned>(request: Request, limits: BodyLimits) -> Result<T, Failure> {
    let media_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|value| value.split(';').next()).map(str::trim);
    if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Err(ErrorCode::UnsupportedMediaType.into());
    }
    parse(&read_body(request.into_body(), limits).await?)
}

/// A body of any kind: limited in size and time.
#[derive(Debug)]
pub(crate) struct WholeBody(pub(crate) Bytes);

impl FromRequest<Arc<App>> for WholeBody {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        read_body(request.into_body(), BodyLimits::of(app.limits())).await.map(Self)
    }
}

/// A document that people write: YAML or JSON, with its text as it came.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: serde_json::Value,
    pub(crate) source: String,
}

impl FromRequest<Arc<App>> for Document {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let media_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = media_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        let is_yaml = YAML_TYPES.iter().any(|name| essence.eq_ignore_ascii_case(name));
        if !is_yaml && !essence.eq_ignore_ascii_case("application/json") {
            let detail = "expected application/yaml or application/json";
            return Err(Failure::new(ErrorCode::UnsupportedMediaType, detail));
        }
        let bytes = read_body(request.into_body(), BodyLimits::of(app.limits())).await?;
        if bytes.len() > MAX_DOCUMENT_BYTES {
            let detail = DocumentError::TooLarge { bytes: bytes.len() }.to_string();
            return Err(Failure::new(ErrorCode::PayloadTooLarge, detail));
        }
        let not_text = |_| Failure::new(ErrorCode::InvalidYaml, "the document is not UTF-8");
        let source = String::from_utf8(bytes.to_vec()).map_err(not_text)?;
        let value = if is_yaml {
            parse_yaml(&source).map_err(|error| Failure::new(ErrorCode::InvalidYaml, error.to_string()))?
        } else {
            parse::<warren_api::Document>(source.as_bytes())?.0
        };
        Ok(Self { value, source })
    }
}

/// How large a body may be, and how long it may take to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    max_bytes: u64,
    timeout: Duration,
    /// What raises the first.
    setting: &'static str,
}

impl BodyLimits {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            max_bytes: limits.max_body_bytes,
            timeout: Duration::from_millis(limits.body_timeout_ms),
            setting: "limits.max_body_bytes",
        }
    }

    /// The request around a bundle is as long as any other may be, and what is longer may take longer to come.
    fn of_bundle(limits: &Limits) -> Self {
        let times = limits.max_bundle_bytes / limits.max_body_bytes.max(1) + 1;
        Self {
            max_bytes: limits.max_body_bytes.saturating_add(limits.max_bundle_bytes),
            timeout: Duration::from_millis(limits.body_timeout_ms.saturating_mul(times)),
            setting: "limits.max_bundle_bytes",
        }
    }
}

pub(crate) async fn read_body(body: axum::body::Body, limits: BodyLimits) -> Result<Bytes, Failure> {
    let max = limits.max_bytes;
    let body = Limited::new(body, usize::try_from(max).unwrap_or(usize::MAX));
    match tokio::time::timeout(limits.timeout, body.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let detail = format!("the limit is {max} bytes (`{}`)", limits.setting);
            Err(Failure::new(ErrorCode::PayloadTooLarge, detail))
        }
        Ok(Err(_)) => Err(Failure::new(ErrorCode::InvalidJson, "the body ended early")),
        Err(_) => Err(ErrorCode::RequestTimeout.into()),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    // serde would take an array for an object whose fields are all optional, by position.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Failure::new(ErrorCode::InvalidRequest, "expected an object, not an array"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize(&mut deserializer) {
        Ok(value) => {
            let trailing = |error: serde_json::Error| Failure::new(ErrorCode::InvalidJson, error.to_string());
            deserializer.end().map_err(trailing)?;
            Ok(value)
        }
        // Perhaps an integer that is written `60.0`. Read as JSON first, which is dearer and so not done for all.
        Err(error) if error.inner().is_data() => match serde_json::from_slice(bytes) {
            Ok(warren_api::Document(value)) => from_json(value).map_err(|_| unreadable(&error)),
            Err(_) => Err(unreadable(&error)),
        },
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &serde_path_to_error::Error<serde_json::Error>) -> Failure {
    let path = error.path().to_string();
    let inner = error.inner();
    let code = if inner.is_data() { ErrorCode::InvalidRequest } else { ErrorCode::InvalidJson };
    let detail = if path == "." { inner.to_string() } else { format!("{path}: {inner}") };
    Failure::new(code, detail)
}

/// The query string; unknown parameters are errors when `T` denies them.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Failure> {
        // The decoder replaces what is not UTF-8, and two names that differ only there would become one.
        let raw = parts.uri.query().unwrap_or_default();
        if percent_encoding::percent_decode_str(raw).decode_utf8().is_err() {
            return Err(Failure::new(ErrorCode::InvalidRequest, "the query is not UTF-8"));
        }
        match axum::extract::Query::<T>::from_request_parts(parts, app).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(QueryRejection::FailedToDeserializeQueryString(error)) => {
                let detail = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
                Err(Failure::new(ErrorCode::InvalidRequest, detail))
            }
            Err(other) => Err(Failure::new(ErrorCode::InvalidRequest, other.to_string())),
        }
    }
}

/// The `{id}` of the path. What is not an id cannot exist: the answer is the same as for one that does not.
#[derive(Debug)]
pub(crate) struct PathId<K: IdKind>(pub(crate) Id<K>);

impl<K: IdKind> FromRequestParts<Arc<App>> for PathId<K> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let not_found = || match K::NOUN {
            "token" => Failure::from(ErrorCode::TokenNotFound),
            "webhook" => Failure::from(ErrorCode::WebhookNotFound),
            "schedule" => Failure::from(ErrorCode::ScheduleNotFound),
            "approval" => Failure::from(ErrorCode::ApprovalNotFound),
            "invitation" => Failure::from(ErrorCode::InvitationNotFound),
            "rule" => Failure::from(ErrorCode::ToolRuleNotFound),
            _ => Failure::from(ErrorCode::WorkspaceNotFound),
        };
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let text = params.iter().find(|(name, _)| *name == "id").map(|(_, value)| value);
        text.and_then(|text| text.parse().ok()).map(Self).ok_or_else(not_found)
    }
}

/// The workspace's `{id}` and the id of something that belongs to it, named by its noun.
#[derive(Debug)]
pub(crate) struct PathPair<K: IdKind>(pub(crate) WorkspaceId, pub(crate) Id<K>);

impl<K: IdKind> FromRequestParts<Arc<App>> for PathPair<K> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Failure> {
        let PathId(workspace_id) = PathId::<WorkspaceKind>::from_request_parts(parts, app).await?;
        let not_found = || match K::NOUN {
            "task" => Failure::from(ErrorCode::TaskNotFound),
            "delivery" => Failure::from(ErrorCode::DeliveryNotFound),
            "delegation" => Failure::from(ErrorCode::DelegationNotFound),
            "conversation" => Failure::from(ErrorCode::ConversationNotFound),
            _ => Failure::from(ErrorCode::RouteNotFound),
        };
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let text = params.iter().find(|(name, _)| *name == K::NOUN).map(|(_, value)| value);
        let id = text.and_then(|text| text.parse().ok()).ok_or_else(not_found)?;
        Ok(Self(workspace_id, id))
    }
}

/// The `{name}` of the path.
#[derive(Debug)]
pub(crate) struct PathName(pub(crate) String);

impl FromRequestParts<Arc<App>> for PathName {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let params = RawPathParams::from_request_parts(parts, &()).await;
        let params = params.map_err(|_| Failure::from(ErrorCode::RouteNotFound))?;
        let name = params.iter().find(|(name, _)| *name == "name").map(|(_, value)| value.to_owned());
        name.map(Self).ok_or_else(|| ErrorCode::RouteNotFound.into())
    }
}

/// The `{user}` of the path: a name or an id.
#[derive(Debug)]
pub(crate) struct PathUser(pub(crate) String);

impl FromRequestParts<Arc<App>> for PathUser {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        text_of(parts, "user", ErrorCode::UserNotFound).await.map(Self)
    }
}

/// The `{org}` of the path: a name or an id.
#[derive(Debug)]
pub(crate) struct PathOrg(pub(crate) String);

impl FromRequestParts<Arc<App>> for PathOrg {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        text_of(parts, "org", ErrorCode::OrgNotFound).await.map(Self)
    }
}

async fn text_of(parts: &mut Parts, name: &str, missing: ErrorCode) -> Result<String, Failure> {
    let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| Failure::from(missing))?;
    let found = params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    found.ok_or_else(|| missing.into())
}

/// The `{session}` of the path: its name or its id. What is neither cannot exist.
#[derive(Debug)]
pub(crate) struct PathSession(pub(crate) SessionName);

impl FromRequestParts<Arc<App>> for PathSession {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let not_found = || Failure::from(ErrorCode::SessionNotFound);
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let text = params.iter().find(|(name, _)| *name == "session").map(|(_, value)| value);
        text.and_then(|text| text.parse().ok()).map(Self).ok_or_else(not_found)
    }
}

/// The `{message}` of the path, of a session.
#[derive(Debug)]
pub(crate) struct PathSessionMessage(pub(crate) SessionMessageId);

impl FromRequestParts<Arc<App>> for PathSessionMessage {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let not_found = || Failure::from(ErrorCode::SessionMessageNotFound);
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let text = params.iter().find(|(name, _)| *name == "message").map(|(_, value)| value);
        text.and_then(|text| text.parse().ok()).map(Self).ok_or_else(not_found)
    }
}

/// The `{step}` of the path. What is not a number cannot exist.
#[derive(Debug)]
pub(crate) struct PathStep(pub(crate) u32);

impl FromRequestParts<Arc<App>> for PathStep {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let not_found = || Failure::from(ErrorCode::StepNotFound);
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let text = params.iter().find(|(name, _)| *name == "step").map(|(_, value)| value);
        text.and_then(|text| text.parse().ok()).map(Self).ok_or_else(not_found)
    }
}

/// The `{name}` and `{hash}` of the path.
#[derive(Debug)]
pub(crate) struct PathVersion {
    pub(crate) name: String,
    pub(crate) hash: String,
}

impl FromRequestParts<Arc<App>> for PathVersion {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let not_found = || Failure::from(ErrorCode::RouteNotFound);
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let find =
            |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
        let (name, hash) = find("name").zip(find("hash")).ok_or_else(not_found)?;
        Ok(Self { name, hash })
    }
}

/// The `{scope}` of the path: of what is remembered.
#[derive(Debug)]
pub(crate) struct PathScope(pub(crate) MemoryScope);

impl FromRequestParts<Arc<App>> for PathScope {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let unknown = || Failure::new(ErrorCode::InvalidRequest, "scope: expected local, team or org");
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| unknown())?;
        let text = params.iter().find(|(name, _)| *name == "scope").map(|(_, value)| value);
        text.and_then(MemoryScope::parse).map(Self).ok_or_else(unknown)
    }
}

/// The `{process}` of the path. What is not a number cannot exist.
#[derive(Debug)]
pub(crate) struct PathProcess(pub(crate) ProcessId);

impl FromRequestParts<Arc<App>> for PathProcess {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        let not_found = || Failure::from(ErrorCode::ProcessNotFound);
        let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
        let text = params.iter().find(|(name, _)| *name == "process").map(|(_, value)| value);
        text.and_then(|text| text.parse().ok()).map(|id| Self(ProcessId(id))).ok_or_else(not_found)
    }
}

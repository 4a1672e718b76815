//! The way from an MCP request to a route of the API, inside this process.

use std::fmt;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument as _;
use warren_model::ErrorCode;
use warren_service::Identity;

use crate::auth::Caller;
use crate::problem::{self, CurrentRequest, Failure};

/// The routes of the API, to be called by whoever has shown a token already.
#[derive(Clone)]
pub(super) struct Routes(TowerToHyperService<Router>);

impl Routes {
    /// A panic becomes an answer here, since the task that would carry it up is not the request's.
    pub(super) fn new(api: Router) -> Self {
        Self(TowerToHyperService::new(api.layer(CatchPanicLayer::custom(problem::panicked))))
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Routes")
    }
}

/// The routes as one caller may use them, for one request.
#[derive(Debug, Clone)]
pub(super) struct LocalRouter {
    routes: Routes,
    who: Identity,
    request: CurrentRequest,
    /// Of the POST: the library runs its handlers in tasks of their own.
    span: tracing::Span,
}

/// What a route answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) bytes: Bytes,
}

impl Answer {
    /// Reads the body, which one of our own routes has written.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes).map_err(|error| Failure::internal(error.to_string()))
    }
}

impl LocalRouter {
    pub(super) fn new(routes: &Routes, who: &Identity, request: &CurrentRequest) -> Self {
        let span = tracing::Span::current();
        Self { routes: routes.clone(), who: who.clone(), request: request.clone(), span }
    }

    pub(super) fn request_id(&self) -> &str {
        &self.request.0
    }

    /// The span of the POST that is being answered.
    pub(super) fn span(&self) -> tracing::Span {
        self.span.clone()
    }

    pub(super) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.ask(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Answer, Failure> {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// `path` with its query, encoded. Dropped before its end, it ends what the route has begun, as when a client of
    /// HTTP hangs up.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let request = Request::builder().method(method).uri(path);
        let request = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(serde_json::to_vec(body).unwrap_or_default())),
            None => request.body(Body::empty()),
        };
        let mut request = request.map_err(|_| Failure::from(ErrorCode::RouteNotFound))?;
        request.extensions_mut().insert(Caller(self.who.clone()));
        request.extensions_mut().insert(self.request.clone());
        let answered = async {
            let Ok(response) = self.routes.0.call(request).await;
            self.read(response).await
        };
        answered.instrument(self.span()).await
    }

    async fn read(&self, mut response: Response) -> Result<Answer, Failure> {
        if let Some(failure) = response.extensions_mut().remove::<Failure>() {
            problem::log(&failure);
            return Err(failure);
        }
        if !response.status().is_success() {
            return Err(ErrorCode::RouteNotFound.into());
        }
        let body = response.into_body();
        let broken = |error: axum::Error| Failure::internal(error.to_string());
        let bytes = body.collect().await.map_err(broken)?.to_bytes();
        Ok(Answer { bytes })
    }
}

/// A piece of a path or query, such that it stays one piece.
pub(super) fn encoded(text: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

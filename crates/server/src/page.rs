//! The embedded page, and a placeholder for builds without it.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use warren_model::ErrorCode;

use crate::problem::Failure;

#[derive(rust_embed::RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../web/dist"]
#[allow_missing = true]
struct Files;

const PLACEHOLDER: &str = include_str!("placeholder.html");

/// Serves a file of the page; paths of the page's own routes get its index.
pub(crate) async fn serve(method: Method, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("api/")
        || path.starts_with("mcp/")
        || path.starts_with("a2a/")
        || path.starts_with("assets/") && Files::get(path).is_none()
    {
        return Failure::from(ErrorCode::RouteNotFound).into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return Failure::from(ErrorCode::RouteNotFound).into_response();
    }
    let name = if Files::get(path).is_some() { path } else { "index.html" };
    match Files::get(name) {
        Some(file) => {
            let is_hashed = name.starts_with("assets/");
            let cache = if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
            let headers = [(header::CONTENT_TYPE, media_type(name)), (header::CACHE_CONTROL, cache)];
            (headers, Body::from(file.data)).into_response()
        }
        None => {
            let headers =
                [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
            (StatusCode::OK, headers, PLACEHOLDER).into_response()
        }
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Headers of every answer: nothing is guessed, framed, or loaded from elsewhere (sec/W03, sec/W04).
pub(crate) fn add_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
             object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

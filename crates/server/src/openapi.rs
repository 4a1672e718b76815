//! The OpenAPI document, made from the routes themselves.

use std::sync::Arc;

use utoipa::PartialSchema as _;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContactBuilder, InfoBuilder, LicenseBuilder, OpenApi};

use warren_api::TerminalRequest;

use crate::{App, VERSION, routes};

pub fn document() -> OpenApi {
    let routes: utoipa_axum::router::OpenApiRouter<Arc<App>> = routes::api();
    let mut document = routes.into_openapi();
    document.info = InfoBuilder::new()
        .title("Warren")
        .version(VERSION)
        .description(Some("Places for AI agents to work."))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build()))
        .contact(Some(ContactBuilder::new().name(Some("Warren")).build()))
        .build();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", bearer);
    // What a client says over a WebSocket has no place in a description of requests, but it is a promise like them.
    components.schemas.insert("TerminalRequest".to_owned(), TerminalRequest::schema());
    document.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    document
}

/// As committed in `openapi/v1.json` and served at `/api/v1/openapi.json`.
pub fn json() -> String {
    let mut text = document().to_pretty_json().expect("the document is plain data");
    text.push('\n');
    text
}

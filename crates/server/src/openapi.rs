//! The OpenAPI document, made from the routes themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use utoipa::PartialSchema as _;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContactBuilder, InfoBuilder, LicenseBuilder, OpenApi, RefOr};

use warren_api::TerminalRequest;
use warren_model::EventKind;

use crate::{App, VERSION, routes};

type Schemas = BTreeMap<String, RefOr<Schema>>;

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
    type_events(&mut components.schemas);
    document.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    document
}

/// Events by kind. The `api` crate knows what stands around an event's data, and the table of events in `model` knows
/// the data of each kind; here they are put together. The JSON is what it is without this.
fn type_events(schemas: &mut Schemas) {
    for kind in EventKind::ALL {
        let kind_alone = json!({ "type": "string", "enum": [kind.as_str()] });
        put(
            schemas,
            &event_schema(*kind),
            json!({
                "type": "object",
                "description": kind.meaning().trim(),
                "required": ["kind", "data"],
                "properties": { "kind": kind_alone, "data": kind.schema() },
            }),
        );
    }
    type_event(schemas, "Event", |kind| kind.is_stored());
    type_event(schemas, "LiveEvent", |kind| !kind.is_stored());
}

/// Splits a schema of an event into what all kinds have, and one of the kinds.
fn type_event(schemas: &mut Schemas, name: &str, is_one: fn(&EventKind) -> bool) {
    let mut header = serde_json::to_value(schemas.get(name)).expect("a schema is plain data");
    let description = header["description"].clone();
    header["description"] = json!(format!("What every `{name}` has, whatever its kind."));
    if let Some(required) = header["required"].as_array_mut() {
        required.retain(|name| name != "kind" && name != "data");
    }
    if let Some(properties) = header["properties"].as_object_mut() {
        properties.retain(|name, _| name != "kind" && name != "data");
    }
    let kinds = EventKind::ALL.iter().filter(|kind| is_one(kind));
    let reference = |name: &str| format!("#/components/schemas/{name}");
    let mapping: Map<String, Value> = kinds
        .clone()
        .map(|kind| (kind.as_str().to_owned(), json!(reference(&event_schema(*kind)))))
        .collect();
    let one_of: Vec<Value> = kinds.map(|kind| json!({ "$ref": reference(&event_schema(*kind)) })).collect();
    let (header_name, kind_name) = (format!("{name}Header"), format!("{name}Kind"));
    let discriminator = json!({ "propertyName": "kind", "mapping": mapping });
    put(schemas, &kind_name, json!({ "oneOf": one_of, "discriminator": discriminator }));
    let parts = json!([{ "$ref": reference(&header_name) }, { "$ref": reference(&kind_name) }]);
    put(schemas, name, json!({ "description": description, "allOf": parts }));
    put(schemas, &header_name, header);
}

fn event_schema(kind: EventKind) -> String {
    format!("{}Event", kind.type_name())
}

fn put(schemas: &mut Schemas, name: &str, schema: Value) {
    let schema = serde_json::from_value(schema).expect("a schema that was put together here");
    schemas.insert(name.to_owned(), schema);
}

/// As committed in `openapi/v1.json` and served at `/api/v1/openapi.json`.
pub fn json() -> String {
    let mut text = document().to_pretty_json().expect("the document is plain data");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_event_has_a_schema_with_its_fields() {
        let document = serde_json::to_value(document()).expect("the document is plain data");
        let schemas = &document["components"]["schemas"];
        for kind in EventKind::ALL {
            let schema = &schemas[event_schema(*kind)]["properties"];
            assert_eq!(schema["kind"]["enum"], json!([kind.as_str()]));
            assert_eq!(schema["data"], kind.schema(), "{kind:?}");
            let list = if kind.is_stored() { "EventKind" } else { "LiveEventKind" };
            let reference = json!(format!("#/components/schemas/{}", event_schema(*kind)));
            assert_eq!(schemas[list]["discriminator"]["mapping"][kind.as_str()], reference);
            let one_of = schemas[list]["oneOf"].as_array().expect("a list");
            assert!(one_of.contains(&json!({ "$ref": reference })), "{kind:?}");
        }
    }
}

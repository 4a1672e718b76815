//! The OpenAPI document, made from the routes themselves.

mod for_generators;

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
    for_generators::complete(&mut document);
    document
}

/// Events by kind. The `api` crate knows what stands around an event's data, and the table of events in `model` knows
/// the data of each kind; here they are put together. The JSON is what it is without this.
fn type_events(schemas: &mut Schemas) {
    type_event(schemas, "Event", |kind| kind.is_stored());
    type_event(schemas, "LiveEvent", |kind| !kind.is_stored());
}

/// Makes of a schema of any event one of what all have, one for each kind, and in its own place one of these.
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
    let header_name = format!("{name}Header");
    put(schemas, &header_name, header);
    let (mut one_of, mut mapping) = (Vec::new(), Map::new());
    for kind in EventKind::ALL.iter().filter(|kind| is_one(kind)) {
        let schema = event_schema(*kind);
        // By name: generators call an unnamed one after the place where they met it, and then meet it twice.
        let data = format!("{schema}Data");
        put(schemas, &data, kind.schema());
        let data = json!({ "$ref": reference(&data) });
        let own = json!({
            "type": "object",
            "required": ["kind", "data"],
            "properties": { "kind": { "type": "string", "enum": [kind.as_str()] }, "data": data },
        });
        let parts = json!([{ "$ref": reference(&header_name) }, own]);
        put(schemas, &schema, json!({ "description": kind.meaning().trim(), "allOf": parts }));
        one_of.push(json!({ "$ref": reference(&schema) }));
        mapping.insert(kind.as_str().to_owned(), json!(reference(&schema)));
    }
    let discriminator = json!({ "propertyName": "kind", "mapping": mapping });
    put(
        schemas,
        name,
        json!({ "description": description, "oneOf": one_of, "discriminator": discriminator }),
    );
}

fn reference(schema: &str) -> String {
    format!("#/components/schemas/{schema}")
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
            let schema = &schemas[event_schema(*kind)]["allOf"][1]["properties"];
            assert_eq!(schema["kind"]["enum"], json!([kind.as_str()]));
            let data = format!("{}Data", event_schema(*kind));
            assert_eq!(schema["data"], json!({ "$ref": reference(&data) }));
            assert_eq!(schemas[data], kind.schema(), "{kind:?}");
            let kinds = &schemas[if kind.is_stored() { "Event" } else { "LiveEvent" }];
            let reference = json!(reference(&event_schema(*kind)));
            assert_eq!(kinds["discriminator"]["mapping"][kind.as_str()], reference);
            let one_of = kinds["oneOf"].as_array().expect("a list");
            assert!(one_of.contains(&json!({ "$ref": reference })), "{kind:?}");
        }
    }
}

//! What the macros leave out and programs that read the document need: a sentence for every answer, the refusals by their
//! status, files as bytes, and tagged configs that something can satisfy.

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder, ServerBuilder};
use warren_api::PROBLEM_JSON;

const BYTES: &str = "application/octet-stream";
const DEFAULT: &str = "default";
const PROBLEM: &str = "#/components/schemas/Problem";

/// Refusals by their status: what a component with this answer is called, and its sentence.
const REFUSALS: [(u16, &str, &str); 13] = [
    (400, "BadRequest", "The request is not one that this route understands; `detail` names the field."),
    (
        401,
        "Unauthenticated",
        "There is no valid token, or what was shown in its place is not valid any more.",
    ),
    (402, "BudgetExhausted", "The budget of the workspace is spent."),
    (403, "Forbidden", "The token may not do that, or the request comes from a place that may not ask."),
    (404, "NotFound", "There is no such thing, or none that the token may see."),
    (408, "TooSlow", "The request took too long to arrive."),
    (409, "Conflict", "The state of things does not allow it; `code` says what is in the way."),
    (410, "Gone", "It was there and has ended."),
    (
        412,
        "PreconditionFailed",
        "A condition of the request does not hold, such as the version that it names.",
    ),
    (413, "TooLarge", "The body is larger than allowed."),
    (415, "UnsupportedMediaType", "The content type is not one that this route takes."),
    (422, "Unprocessable", "The request is well-formed and asks for something that cannot be."),
    (429, "TooManyRequests", "Too many requests; `Retry-After` says when to try again."),
];

/// Completes the document.
pub(super) fn complete(document: &mut OpenApi) {
    let here =
        ServerBuilder::new().url("/").description(Some("The server that this document came from.")).build();
    let local = ServerBuilder::new().url("http://127.0.0.1:7878");
    let local =
        local.description(Some("`warren up` on this machine, if nothing else was asked for.")).build();
    document.servers = Some(vec![here, local]);
    let components = document.components.get_or_insert_default();
    for (_, name, sentence) in REFUSALS {
        components.responses.insert(name.to_owned(), RefOr::T(refusal(sentence)));
    }
    join_tagged(&mut components.schemas);
    for item in document.paths.paths.values_mut() {
        for (method, operation) in operations(item) {
            complete_operation(&method, operation);
        }
    }
}

fn refusal(sentence: &str) -> Response {
    let content = Content::new(Some(RefOr::<Schema>::Ref(Ref::new(PROBLEM))));
    ResponseBuilder::new().description(sentence).content(PROBLEM_JSON, content).build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let all = [
        (Method::GET, &mut item.get),
        (Method::PUT, &mut item.put),
        (Method::POST, &mut item.post),
        (Method::DELETE, &mut item.delete),
        (Method::PATCH, &mut item.patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn complete_operation(method: &Method, operation: &mut Operation) {
    let takes_something =
        operation.parameters.as_ref().is_some_and(|all| !all.is_empty()) || operation.request_body.is_some();
    let has_body = operation.request_body.is_some();
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.content.iter_mut().for_each(|(kind, content)| describe_bytes(kind, content));
    }
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let is_about_one_invitation = id.ends_with("_invitation") && id != "create_invitation";
    let responses = &mut operation.responses.responses;
    for (status, name, _) in REFUSALS {
        let can_be = match status {
            401 | 403 | 429 => true,
            400 | 404 | 409 | 422 => takes_something,
            412 => takes_something && *method != Method::GET,
            408 | 413 | 415 => has_body,
            402 => has_body && *method == Method::POST,
            410 => is_about_one_invitation,
            _ => false,
        };
        if can_be {
            let named = || RefOr::Ref(Ref::from_response_name(name));
            responses.entry(status.to_string()).or_insert_with(named);
        }
    }
    for (status, response) in responses {
        let RefOr::T(response) = response else { continue };
        response.content.iter_mut().for_each(|(kind, content)| describe_bytes(kind, content));
        if response.description.is_empty() {
            response.description = sentence_for(status);
        }
    }
}

fn sentence_for(status: &str) -> String {
    if let Some((_, _, sentence)) = REFUSALS.iter().find(|(known, ..)| known.to_string() == status) {
        return (*sentence).to_owned();
    }
    let sentence = match status {
        DEFAULT => "Anything else that went wrong.",
        "101" => "The connection goes on as a WebSocket.",
        "200" => "Done.",
        "201" => "Made.",
        "202" => "Taken; it happens in its own time.",
        "204" => "Done, and nothing to tell.",
        "206" => "The part that was asked for.",
        "207" => "Done for some; each part tells how it went.",
        "303" => "Go on there.",
        _ => {
            let known = status.parse().ok().and_then(|status| StatusCode::from_u16(status).ok());
            return known.and_then(|status| status.canonical_reason()).unwrap_or(status).to_owned();
        }
    };
    sentence.to_owned()
}

/// Bytes are bytes. The macros take them for a list of numbers, and a client made from that writes one.
fn describe_bytes(kind: &str, content: &mut RefOr<Content>) {
    if let (BYTES, RefOr::T(content)) = (kind, content) {
        let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
        let bytes = ObjectBuilder::new().schema_type(Type::String).format(Some(format)).build();
        content.schema = Some(RefOr::T(Schema::Object(bytes)));
    }
}

/// A tagged enum of structs is described as `allOf` of the struct and its tag. Where the struct takes no further fields,
/// the tag itself would be one too many, and nothing could satisfy both. There the tag becomes a field of the struct.
fn join_tagged(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let names: Vec<String> = schemas.keys().cloned().collect();
    for name in names {
        let mut value = serde_json::to_value(&schemas[&name]).expect("a schema is plain data");
        let Some(variants) = value["oneOf"].as_array() else { continue };
        let Some(tagged) = variants.iter().map(|one| Tagged::read(one, schemas)).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        for one in &tagged {
            let mut schema = serde_json::to_value(&schemas[&one.name]).expect("a schema is plain data");
            let tag = json!({ "type": "string", "enum": [one.value] });
            let mut properties = serde_json::Map::from_iter([(one.field.clone(), tag)]);
            properties.extend(schema["properties"].as_object().cloned().unwrap_or_default());
            schema["properties"] = Value::Object(properties);
            let mut required = vec![json!(one.field)];
            required.extend(schema["required"].as_array().cloned().unwrap_or_default());
            schema["required"] = Value::Array(required);
            super::put(schemas, &one.name, schema);
        }
        let reference = |one: &Tagged| json!(super::reference(&one.name));
        value["oneOf"] = tagged.iter().map(|one| json!({ "$ref": reference(one) })).collect();
        let mapping: serde_json::Map<_, _> =
            tagged.iter().map(|one| (one.value.clone(), reference(one))).collect();
        value["discriminator"] = json!({ "propertyName": tagged[0].field, "mapping": mapping });
        super::put(schemas, &name, value);
    }
}

/// A variant of a tagged enum: a struct that takes no further fields, and its tag.
struct Tagged {
    /// The struct's name in the document.
    name: String,
    field: String,
    value: String,
}

impl Tagged {
    fn read(variant: &Value, schemas: &BTreeMap<String, RefOr<Schema>>) -> Option<Self> {
        let [of, tag] = variant["allOf"].as_array()?.as_slice() else { return None };
        let name = of["$ref"].as_str()?.strip_prefix("#/components/schemas/")?;
        let fields = serde_json::to_value(schemas.get(name)?).ok()?;
        let (field, schema) = tag["properties"].as_object()?.iter().next()?;
        let value = schema["enum"].as_array()?.first()?.as_str()?;
        let takes_no_more = fields["additionalProperties"] == false;
        takes_no_more.then(|| Self { name: name.to_owned(), field: field.clone(), value: value.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        serde_json::to_value(super::super::document()).expect("the document is plain data")
    }

    fn each_operation(document: &Value) -> impl Iterator<Item = &Value> {
        let paths = document["paths"].as_object().expect("paths").values();
        paths.flat_map(|item| item.as_object().expect("operations").values())
    }

    // S20
    #[test]
    fn every_answer_has_a_sentence_and_every_operation_names_its_refusals() {
        let document = document();
        for operation in each_operation(&document) {
            let id = &operation["operationId"];
            let responses = operation["responses"].as_object().expect("responses");
            for (status, response) in responses {
                let sentence = response["description"].as_str().or_else(|| response["$ref"].as_str());
                assert!(sentence.is_some_and(|text| !text.is_empty()), "{id} {status}");
            }
            for status in ["401", "403", "429"] {
                assert!(responses.contains_key(status), "{id} {status}");
            }
        }
        assert_eq!(document["servers"][0]["url"], "/");
    }

    // S20: with `additionalProperties: false` beside it, a part of an `allOf` refuses what the other parts ask for.
    #[test]
    fn no_schema_contradicts_itself() {
        fn look(value: &Value, schemas: &Value, at: &str) {
            for part in value["allOf"].as_array().into_iter().flatten() {
                let name = part["$ref"].as_str().and_then(|name| name.strip_prefix("#/components/schemas/"));
                let part = name.map_or(part, |name| &schemas[name]);
                assert_ne!(part["additionalProperties"], false, "{at}: {name:?}");
            }
            match value {
                Value::Object(fields) => fields.values().for_each(|value| look(value, schemas, at)),
                Value::Array(items) => items.iter().for_each(|value| look(value, schemas, at)),
                _ => {}
            }
        }
        let document = document();
        let schemas = &document["components"]["schemas"];
        for (name, schema) in schemas.as_object().expect("schemas") {
            look(schema, schemas, name);
        }
        let kinds = &schemas["ProviderConfig"]["discriminator"]["mapping"];
        assert_eq!(kinds["sandbox"], "#/components/schemas/SandboxConfig");
        assert_eq!(schemas["SandboxConfig"]["required"], json!(["kind"]));
    }

    // S20
    #[test]
    fn bytes_are_not_numbers() {
        let document = document();
        let bytes = json!({ "type": "string", "format": "binary" });
        let files = &document["paths"]["/api/v1/workspaces/{id}/files"];
        assert_eq!(files["put"]["requestBody"]["content"][BYTES]["schema"], bytes);
        assert_eq!(files["get"]["responses"]["200"]["content"][BYTES]["schema"], bytes);
        assert_eq!(files["get"]["responses"]["206"]["content"][BYTES]["schema"], bytes);
    }
}

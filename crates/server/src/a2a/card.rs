//! The agent card of a workspace: Warren's own, with what its runtime says about itself where that can be repeated.
//!
//! Only those who may speak with a workspace see its card: that it exists is not public. Every URL in it is Warren's
//! own; what the runtime's card says about where the agent is stays here.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use warren_exchange::a2a::{HTTP_JSON, JSON_RPC, VERSION};
use warren_model::{AgentDefinition, Registration, Workspace, truncate_utf8};

use super::error::A2aError;
use super::request::A2aRequest;
use crate::App;

/// Of one text in a card.
const MAX_TEXT_BYTES: usize = 4_096;
const MAX_SKILLS: usize = 200;
const MAX_LIST: usize = 50;
/// Private, since another caller may not see it; asked again each time, which costs no body.
const CACHE: &str = "private, max-age=0, must-revalidate";

pub(super) async fn show(
    State(app): State<Arc<App>>,
    a2a: A2aRequest,
    headers: HeaderMap,
) -> Result<Response, A2aError> {
    let registration = app.fleet.runtimes.registration(a2a.workspace.id).await?;
    let hosted = app.agents.definitions.of_workspace(&a2a.workspace).await?;
    let told = match &hosted {
        Some(agent) => told_of(agent, &a2a.workspace),
        None => registration.as_ref().and_then(|known| known.agent_card.clone()).unwrap_or_default(),
    };
    let has_more =
        hosted.is_none() && app.exchange.registrations.has_extended_card(&a2a.workspace, Some(&told));
    let card = card_of(&a2a.workspace, registration.as_ref(), &told, &a2a.base_url, has_more).to_string();
    let tag = format!("\"{}\"", digest(&card));
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(|known| is_named(known, &tag));
    let (status, body) =
        if is_known { (StatusCode::NOT_MODIFIED, String::new()) } else { (StatusCode::OK, card) };
    let mut response =
        (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, CACHE)], body)
            .into_response();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// The card with what the agent shows to those it knows: repeated as the other is, and no further.
pub(super) async fn extended(a2a: &A2aRequest, told: &Value) -> Result<Value, A2aError> {
    let registration = a2a.app.fleet.runtimes.registration(a2a.workspace.id).await?;
    Ok(card_of(&a2a.workspace, registration.as_ref(), told, &a2a.base_url, true))
}

fn is_named(header: &HeaderValue, tag: &str) -> bool {
    let names = header.to_str().unwrap_or_default().split(',').map(str::trim);
    names.into_iter().any(|name| name == "*" || name.trim_start_matches("W/") == tag)
}

/// FNV-1a: a tag tells one card from the next; it proves nothing.
fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// What an agent that Warren runs itself would say in its card.
fn told_of(agent: &AgentDefinition, workspace: &Workspace) -> Value {
    let is_stored = workspace.spec.agent.name.is_some();
    let name = match &workspace.spec.agent.name {
        Some(name) => name.to_string(),
        None => workspace.name.to_string(),
    };
    let description = text(&json!(agent.description)).unwrap_or_else(|| {
        let role = workspace.spec.role.as_ref().map(|role| format!(": {role}")).unwrap_or_default();
        format!("An agent on {}{role}", agent.model)
    });
    let id = if is_stored { name.clone() } else { "agent".to_owned() };
    json!({
        "description": description,
        "version": truncate_utf8(&agent.hash(), 12),
        "skills": [{ "id": id, "name": name, "description": description, "tags": ["agent"] }],
    })
}

fn card_of(
    workspace: &Workspace,
    registration: Option<&Registration>,
    told: &Value,
    base_url: &str,
    has_extended_card: bool,
) -> Value {
    let name = workspace.name.to_string();
    let url = format!("{base_url}/a2a/{}", workspace.id);
    let interface =
        |binding: &str| json!({ "url": url, "protocolBinding": binding, "protocolVersion": VERSION });
    let version = registration.and_then(|registration| registration.version.clone());
    json!({
        "name": name,
        "description": text(&told["description"]).unwrap_or_else(|| format!("The workspace {name}")),
        "version": text(&told["version"]).or(version).unwrap_or_else(|| "0".to_owned()),
        "supportedInterfaces": [interface(JSON_RPC), interface(HTTP_JSON)],
        "capabilities": { "streaming": true, "pushNotifications": true, "extendedAgentCard": has_extended_card },
        "securitySchemes": { "bearer": { "httpAuthSecurityScheme": {
            "scheme": "Bearer", "description": "A token of this Warren that may use the workspace",
        } } },
        "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
        "defaultInputModes": modes(&told["defaultInputModes"]),
        "defaultOutputModes": modes(&told["defaultOutputModes"]),
        "skills": skills(&told["skills"]),
    })
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().map(str::trim).filter(|text| !text.is_empty())?;
    Some(truncate_utf8(text, MAX_TEXT_BYTES).to_owned())
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(text).take(MAX_LIST).collect()
}

/// What is taken and given where the agent does not say.
fn modes(value: &Value) -> Vec<String> {
    let told = texts(value);
    if told.is_empty() { vec!["text/plain".to_owned(), "application/json".to_owned()] } else { told }
}

/// The skills as the agent tells them, field by field, so that nothing comes along that we would then have said.
fn skills(value: &Value) -> Vec<Value> {
    let skill = |told: &Value| {
        let name = text(&told["name"]).or_else(|| text(&told["id"]))?;
        let mut skill = Map::new();
        skill.insert("id".to_owned(), json!(text(&told["id"]).unwrap_or_else(|| name.clone())));
        skill.insert(
            "description".to_owned(),
            json!(text(&told["description"]).unwrap_or_else(|| name.clone())),
        );
        skill.insert("name".to_owned(), json!(name));
        skill.insert("tags".to_owned(), json!(texts(&told["tags"])));
        for list in ["examples", "inputModes", "outputModes"] {
            let told = texts(&told[list]);
            if !told.is_empty() {
                skill.insert(list.to_owned(), json!(told));
            }
        }
        Some(Value::Object(skill))
    };
    value.as_array().into_iter().flatten().filter_map(skill).take(MAX_SKILLS).collect()
}

//! RouteTools of the API as tools.
//!
//! A row names the tool, the operation and what must be allowed for it to be offered. What it takes comes from the
//! OpenAPI document, which comes from the routes: a tool cannot promise an argument that its route does not know.

use std::sync::Arc;

use http::Method;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use warren_model::ErrorCode;
use warren_service::{Action, Identity, Target};

use super::local_router::encoded;
use crate::problem::Failure;

/// What an operation does, for clients that ask people before some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    Destroys,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    tool: &'static str,
    operation: &'static str,
    action: Action,
    effect: Effect,
    description: &'static str,
}

const PLATFORM: &[Row] = &[
    Row {
        tool: "list_workspaces",
        operation: "list_workspaces",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "List the workspaces, oldest first. `next_cursor` in the answer gives the next page.",
    },
    Row {
        tool: "get_workspace",
        operation: "show_workspace",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "Show one workspace: its status, provider, capabilities and what its runtime reported.",
    },
    Row {
        tool: "create_workspace",
        operation: "create_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Adds,
        description: "Make a workspace. It is `online` a moment later, or `failed` with a reason; ask get_workspace.",
    },
    Row {
        tool: "remove_workspace",
        operation: "remove_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Destroys,
        description: "Remove a workspace, all workspaces below it, and their files. There is no way back.",
    },
    Row {
        tool: "pause_workspace",
        operation: "pause_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Destroys,
        description: "Put a workspace and all below it to rest. What runs in them ends; files stay.",
    },
    Row {
        tool: "resume_workspace",
        operation: "resume_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Adds,
        description: "End the rest of a workspace and of all below it.",
    },
    Row {
        tool: "restart_workspace",
        operation: "restart_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Destroys,
        description: "Bring a workspace up anew. What runs in it ends; files stay.",
    },
    Row {
        tool: "exec",
        operation: "run_command",
        action: Action::RunAnyCommand,
        effect: Effect::Destroys,
        description: "Run a command in a workspace to its end: either `argv`, which no shell reads, or `command`, which \
                      /bin/sh does. Long output is kept head and tail. Cancelling the call ends the command.",
    },
    Row {
        tool: "list_workspace_tools",
        operation: "list_tools",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "List the tools of one workspace, such as those for its files, with what they take.",
    },
    Row {
        tool: "call_workspace_tool",
        operation: "call_tool",
        action: Action::UseWorkspace,
        effect: Effect::Destroys,
        description: "Call a tool of one workspace, under its policy. A refusal says what is allowed.",
    },
];

/// What parts of a path are called as arguments.
const IN_PATH: [(&str, &str); 2] = [("id", "workspace_id"), ("name", "tool")];
/// The argument for a body that may be any object.
const FREE_BODY: &str = "arguments";

/// A tool, and the request it becomes.
#[derive(Debug)]
pub(super) struct RouteTool {
    pub(super) tool: Tool,
    action: Action,
    method: Method,
    /// Such as `/api/v1/workspaces/{id}`.
    path: String,
    query: Vec<String>,
    body: BodyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Absent,
    /// Whatever is neither in the path nor in the query.
    Rest,
    /// The argument `arguments`.
    Free,
}

/// A request to a route.
#[derive(Debug, PartialEq)]
pub(super) struct BoundRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

/// The operations of an endpoint.
#[derive(Debug)]
pub(super) struct RouteTools(Vec<Arc<RouteTool>>);

/// Those of them that one caller may use.
#[derive(Debug, Clone)]
pub(super) struct Offered(Vec<Arc<RouteTool>>);

impl RouteTools {
    pub(super) fn of_platform(document: &Value) -> Self {
        Self(PLATFORM.iter().map(|row| Arc::new(read(document, row))).collect())
    }

    /// What is offered may still be refused: the route looks at the workspace, too.
    pub(super) fn allowed_to(&self, who: &Identity) -> Offered {
        let may = |operation: &&Arc<RouteTool>| {
            let in_own = who.token.workspace_id.filter(|_| operation.is_about_one());
            let own = in_own.map(|id| Target::Workspace { id, org_id: who.token.org_id });
            who.may_in_own_org(operation.action).is_ok()
                || own.is_some_and(|target| who.may(operation.action, target).is_ok())
        };
        Offered(self.0.iter().filter(may).map(Arc::clone).collect())
    }
}

impl Offered {
    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.0.iter().map(|operation| &operation.tool)
    }

    pub(super) fn find(&self, name: &str) -> Option<&RouteTool> {
        self.0.iter().map(|operation| &**operation).find(|operation| operation.tool.name == name)
    }
}

impl RouteTool {
    fn is_about_one(&self) -> bool {
        self.path.contains("{id}")
    }

    /// The request for these arguments. Types are for the route to check; here only each finds its place.
    pub(super) fn bind(&self, mut arguments: Map<String, Value>) -> Result<BoundRequest, Failure> {
        let mut path = self.path.clone();
        for (name, argument) in IN_PATH {
            let hole = format!("{{{name}}}");
            if path.contains(&hole) {
                let value = arguments.remove(argument).ok_or_else(|| bad(argument, "is missing"))?;
                let text = value.as_str().filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| bad(argument, "expected a string"))?;
                path = path.replace(&hole, &encoded(text).to_string());
            }
        }
        let mut separator = '?';
        for name in &self.query {
            let Some(value) = arguments.remove(name) else { continue };
            let text = query_text(&value).ok_or_else(|| bad(name, "expected one value"))?;
            path.push_str(&format!("{separator}{}={}", encoded(name), encoded(&text)));
            separator = '&';
        }
        let body = match self.body {
            BodyKind::Rest => Some(Value::Object(std::mem::take(&mut arguments))),
            BodyKind::Free => Some(arguments.remove(FREE_BODY).unwrap_or_else(|| json!({}))),
            BodyKind::Absent => None,
        };
        match arguments.keys().next() {
            Some(unknown) => {
                Err(bad(warren_model::truncate_utf8(unknown, 64), "is no argument of this tool"))
            }
            None => Ok(BoundRequest { method: self.method.clone(), path, body }),
        }
    }
}

fn query_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(is_so.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn bad(argument: &str, problem: &str) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, format!("{argument}: {problem}"))
}

fn read(document: &Value, row: &Row) -> RouteTool {
    let (path, method, operation) = find(document, row.operation);
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let argument = match parameter["in"].as_str() {
            Some("path") => argument_for(name),
            Some("query") => {
                query.push(name.to_owned());
                name
            }
            // What a header would say is between programs that speak HTTP.
            _ => continue,
        };
        let mut schema = parameter["schema"].clone();
        if let Some(description) = parameter.get("description") {
            schema["description"] = description.clone();
        }
        properties.insert(argument.to_owned(), schema);
        if parameter["required"] == true {
            required.push(json!(argument));
        }
    }
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    let body = body.map_or(BodyKind::Absent, |schema| {
        let schema = resolved(document, schema);
        let Some(fields) = schema["properties"].as_object() else {
            let any = json!({ "type": "object", "description": "What the tool takes." });
            properties.insert(FREE_BODY.to_owned(), any);
            return BodyKind::Free;
        };
        properties.extend(fields.clone());
        required.extend(schema["required"].as_array().cloned().unwrap_or_default());
        BodyKind::Rest
    });
    let mut schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    define(document, &mut schema);
    let schema = schema.as_object().cloned().unwrap_or_default();
    let tool =
        Tool::new(row.tool, row.description, Arc::new(schema)).with_annotations(annotations(row.effect));
    RouteTool { tool, action: row.action, method, path: path.to_owned(), query, body }
}

fn argument_for(name: &str) -> &str {
    IN_PATH.iter().find(|(hole, _)| *hole == name).map_or(name, |(_, argument)| argument)
}

fn annotations(effect: Effect) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(effect == Effect::Reads)
        .destructive(effect == Effect::Destroys)
        .open_world(false)
}

fn find<'a>(document: &'a Value, id: &str) -> (&'a str, Method, &'a Value) {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut operations = paths.flat_map(|(path, item)| {
        item.as_object().into_iter().flatten().map(move |(method, operation)| (path, method, operation))
    });
    let found = operations.find(|(_, _, operation)| operation["operationId"] == id);
    let (path, method, operation) = found.expect("every row names an operation of the document");
    let method = method.to_uppercase().parse().expect("the document's methods are HTTP's");
    (path, method, operation)
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => document.pointer(pointer).unwrap_or(schema),
        None => schema,
    }
}

const IN_DOCUMENT: &str = "#/components/schemas/";

/// Brings along the schemas that this one refers to, directly or not.
fn define(document: &Value, schema: &mut Value) {
    let mut definitions = Map::new();
    let mut wanted = Vec::new();
    rewrite(schema, &mut wanted);
    while let Some(name) = wanted.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        let mut definition = document["components"]["schemas"][&name].clone();
        rewrite(&mut definition, &mut wanted);
        definitions.insert(name, definition);
    }
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
}

fn rewrite(schema: &mut Value, wanted: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for value in fields.values_mut() {
                let name = value.as_str().and_then(|text| text.strip_prefix(IN_DOCUMENT)).map(str::to_owned);
                match name {
                    // Also in a discriminator's mapping, which names schemas without saying `$ref`.
                    Some(name) => {
                        *value = json!(format!("#/$defs/{name}"));
                        wanted.push(name);
                    }
                    None => rewrite(value, wanted),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(tool: &str) -> RouteTool {
        let document: Value = serde_json::from_str(&crate::openapi_json()).unwrap();
        read(&document, PLATFORM.iter().find(|row| row.tool == tool).unwrap())
    }

    fn bind(tool: &str, arguments: Value) -> Result<BoundRequest, String> {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        operation(tool).bind(arguments).map_err(|failure| failure.to_problem("").detail.unwrap_or_default())
    }

    // S30
    #[test]
    fn each_argument_finds_its_place_in_the_request() {
        let bound = bind("list_workspaces", json!({ "limit": 5, "name": "a&b" })).unwrap();
        assert_eq!(
            (bound.method, bound.path.as_str()),
            (Method::GET, "/api/v1/workspaces?limit=5&name=a%26b")
        );
        let bound = bind("exec", json!({ "workspace_id": "x", "argv": ["ls"] })).unwrap();
        assert_eq!(bound.path, "/api/v1/workspaces/x/exec");
        assert_eq!(bound.body, Some(json!({ "argv": ["ls"] })));
        let called = json!({ "workspace_id": "x", "tool": "workspace_ls", "arguments": { "path": "a" } });
        let bound = bind("call_workspace_tool", called).unwrap();
        assert_eq!(bound.path, "/api/v1/workspaces/x/tools/workspace%5Fls");
        assert_eq!(bound.body, Some(json!({ "path": "a" })));
    }

    // S30, sec/F01: an argument cannot become another route
    #[test]
    fn an_argument_stays_within_its_segment() {
        let bound = bind("get_workspace", json!({ "workspace_id": "../tokens?x=1#y" })).unwrap();
        assert_eq!(bound.path, "/api/v1/workspaces/%2E%2E%2Ftokens%3Fx%3D1%23y");
    }

    // S30
    #[test]
    fn arguments_that_are_missing_or_unknown_are_told() {
        assert_eq!(bind("get_workspace", json!({})).unwrap_err(), "workspace_id: is missing");
        let odd = json!({ "workspace_id": "x", "force": true });
        assert_eq!(bind("get_workspace", odd).unwrap_err(), "force: is no argument of this tool");
        let odd = json!({ "limit": [1] });
        assert_eq!(bind("list_workspaces", odd).unwrap_err(), "limit: expected one value");
    }

    // S30
    #[test]
    fn a_schema_brings_along_what_it_refers_to() {
        for row in PLATFORM {
            let schema = Value::Object((*operation(row.tool).tool.input_schema).clone());
            let text = schema.to_string();
            assert!(!text.contains(IN_DOCUMENT), "{}: {text}", row.tool);
            for reference in text.split("\"#/$defs/").skip(1) {
                let name = reference.split('"').next().unwrap();
                assert!(schema["$defs"][name].is_object(), "{}: {name}", row.tool);
            }
        }
        let schema = operation("create_workspace").tool.input_schema;
        assert_eq!(schema["required"], json!(["name"]));
        assert!(schema["$defs"]["ProviderConfig"].is_object());
    }
}

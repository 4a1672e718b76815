//! The tools as a client sees them: names, words and schemas, and who is offered which.
//!
//! A row names the tool, the operation of the API with the same meaning, and what must be allowed for it to be offered.
//! What it takes is told from the OpenAPI document, which is made from the types that the tool reads its arguments into: a
//! tool cannot promise an argument that it does not know.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use warren_service::{Action, Identity, Target};

use super::PlatformTool;

/// What an operation does, for clients that ask people before some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    Destroys,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    tool: PlatformTool,
    name: &'static str,
    operation: &'static str,
    action: Action,
    effect: Effect,
    description: &'static str,
}

const PLATFORM: &[Row] = &[
    Row {
        tool: PlatformTool::ListWorkspaces,
        name: "list_workspaces",
        operation: "list_workspaces",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "List the workspaces, oldest first. `next_cursor` in the answer gives the next page.",
    },
    Row {
        tool: PlatformTool::GetWorkspace,
        name: "get_workspace",
        operation: "show_workspace",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "Show one workspace: its status, provider, capabilities and what its runtime reported.",
    },
    Row {
        tool: PlatformTool::CreateWorkspace,
        name: "create_workspace",
        operation: "create_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Adds,
        description: "Make a workspace. It is `online` a moment later, or `failed` with a reason; ask get_workspace.",
    },
    Row {
        tool: PlatformTool::RemoveWorkspace,
        name: "remove_workspace",
        operation: "remove_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Destroys,
        description: "Remove a workspace, all workspaces below it, and their files. There is no way back.",
    },
    Row {
        tool: PlatformTool::PauseWorkspace,
        name: "pause_workspace",
        operation: "pause_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Destroys,
        description: "Put a workspace and all below it to rest. What runs in them ends; files stay.",
    },
    Row {
        tool: PlatformTool::ResumeWorkspace,
        name: "resume_workspace",
        operation: "resume_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Adds,
        description: "End the rest of a workspace and of all below it.",
    },
    Row {
        tool: PlatformTool::RestartWorkspace,
        name: "restart_workspace",
        operation: "restart_workspace",
        action: Action::WriteWorkspaces,
        effect: Effect::Destroys,
        description: "Bring a workspace up anew. What runs in it ends; files stay.",
    },
    Row {
        tool: PlatformTool::Exec,
        name: "exec",
        operation: "run_command",
        action: Action::RunAnyCommand,
        effect: Effect::Destroys,
        description: "Run a command in a workspace to its end: either `argv`, which no shell reads, or `command`, which \
                      /bin/sh does. Long output is kept head and tail. Cancelling the call ends the command.",
    },
    Row {
        tool: PlatformTool::ListWorkspaceTools,
        name: "list_workspace_tools",
        operation: "list_tools",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "List the tools of one workspace, such as those for its files, with what they take.",
    },
    Row {
        tool: PlatformTool::CallWorkspaceTool,
        name: "call_workspace_tool",
        operation: "call_tool",
        action: Action::UseWorkspace,
        effect: Effect::Destroys,
        description: "Call a tool of one workspace, under its policy. A refusal says what is allowed.",
    },
    Row {
        tool: PlatformTool::WatchFiles,
        name: "watch_files",
        operation: "watch_files",
        action: Action::ReadWorkspaces,
        effect: Effect::Reads,
        description: "Wait for files of a workspace to change, and tell which did. Only what changes during the call is told.",
    },
];

/// What parts of a path are called as arguments.
const IN_PATH: [(&str, &str); 2] = [("id", "workspace_id"), ("name", "tool")];
/// The argument for a body that may be any object.
const FREE_BODY: &str = "arguments";

/// A tool, and what must be allowed for it to be offered.
#[derive(Debug)]
struct DefinedTool {
    tool: PlatformTool,
    definition: Tool,
    action: Action,
    is_about_one_workspace: bool,
}

/// All tools.
#[derive(Debug)]
pub(in crate::mcp) struct PlatformTools(Vec<Arc<DefinedTool>>);

/// Those of them that one caller may use.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct OfferedTools(Vec<Arc<DefinedTool>>);

impl PlatformTools {
    pub(in crate::mcp) fn new(document: &Value) -> Self {
        Self(PLATFORM.iter().map(|row| Arc::new(define_tool(document, row))).collect())
    }

    /// What is offered may still be refused: the service looks at the workspace, too.
    pub(in crate::mcp) fn offered_to(&self, who: &Identity) -> OfferedTools {
        let may = |tool: &&Arc<DefinedTool>| {
            let in_own = who.token.workspace_id.filter(|_| tool.is_about_one_workspace);
            let own = in_own.map(|id| Target::Workspace { id, org_id: who.token.org_id });
            who.may_in_own_org(tool.action).is_ok()
                || own.is_some_and(|target| who.may(tool.action, target).is_ok())
        };
        OfferedTools(self.0.iter().filter(may).map(Arc::clone).collect())
    }
}

impl OfferedTools {
    pub(in crate::mcp) fn definitions(&self) -> impl Iterator<Item = &Tool> {
        self.0.iter().map(|tool| &tool.definition)
    }

    pub(in crate::mcp) fn definition(&self, name: &str) -> Option<&Tool> {
        self.definitions().find(|definition| definition.name == name)
    }

    pub(super) fn named(&self, name: &str) -> Option<PlatformTool> {
        self.0.iter().find(|tool| tool.definition.name == name).map(|tool| tool.tool)
    }
}

fn define_tool(document: &Value, row: &Row) -> DefinedTool {
    let (path, operation) = find(document, row.operation);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let argument = match parameter["in"].as_str() {
            Some("path") => argument_for(name),
            Some("query") => name,
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
    if let Some(schema) = body.map(|schema| resolved(document, schema)) {
        if let Some(fields) = schema["properties"].as_object() {
            properties.extend(fields.clone());
            required.extend(schema["required"].as_array().cloned().unwrap_or_default());
        } else {
            let any = json!({ "type": "object", "description": "What the tool takes." });
            properties.insert(FREE_BODY.to_owned(), any);
        }
    }
    let mut schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    define(document, &mut schema);
    let schema = schema.as_object().cloned().unwrap_or_default();
    let definition =
        Tool::new(row.name, row.description, Arc::new(schema)).with_annotations(annotations(row.effect));
    let is_about_one_workspace = path.contains("{id}");
    DefinedTool { tool: row.tool, definition, action: row.action, is_about_one_workspace }
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

fn find<'a>(document: &'a Value, id: &str) -> (&'a str, &'a Value) {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut operations = paths.flat_map(|(path, item)| {
        item.as_object().into_iter().flatten().map(move |(_, operation)| (path, operation))
    });
    let found = operations.find(|(_, operation)| operation["operationId"] == id);
    let (path, operation) = found.expect("every row names an operation of the document");
    (path, operation)
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

    fn schema(name: &str) -> Value {
        let document: Value = serde_json::from_str(&crate::openapi_json()).unwrap();
        let row = PLATFORM.iter().find(|row| row.name == name).unwrap();
        Value::Object((*define_tool(&document, row).definition.input_schema).clone())
    }

    // S30
    #[test]
    fn a_tool_takes_what_the_api_takes_for_the_same() {
        let names = |name: &str| {
            let mut names: Vec<_> = schema(name)["properties"].as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        assert_eq!(
            names("list_workspaces"),
            ["cursor", "include_removed", "limit", "name", "parent_id", "status"]
        );
        assert_eq!(names("remove_workspace"), ["purge", "workspace_id"]);
        assert_eq!(names("restart_workspace"), ["workspace_id"]);
        assert_eq!(
            names("exec"),
            ["argv", "command", "cwd", "env", "spill_to", "stdin", "timeout_ms", "workspace_id"]
        );
        assert_eq!(names("call_workspace_tool"), ["arguments", "tool", "workspace_id"]);
    }

    // S30
    #[test]
    fn a_schema_brings_along_what_it_refers_to() {
        for row in PLATFORM {
            let schema = schema(row.name);
            let text = schema.to_string();
            assert!(!text.contains(IN_DOCUMENT), "{}: {text}", row.name);
            for reference in text.split("\"#/$defs/").skip(1) {
                let name = reference.split('"').next().unwrap();
                assert!(schema["$defs"][name].is_object(), "{}: {name}", row.name);
            }
        }
        let schema = schema("create_workspace");
        assert_eq!(schema["required"], json!(["name"]));
        assert!(schema["$defs"]["ProviderConfig"].is_object());
    }
}

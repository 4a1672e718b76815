//! The tools that the model of a session is offered, and what is known about each.
//!
//! ```text
//!   workspace_*   of the session's workspace, carried out by `operations`
//!   read_result   the rest of a result that was too long to show            (A20)
//!   update_state  changes of the state that the agent keeps                 (A21)
//!   ask_user      a question to the user; the session waits for the answer  (A33)
//!   others        named by the agent, run by the caller                     (A31)
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};
use warren_llm::AnsweredCall;
use warren_model::session::{ToolOffer, ToolPlace};
use warren_model::{AgentDefinition, ApprovalId};
use warren_operations::ToolCatalog;
use warren_rules::sessions::ProposedCall;
use warren_rules::sessions::policies::fits;

use crate::schemas::{Schemas, schema_problem};

pub(crate) const READ_RESULT: &str = "read_result";
pub(crate) const UPDATE_STATE: &str = "update_state";
pub(crate) const ASK_USER: &str = "ask_user";
/// What the answer to a question has to look like.
pub(crate) const ANSWER_SCHEMA: &str = "schema";

/// The tool that runs a command to its end.
const RUN: &str = "workspace_run";

/// Tools of a workspace that change nothing, or leave the same behind however often they are called.
const REPEATABLE: [&str; 7] = [
    "workspace_read_file",
    "workspace_write_file",
    "workspace_ls",
    "workspace_glob",
    "workspace_grep",
    "workspace_mkdir",
    "workspace_process_output",
];

/// One tool, with what has to be known to carry a call of it out.
#[derive(Debug, Clone, PartialEq)]
struct Tool {
    offer: ToolOffer,
    place: ToolPlace,
}

/// The tools of one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tools {
    tools: BTreeMap<String, Tool>,
    /// What the model is told about its workspace.
    workspace_prompt: String,
    /// Whether a command that Warren lost sight of can be asked about.
    keeps_commands: bool,
}

impl Tools {
    pub(crate) fn new(agent: &AgentDefinition, workspace: Option<&ToolCatalog>) -> Self {
        let mut tools = Self::default();
        if let Some(catalog) = workspace {
            let is_wanted = |name: &str| match &agent.tools.workspace {
                Some(patterns) => patterns.iter().any(|pattern| fits(pattern, name)),
                None => true,
            };
            for tool in catalog.tools.iter().filter(|tool| is_wanted(tool.name)) {
                tools.add(tool.name, tool.description, tool.input_schema.clone(), ToolPlace::Workspace);
            }
            tools.keeps_commands = catalog.keeps_commands;
            if !tools.tools.is_empty() {
                tools.workspace_prompt.clone_from(&catalog.system_prompt);
            }
        }
        tools.add(READ_RESULT, READ_RESULT_DESCRIPTION, read_result_schema(), ToolPlace::Session);
        if !agent.state.is_empty() {
            tools.add(UPDATE_STATE, UPDATE_STATE_DESCRIPTION, state_schema(agent), ToolPlace::Session);
        }
        if agent.tools.ask_user {
            tools.add(ASK_USER, ASK_USER_DESCRIPTION, ask_user_schema(), ToolPlace::Person);
        }
        for tool in &agent.tools.client {
            tools.add(&tool.name, &tool.description, tool.input_schema.clone(), ToolPlace::Client);
        }
        tools
    }

    fn add(&mut self, name: &str, description: &str, input_schema: Value, place: ToolPlace) {
        let offer = ToolOffer { name: name.to_owned(), description: description.to_owned(), input_schema };
        self.tools.insert(name.to_owned(), Tool { offer, place });
    }

    /// What the model is told to be, and what it can do in its workspace.
    pub(crate) fn system(&self, agent: &AgentDefinition) -> String {
        let texts = [agent.system.as_str(), self.workspace_prompt.as_str()];
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    pub(crate) fn offers(&self) -> Vec<ToolOffer> {
        self.tools.values().map(|tool| tool.offer.clone()).collect()
    }

    /// What is known about a call that a model asks for.
    pub(crate) fn propose(
        &self,
        call: AnsweredCall,
        approval_id: ApprovalId,
        schemas: &Schemas,
    ) -> ProposedCall {
        let (arguments, problem) = match call.arguments {
            Ok(arguments) => {
                let problem = self.problem(&call.tool, &arguments, schemas);
                (arguments, problem)
            }
            Err(text) => {
                let shown = warren_model::truncate_utf8(&text, 200).to_owned();
                (Value::String(text), Some(format!("the arguments are not a JSON object: {shown}")))
            }
        };
        let place = self.tools.get(&call.tool).map_or(ToolPlace::Unknown, |tool| tool.place);
        let is_idempotent = place == ToolPlace::Session || REPEATABLE.contains(&call.tool.as_str());
        ProposedCall {
            exclusive: exclusive(&call.tool, &arguments),
            can_probe: self.keeps_commands && call.tool == RUN,
            tool: call.tool,
            place,
            arguments,
            problem,
            is_idempotent,
            approval_id,
        }
    }

    /// Why a call cannot be carried out as it stands: what a model proposes and what a person makes of it are held against
    /// the same schema. What only the tool itself can judge, it judges when it is called.
    pub(crate) fn problem(&self, tool: &str, arguments: &Value, schemas: &Schemas) -> Option<String> {
        let Some(known) = self.tools.get(tool) else {
            let names: Vec<_> = self.tools.keys().map(String::as_str).collect();
            return Some(format!("there is no tool `{tool}`; there are: {}", names.join(", ")));
        };
        let Value::Object(fields) = arguments else {
            return Some("the arguments are not a JSON object".to_owned());
        };
        let schema = &known.offer.input_schema;
        let required = schema.get("required").and_then(Value::as_array);
        let mut names = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = names.find(|name| !fields.contains_key(*name)) {
            return Some(format!("{missing}: this argument is missing"));
        }
        let problem = match known.place {
            // Models say `null` for what they leave out, and so do these tools.
            ToolPlace::Workspace if fields.values().any(Value::is_null) => {
                let named = fields.iter().filter(|(_, value)| !value.is_null());
                let named = named.map(|(name, value)| (name.clone(), value.clone())).collect();
                schemas.problem(schema, &Value::Object(named))
            }
            _ => schemas.problem(schema, arguments),
        };
        problem.or_else(|| {
            let of_answer = arguments.get(ANSWER_SCHEMA).filter(|_| tool == ASK_USER)?;
            schema_problem(of_answer).map(|problem| format!("{ANSWER_SCHEMA}: {problem}"))
        })
    }
}

/// Two calls that change the same file do not run beside each other (A25).
fn exclusive(tool: &str, arguments: &Value) -> Vec<String> {
    let names: &[&str] = match tool {
        "workspace_write_file" | "workspace_edit_file" | "workspace_rm" => &["path"],
        "workspace_mv" => &["from", "to"],
        _ => &[],
    };
    let files = names.iter().filter_map(|name| arguments.get(*name)?.as_str());
    files.map(|path| format!("file:{}", plain_path(path))).collect()
}

/// One name for a file that is named in several ways, such as `a`, `./a` and `b/../a`. A link is another file here: what it
/// leads to is known only in the box, where changes are made one after the other in any case.
fn plain_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

const READ_RESULT_DESCRIPTION: &str = "Read more of a tool's result of which only the beginning was shown. `call` is the \
     call's id; `offset` and `limit` are in bytes.";
const UPDATE_STATE_DESCRIPTION: &str = "Change what you keep for later steps. Only the named fields change, each as it was \
     declared: replaced, appended, added up, the greatest, or joined.";
const ASK_USER_DESCRIPTION: &str = "Ask the user something that you cannot find out yourself, and wait for the answer. `schema` is a JSON Schema that \
     the answer has to fit, where you need it in a certain form.";

fn read_result_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "call": { "type": "string" },
            "offset": { "type": "integer", "minimum": 0 },
            "limit": { "type": "integer", "minimum": 1 },
        },
        "required": ["call"],
        "additionalProperties": false,
    })
}

fn state_schema(agent: &AgentDefinition) -> Value {
    let fields = agent.state.iter().map(|(name, field)| {
        let description = format!("{} ({})", field.description, field.merge).trim().to_owned();
        (name.clone(), json!({ "description": description }))
    });
    let fields: serde_json::Map<String, Value> = fields.collect();
    json!({ "type": "object", "properties": fields, "additionalProperties": false })
}

fn ask_user_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": { "type": "string" },
            "choices": { "type": "array", "items": { "type": "string" } },
            ANSWER_SCHEMA: { "type": "object" },
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

//! Agents: what a session is run by, as data (A1).
//!
//! ```yaml
//! name: helper
//! model: anthropic/claude-sonnet-4-5
//! system: You help with the files of this workspace.
//! policies:
//!   - { tool: workspace_run, decision: ask }
//! limits: { run: { steps: 50, cost_micros: 2000000 } }
//! ```
//!
//! A definition is read strictly and checked before it runs. Its content has a hash; a session keeps the version that it
//! began with (A6).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::document::{DocumentError, read_document};
use crate::session::{BusyMode, ModelName, RunLimits};
use crate::text_enum::text_enum;
use crate::tool_name::check_user_tool_name;
use crate::{OrgId, Principal, Timestamp, canonical_json};

const MAX_SYSTEM_BYTES: usize = 256 << 10;
const MAX_DESCRIPTION_CHARACTERS: usize = 1_000;
const MAX_FALLBACKS: usize = 8;
const MAX_CLIENT_TOOLS: usize = 128;
const MAX_POLICIES: usize = 200;
const MAX_STATE_FIELDS: usize = 100;
const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// An agent's name: 1 to 64 of `a-z 0-9 . _ -`, beginning and ending with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an agent's name has 1 to 64 of a-z, 0-9, `.`, `_`, `-`, and begins and ends with a letter or digit")]
pub struct InvalidAgentName;

impl AgentName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = InvalidAgentName;

    fn from_str(text: &str) -> Result<Self, InvalidAgentName> {
        // The same shape as a template's name: both are parts of an address.
        match text.parse::<crate::TemplateName>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(_) => Err(InvalidAgentName),
        }
    }
}

impl TryFrom<String> for AgentName {
    type Error = InvalidAgentName;

    fn try_from(text: String) -> Result<Self, InvalidAgentName> {
        text.parse()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One version of an agent: its name and the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgentVersion {
    pub name: AgentName,
    pub hash: String,
}

/// A version of an agent as it stands in the database. It never changes.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAgent {
    pub org_id: OrgId,
    pub version: AgentVersion,
    pub definition: AgentDefinition,
    /// When this content was stored first, and by whom.
    pub created_at: Timestamp,
    pub created_by: Principal,
}

text_enum! {
    /// How the changes that calls of one step make to a field are put together (A21).
    Merge {
        /// The last call's value.
        Replace = "replace",
        /// Lists are joined; anything else is added as one item.
        Append = "append",
        /// Numbers are added.
        Increment = "increment",
        /// The greatest number.
        Max = "max",
        /// Items that are not in the list yet.
        Union = "union",
    }
}

/// A field of the state that an agent keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateField {
    #[serde(default = "replace")]
    pub merge: Merge,
    /// What it holds at the start; absent: null, or what suits the merge.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub initial: Value,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

const fn replace() -> Merge {
    Merge::Replace
}

text_enum! {
    PolicyDecision {
        Allow = "allow",
        Deny = "deny",
        /// A person is asked.
        Ask = "ask",
    }
}

/// A rule about tool calls. The first that fits decides; where none fits, the call is allowed (A23).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRule {
    /// A tool's name; `*` stands for any characters.
    pub tool: String,
    /// Patterns for arguments by their name, `a.b` for one further in. `*` stands for any characters. All must fit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    pub decision: PolicyDecision,
    /// Told to the model where it is denied, and to the person who is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It counts until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A tool that the caller runs (A31).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientTool {
    pub name: String,
    pub description: String,
    #[serde(default = "any_object")]
    pub input_schema: Value,
}

fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

/// Which tools an agent gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentTools {
    /// Names of workspace tools, `*` standing for any characters; absent: all that the workspace has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Vec<String>>,
    /// Tools that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<ClientTool>,
    /// Whether it may ask the user questions (A33).
    pub ask_user: bool,
}

impl Default for AgentTools {
    fn default() -> Self {
        Self { workspace: None, client: Vec::new(), ask_user: true }
    }
}

/// What bounds a session of this agent. What is absent has a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentLimits {
    /// Of one run.
    pub run: RunLimits,
    /// Calls of one step that run at once.
    pub parallel_calls: u32,
    /// Calls that one answer may ask for; more are answered with an error.
    pub calls_per_step: u32,
    /// Tokens that the model may write in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Bytes of a result that the model is shown; the rest is read with `read_result`.
    pub result_bytes: u32,
    /// How long one call may take, in seconds.
    pub call_seconds: u32,
    /// How long an approval waits, in seconds.
    pub approval_seconds: u32,
    /// The same call, or the same error, so often in a row: the model is warned; twice as often: it is stuck (A15).
    pub repeats: u32,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            run: RunLimits { steps: Some(100), tool_calls: Some(500), ..RunLimits::default() },
            parallel_calls: 8,
            calls_per_step: 64,
            output_tokens: None,
            result_bytes: 32 << 10,
            call_seconds: 600,
            approval_seconds: 24 * 3_600,
            repeats: 4,
        }
    }
}

/// An agent as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    pub name: AgentName,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub model: ModelName,
    /// Asked in this order where the model before cannot answer (A11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelName>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// How hard the model thinks, where that can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Parameters of the provider's own, sent as they are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    #[serde(default)]
    pub tools: AgentTools,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyRule>,
    /// What it keeps between steps, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, StateField>,
    /// What its last answer has to look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(default)]
    pub limits: AgentLimits,
    /// What becomes of a message while it is busy, unless the message says otherwise.
    #[serde(default = "queue")]
    pub busy: BusyMode,
}

const fn queue() -> BusyMode {
    BusyMode::Queue
}

impl AgentDefinition {
    /// Reads and checks a document; an unknown field or a wrong value is told with its path.
    pub fn read(document: Value) -> Result<Self, DocumentError> {
        let agent: Self = read_document(document)?;
        match agent.problem() {
            Some(problem) => Err(DocumentError::Shape(problem)),
            None => Ok(agent),
        }
    }

    /// An agent of which nothing is said but its name and model.
    pub fn new(name: AgentName, model: ModelName) -> Self {
        Self {
            name,
            description: String::new(),
            model,
            fallbacks: Vec::new(),
            system: String::new(),
            effort: None,
            parameters: Map::new(),
            tools: AgentTools::default(),
            policies: Vec::new(),
            state: BTreeMap::new(),
            output_schema: None,
            limits: AgentLimits::default(),
            busy: BusyMode::Queue,
        }
    }

    /// Tells one content from another, whatever it was written like.
    pub fn hash(&self) -> String {
        let value = serde_json::to_value(self).expect("an agent has only text for keys");
        Sha256::digest(canonical_json(&value)).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn version(&self) -> AgentVersion {
        AgentVersion { name: self.name.clone(), hash: self.hash() }
    }

    /// The model and its fallbacks.
    pub fn models(&self) -> impl Iterator<Item = &ModelName> {
        std::iter::once(&self.model).chain(&self.fallbacks)
    }

    /// The state that a session of it begins with.
    pub fn initial_state(&self) -> BTreeMap<String, Value> {
        let initial = |(name, field): (&String, &StateField)| {
            let value = match (&field.initial, field.merge) {
                (Value::Null, Merge::Append | Merge::Union) => Value::Array(Vec::new()),
                (Value::Null, Merge::Increment) => Value::from(0),
                (value, _) => value.clone(),
            };
            (name.clone(), value)
        };
        self.state.iter().map(initial).collect()
    }

    /// The first thing that is wrong with it, as a sentence that names its path.
    fn problem(&self) -> Option<String> {
        if self.description.chars().count() > MAX_DESCRIPTION_CHARACTERS {
            return Some(format!("description: at most {MAX_DESCRIPTION_CHARACTERS} characters"));
        }
        if self.system.len() > MAX_SYSTEM_BYTES || self.system.contains('\0') {
            return Some(format!("system: at most {MAX_SYSTEM_BYTES} bytes, without NUL"));
        }
        if self.fallbacks.len() > MAX_FALLBACKS {
            return Some(format!("fallbacks: at most {MAX_FALLBACKS}"));
        }
        self.tools_problem()
            .or_else(|| self.policies_problem())
            .or_else(|| self.state_problem())
            .or_else(|| {
                self.output_schema.as_ref().and_then(|schema| schema_problem("output_schema", schema))
            })
            .or_else(|| self.limits_problem())
    }

    fn tools_problem(&self) -> Option<String> {
        if self.tools.client.len() > MAX_CLIENT_TOOLS {
            return Some(format!("tools.client: at most {MAX_CLIENT_TOOLS}"));
        }
        for (at, tool) in self.tools.client.iter().enumerate() {
            if !is_tool_name(&tool.name) {
                return Some(format!("tools.client[{at}].name: expected 1 to 64 of A-Z, a-z, 0-9, `_`, `-`"));
            }
            if let Err(reserved) = check_user_tool_name(&tool.name) {
                return Some(format!("tools.client[{at}].name: {reserved}"));
            }
            if self.tools.client[..at].iter().any(|other| other.name == tool.name) {
                return Some(format!("tools.client[{at}].name: two tools have the same name"));
            }
            if let Some(problem) =
                schema_problem(&format!("tools.client[{at}].input_schema"), &tool.input_schema)
            {
                return Some(problem);
            }
        }
        None
    }

    fn policies_problem(&self) -> Option<String> {
        if self.policies.len() > MAX_POLICIES {
            return Some(format!("policies: at most {MAX_POLICIES}"));
        }
        let is_empty = |rule: &PolicyRule| rule.tool.is_empty();
        let at = self.policies.iter().position(is_empty)?;
        Some(format!("policies[{at}].tool: expected a tool's name, or `*`"))
    }

    fn state_problem(&self) -> Option<String> {
        if self.state.len() > MAX_STATE_FIELDS {
            return Some(format!("state: at most {MAX_STATE_FIELDS} fields"));
        }
        self.state.iter().find_map(|(name, field)| {
            if !is_tool_name(name) {
                return Some(format!("state.{name}: a name has 1 to 64 of A-Z, a-z, 0-9, `_`, `-`"));
            }
            let fits = match (field.merge, &field.initial) {
                (_, Value::Null) | (Merge::Replace, _) => true,
                (Merge::Append | Merge::Union, initial) => initial.is_array(),
                (Merge::Increment | Merge::Max, initial) => initial.is_number(),
            };
            (!fits).then(|| format!("state.{name}.initial: does not fit the merge `{}`", field.merge))
        })
    }

    fn limits_problem(&self) -> Option<String> {
        let limits = &self.limits;
        let zero = [
            ("parallel_calls", limits.parallel_calls),
            ("calls_per_step", limits.calls_per_step),
            ("result_bytes", limits.result_bytes),
            ("call_seconds", limits.call_seconds),
            ("approval_seconds", limits.approval_seconds),
            ("repeats", limits.repeats),
        ];
        let (name, _) = zero.into_iter().find(|(_, value)| *value == 0)?;
        Some(format!("limits.{name}: expected at least 1"))
    }
}

/// What all providers take for the name of a tool.
fn is_tool_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|one| one.is_ascii_alphanumeric() || matches!(one, b'_' | b'-'))
}

fn schema_problem(path: &str, schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some(format!("{path}: expected a JSON schema, which is an object"));
    }
    let bytes = schema.to_string().len();
    (bytes > MAX_SCHEMA_BYTES)
        .then(|| format!("{path}: it has {bytes} bytes, and may have {MAX_SCHEMA_BYTES}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(document: Value) -> Result<AgentDefinition, String> {
        AgentDefinition::read(document).map_err(|error| error.to_string())
    }

    // A1
    #[test]
    fn an_agent_needs_a_name_and_a_model_and_no_more() {
        let agent = read(json!({ "name": "helper", "model": "anthropic/claude-sonnet-4-5" })).unwrap();
        assert_eq!(agent.model.provider, "anthropic");
        assert!(agent.tools.ask_user);
        assert_eq!(agent.limits.run.steps, Some(100));
    }

    // A1: bad input
    #[test]
    fn what_is_wrong_with_an_agent_is_told_with_its_place() {
        let with = |field: &str, value: Value| {
            let mut document = json!({ "name": "helper", "model": "scripted/hello" });
            document[field] = value;
            read(document).unwrap_err()
        };
        for (field, value, expected) in [
            ("modle", json!("x"), "modle"),
            ("model", json!("claude"), "model: a model is written"),
            ("name", json!("No Way"), "name: an agent's name"),
            ("tools", json!({ "client": [{ "name": "a b", "description": "" }] }), "tools.client[0].name"),
            (
                "tools",
                json!({ "client": [{ "name": "workspace_rm", "description": "" }] }),
                "tools.client[0].name: a tool's name may not begin with `workspace_`",
            ),
            (
                "tools",
                json!({ "client": [{ "name": "ask_user", "description": "" }] }),
                "tools.client[0].name: `ask_user` is a tool of Warren's own",
            ),
            ("policies", json!([{ "tool": "", "decision": "ask" }]), "policies[0].tool"),
            ("policies", json!([{ "tool": "x", "decision": "maybe" }]), "policies[0].decision"),
            ("state", json!({ "n": { "merge": "increment", "initial": "x" } }), "state.n.initial"),
            ("limits", json!({ "repeats": 0 }), "limits.repeats"),
            ("limits", json!({ "run": { "stepz": 1 } }), "limits.run"),
            ("output_schema", json!([]), "output_schema"),
        ] {
            let sentence = with(field, value);
            assert!(sentence.contains(expected), "{field}: {sentence}");
        }
    }

    // A6
    #[test]
    fn the_hash_is_of_the_content_and_not_of_its_spelling() {
        let one = read(json!({ "name": "a", "model": "x/y", "system": "s" })).unwrap();
        let other = read(json!({ "system": "s", "model": "x/y", "name": "a", "policies": [] })).unwrap();
        assert_eq!(one.hash(), other.hash());
        let changed = AgentDefinition { system: "t".into(), ..one.clone() };
        assert_ne!(one.hash(), changed.hash());
    }

    // A21, A72
    #[test]
    fn a_session_begins_with_what_suits_each_field() {
        let agent = read(json!({ "name": "a", "model": "x/y", "state": {
            "notes": { "merge": "append" }, "count": { "merge": "increment" }, "best": { "merge": "max" },
            "name": { "initial": "x" },
        }}))
        .unwrap();
        let expected = json!({ "notes": [], "count": 0, "best": null, "name": "x" });
        assert_eq!(serde_json::to_value(agent.initial_state()).unwrap(), expected);
    }
}

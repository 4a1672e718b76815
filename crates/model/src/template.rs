//! Templates: what workspaces are made from (F50).
//!
//! A blueprint describes one workspace and those below it. Stored under a name it is a template, and other blueprints
//! may then begin from it: what they say themselves wins. Nothing here is resolved; that is decided in `rules`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::document::{DocumentError, read_document};
use crate::{
    AgentName, CapabilitySet, DoorSpec, OrgId, ProviderConfig, RunnerSpec, Runtime, Tier, Timestamp,
};

const MAX_MODEL_CHARACTERS: usize = 200;
const MAX_PROMPTS: usize = 32;
const MAX_PROMPT_BYTES: usize = 256 << 10;
const MAX_SKILLS: usize = 200;
const MAX_SCHEDULES: usize = 100;
const MAX_NAMES: usize = 200;
const MAX_COMMAND_WORDS: usize = 200;
const MAX_COMMAND_BYTES: usize = 32 << 10;
const MAX_WEDGE_SIGNS: usize = 50;
const MAX_WORD_CHARACTERS: usize = 100;
const MAX_DESCRIPTION_CHARACTERS: usize = 1_000;

/// A template's name: 1 to 64 of `a-z 0-9 . _ -`, beginning and ending with a letter or digit. It is part of an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TemplateName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a template's name has 1 to 64 of a-z, 0-9, `.`, `_`, `-`, and begins and ends with a letter or digit"
)]
pub struct InvalidTemplateName;

impl TemplateName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TemplateName {
    type Err = InvalidTemplateName;

    fn from_str(text: &str) -> Result<Self, InvalidTemplateName> {
        let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
        let is_word = text.chars().all(|one| is_plain(one) || matches!(one, '.' | '_' | '-'));
        let has_ends = text.starts_with(is_plain) && text.ends_with(is_plain);
        if is_word && has_ends && text.len() <= 64 {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidTemplateName)
        }
    }
}

impl TryFrom<String> for TemplateName {
    type Error = InvalidTemplateName;

    fn try_from(text: String) -> Result<Self, InvalidTemplateName> {
        text.parse()
    }
}

impl From<TemplateName> for String {
    fn from(name: TemplateName) -> Self {
        name.0
    }
}

impl fmt::Display for TemplateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which template a workspace was made from, and which content it had then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateStamp {
    pub name: TemplateName,
    pub hash: String,
}

/// What a workspace's agent is told to be. Checked for shape here, and understood by those who run agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentSpec {
    /// The stored agent that runs a hosted workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
    /// The model of a hosted workspace's agent, over that of the stored one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// By name. Of a hosted workspace's agent, `system` is its system prompt, over that of the stored one. Of a resident
    /// one, `initial` is said first in each conversation. The others are kept and not used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ScheduleSpec>,
    /// Names of variables without which it cannot work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_env: Vec<String>,
    /// The program that is the agent of a resident runtime, and its arguments; none: somebody else starts it (F4).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Phrases of its errors after which it counts as wedged; none: the runner's own (F18).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wedge_signs: Vec<String>,
    /// How the program is spoken with; absent: text on its input, and its output is the answer (A80). Apart, since most
    /// have none and a spec is carried everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<Box<RunnerSpec>>,
}

impl AgentSpec {
    /// The prompt that a hosted workspace's agent takes for its system prompt.
    pub const SYSTEM_PROMPT: &str = "system";

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first thing that is wrong with it, as a sentence that names its path.
    pub fn problem(&self) -> Option<String> {
        if self.model.as_ref().is_some_and(|model| !is_short(model, MAX_MODEL_CHARACTERS)) {
            return Some(format!("model: 1 to {MAX_MODEL_CHARACTERS} characters without control characters"));
        }
        self.prompts_problem()
            .or_else(|| list_problem("skills", &self.skills, MAX_SKILLS))
            .or_else(|| self.schedules_problem())
            .or_else(|| env_problem("required_env", &self.required_env))
            .or_else(|| self.command_problem())
            .or_else(|| list_problem("wedge_signs", &self.wedge_signs, MAX_WEDGE_SIGNS))
            .or_else(|| Some(format!("runner.{}", self.runner.as_ref()?.problem()?)))
    }

    fn command_problem(&self) -> Option<String> {
        let bytes: usize = self.command.iter().map(String::len).sum();
        if self.command.len() > MAX_COMMAND_WORDS || bytes > MAX_COMMAND_BYTES {
            return Some(format!(
                "command: at most {MAX_COMMAND_WORDS} words of {MAX_COMMAND_BYTES} bytes in all"
            ));
        }
        if self.command.first().is_some_and(String::is_empty) {
            return Some("command[0]: expected a program".into());
        }
        let at = self.command.iter().position(|word| word.contains('\0'))?;
        Some(format!("command[{at}]: a word has no NUL"))
    }

    fn prompts_problem(&self) -> Option<String> {
        if self.prompts.len() > MAX_PROMPTS {
            return Some(format!("prompts: at most {MAX_PROMPTS}"));
        }
        self.prompts.iter().find_map(|(name, text)| {
            if !is_short(name, MAX_WORD_CHARACTERS) {
                return Some(format!("prompts: a name has 1 to {MAX_WORD_CHARACTERS} characters"));
            }
            let is_wrong = text.len() > MAX_PROMPT_BYTES || text.contains('\0');
            is_wrong.then(|| format!("prompts.{name}: at most {MAX_PROMPT_BYTES} bytes, without NUL"))
        })
    }

    fn schedules_problem(&self) -> Option<String> {
        if self.schedules.len() > MAX_SCHEDULES {
            return Some(format!("schedules: at most {MAX_SCHEDULES}"));
        }
        let names: BTreeSet<_> = self.schedules.iter().map(|one| &one.name).collect();
        if names.len() < self.schedules.len() {
            return Some("schedules: two have the same name".into());
        }
        let of_one = |(at, one): (usize, &ScheduleSpec)| Some(format!("schedules[{at}].{}", one.problem()?));
        self.schedules.iter().enumerate().find_map(of_one)
    }
}

/// Something to be said to an agent again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    pub name: String,
    /// Five or six fields; either this or `every_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    /// Of the IANA database, such as `Europe/Zurich`; absent: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    pub prompt: String,
}

/// One workspace to be made, with those below it. What is absent comes from its template, or is the default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blueprint {
    /// The workspace's name; absent: the template's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The template that it begins from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitySet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provision_timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hibernate_after_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent_tasks: Option<u32>,
    /// The stored agent that runs it, if it is hosted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Vec<ScheduleSpec>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_env: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wedge_signs: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<Box<RunnerSpec>>,
    /// What its programs reach through Warren (A81).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doors: Option<DoorSpec>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Blueprint>,
}

impl Blueprint {
    /// Templates that it names itself; those may name others.
    pub fn references(&self) -> BTreeSet<TemplateName> {
        let below = self.children.iter().flat_map(Self::references);
        self.template.iter().cloned().chain(below).collect()
    }

    /// Reads and checks a document. `limits` beside `provider` are the provider's.
    pub fn read(mut document: Value) -> Result<Self, DocumentError> {
        put_limits_into_provider(&mut document, "")?;
        let blueprint: Self = read_document(document)?;
        match blueprint.problem() {
            Some(problem) => Err(DocumentError::Shape(problem)),
            None => Ok(blueprint),
        }
    }

    /// Tells one content from another, whatever it was written like.
    pub fn hash(&self) -> String {
        let text = serde_json::to_vec(self).expect("a blueprint has only text for keys");
        Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The first thing that is wrong with it or with one below, as a sentence that names its path.
    fn problem(&self) -> Option<String> {
        if let Some(problem) = self.own_problem() {
            return Some(problem);
        }
        let of_child = |(at, child): (usize, &Self)| Some(format!("children[{at}].{}", child.problem()?));
        self.children.iter().enumerate().find_map(of_child)
    }

    fn own_problem(&self) -> Option<String> {
        let described = self.description.as_ref().map_or(0, |text| text.chars().count());
        if described > MAX_DESCRIPTION_CHARACTERS {
            return Some(format!("description: at most {MAX_DESCRIPTION_CHARACTERS} characters"));
        }
        if let Some(name) = &self.name
            && name.parse::<crate::WorkspaceName>().is_err()
        {
            return Some(format!("name: {}", crate::InvalidName));
        }
        self.agent().problem().or_else(|| self.doors.as_ref().and_then(DoorSpec::problem))
    }

    /// What it says of the agent itself.
    pub fn agent(&self) -> AgentSpec {
        AgentSpec {
            name: self.agent.clone(),
            model: self.model.clone(),
            prompts: self.prompts.clone(),
            skills: self.skills.clone().unwrap_or_default(),
            schedules: self.schedules.clone().unwrap_or_default(),
            required_env: self.required_env.clone(),
            command: self.command.clone().unwrap_or_default(),
            wedge_signs: self.wedge_signs.clone().unwrap_or_default(),
            runner: self.runner.clone(),
        }
    }
}

impl ScheduleSpec {
    fn problem(&self) -> Option<String> {
        if !is_short(&self.name, MAX_WORD_CHARACTERS) {
            return Some(format!("name: 1 to {MAX_WORD_CHARACTERS} characters without control characters"));
        }
        if self.prompt.is_empty() || self.prompt.len() > MAX_PROMPT_BYTES || self.prompt.contains('\0') {
            return Some(format!("prompt: 1 to {MAX_PROMPT_BYTES} bytes, without NUL"));
        }
        if self.time_zone.as_ref().is_some_and(|zone| !is_short(zone, MAX_WORD_CHARACTERS)) {
            return Some("time_zone: expected a name such as `Europe/Zurich`".into());
        }
        match (&self.cron, self.every_seconds) {
            (Some(cron), None) if is_cron(cron) => None,
            (Some(_), None) => Some("cron: expected five or six fields, such as `0 9 * * 1-5`".into()),
            (None, Some(1..)) => None,
            (None, Some(0)) => Some("every_seconds: expected at least 1".into()),
            (Some(_), Some(_)) | (None, None) => {
                Some("cron: expected either `cron` or `every_seconds`".into())
            }
        }
    }
}

/// The shape only; when it fires is for the scheduler to say.
fn is_cron(text: &str) -> bool {
    let is_field = |field: &str| {
        field
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || matches!(one, '*' | '/' | ',' | '-' | '#' | '?'))
    };
    let fields: Vec<_> = text.split_ascii_whitespace().collect();
    (5..=6).contains(&fields.len()) && text.len() <= 200 && fields.into_iter().all(is_field)
}

fn is_short(text: &str, max_characters: usize) -> bool {
    (1..=max_characters).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

fn list_problem(field: &str, words: &[String], max: usize) -> Option<String> {
    if words.len() > max {
        return Some(format!("{field}: at most {max}"));
    }
    let at = words.iter().position(|word| !is_short(word, MAX_WORD_CHARACTERS))?;
    Some(format!("{field}[{at}]: 1 to {MAX_WORD_CHARACTERS} characters without control characters"))
}

/// The first of these names that no variable can have.
pub fn env_problem(field: &str, names: &[String]) -> Option<String> {
    if names.len() > MAX_NAMES {
        return Some(format!("{field}: at most {MAX_NAMES}"));
    }
    let is_name = |name: &str| {
        let is_letter = |one: char| one.is_ascii_alphabetic() || one == '_';
        name.len() <= 128
            && name.starts_with(is_letter)
            && name.chars().all(|one| is_letter(one) || one.is_ascii_digit())
    };
    let at = names.iter().position(|name| !is_name(name))?;
    Some(format!(
        "{field}[{at}]: a name has 1 to 128 of A-Z, a-z, 0-9 and `_`, and does not begin with a digit"
    ))
}

fn put_limits_into_provider(document: &mut Value, path: &str) -> Result<(), DocumentError> {
    let Some(fields) = document.as_object_mut() else { return Ok(()) };
    if let Some(limits) = fields.remove("limits").filter(|limits| !limits.is_null()) {
        let wrong = |sentence: &str| DocumentError::Shape(format!("{path}limits: {sentence}"));
        let Some(Value::Object(provider)) = fields.get_mut("provider") else {
            return Err(wrong("these are limits of the provider, and none is named here"));
        };
        if provider.insert("limits".into(), limits).is_some() {
            return Err(wrong("they stand twice, here and under `provider`"));
        }
    }
    if let Some(Value::Array(children)) = fields.get_mut("children") {
        for (at, child) in children.iter_mut().enumerate() {
            put_limits_into_provider(child, &format!("{path}children[{at}]."))?;
        }
    }
    Ok(())
}

/// A blueprint under a name, as it stands in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub org_id: OrgId,
    pub name: TemplateName,
    /// Of the blueprint's content.
    pub hash: String,
    pub blueprint: Blueprint,
    /// As it was written, comments included.
    pub source: String,
    /// Raised by every write; a writer names the version it read.
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Template {
    /// The runtime that it speaks for; absent where its own template says.
    pub fn runtime(&self) -> Option<Runtime> {
        let default = if self.blueprint.template.is_none() { Some(Runtime::Hosted) } else { None };
        self.blueprint.runtime.or(default)
    }
}

/// Where somebody has put a workspace on their map (F9).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    pub x: f64,
    pub y: f64,
}

impl Position {
    /// Further out is no map any more.
    pub const MAX: f64 = 1_000_000.0;

    pub fn is_valid(self) -> bool {
        [self.x, self.y].into_iter().all(|one| one.is_finite() && one.abs() <= Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::parse_yaml;

    const REVIEWER: &str = "
name: reviewer
description: reads what others wrote
runtime: resident
model: some/model
prompts:
  system: You review code.
capabilities: [fs, shell]
provider: {kind: sandbox, pass_env: [LANG]}
limits: {memory_mb: 1024, cpus: 2}
required_env: [GITHUB_TOKEN]
command: [reviewer, --quiet]
wedge_signs: [out of credit]
runner: {adapter: acp, mode: default, idle_timeout_seconds: 900}
skills: [review]
schedules:
  - {name: morning, cron: '0 9 * * 1-5', time_zone: Europe/Zurich, prompt: What is new?}
  - {name: pulse, every_seconds: 60, prompt: Go on.}
provision_timeout_seconds: 900
max_concurrent_tasks: 2
hibernate_after_seconds: 3600
role: reviewer
tier: extended
";

    fn read(text: &str) -> Result<Blueprint, DocumentError> {
        Blueprint::read(parse_yaml(text)?)
    }

    fn shape(text: &str) -> String {
        match read(text) {
            Err(DocumentError::Shape(sentence)) => sentence,
            other => panic!("{text}: {other:?}"),
        }
    }

    // F50
    #[test]
    fn every_field_of_a_template_is_read_and_comes_back() {
        let blueprint = read(REVIEWER).unwrap();
        assert_eq!((blueprint.runtime, blueprint.tier), (Some(Runtime::Resident), Some(Tier::Extended)));
        let Some(ProviderConfig::Sandbox(sandbox)) = &blueprint.provider else { panic!("{blueprint:?}") };
        assert_eq!(
            (sandbox.limits.memory_mb, sandbox.limits.pids),
            (1_024, 256),
            "limits are the provider's"
        );
        assert_eq!(blueprint.schedules.as_ref().map(Vec::len), Some(2));
        let again = Blueprint::read(serde_json::to_value(&blueprint).unwrap()).unwrap();
        assert_eq!(again, blueprint);
        assert_eq!(again.hash(), blueprint.hash());
    }

    // F50
    #[test]
    fn the_hash_is_of_the_content_and_not_of_how_it_is_written() {
        let written = read("name: a\nrole: x\nprovider: {kind: memory}\n").unwrap();
        let otherwise = read("# a comment\nprovider:\n  kind: memory\nrole: 'x'\nname: a\n").unwrap();
        assert_eq!(written.hash(), otherwise.hash());
        assert_ne!(written.hash(), read("name: a\nrole: y\nprovider: {kind: memory}\n").unwrap().hash());
    }

    // F50: bad input
    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        for (text, start) in [
            ("colour: red", "colour: unknown field `colour`"),
            ("children: [{name: a}, {nmae: b}]", "children[1].nmae: unknown field"),
            ("provider: {kind: floppy}", "provider: kind: unknown provider"),
            ("children: [{provider: {kind: memory, max_file_mb: x}}]", "children[0].provider: max_file_mb"),
            ("limits: {memory_mb: 1}", "limits: "),
            ("provider: {kind: sandbox, limits: {pids: 9}}\nlimits: {pids: 9}", "limits: they stand twice"),
            ("children: [{limits: {pids: 9}}]", "children[0].limits: "),
            ("provider: {kind: memory}\nlimits: {pids: 9}", "provider: limits: unknown field"),
            ("template: Not-A-Name", "template: a template's name has"),
            ("name: ' x'", "name: "),
            ("required_env: [OK, 'not ok']", "required_env[1]: "),
            ("skills: ['']", "skills[0]: "),
            ("command: ['']", "command[0]: "),
            ("command: [a, \"b\\0\"]", "command[1]: "),
            ("wedge_signs: ['']", "wedge_signs[0]: "),
            ("runner: {adapter: acp, declares: [x]}", "runner.declares[0]: "),
            ("model: ''", "model: "),
            ("agent: Not-A-Name", "agent: an agent's name has"),
            ("schedules: [{name: a, prompt: p}]", "schedules[0].cron: expected either"),
            ("schedules: [{name: a, prompt: p, cron: hourly}]", "schedules[0].cron: expected five"),
            ("schedules: [{name: a, prompt: p, every_seconds: 0}]", "schedules[0].every_seconds"),
            (
                "schedules: [{name: a, prompt: p, every_seconds: 1}, {name: a, prompt: p, every_seconds: 1}]",
                "schedules: two",
            ),
            ("children: [{children: [{role: 7}]}]", "children[0].children[0].role: "),
        ] {
            let sentence = shape(text);
            assert!(sentence.starts_with(start), "{text}: {sentence}");
        }
    }

    #[test]
    fn names_of_templates_are_fit_for_an_address() {
        for good in ["a", "claude-code", "v1.2_x", &"x".repeat(64)] {
            assert!(good.parse::<TemplateName>().is_ok(), "{good}");
        }
        for bad in ["", "A", "a/b", "..", "-a", "a-", "a b", "é", &"x".repeat(65)] {
            assert!(bad.parse::<TemplateName>().is_err(), "{bad:?}");
        }
    }

    // F9
    #[test]
    fn a_position_is_a_place_on_a_map() {
        assert!(Position { x: -3.5, y: 0.0 }.is_valid());
        for (x, y) in [(f64::NAN, 0.0), (0.0, f64::INFINITY), (1e7, 0.0)] {
            assert!(!Position { x, y }.is_valid(), "{x} {y}");
        }
    }

    /// Specs that were written before agents had one.
    #[test]
    fn an_absent_agent_is_an_empty_one() {
        let spec: crate::WorkspaceSpec = serde_json::from_value(json!({
            "desired": "running", "runtime": "hosted", "provider": { "kind": "memory" }, "capabilities": ["fs"]
        }))
        .unwrap();
        assert!(spec.agent.is_empty() && spec.template.is_none());
        let text = serde_json::to_string(&spec).unwrap();
        assert!(!text.contains("agent") && !text.contains("template"), "{text}");
    }
}

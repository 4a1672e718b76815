use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::{Capability, Problem, RemovalCounts, Runtime, Tier, Workspace};

/// One workspace to be made, with those below it. What is absent comes from its template, or is the default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Blueprint {
    /// The workspace's name; absent: the template's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The template that it begins from. What else is said here wins; required variables and children are added, and of
    /// two provision timeouts the larger holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::ProviderConfig>)]
    pub provider: Option<serde_json::Value>,
    /// The limits of the provider, where they do not stand under `provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<crate::BoxLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
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
    /// With the runtime `hosted`: the stored agent that Warren runs in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// By name, such as `system`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Vec<ScheduleSpec>>,
    /// Names of variables without which it cannot work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_env: Vec<String>,
    /// The program that is the agent of a resident runtime, and its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Phrases of its errors after which it counts as wedged; absent: the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wedge_signs: Option<Vec<String>>,
    /// How that program is spoken with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerSpec>,
    /// What its programs reach through Warren, in a box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doors: Option<crate::Doors>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub children: Vec<Blueprint>,
}

/// Something to be said to an agent again and again: by `cron`, or every so many seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    pub name: String,
    /// Five or six fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    /// Such as `Europe/Zurich`; absent: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    pub prompt: String,
}

/// What an agent is told to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// The stored agent that runs it, if it is hosted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub model: Option<String>,
    pub prompts: BTreeMap<String, String>,
    pub skills: Vec<String>,
    pub schedules: Vec<ScheduleSpec>,
    pub required_env: Vec<String>,
    /// The program that is the agent of a resident runtime; empty: somebody else starts it.
    #[serde(default)]
    pub command: Vec<String>,
    /// Phrases of its errors after which it counts as wedged; empty: the usual ones.
    #[serde(default)]
    pub wedge_signs: Vec<String>,
    /// How the program is spoken with; absent: text on its input, and its output is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerSpec>,
}

/// What passes between a runner and its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerAdapter {
    /// A process for each message: text on its input, its output is the answer.
    Stdio,
    /// A process for each message: lines of JSON both ways.
    Json,
    /// One process that lives on and speaks the Agent Client Protocol.
    Acp,
    /// One process that lives on and serves A2A over HTTP on loopback.
    A2a,
}

/// How the program of a resident agent is spoken with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunnerSpec {
    pub adapter: RunnerAdapter,
    /// The mode in which the program works; absent: one in which it asks before it acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub mode: Option<String>,
    /// What the program takes over from Warren: `scheduler`, `session`, `status_mgmt`, `deduplication`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declares: Vec<String>,
    /// How long its work may show no progress; absent: as long as for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2592000)]
    pub idle_timeout_seconds: Option<u32>,
    /// How long the program may take to answer for the first time; absent: a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 3600)]
    pub start_timeout_seconds: Option<u32>,
    /// Where a program that serves A2A listens, on loopback; only with the adapter `a2a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a2a_url: Option<String>,
}

/// Which template a workspace was made from, and which content it had then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TemplateStamp {
    pub name: String,
    pub hash: String,
}

/// A stored template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Template {
    pub name: String,
    /// Of the content; also the ETag.
    pub hash: String,
    pub description: Option<String>,
    /// With the provider's defaults filled in.
    #[schema(value_type = Blueprint)]
    pub blueprint: serde_json::Value,
    /// As it was written, YAML or JSON, comments included.
    pub source: String,
    pub created_at: String,
    pub updated_at: String,
}

/// A template in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TemplateSummary {
    pub name: String,
    pub hash: String,
    pub description: Option<String>,
    /// Templates that it names.
    pub uses: Vec<String>,
    /// Whether it describes more than one workspace.
    pub is_tree: bool,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TemplatePage {
    pub items: Vec<TemplateSummary>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Names of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A tree to be made: from a template, or as it stands here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImportTree {
    /// A stored template; either this or `tree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Kept as JSON, so that an error can name the path of what is wrong.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::unique_keys::nullable")]
    #[schema(value_type = Option<Blueprint>)]
    pub tree: Option<serde_json::Value>,
    /// The name of the root; absent: its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The workspace below which the tree is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub parent_id: Option<String>,
    /// Names of required variables that the runtimes get elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provided_env: Vec<String>,
}

/// A team to be made below a workspace: a template's root with all below it, or a list of children.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpandWorkspace {
    /// A stored template; either this or `children`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::unique_keys::nullable")]
    #[schema(value_type = Option<Vec<Blueprint>>)]
    pub children: Option<serde_json::Value>,
    /// Names of required variables that the runtimes get elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provided_env: Vec<String>,
}

/// What became of each workspace of an import, parents first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportReport {
    pub nodes: Vec<ImportedNode>,
    pub created: u32,
    pub failed: u32,
}

/// One workspace of an import: either it has an id, or a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportedNode {
    /// Names from the root down, such as `lead/critic`.
    pub path: String,
    pub name: String,
    pub workspace_id: Option<String>,
    /// What it was given beyond its own box; absent where it was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    pub problem: Option<Problem>,
    /// What did not come along as it was, as sentences for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What became of its files; absent where none came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<ImportedFiles>,
}

/// What became of the files of an imported workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedFiles {
    pub written: u32,
    pub bytes: u64,
    pub failed: u32,
    /// Why, for the first of those that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A variable that a workspace requires and that is not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingEnv {
    /// The workspace, by names from the root down.
    pub path: String,
    pub name: String,
}

/// A workspace without those that were below it, and how far their removal went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CollapsedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    pub removal: RemovalCounts,
}

/// A place on a map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Position {
    #[schema(minimum = -1000000, maximum = 1000000)]
    pub x: f64,
    #[schema(minimum = -1000000, maximum = 1000000)]
    pub y: f64,
}

/// A workspace, or a tree of them, as one document without ids, tokens, secrets and state; with their files on request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Bundle {
    /// `warren-bundle`.
    pub format: String,
    pub version: u32,
    /// Where and when it was made, for people.
    pub origin: BundleOrigin,
    /// What is not in it, as sentences for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub root: BundleNode,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundleOrigin {
    pub workspace_id: String,
    pub exported_at: String,
}

/// One workspace with those below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BundleNode {
    pub name: String,
    /// What was wanted of it, as Warren keeps it. Versioned with the bundle.
    #[schema(value_type = Object)]
    pub spec: serde_json::Value,
    /// Whom it talks to; absent: its family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<BundlePeers>,
    /// What it remembers, and what the team remembers that it leads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<BundleMemory>,
    /// All that it has; absent in bundles of version 1: those that its spec was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Vec<BundleSchedule>>,
    /// Absent: nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BundleFiles>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub children: Vec<BundleNode>,
}

/// Whom a workspace of a bundle talks to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundlePeers {
    pub circle: crate::PeerCircle,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<BundlePeer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<BundlePeer>,
}

/// A workspace that a rule names: by its name, where it is in the bundle, and by its id where it stayed behind. Of the
/// latter, only those that are in the importer's org are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundlePeer {
    Name(String),
    Id(String),
}

/// Something remembered, of a workspace or of the team that it leads. What an org remembers is not its workspaces'.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundleMemory {
    pub scope: crate::MemoryScope,
    pub key: String,
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    pub expires_at: Option<String>,
}

/// A schedule, by `cron` or every so many seconds. Whoever imports it owns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundleSchedule {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    pub prompt: String,
    #[serde(default)]
    pub jitter_seconds: u32,
    pub missed: crate::MissedPolicy,
    pub overlap: crate::OverlapPolicy,
    #[serde(default)]
    pub is_paused: bool,
}

/// The files of a workspace. Links and special files are never among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BundleFiles {
    /// Those that hold nothing; others follow from the paths of files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub empty_directories: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BundleFile>,
}

/// A file: either its text or its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundleFile {
    /// Relative to the workspace's root.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Whether its owner could run it. It is told at the import, not done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// A bundle to be taken in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBundle {
    /// As it was exported. Kept as JSON, so that one of a newer version can be told from one that is wrong.
    #[serde(deserialize_with = "crate::unique_keys::deserialize")]
    #[schema(value_type = Bundle)]
    pub bundle: serde_json::Value,
    /// The workspace below which it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub parent_id: Option<String>,
    /// Names of required variables that the runtimes get elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provided_env: Vec<String>,
}

/// Any JSON in which no object has a key twice.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Document(#[serde(deserialize_with = "crate::unique_keys::deserialize")] pub serde_json::Value);

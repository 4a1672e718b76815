//! Bundles: a workspace, or a tree of them, as one document that another Warren can take in (F51).
//!
//! A bundle holds what was wanted of the workspaces, what they remember, when they are spoken to and, on request, their
//! files. It holds no ids that count, no tokens, no secrets and no state.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{DocumentError, read_document};
use crate::{
    Desired, MemoryScope, MissedPolicy, OverlapPolicy, PeerCircle, PeerPolicy, Timestamp, WorkspaceId,
    WorkspaceName, WorkspaceSpec,
};

/// What tells a bundle from any other document.
const FORMAT: &str = "warren-bundle";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub format: String,
    /// Grows when an older Warren could no longer take a bundle in whole. Those of version 1 have neither memory nor files,
    /// and no schedules but those that their specs were made with.
    pub version: u32,
    /// Where and when it was made; nobody reads it but people.
    pub origin: BundleOrigin,
    /// What is not in it, as sentences for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub root: BundleNode,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleOrigin {
    pub workspace_id: String,
    pub exported_at: String,
}

/// One workspace with those below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleNode {
    pub name: String,
    /// Without `peers`, which stand beside it; those of version 1 are in it.
    pub spec: WorkspaceSpec,
    /// Whom it talks to; absent: its family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<BundlePeers>,
    /// What it remembers, and what the team remembers that it leads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<BundleMemory>,
    /// All that it has. Absent: those that its spec was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Vec<BundleSchedule>>,
    /// Absent: nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BundleFiles>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<BundleNode>,
}

/// As [`PeerPolicy`], with names for those that are in the bundle too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundlePeers {
    pub circle: PeerCircle,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<BundlePeer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<BundlePeer>,
}

/// A workspace that a rule names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundlePeer {
    /// One of the bundle.
    Name(String),
    /// One that stayed where the bundle was made.
    Id(WorkspaceId),
}

/// Something remembered. Secrets were masked before it was written, and again when it was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleMemory {
    /// Never the org's: that is not the workspace's to take along.
    pub scope: MemoryScope,
    pub key: String,
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A schedule, without the runs that it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleSchedule {
    pub name: String,
    /// Either this or `every_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    pub prompt: String,
    #[serde(default)]
    pub jitter_seconds: u32,
    pub missed: MissedPolicy,
    pub overlap: OverlapPolicy,
    #[serde(default)]
    pub is_paused: bool,
}

/// The files of a workspace. Links and special files are never among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BundleFiles {
    /// Those that hold nothing; others follow from the paths of files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub empty_directories: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BundleFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleFile {
    /// Relative to the workspace's root.
    pub path: String,
    /// Its contents, where they are text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its contents otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Whether its owner could run it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    #[error("the bundle has version {found}; this Warren reads up to {}", Bundle::VERSION)]
    Newer { found: u64 },
    #[error("{0}")]
    Invalid(String),
}

impl From<DocumentError> for BundleError {
    fn from(error: DocumentError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl Bundle {
    pub const VERSION: u32 = 2;

    pub fn new(origin: BundleOrigin, root: BundleNode, warnings: Vec<String>) -> Self {
        Self { format: FORMAT.into(), version: Self::VERSION, origin, warnings, root }
    }

    /// Reads and checks a document. The version is looked at before all else: what a newer Warren wrote may have fields
    /// that mean nothing here, and the honest answer names the version and not the field.
    pub fn read(document: Value) -> Result<Self, BundleError> {
        if document.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(BundleError::Invalid(format!("format: expected `{FORMAT}`")));
        }
        match document.get("version").and_then(Value::as_u64) {
            Some(found) if found > u64::from(Self::VERSION) => return Err(BundleError::Newer { found }),
            Some(1..) => {}
            Some(0) | None => return Err(BundleError::Invalid("version: expected a number from 1".into())),
        }
        let bundle: Self = read_document(document)?;
        match bundle.root.problem("root") {
            Some(problem) => Err(BundleError::Invalid(problem)),
            None => Ok(bundle),
        }
    }
}

impl BundleNode {
    fn problem(&self, path: &str) -> Option<String> {
        if self.name.parse::<WorkspaceName>().is_err() {
            return Some(format!("{path}.name: {}", crate::InvalidName));
        }
        if self.spec.desired == Desired::Removed {
            return Some(format!("{path}.spec.desired: what is removed cannot be taken in"));
        }
        if let Some(problem) = self.spec.agent.problem() {
            return Some(format!("{path}.spec.agent.{problem}"));
        }
        if let Some(problem) = self.contents_problem() {
            return Some(format!("{path}.{problem}"));
        }
        let children = self.children.iter().enumerate();
        children
            .map(|(at, child)| child.problem(&format!("{path}.children[{at}]")))
            .find_map(|problem| problem)
    }

    fn contents_problem(&self) -> Option<String> {
        if let Some(peers) = &self.peers
            && peers.allow.len().max(peers.deny.len()) > PeerPolicy::MAX_NAMED
        {
            return Some(format!("peers: at most {} workspaces in each list", PeerPolicy::MAX_NAMED));
        }
        let mut known = BTreeSet::new();
        for (at, one) in self.memory.iter().enumerate() {
            if one.scope == MemoryScope::Org {
                return Some(format!("memory[{at}].scope: expected local or team"));
            }
            if !known.insert((one.scope, &one.key)) {
                return Some(format!("memory[{at}].key: it is there twice"));
            }
        }
        let mut names = BTreeSet::new();
        for (at, one) in self.schedules.iter().flatten().enumerate() {
            if one.cron.is_some() == one.every_seconds.is_some() {
                return Some(format!("schedules[{at}]: expected either cron or every_seconds"));
            }
            if !names.insert(&one.name) {
                return Some(format!("schedules[{at}].name: it is there twice"));
            }
        }
        let mut paths = BTreeSet::new();
        for (at, one) in self.files.iter().flat_map(|files| &files.files).enumerate() {
            if one.text.is_some() == one.base64.is_some() {
                return Some(format!("files.files[{at}]: expected either text or base64"));
            }
            if !paths.insert(&one.path) {
                return Some(format!("files.files[{at}].path: it is there twice"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        let node = |name: &str| {
            json!({ "name": name, "spec": {
                "desired": "paused", "runtime": "hosted", "provider": { "kind": "memory" },
                "capabilities": ["fs"], "agent": { "prompts": { "system": "Hello." } },
            } })
        };
        let mut root = node("lead");
        root["children"] = json!([node("critic")]);
        json!({
            "format": "warren-bundle", "version": 1, "root": root,
            "origin": { "workspace_id": "x", "exported_at": "2026-11-15T09:30:00Z" },
        })
    }

    // F51
    #[test]
    fn a_bundle_is_read_and_written_without_a_difference() {
        let bundle = Bundle::read(document()).unwrap();
        let written = serde_json::to_value(&bundle).unwrap();
        assert_eq!(Bundle::read(written.clone()).unwrap(), bundle);
        assert_eq!(serde_json::to_value(Bundle::read(written.clone()).unwrap()).unwrap(), written);
    }

    // F51: bad input
    #[test]
    fn a_newer_bundle_is_told_by_its_version_and_a_wrong_one_by_its_path() {
        let mut newer = document();
        newer["version"] = json!(3);
        newer["root"] = json!({ "hologram": true });
        assert_eq!(Bundle::read(newer), Err(BundleError::Newer { found: 3 }));
        for (pointer, value, start) in [
            ("format", json!("zip"), "format: "),
            ("version", json!(0), "version: "),
            ("version", json!("1"), "version: "),
            ("root/name", json!(" x"), "root.name: "),
            ("root/children/0/name", json!(""), "root.children[0].name: "),
            ("root/children/0/spec/desired", json!("removed"), "root.children[0].spec.desired: "),
            ("root/spec/agent/prompts/system", json!("\0"), "root.spec.agent.prompts.system: "),
            ("root/spec/provider/kind", json!("floppy"), "root.spec.provider: kind"),
        ] {
            let mut wrong = document();
            *wrong.pointer_mut(&format!("/{pointer}")).unwrap() = value;
            let Err(BundleError::Invalid(sentence)) = Bundle::read(wrong) else { panic!("{pointer}") };
            assert!(sentence.starts_with(start), "{pointer}: {sentence}");
        }
    }

    // F51
    #[test]
    fn what_comes_with_a_workspace_is_read_and_written_without_a_difference_and_checked() {
        let mut whole = document();
        whole["version"] = json!(2);
        whole["root"]["peers"] = json!({ "circle": "nobody", "allow": [
            { "name": "critic" }, { "id": WorkspaceId::from_bytes([7; 16]).to_string() },
        ] });
        whole["root"]["memory"] = json!([
            { "scope": "local", "key": "k", "value": "v" },
            { "scope": "team", "key": "k", "value": "w", "expires_at": "2030-01-01T00:00:00Z" },
        ]);
        whole["root"]["schedules"] = json!([{
            "name": "n", "cron": "0 6 * * *", "time_zone": "UTC", "prompt": "p", "jitter_seconds": 5,
            "missed": "once", "overlap": "skip", "is_paused": true,
        }]);
        whole["root"]["files"] = json!({ "empty_directories": ["e"], "files": [
            { "path": "a/b.txt", "text": "hi" }, { "path": "run", "base64": "AA==", "executable": true },
        ] });
        let bundle = Bundle::read(whole.clone()).unwrap();
        let written = serde_json::to_value(&bundle).unwrap();
        assert_eq!(Bundle::read(written).unwrap(), bundle);
        for (pointer, value, start) in [
            ("memory/0/scope", json!("org"), "root.memory[0].scope: "),
            ("memory/0/scope", json!("team"), "root.memory[1].key: it is there twice"),
            ("schedules/0/every_seconds", json!(60), "root.schedules[0]: "),
            ("files/files/0/base64", json!("AA=="), "root.files.files[0]: "),
            ("files/files/0/path", json!("run"), "root.files.files[1].path: it is there twice"),
            ("files/files/0/mode", json!(7), "root.files.files[0]"),
            ("peers/allow/0", json!("critic"), "root.peers.allow[0]"),
        ] {
            let mut wrong = whole.clone();
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            let parent = wrong["root"].pointer_mut(&format!("/{parent}")).unwrap();
            match field.parse::<usize>() {
                Ok(at) => parent[at] = value,
                Err(_) => parent[field] = value,
            }
            let Err(BundleError::Invalid(sentence)) = Bundle::read(wrong) else { panic!("{pointer}") };
            assert!(sentence.starts_with(start), "{pointer}: {sentence}");
        }
    }
}

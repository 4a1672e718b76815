//! Bundles: a workspace, or a tree of them, as one document that another Warren can take in (F51).
//!
//! A bundle holds what was wanted of the workspaces and nothing else: no ids that count, no tokens, no secrets, no state,
//! no files.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{DocumentError, read_document};
use crate::{Desired, WorkspaceName, WorkspaceSpec};

/// What tells a bundle from any other document.
const FORMAT: &str = "warren-bundle";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub format: String,
    /// Grows when an older Warren could no longer take a bundle in whole.
    pub version: u32,
    /// Where and when it was made; nobody reads it but people.
    pub origin: BundleOrigin,
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
    pub spec: WorkspaceSpec,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<BundleNode>,
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
    pub const VERSION: u32 = 1;

    pub fn new(origin: BundleOrigin, root: BundleNode) -> Self {
        Self { format: FORMAT.into(), version: Self::VERSION, origin, root }
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
        let children = self.children.iter().enumerate();
        children
            .map(|(at, child)| child.problem(&format!("{path}.children[{at}]")))
            .find_map(|problem| problem)
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
        newer["version"] = json!(2);
        newer["root"] = json!({ "hologram": true });
        assert_eq!(Bundle::read(newer), Err(BundleError::Newer { found: 2 }));
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
}

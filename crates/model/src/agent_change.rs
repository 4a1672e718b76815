//! What differs between two versions of an agent (A6).

use serde_json::Value;

use crate::text_enum::text_enum;

text_enum! {
    /// What became of a part of a definition.
    AgentChangeKind {
        Added = "added",
        Removed = "removed",
        Changed = "changed",
    }
}

/// One part of a definition that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentChange {
    /// Where it stands: `model`, `tools.workspace.workspace_rm`.
    pub path: String,
    pub kind: AgentChangeKind,
    /// What stood there, where that is short.
    pub before: Option<Value>,
    /// What stands there now, where that is short.
    pub after: Option<Value>,
}

//! Questions that only a person may decide (X51).
//!
//! ```text
//!   pending ─▶ approved | denied      by a person or a policy, never by a workspace
//!        ├───▶ expired                nobody decided in time
//!        └───▶ void                   withdrawn: the work went on without it
//! ```
//!
//! A question about a tool call of a session has a [`ApprovalSubject`]: what was asked about, exactly. A decision counts
//! for that and for nothing else (A30).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text_enum::text_enum;
use crate::{ApprovalId, OrgId, Principal, SessionId, TaskId, Timestamp, WorkspaceId};

text_enum! {
    ApprovalState {
        Pending = "pending",
        Approved = "approved",
        Denied = "denied",
        Expired = "expired",
        /// Withdrawn: the run went on without it, or ended.
        Void = "void",
    }
}

/// The tool call that a question is about, as it stood when it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalSubject {
    pub session_id: SessionId,
    pub step: u32,
    pub call_id: String,
    pub tool: String,
    /// As the model wrote them.
    pub arguments: Value,
    pub arguments_hash: String,
    /// Of the agent's version.
    pub agent_hash: String,
    /// The session's.
    pub generation: u64,
}

/// A question of a workspace, with its answer once there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub id: ApprovalId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    /// The work that waits for it, where the asker said so.
    pub task_id: Option<TaskId>,
    /// What is to be done, in a few words, such as `deploy`.
    pub action: String,
    /// Why, for the person who decides.
    pub reason: String,
    /// What else they should see. A JSON object.
    pub context: Value,
    /// The tool call that it is about, if it is about one.
    pub subject: Option<ApprovalSubject>,
    pub asked_by: Principal,
    pub state: ApprovalState,
    pub decided_by: Option<Principal>,
    pub decided_at: Option<Timestamp>,
    /// What the person said with it.
    pub note: Option<String>,
    /// What the person changed the call's arguments to, where they did.
    pub edited: Option<Value>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Approval {
    pub const MAX_ACTION_CHARACTERS: usize = 200;
    pub const MAX_REASON_BYTES: usize = 4 << 10;
    pub const MAX_NOTE_BYTES: usize = 4 << 10;
    pub const MAX_CONTEXT_BYTES: usize = 64 << 10;
}

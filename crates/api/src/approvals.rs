use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::{Principal, RememberDecision};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    /// Nobody decided in time.
    Expired,
    /// Withdrawn: the work went on without it.
    Void,
}

/// A question to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestApproval {
    /// What is to be done, in a few words, such as `deploy`.
    #[schema(min_length = 1, max_length = 200)]
    pub action: String,
    /// Why, for the person who decides.
    pub reason: String,
    /// What else they should see.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::unique_keys::nullable"
    )]
    #[schema(value_type = Option<Object>)]
    pub context: Option<serde_json::Value>,
    /// Nobody decided after so long: expired. Absent: a day; 30 days at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2592000)]
    pub expires_in_seconds: Option<u32>,
    /// The task that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub task_id: Option<String>,
}

/// What a person says with a decision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DecideApproval {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Other arguments for the tool call that is asked about; only with an approval.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::unique_keys::nullable")]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<serde_json::Value>,
    /// Allow such calls from now on; only with an approval of a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberDecision>,
}

/// Why a question is taken back by who asked it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WithdrawApproval {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The tool call of a session that a question is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalCall {
    #[schema(format = "uuid")]
    pub session_id: String,
    pub step: u32,
    pub call_id: String,
    pub tool: String,
    /// As the model wrote them.
    pub arguments: serde_json::Value,
    /// What the person changed them to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<serde_json::Value>,
}

/// A question of a workspace, with its answer once there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    #[schema(format = "uuid")]
    pub id: String,
    #[schema(format = "uuid")]
    pub workspace_id: String,
    #[schema(format = "uuid")]
    pub task_id: Option<String>,
    pub action: String,
    pub reason: String,
    #[schema(value_type = Object)]
    pub context: serde_json::Value,
    /// Only where it is about a tool call of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ApprovalCall>,
    pub state: ApprovalState,
    pub asked_by: Principal,
    /// A person, or `system:policy/NAME`.
    pub decided_by: Option<Principal>,
    pub decided_at: Option<String>,
    pub note: Option<String>,
    pub created_at: String,
    pub expires_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPage {
    pub items: Vec<Approval>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

//! The tools as an agent sees them: names, words and schemas.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::{MAX_WAIT_SECONDS, USUAL_WAIT_SECONDS};

#[derive(Debug, Clone, Copy)]
pub(in crate::mcp) enum PeerTool {
    ListPeers,
    DelegateTask,
    DelegateTaskAsync,
    CheckTask,
    CancelTask,
    SendMessageToUser,
    RequestApproval,
    Remember,
    Recall,
    GetWorkspaceInfo,
}

impl PeerTool {
    pub(super) const ALL: [Self; 10] = [
        Self::ListPeers,
        Self::DelegateTask,
        Self::DelegateTaskAsync,
        Self::CheckTask,
        Self::CancelTask,
        Self::SendMessageToUser,
        Self::RequestApproval,
        Self::Remember,
        Self::Recall,
        Self::GetWorkspaceInfo,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ListPeers => "list_peers",
            Self::DelegateTask => "delegate_task",
            Self::DelegateTaskAsync => "delegate_task_async",
            Self::CheckTask => "check_task",
            Self::CancelTask => "cancel_task",
            Self::SendMessageToUser => "send_message_to_user",
            Self::RequestApproval => "request_approval",
            Self::Remember => "remember",
            Self::Recall => "recall",
            Self::GetWorkspaceInfo => "get_workspace_info",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::ListPeers => "List the workspaces that you may hand work to, with their roles and status.",
            Self::DelegateTask => {
                "Hand work to a peer and wait for its result. If it takes longer than you wait, the answer has no \
                 result yet: ask with check_task."
            }
            Self::DelegateTaskAsync => {
                "Hand work to a peer and go on. Ask for the result with check_task, or have it sent to you as a message."
            }
            Self::CheckTask => {
                "Ask how work stands that you handed on, and for its result once it has ended."
            }
            Self::CancelTask => "Take work back that you handed on. The peer is told to stop.",
            Self::SendMessageToUser => {
                "Tell the people of this workspace something, with files of the workspace if you like. They read it in \
                 the chat; do not wait for an answer."
            }
            Self::RequestApproval => {
                "Ask a person to approve something before you do it, and wait for the decision. `state` is approved, \
                 denied, expired, or still pending: then ask again with its id. Do it only when it is approved."
            }
            Self::Remember => {
                "Keep a text under a key for later, for yourself, your team or your whole org. Credentials in it are masked."
            }
            Self::Recall => {
                "Find what was remembered, by its key or by words. `items` is empty if there is nothing."
            }
            Self::GetWorkspaceInfo => "Show your own workspace: name, role, status, capabilities and limits.",
        }
    }

    const fn is_read_only(self) -> bool {
        matches!(self, Self::ListPeers | Self::CheckTask | Self::Recall | Self::GetWorkspaceInfo)
    }

    fn schema(self) -> Arc<JsonObject> {
        let (properties, required) = self.arguments();
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        Arc::new(schema.as_object().cloned().unwrap_or_default())
    }

    /// Each argument with its schema, and those that must be there.
    fn arguments(self) -> (Value, Value) {
        let to = json!({ "type": "string", "description": "The peer's name or id, from list_peers." });
        let task = json!({ "type": "string", "minLength": 1, "description": "What is to be done, in full: the peer knows nothing else." });
        let delegation = json!({ "type": "string", "description": "`id` from the answer of delegate_task or delegate_task_async." });
        let files = json!({
            "type": "array", "items": { "type": "string" }, "maxItems": 20,
            "description": "Paths of files in your workspace to send along. The peer gets copies.",
        });
        match self {
            Self::ListPeers => {
                let query =
                    json!({ "type": "string", "description": "Part of a name or role. Absent: all." });
                (json!({ "query": query }), json!([]))
            }
            Self::DelegateTask => {
                let wait = wait_seconds("How long to wait for the result.");
                (
                    json!({ "to": to, "task": task, "files": files, "wait_seconds": wait }),
                    json!(["to", "task"]),
                )
            }
            Self::DelegateTaskAsync => {
                let tell = json!({
                    "type": "boolean", "default": false, "description": "Have the result sent to you as a message.",
                });
                (json!({ "to": to, "task": task, "files": files, "tell": tell }), json!(["to", "task"]))
            }
            Self::CheckTask | Self::CancelTask => (json!({ "id": delegation }), json!(["id"])),
            Self::SendMessageToUser => message_to_user(),
            Self::RequestApproval => approval(),
            Self::Remember => memory(),
            Self::Recall => recollection(),
            Self::GetWorkspaceInfo => (json!({}), json!([])),
        }
    }

    pub(super) fn definition(self) -> Tool {
        let annotations = ToolAnnotations::new().read_only(self.is_read_only()).open_world(false);
        Tool::new(self.name(), self.description(), self.schema()).with_annotations(annotations)
    }
}

fn wait_seconds(description: &str) -> Value {
    json!({
        "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": USUAL_WAIT_SECONDS,
        "description": description,
    })
}

fn message_to_user() -> (Value, Value) {
    let file = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Relative to the workspace root." },
            "media_type": { "type": "string", "description": "Absent: what its bytes look like." },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let properties = json!({
        "text": { "type": "string", "minLength": 1 },
        "conversation_id": { "type": "string", "description": "Absent: the youngest conversation." },
        "attachments": { "type": "array", "items": file, "maxItems": 20 },
        "message_id": {
            "type": "string", "minLength": 1, "maxLength": 128,
            "description": "Of your own making; the same one again tells it only once.",
        },
    });
    (properties, json!(["text"]))
}

fn approval() -> (Value, Value) {
    let properties = json!({
        "action": { "type": "string", "minLength": 1, "maxLength": 200, "description": "What you want to do, in a few words." },
        "reason": { "type": "string", "minLength": 1, "description": "Why, for the person who decides." },
        "context": { "type": "object", "description": "What else they should see, such as the exact command." },
        "expires_in_seconds": { "type": "integer", "minimum": 1, "maximum": 2_592_000, "description": "Absent: a day." },
        "task_id": { "type": "string", "description": "The task that waits for it." },
        "id": { "type": "string", "description": "`id` of one you asked for before, to wait for it again; then without all else." },
        "wait_seconds": wait_seconds("How long to wait for the decision."),
    });
    (properties, json!([]))
}

fn scope(description: &str) -> Value {
    json!({ "type": "string", "enum": ["local", "team", "org"], "description": description })
}

fn memory() -> (Value, Value) {
    let properties = json!({
        "key": { "type": "string", "minLength": 1, "description": "What is there under it is replaced." },
        "value": { "type": "string" },
        "scope": scope("Who can read it: you alone (local, unless told), your team, or the whole org."),
        "ttl_seconds": { "type": "integer", "minimum": 1, "description": "Forgotten after so long. Absent: never." },
        "expected_version": { "type": "integer", "minimum": 0, "description": "Only if this is still its version; 0: only if it is new." },
        "task_id": { "type": "string", "description": "The task in which you write it." },
    });
    (properties, json!(["key", "value"]))
}

fn recollection() -> (Value, Value) {
    let properties = json!({
        "key": { "type": "string", "description": "The exact key; or else a query." },
        "query": { "type": "string", "description": "Words that must all be there; or else a key." },
        "scope": scope("Only of this scope. Absent: of all; for a key the nearest counts."),
        "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "With a query: at most so many." },
    });
    (properties, json!([]))
}

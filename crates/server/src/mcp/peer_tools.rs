//! What an agent can do with its peers (X23), for callers that are the workspace itself.
//!
//! A person who looks at a workspace's tools is not its agent, and must not hand out work in its name by accident: these
//! are offered to its own tokens and to nobody else. What each may reach is decided by the routes behind them.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use warren_api::{Delegate, Delegation, MessagePart, TaskMessage};
use warren_fleet::Identity;
use warren_model::{ErrorCode, WorkspaceId};

use super::door::{Door, encoded};
use crate::problem::Failure;

/// How long `delegate_task` waits for the result unless told, and at most.
const USUAL_WAIT_SECONDS: u64 = 300;
const MAX_WAIT_SECONDS: u64 = 3_600;
/// One request to a route waits no longer.
const MAX_ROUND: Duration = Duration::from_secs(30);

/// The tools of one workspace's agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerTools {
    id: WorkspaceId,
}

#[derive(Debug, Clone, Copy)]
enum PeerTool {
    ListPeers,
    DelegateTask,
    DelegateTaskAsync,
    CheckTask,
    CancelTask,
    GetWorkspaceInfo,
}

impl PeerTool {
    const ALL: [Self; 6] = [
        Self::ListPeers,
        Self::DelegateTask,
        Self::DelegateTaskAsync,
        Self::CheckTask,
        Self::CancelTask,
        Self::GetWorkspaceInfo,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::ListPeers => "list_peers",
            Self::DelegateTask => "delegate_task",
            Self::DelegateTaskAsync => "delegate_task_async",
            Self::CheckTask => "check_task",
            Self::CancelTask => "cancel_task",
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
            Self::GetWorkspaceInfo => "Show your own workspace: name, role, status, capabilities and limits.",
        }
    }

    const fn is_read_only(self) -> bool {
        matches!(self, Self::ListPeers | Self::CheckTask | Self::GetWorkspaceInfo)
    }

    fn schema(self) -> Arc<JsonObject> {
        let to = json!({ "type": "string", "description": "The peer's id, from list_peers." });
        let task = json!({ "type": "string", "minLength": 1, "description": "What is to be done, in full: the peer knows nothing else." });
        let delegation = json!({ "type": "string", "description": "`id` from the answer of delegate_task or delegate_task_async." });
        let (properties, required) = match self {
            Self::ListPeers => {
                let query =
                    json!({ "type": "string", "description": "Part of a name or role. Absent: all." });
                (json!({ "query": query }), json!([]))
            }
            Self::DelegateTask => {
                let wait = json!({
                    "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": USUAL_WAIT_SECONDS,
                    "description": "How long to wait for the result.",
                });
                (json!({ "to": to, "task": task, "wait_seconds": wait }), json!(["to", "task"]))
            }
            Self::DelegateTaskAsync => {
                let tell = json!({
                    "type": "boolean", "default": false, "description": "Have the result sent to you as a message.",
                });
                (json!({ "to": to, "task": task, "tell": tell }), json!(["to", "task"]))
            }
            Self::CheckTask | Self::CancelTask => (json!({ "id": delegation }), json!(["id"])),
            Self::GetWorkspaceInfo => (json!({}), json!([])),
        };
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        Arc::new(schema.as_object().cloned().unwrap_or_default())
    }

    fn definition(self) -> Tool {
        let annotations = ToolAnnotations::new().read_only(self.is_read_only()).open_world(false);
        Tool::new(self.name(), self.description(), self.schema()).with_annotations(annotations)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListPeers {
    #[serde(default)]
    query: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DelegateTask {
    to: String,
    task: String,
    #[serde(default = "usual_wait")]
    wait_seconds: u64,
}

const fn usual_wait() -> u64 {
    USUAL_WAIT_SECONDS
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DelegateTaskAsync {
    to: String,
    task: String,
    #[serde(default)]
    tell: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl PeerTools {
    /// Only for the workspace itself.
    pub(super) fn of(who: &Identity, id: WorkspaceId) -> Option<Self> {
        (who.token.workspace_id == Some(id)).then_some(Self { id })
    }

    pub(super) fn tools(self) -> impl Iterator<Item = Tool> {
        PeerTool::ALL.into_iter().map(PeerTool::definition)
    }

    /// Calls the tool of this name, if there is one. Given up before its end, a delegation goes on: it is a row.
    pub(super) async fn call(
        self,
        door: &Door,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<Value, Failure>> {
        let tool = PeerTool::ALL.into_iter().find(|tool| tool.name() == name)?;
        Some(self.run(door, tool, Value::Object(arguments)).await)
    }

    async fn run(self, door: &Door, tool: PeerTool, arguments: Value) -> Result<Value, Failure> {
        let own = format!("/api/v1/workspaces/{}", self.id);
        match tool {
            PeerTool::ListPeers => {
                let ListPeers { query } = read(arguments)?;
                door.get(&format!("{own}/peers?q={}", encoded(&query))).await?.json()
            }
            PeerTool::DelegateTask => self.delegate_and_wait(door, read(arguments)?).await,
            PeerTool::DelegateTaskAsync => {
                let DelegateTaskAsync { to, task, tell } = read(arguments)?;
                let wish = Delegate { tell, ..wish(to, task)? };
                Ok(json!(self.delegate(door, &wish).await?))
            }
            PeerTool::CheckTask => {
                let Named { id } = read(arguments)?;
                door.get(&format!("{own}/delegations/{}", encoded(&id))).await?.json()
            }
            PeerTool::CancelTask => {
                let Named { id } = read(arguments)?;
                door.post(&format!("{own}/delegations/{}/cancel", encoded(&id)), &json!({})).await?.json()
            }
            PeerTool::GetWorkspaceInfo => {
                let Nothing {} = read(arguments)?;
                door.get(&own).await?.json()
            }
        }
    }

    async fn delegate(self, door: &Door, wish: &Delegate) -> Result<Delegation, Failure> {
        door.post(&format!("/api/v1/workspaces/{}/delegations", self.id), &json!(wish)).await?.json()
    }

    async fn delegate_and_wait(self, door: &Door, asked: DelegateTask) -> Result<Value, Failure> {
        let DelegateTask { to, task, wait_seconds } = asked;
        if wait_seconds > MAX_WAIT_SECONDS {
            let detail = format!("wait_seconds: at most {MAX_WAIT_SECONDS}");
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
        let until = Instant::now() + Duration::from_secs(wait_seconds);
        let mut made = self.delegate(door, &wish(to, task)?).await?;
        while made.ended_at.is_none() {
            let begun = Instant::now();
            let round = until.saturating_duration_since(begun).min(MAX_ROUND);
            if round.is_zero() {
                break;
            }
            let path = format!("/api/v1/workspaces/{}/delegations/{}", self.id, encoded(&made.id));
            made = door.get(&format!("{path}?wait_ms={}", round.as_millis().max(1))).await?.json()?;
            // The route answers early when the work has ended, or when it stopped to ask for something: that is for
            // the agent to know, and would otherwise be asked for again and again.
            if begun.elapsed() < round / 2 {
                break;
            }
        }
        Ok(json!(made))
    }
}

fn wish(to: String, task: String) -> Result<Delegate, Failure> {
    if task.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidRequest, "task: say what is to be done"));
    }
    let message = TaskMessage { parts: vec![MessagePart::text(task)], ..TaskMessage::default() };
    Ok(Delegate { to, message, ..Delegate::default() })
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        Failure::new(ErrorCode::InvalidRequest, format!("{path}: {}", error.inner()))
    })
}

//! What an agent can do with its peers, the people around it and its memory (X23), for callers that are the workspace
//! itself.
//!
//! A person who looks at a workspace's tools is not its agent, and must not hand out work in its name by accident: these
//! are offered to its own tokens and to nobody else. What each may reach is decided by the routes behind them.

mod definitions;

use std::time::Duration;

use http::Method;
use rmcp::model::Tool;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use warren_api::{
    Approval, ApprovalState, Delegate, Delegation, FoundMemories, Memory, MemoryScope, MessagePart, Notify,
    Remember as NewMemory, RequestApproval as Question, TaskMessage,
};
use warren_model::{ErrorCode, WORKSPACE_SCHEME, WorkspaceId};
use warren_service::Identity;

use self::definitions::PeerTool;
use super::local_router::{LocalRouter, encoded};
use crate::problem::Failure;

/// How long `delegate_task` and `request_approval` wait unless told, and at most.
const USUAL_WAIT_SECONDS: u64 = 300;
const MAX_WAIT_SECONDS: u64 = 3_600;
/// One request to a route waits no longer.
const MAX_ROUND: Duration = Duration::from_secs(30);

/// The tools of one workspace's agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerTools {
    id: WorkspaceId,
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
    #[serde(default)]
    files: Vec<String>,
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
    files: Vec<String>,
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
struct RequestApproval {
    /// One asked before.
    id: Option<String>,
    action: Option<String>,
    reason: Option<String>,
    context: Option<Value>,
    expires_in_seconds: Option<u32>,
    task_id: Option<String>,
    #[serde(default = "usual_wait")]
    wait_seconds: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remember {
    key: String,
    value: String,
    #[serde(default = "own_scope")]
    scope: MemoryScope,
    ttl_seconds: Option<u32>,
    expected_version: Option<u64>,
    task_id: Option<String>,
}

const fn own_scope() -> MemoryScope {
    MemoryScope::Local
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recall {
    key: Option<String>,
    query: Option<String>,
    scope: Option<MemoryScope>,
    limit: Option<u32>,
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
        router: &LocalRouter,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<Value, Failure>> {
        let tool = PeerTool::ALL.into_iter().find(|tool| tool.name() == name)?;
        Some(self.run(router, tool, Value::Object(arguments)).await)
    }

    async fn run(self, router: &LocalRouter, tool: PeerTool, arguments: Value) -> Result<Value, Failure> {
        let own = format!("/api/v1/workspaces/{}", self.id);
        match tool {
            PeerTool::ListPeers => {
                let ListPeers { query } = read(arguments)?;
                router.get(&format!("{own}/peers?q={}", encoded(&query))).await?.json()
            }
            PeerTool::DelegateTask => self.delegate_and_wait(router, read(arguments)?).await,
            PeerTool::DelegateTaskAsync => {
                let DelegateTaskAsync { to, task, files, tell } = read(arguments)?;
                let request = Delegate { tell, ..delegation(to, task, &files)? };
                Ok(json!(self.delegate(router, &request).await?))
            }
            PeerTool::CheckTask => {
                let Named { id } = read(arguments)?;
                router.get(&format!("{own}/delegations/{}", encoded(&id))).await?.json()
            }
            PeerTool::CancelTask => {
                let Named { id } = read(arguments)?;
                router.post(&format!("{own}/delegations/{}/cancel", encoded(&id)), &json!({})).await?.json()
            }
            PeerTool::SendMessageToUser => {
                let notice: Notify = read(arguments)?;
                router.post(&format!("{own}/notify"), &json!(notice)).await?.json()
            }
            PeerTool::RequestApproval => self.ask_and_wait(router, read(arguments)?).await,
            PeerTool::Remember => self.remember(router, read(arguments)?).await,
            PeerTool::Recall => self.recall(router, read(arguments)?).await,
            PeerTool::GetWorkspaceInfo => {
                let Nothing {} = read(arguments)?;
                router.get(&own).await?.json()
            }
        }
    }

    async fn delegate(self, router: &LocalRouter, request: &Delegate) -> Result<Delegation, Failure> {
        router.post(&format!("/api/v1/workspaces/{}/delegations", self.id), &json!(request)).await?.json()
    }

    async fn delegate_and_wait(self, router: &LocalRouter, asked: DelegateTask) -> Result<Value, Failure> {
        let DelegateTask { to, task, files, wait_seconds } = asked;
        let until = deadline(wait_seconds)?;
        let mut made = self.delegate(router, &delegation(to, task, &files)?).await?;
        while made.ended_at.is_none() {
            let begun = Instant::now();
            let round = until.saturating_duration_since(begun).min(MAX_ROUND);
            if round.is_zero() {
                break;
            }
            let path = format!("/api/v1/workspaces/{}/delegations/{}", self.id, encoded(&made.id));
            made = router.get(&format!("{path}?wait_ms={}", round.as_millis().max(1))).await?.json()?;
            // The route answers early when the work has ended, or when it stopped to ask for something: that is for
            // the agent to know, and would otherwise be asked for again and again.
            if begun.elapsed() < round / 2 {
                break;
            }
        }
        Ok(json!(made))
    }

    async fn ask_and_wait(self, router: &LocalRouter, asked: RequestApproval) -> Result<Value, Failure> {
        let until = deadline(asked.wait_seconds)?;
        let mut approval: Approval = match question(asked)? {
            Ask::New(question) => {
                let path = format!("/api/v1/workspaces/{}/approvals", self.id);
                router.post(&path, &json!(question)).await?.json()?
            }
            Ask::Known(id) => router.get(&format!("/api/v1/approvals/{}", encoded(&id))).await?.json()?,
        };
        while approval.state == ApprovalState::Pending {
            let begun = Instant::now();
            let round = until.saturating_duration_since(begun).min(MAX_ROUND);
            if round.is_zero() {
                break;
            }
            let path = format!("/api/v1/approvals/{}", encoded(&approval.id));
            approval = router.get(&format!("{path}?wait_ms={}", round.as_millis().max(1))).await?.json()?;
            // A server that stops answers early, and would be asked again and again.
            if begun.elapsed() < round / 2 {
                break;
            }
        }
        Ok(json!(approval))
    }

    async fn remember(self, router: &LocalRouter, request: Remember) -> Result<Value, Failure> {
        let path = self.memory_of(request.scope, &request.key);
        let body = NewMemory {
            value: request.value,
            ttl_seconds: request.ttl_seconds,
            task_id: request.task_id,
            expected_version: request.expected_version,
        };
        router.ask(Method::PUT, &path, Some(&json!(body))).await?.json()
    }

    /// What is under a key, or what a search finds. A key without a scope is looked for in the nearest first.
    async fn recall(self, router: &LocalRouter, request: Recall) -> Result<Value, Failure> {
        let key = match (request.key, request.query) {
            (Some(key), None) => key,
            (None, Some(query)) => {
                let mut path = format!("/api/v1/workspaces/{}/memory/search?q={}", self.id, encoded(&query));
                if let Some(scope) = request.scope {
                    path.push_str(&format!("&scope={}", spelled(scope)));
                }
                if let Some(limit) = request.limit {
                    path.push_str(&format!("&limit={limit}"));
                }
                return router.get(&path).await?.json();
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(Failure::new(ErrorCode::InvalidRequest, "expected one of key and query"));
            }
        };
        let nearest_first = [MemoryScope::Local, MemoryScope::Team, MemoryScope::Org];
        let scopes = request.scope.map_or(nearest_first.to_vec(), |scope| vec![scope]);
        for scope in scopes {
            match router.get(&self.memory_of(scope, &key)).await {
                Ok(found) => {
                    let memory: Memory = found.json()?;
                    return Ok(json!(FoundMemories { items: vec![memory], unreadable: Vec::new() }));
                }
                Err(failure) if failure.code() == ErrorCode::MemoryNotFound => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(json!(FoundMemories { items: Vec::new(), unreadable: Vec::new() }))
    }

    fn memory_of(self, scope: MemoryScope, key: &str) -> String {
        format!("/api/v1/workspaces/{}/memory/{}/{}", self.id, spelled(scope), encoded(key))
    }
}

/// What is asked of people: something new, or how it stands with what was asked before.
enum Ask {
    New(Question),
    Known(String),
}

fn question(asked: RequestApproval) -> Result<Ask, Failure> {
    let wrong = |detail: &str| Failure::new(ErrorCode::InvalidRequest, detail);
    match asked {
        RequestApproval {
            id: Some(id),
            action: None,
            reason: None,
            context: None,
            expires_in_seconds: None,
            task_id: None,
            wait_seconds: _,
        } => Ok(Ask::Known(id)),
        RequestApproval { id: Some(_), .. } => {
            Err(wrong("id: what was asked before is not changed; leave out all else but wait_seconds"))
        }
        RequestApproval { id: None, action, reason, context, expires_in_seconds, task_id, .. } => {
            let action = action.ok_or_else(|| wrong("action: missing"))?;
            let reason = reason.ok_or_else(|| wrong("reason: missing"))?;
            Ok(Ask::New(Question { action, reason, context, expires_in_seconds, task_id }))
        }
    }
}

const fn spelled(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::Local => "local",
        MemoryScope::Team => "team",
        MemoryScope::Org => "org",
    }
}

fn deadline(wait_seconds: u64) -> Result<Instant, Failure> {
    if wait_seconds > MAX_WAIT_SECONDS {
        let detail = format!("wait_seconds: at most {MAX_WAIT_SECONDS}");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    Ok(Instant::now() + Duration::from_secs(wait_seconds))
}

fn delegation(to: String, task: String, files: &[String]) -> Result<Delegate, Failure> {
    if task.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidRequest, "task: say what is to be done"));
    }
    let file = |path: &String| MessagePart {
        url: Some(format!("{}{path}", WORKSPACE_SCHEME)),
        ..MessagePart::default()
    };
    let parts = std::iter::once(MessagePart::text(task)).chain(files.iter().map(file)).collect();
    let message = TaskMessage { parts, ..TaskMessage::default() };
    Ok(Delegate { to, message, ..Delegate::default() })
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        Failure::new(ErrorCode::InvalidRequest, format!("{path}: {}", error.inner()))
    })
}

//! What an agent can do with its peers, the people around it and its memory (X23), for callers that are the workspace
//! itself.
//!
//! A person who looks at a workspace's tools is not its agent, and must not hand out work in its name by accident: these
//! are offered to its own tokens and to nobody else. What each may reach is decided by the services that it calls.

mod definitions;

use std::time::Duration;

use rmcp::model::{JsonObject, Tool};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use warren_api::{
    Delegate, FoundMemories, MemoryScope, MessagePart, PeerList, Remember as NewMemory,
    RequestApproval as Question, TaskMessage,
};
use warren_exchange::MAX_APPROVAL_WAIT_MS;
use warren_model::{ApprovalId, ApprovalState, DelegationId, ErrorCode, WORKSPACE_SCHEME, WorkspaceId};
use warren_service::Identity;

use self::definitions::PeerTool;
use super::answer;
use super::arguments::{Nothing, read};
use super::call_context::CallContext;
use crate::convert;
use crate::problem::Failure;
use crate::requests::memories::{MemoryKey, SearchParams};
use crate::requests::workspaces::ShowParams;
use crate::requests::{approvals, delegations, memories, notices, workspaces};

/// How long `delegate_task` and `request_approval` wait unless told, and at most.
const USUAL_WAIT_SECONDS: u64 = 300;
const MAX_WAIT_SECONDS: u64 = 3_600;

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

impl Named {
    fn delegation_id(&self) -> Result<DelegationId, Failure> {
        self.id.parse().map_err(|_| ErrorCode::DelegationNotFound.into())
    }
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

impl PeerTools {
    /// Only for the workspace itself.
    pub(super) fn of(who: &Identity, id: WorkspaceId) -> Option<Self> {
        (who.token.workspace_id == Some(id)).then_some(Self { id })
    }

    pub(super) fn tools(self) -> impl Iterator<Item = Tool> {
        PeerTool::ALL.into_iter().map(PeerTool::definition)
    }

    pub(super) fn named(self, name: &str) -> Option<PeerTool> {
        PeerTool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Given up before its end, a delegation goes on: it is a row.
    pub(super) async fn call(
        self,
        context: &CallContext,
        tool: PeerTool,
        arguments: JsonObject,
    ) -> Result<Value, Failure> {
        let CallContext { app, who, .. } = context;
        match tool {
            PeerTool::ListPeers => {
                let ListPeers { query } = read(arguments)?;
                let peers = app.exchange.peers.list(who, self.id, &query).await?;
                answer::to_json(PeerList { items: peers.iter().map(convert::exchange::peer).collect() })
            }
            PeerTool::DelegateTask => {
                let DelegateTask { to, task, files, wait_seconds } = read(arguments)?;
                let request = Delegate { wait_ms: wait_ms(wait_seconds)?, ..delegation(to, task, &files)? };
                let made = delegations::create(app, who, self.id, request, None).await?;
                answer::to_json(made.delegation)
            }
            PeerTool::DelegateTaskAsync => {
                let DelegateTaskAsync { to, task, files, tell } = read(arguments)?;
                let request = Delegate { tell, ..delegation(to, task, &files)? };
                let made = delegations::create(app, who, self.id, request, None).await?;
                answer::to_json(made.delegation)
            }
            PeerTool::CheckTask => {
                let id = read::<Named>(arguments)?.delegation_id()?;
                answer::to_json(delegations::show(app, who, self.id, id, 0).await?)
            }
            PeerTool::CancelTask => {
                let id = read::<Named>(arguments)?.delegation_id()?;
                let (row, task) = app.exchange.delegations.cancel(who, self.id, id).await?;
                answer::to_json(convert::exchange::delegation(&row, Some(&task), None))
            }
            PeerTool::SendMessageToUser => {
                let noticed = notices::notify(app, who, self.id, read(arguments)?, None).await?;
                answer::to_json(convert::chat::chat_message(&noticed.message))
            }
            PeerTool::RequestApproval => self.ask_and_wait(context, read(arguments)?).await,
            PeerTool::Remember => self.remember(context, read(arguments)?).await,
            PeerTool::Recall => self.recall(context, read(arguments)?).await,
            PeerTool::GetWorkspaceInfo => {
                let Nothing {} = read(arguments)?;
                let own = workspaces::show(app, who, self.id, &ShowParams::default()).await?;
                answer::to_json(workspaces::to_wire(app, who, &own).await?)
            }
        }
    }

    async fn ask_and_wait(self, context: &CallContext, asked: RequestApproval) -> Result<Value, Failure> {
        let CallContext { app, who, .. } = context;
        let until = Instant::now() + Duration::from_millis(wait_ms(asked.wait_seconds)?);
        let mut approval = match question(asked)? {
            Ask::New(question) => approvals::ask(app, who, self.id, question).await?,
            Ask::Known(id) => app.exchange.approvals.get(who, id).await?,
        };
        // The service waits for a while only; a server that stops lets go of those who wait.
        while approval.state == ApprovalState::Pending && !app.stopping.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let round_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).clamp(1, MAX_APPROVAL_WAIT_MS);
            approval = approvals::wait_for(app, who, approval.id, round_ms).await?;
        }
        answer::to_json(convert::approval(&approval))
    }

    async fn remember(self, context: &CallContext, request: Remember) -> Result<Value, Failure> {
        let CallContext { app, who, .. } = context;
        let under = MemoryKey { scope: convert::memory_scope_from(request.scope), key: request.key };
        let body = NewMemory {
            value: request.value,
            ttl_seconds: request.ttl_seconds,
            task_id: request.task_id,
            expected_version: request.expected_version,
        };
        let (memory, _) = memories::remember(app, who, self.id, under, body).await?;
        answer::to_json(convert::memory(&memory))
    }

    /// What is under a key, or what a search finds. A key without a scope is looked for in the nearest first.
    async fn recall(self, context: &CallContext, request: Recall) -> Result<Value, Failure> {
        let CallContext { app, who, .. } = context;
        let Recall { key, query, scope, limit } = request;
        let key = match (key, query) {
            (Some(key), None) => key,
            (None, Some(q)) => {
                let found = memories::search(app, who, self.id, SearchParams { q, scope, limit }).await?;
                return answer::to_json(found);
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(Failure::new(ErrorCode::InvalidRequest, "expected one of key and query"));
            }
        };
        let nearest_first = [MemoryScope::Local, MemoryScope::Team, MemoryScope::Org];
        let scopes = scope.map_or(nearest_first.to_vec(), |scope| vec![scope]);
        let mut items = Vec::new();
        for scope in scopes {
            let scope = convert::memory_scope_from(scope);
            match app.exchange.memories.recall(who, self.id, scope, key.clone()).await {
                Ok(found) => {
                    items.push(convert::memory(&found));
                    break;
                }
                Err(error) if error.code == ErrorCode::MemoryNotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        answer::to_json(FoundMemories { items, unreadable: Vec::new() })
    }
}

/// What is asked of people: something new, or how it stands with what was asked before.
enum Ask {
    New(Question),
    Known(ApprovalId),
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
        } => id.parse().map(Ask::Known).map_err(|_| ErrorCode::ApprovalNotFound.into()),
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

fn wait_ms(wait_seconds: u64) -> Result<u64, Failure> {
    if wait_seconds > MAX_WAIT_SECONDS {
        let detail = format!("wait_seconds: at most {MAX_WAIT_SECONDS}");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    Ok(wait_seconds * 1_000)
}

fn delegation(to: String, task: String, files: &[String]) -> Result<Delegate, Failure> {
    if task.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidRequest, "task: say what is to be done"));
    }
    let file = |path: &String| MessagePart {
        url: Some(format!("{WORKSPACE_SCHEME}{path}")),
        ..MessagePart::default()
    };
    let parts = std::iter::once(MessagePart::text(task)).chain(files.iter().map(file)).collect();
    let message = TaskMessage { parts, ..TaskMessage::default() };
    Ok(Delegate { to, message, ..Delegate::default() })
}

//! Route × credential: every operation that the router has, called with every kind of credential (sec/U01).
//!
//! The operations come from the document that is made from the router. What each needs is said in one table (needs.rs); an
//! operation without a row there fails the test, so that no route is added without somebody saying who may use it.

mod needs;
mod people;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use warren_api::{CSRF_HEADER, SIGN_IN_COOKIE};
use warren_doors::ManualClock;
use warren_model::{
    CapabilitySet, EventData, Limits, MemoryConfig, Mending, OrgId, OrgRole, Principal, ProviderConfig,
    Scope, ScopeSet, Status, Timestamp, Token, TokenId, TokenKind, TokenSecret, UserId, Workspace,
    WorkspaceId, WorkspaceSpec,
};
use warren_testkit::{Call, Warren};

use crate::fleet::{clock, create, join_token};
use crate::schedules::put_schedule;
use crate::{local, memory};
use needs::{Deed, NEEDS, Need};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Of the workspace that the path names.
    Same,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    Garbage,
    Revoked,
    Expired,
    Admin,
    /// Operators are of no org: they run this Warren.
    AdminOfOtherOrg,
    Cookie,
    CookieWithoutHeader,
    User(Scope),
    UserWithAll,
    UserWithNone,
    UserOfOtherOrg,
    Workspace(Whose),
    WorkspaceOfOtherOrg,
    Runner(Whose),
    Join(Whose),
    Login,
    /// A browser of somebody with this role, in the org of the path's workspace or in another.
    Person(OrgRole, Place),
    /// A browser of who runs this Warren, while they work in another org.
    AdminElsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    Elsewhere,
}

fn everybody() -> Vec<Who> {
    let mut all = vec![
        Who::Nobody,
        Who::Garbage,
        Who::Revoked,
        Who::Expired,
        Who::Login,
        Who::UserWithNone,
        Who::UserOfOtherOrg,
        Who::WorkspaceOfOtherOrg,
    ];
    for whose in [Whose::Other, Whose::Same] {
        all.extend([Who::Workspace(whose), Who::Runner(whose), Who::Join(whose)]);
    }
    all.extend(Scope::ALL.map(Who::User));
    for place in [Place::Elsewhere, Place::Here] {
        all.extend(OrgRole::ALL.iter().map(|role| Who::Person(*role, place)));
    }
    all.push(Who::AdminElsewhere);
    all.extend([Who::UserWithAll, Who::CookieWithoutHeader, Who::Cookie, Who::AdminOfOtherOrg, Who::Admin]);
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    LetIn,
    Unauthenticated,
    Forbidden,
    WithoutCsrfHeader,
    /// It does not exist, as far as the caller can tell.
    Hidden,
}

/// The access rule, once more and in the words of the specification (F30).
fn expected(need: Need, who: Who, changes_something: bool) -> Verdict {
    let if_any = |is_allowed: bool| if is_allowed { Verdict::LetIn } else { Verdict::Forbidden };
    if need == Need::Public {
        return Verdict::LetIn;
    }
    match who {
        Who::Nobody | Who::Garbage | Who::Revoked | Who::Expired => Verdict::Unauthenticated,
        Who::CookieWithoutHeader if changes_something => Verdict::WithoutCsrfHeader,
        Who::Admin | Who::AdminOfOtherOrg | Who::Cookie | Who::CookieWithoutHeader => {
            if_any(!matches!(need, Need::Joining | Need::Reporting | Need::On(Deed::Serve)))
        }
        Who::User(scope) => if_any(is_enough(&[scope], need)),
        Who::UserWithAll => if_any(is_enough(&Scope::ALL, need)),
        Who::UserWithNone => if_any(is_enough(&[], need)),
        Who::Person(_, Place::Elsewhere) | Who::AdminElsewhere
            if matches!(
                need,
                Need::On(_) | Need::OnToken(_) | Need::OnOthersToken(_) | Need::OnPerson(_)
            ) =>
        {
            Verdict::Hidden
        }
        Who::Person(_, Place::Elsewhere) if need == Need::Switching => Verdict::Hidden,
        Who::Person(role, _) if need == Need::Telling => if_any(role == OrgRole::Operator),
        // What others have is not there for members, and not for viewers at all.
        Who::Person(OrgRole::Member, Place::Here) if matches!(need, Need::OnOthersToken(_)) => {
            Verdict::Hidden
        }
        Who::Person(role, _) => if_any(is_enough(&role.scopes().iter().collect::<Vec<_>>(), need)),
        Who::AdminElsewhere => if_any(!matches!(need, Need::Joining | Need::Reporting)),
        Who::UserOfOtherOrg => match need {
            Need::On(_) | Need::OnToken(_) | Need::OnOthersToken(_) | Need::OnPerson(_) => Verdict::Hidden,
            _ => if_any(is_enough(&Scope::ALL, need)),
        },
        Who::Workspace(Whose::Other) | Who::Runner(Whose::Other) | Who::WorkspaceOfOtherOrg
            if matches!(need, Need::On(_)) =>
        {
            Verdict::Hidden
        }
        Who::Workspace(_) | Who::WorkspaceOfOtherOrg => if_any(may_agent(need)),
        Who::Runner(_) => if_any(may_agent(need) || need == Need::Reporting),
        Who::Join(Whose::Other) | Who::Login if matches!(need, Need::On(_)) => Verdict::Hidden,
        Who::Join(_) => if_any(need == Need::Joining),
        Who::Login => Verdict::Forbidden,
    }
}

fn is_enough(scopes: &[Scope], need: Need) -> bool {
    let needed = match need {
        Need::Public | Need::Oneself | Need::Switching => return true,
        Need::Operator | Need::Joining | Need::Reporting | Need::On(Deed::Serve) => {
            return false;
        }
        Need::InOrg(scope) | Need::OnToken(scope) | Need::OnOthersToken(scope) | Need::OnPerson(scope) => {
            scope
        }
        Need::On(Deed::Operate) => Scope::OrgOperate,
        Need::Telling => {
            return scopes.contains(&Scope::EventsRead) && scopes.contains(&Scope::TokensWrite);
        }
        Need::Events => Scope::EventsRead,
        Need::On(Deed::See) => Scope::WorkspacesRead,
        Need::On(Deed::ReadWork) => {
            return scopes.contains(&Scope::WorkspacesRead) || scopes.contains(&Scope::WorkspacesUse);
        }
        Need::On(Deed::Chat) => {
            return scopes.contains(&Scope::WorkspacesRead) && scopes.contains(&Scope::WorkspacesUse);
        }
        Need::On(Deed::Use | Deed::Run) => Scope::WorkspacesUse,
        Need::On(Deed::Write) => Scope::WorkspacesWrite,
        Need::On(Deed::SeeSecrets) => Scope::SecretsRead,
        Need::On(Deed::WriteSecrets) => Scope::SecretsWrite,
        Need::On(Deed::Decide) => Scope::ApprovalsDecide,
    };
    scopes.contains(&needed)
}

fn may_agent(need: Need) -> bool {
    matches!(
        need,
        Need::Public
            | Need::Oneself
            | Need::Switching
            | Need::Events
            | Need::On(Deed::See | Deed::ReadWork | Deed::Use | Deed::Chat | Deed::SeeSecrets | Deed::Serve)
    )
}

/// An operation of the document.
#[derive(Debug)]
struct Operation {
    id: String,
    method: String,
    path: String,
}

fn operations() -> BTreeMap<String, Operation> {
    let document: Value = serde_json::from_str(&warren_server::openapi_json()).unwrap();
    let mut all = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, described) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
            let id = described["operationId"].as_str().unwrap().to_owned();
            let operation = Operation { id: id.clone(), method: method.to_uppercase(), path: path.clone() };
            assert!(all.insert(id, operation).is_none(), "an operation's id is its own");
        }
    }
    // Described by their own protocol, and closed like any other.
    for route in warren_server::a2a_routes() {
        let (id, method, path) = (route.name.to_owned(), route.method.to_owned(), route.path.to_owned());
        assert!(all.insert(id.clone(), Operation { id, method, path }).is_none());
    }
    all
}

/// A Warren with a workspace, another one beside it, one in another org, and somebody of every kind.
struct Stage {
    warren: Warren,
    clock: Arc<ManualClock>,
    target: WorkspaceId,
    other: WorkspaceId,
    /// A session in the target.
    session: String,
    secrets: Vec<(Who, String)>,
}

/// The agent of the target's session.
const AGENT: &str = "echo";

async fn session_in(warren: &Warren, of: WorkspaceId) -> String {
    let agent = json!({ "model": "scripted/echo" });
    let path = format!("/api/v1/agents/{AGENT}");
    let stored = warren.call("PUT", &path).token(&warren.token).json(&agent).send().await;
    assert_eq!(stored.status, 201, "{}", stored.text());
    let made = warren.post("/api/v1/sessions", &json!({ "workspace_id": of, "agent": AGENT })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

fn other_org() -> OrgId {
    OrgId::from_parts(Timestamp::from_micros(1_000), [9; 10])
}

impl Stage {
    async fn set() -> Self {
        let clock = clock();
        let limits = Limits {
            max_tokens_per_owner: 100_000,
            max_webhooks_per_org: 100_000,
            max_schedules_per_workspace: 10_000,
            max_pending_approvals: 10_000,
            ..Limits::default()
        };
        let warren = Warren::builder().clock(Arc::clone(&clock)).limits(limits).start().await;
        let (target, other) = (warren.workspace(local()).await, warren.workspace(local()).await);
        // Side by side they would be peers, who may send each other messages.
        let path = format!("/api/v1/workspaces/{target}/peer-policy");
        let alone = json!({ "circle": "nobody" });
        let set = warren.call("PUT", &path).token(&warren.token).json(&alone).send().await;
        assert_eq!(set.status, 200, "{}", set.text());
        let session = session_in(&warren, target).await;
        let mut stage = Self { warren, clock, target, other, session, secrets: Vec::new() };
        stage.let_everybody_in().await;
        stage
    }

    async fn let_everybody_in(&mut self) {
        self.people().await;
        let stranger = self.workspace_of_other_org().await;
        let all = ScopeSet::from_iter(Scope::ALL);
        let mut made = vec![
            (Who::UserWithNone, self.insert(TokenKind::User, ScopeSet::EMPTY, None, OrgId::DEFAULT).await),
            (Who::UserOfOtherOrg, self.insert(TokenKind::User, all, None, other_org()).await),
            (Who::AdminOfOtherOrg, self.insert(TokenKind::Admin, ScopeSet::EMPTY, None, other_org()).await),
            (
                Who::WorkspaceOfOtherOrg,
                self.insert(TokenKind::Workspace, ScopeSet::EMPTY, Some(stranger), other_org()).await,
            ),
            (Who::Login, self.insert(TokenKind::Login, ScopeSet::EMPTY, None, OrgId::DEFAULT).await),
            (Who::Admin, self.warren.token.clone()),
            (Who::Garbage, "wrn_admin_garbage".to_owned()),
        ];
        for whose in [Whose::Same, Whose::Other] {
            let of = Some(self.workspace(whose));
            for (who, kind) in
                [(Who::Workspace(whose), TokenKind::Workspace), (Who::Join(whose), TokenKind::Join)]
            {
                made.push((who, self.insert(kind, ScopeSet::EMPTY, of, OrgId::DEFAULT).await));
            }
        }
        for scope in Scope::ALL {
            let secret =
                self.mint(&json!({ "kind": "user", "name": "one", "scopes": [scope.as_str()] })).await.0;
            made.push((Who::User(scope), secret));
        }
        let names = Scope::ALL.map(Scope::as_str);
        made.push((
            Who::UserWithAll,
            self.mint(&json!({ "kind": "user", "name": "all", "scopes": names })).await.0,
        ));
        let (revoked, id) = self.mint(&json!({ "kind": "admin", "name": "revoked" })).await;
        assert_eq!(self.warren.delete(&format!("/api/v1/tokens/{id}")).await.status, 200);
        made.push((Who::Revoked, revoked));
        let brief = json!({ "kind": "admin", "name": "brief", "expires_in_seconds": 1 });
        made.push((Who::Expired, self.mint(&brief).await.0));
        self.clock.advance_ms(2_000);
        self.secrets = made;
    }

    /// (secret, id)
    async fn mint(&self, body: &Value) -> (String, String) {
        let made = self.warren.post("/api/v1/tokens", body).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let made = made.json();
        (made["secret"].as_str().unwrap().to_owned(), made["token"]["id"].as_str().unwrap().to_owned())
    }

    /// A token that no route makes.
    async fn insert(
        &self,
        kind: TokenKind,
        scopes: ScopeSet,
        of: Option<WorkspaceId>,
        org_id: OrgId,
    ) -> String {
        let mark = unique();
        let mut random = [0; 32];
        random[..4].copy_from_slice(&mark.to_ne_bytes());
        let secret = TokenSecret::new(kind, random);
        let now = warren_doors::Clock::now(&*self.clock);
        let token = Token {
            id: TokenId::from_parts(now.plus_ms(i64::from(mark)), [3; 10]),
            kind,
            hash: secret.hash(),
            prefix: secret.display_prefix(),
            name: "test".to_owned(),
            owner: of.map_or_else(|| Principal::user(UserId::OPERATOR), Principal::workspace),
            org_id,
            workspace_id: of,
            scopes,
            created_at: now,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            used_at: None,
        };
        let done: Result<(), warren_store::Error> =
            self.warren.store.write(move |tx| tx.insert_token(&token)).await;
        done.unwrap();
        secret.reveal().to_owned()
    }

    async fn workspace_of_other_org(&self) -> WorkspaceId {
        let row = workspace_in(other_org(), WorkspaceId::from_parts(Timestamp::from_micros(5_000), [7; 10]));
        let id = row.id;
        let done: Result<(), warren_store::Error> =
            self.warren.store.write(move |tx| tx.insert_workspace(&row)).await;
        done.unwrap();
        id
    }

    fn workspace(&self, whose: Whose) -> WorkspaceId {
        match whose {
            Whose::Same => self.target,
            Whose::Other => self.other,
        }
    }

    /// The call with its credential.
    async fn authorize(&self, call: Call, who: Who, need: Need) -> Call {
        match who {
            Who::Nobody => call,
            Who::Cookie | Who::CookieWithoutHeader | Who::Person(..) | Who::AdminElsewhere => {
                let cookie = format!("{SIGN_IN_COOKIE}={}", self.browser_of(who).await);
                let call = call.header("cookie", &cookie).header("origin", &self.warren.url);
                if who == Who::CookieWithoutHeader { call } else { call.header(CSRF_HEADER, "1") }
            }
            // It goes elsewhere.
            Who::AdminOfOtherOrg if need == Need::Switching => {
                call.token(&self.insert(TokenKind::Admin, ScopeSet::EMPTY, None, other_org()).await)
            }
            // Used up by what it is for.
            Who::Join(whose) if need == Need::Joining => {
                call.token(&join_token(&self.warren, self.workspace(whose)).await)
            }
            // Whoever registers ends the one before.
            Who::Runner(whose) => {
                let of = Some(self.workspace(whose));
                call.token(&self.insert(TokenKind::Runner, ScopeSet::EMPTY, of, OrgId::DEFAULT).await)
            }
            _ => {
                let secret = self.secrets.iter().find(|(known, _)| *known == who).map(|(_, secret)| secret);
                call.token(secret.unwrap_or_else(|| panic!("{who:?} has no credential")))
            }
        }
    }

    /// A request that would work for whoever may make it.
    async fn request(&self, operation: &Operation, verdict: Verdict) -> Call {
        let target = match (operation.id.as_str(), verdict) {
            // What is let in removes something, which must not be what the others ask for.
            ("remove_workspace", Verdict::LetIn) => {
                create(&self.warren, &json!({ "name": "doomed", "provider": memory() })).await.to_string()
            }
            ("revoke_token" | "list_made_with_token", _) => {
                self.mint(&json!({ "kind": "user", "name": "victim", "scopes": ["tokens:write"] })).await.1
            }
            ("revoke_invitation", _) => self.new_invitation().await.1,
            _ if operation.path.starts_with("/api/v1/approvals/{id}") => self.new_approval().await,
            _ if operation.path.starts_with("/api/v1/tool-rules/{id}") => self.new_tool_rule().await,
            _ if operation.path.starts_with("/api/v1/schedules/{id}") => self.new_schedule().await,
            _ => self.target.to_string(),
        };
        let name = match operation.id.as_str() {
            "run_sweep" => "stalls",
            "set_image_login" | "remove_image_login" => "registry.example.com",
            _ => "workspace_ls",
        };
        let (user, org) = self.person_and_org(&operation.id).await;
        let path = operation
            .path
            .replace("{user}", &user)
            .replace("{org}", &org)
            .replace("{id}", &target)
            .replace("{name}", name)
            .replace("{process}", "1")
            .replace("{session}", &self.session)
            .replace("{step}", "1")
            .replace("{hash}", "none")
            .replace("{scope}", "local");
        let nobody = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e";
        let path = ["{task}", "{delivery}", "{delegation}", "{config}", "{conversation}", "{message}"]
            .iter()
            .fold(path, |path, name| path.replace(name, nobody));
        let query = match operation.id.as_str() {
            "write_file" | "delete_file" | "make_directory" => "?path=some",
            "search_conversations" => "?q=word",
            "a2a_act_on_task" => ":cancel",
            "search_memories" => "?q=x",
            _ => "",
        };
        let call = self.warren.call(&operation.method, &format!("{path}{query}"));
        let call = match operation.id.as_str() {
            "open_terminal" | "follow_events_by_websocket" => call
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            _ => call.header("accept", "application/json").header("a2a-version", "1.0"),
        };
        match self.body(&operation.id).await {
            Some(body) => call.json(&body),
            None => call,
        }
    }

    /// A question of the target, which nobody has decided.
    async fn new_approval(&self) -> String {
        let path = format!("/api/v1/workspaces/{}/approvals", self.target);
        let body = self.body("request_approval").await.unwrap();
        let secret =
            self.insert(TokenKind::Workspace, ScopeSet::EMPTY, Some(self.target), OrgId::DEFAULT).await;
        let made = self.warren.call("POST", &path).token(&secret).json(&body).send().await;
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// A rule about the target's tool calls.
    async fn new_tool_rule(&self) -> String {
        let body = self.body("create_tool_rule").await.unwrap();
        let made =
            self.warren.call("POST", "/api/v1/tool-rules").token(&self.warren.token).json(&body).send().await;
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// A schedule of the target: the same deeds are asked of it as of its workspace.
    async fn new_schedule(&self) -> String {
        let now = warren_doors::Clock::now(&*self.clock);
        put_schedule(&self.warren, self.target, unique(), now).await
    }

    async fn body(&self, operation: &str) -> Option<Value> {
        Some(match operation {
            "create_workspace" => json!({ "name": "made", "provider": memory() }),
            "create_token" => json!({ "kind": "user", "name": "made", "scopes": ["tokens:write"] }),
            "sign_in" => {
                let link = self.warren.fleet.tokens.mint_sign_in_link(None).await.unwrap();
                json!({ "secret": link.secret.reveal() })
            }
            "preview_invitation" => json!({ "secret": self.new_invitation().await.0 }),
            "use_invitation" => {
                json!({ "secret": self.new_invitation().await.0, "name": format!("new{}x", unique()) })
            }
            "begin_provider_sign_in_with_invitation" => json!({ "invitation": "none" }),
            "switch_org" => json!({ "org": "default" }),
            "create_invitation" => json!({ "role": "viewer" }),
            "create_user" => json!({ "name": format!("made{}x", unique()), "role": "viewer" }),
            "change_user" => json!({ "role": "viewer" }),
            "create_org" => json!({ "name": format!("made{}x", unique()) }),
            "change_org" => json!({ "quotas": { "max_members": 5 } }),
            "set_secret" | "set_workspace_secret" => json!({ "value": "x" }),
            "set_image_login" => json!({ "username": "ci", "password": "x" }),
            "set_budget" => json!({ "monthly_limit_micros": 1_000_000 }),
            "put_template" => json!({ "provider": memory() }),
            "import_tree" => json!({ "tree": { "name": "made", "provider": memory() } }),
            "expand_workspace" => json!({ "children": [{ "name": "made", "provider": memory() }] }),
            "import_bundle" => {
                let path = format!("/api/v1/workspaces/{}/bundle?tree=false", self.other);
                json!({ "bundle": self.warren.get(&path).await.json() })
            }
            "a2a_call" | "a2a_call_with_slash" => {
                json!({ "jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {} })
            }
            "a2a_send" | "a2a_stream" => json!({
                "message": { "messageId": "m1", "role": "ROLE_USER", "parts": [{ "text": "hello" }] },
                "configuration": { "returnImmediately": true },
            }),
            "a2a_act_on_task" => json!({}),
            "a2a_create_push_config" => json!({ "url": "https://93.184.216.34/hook" }),
            "send_message" => json!({ "message": { "parts": [{ "text": "hello" }] } }),
            "claim_message" | "create_conversation" | "change_conversation" => json!({}),
            "notify" => json!({ "text": "hello" }),
            "post_message" => json!({ "message": { "parts": [{ "text": "hello" }] } }),
            "report_progress" => json!({ "attempt": 1 }),
            "answer_message" => json!({ "attempt": 1, "outcome": "answered" }),
            "delegate" => json!({ "to": self.target, "message": { "parts": [{ "text": "hello" }] } }),
            "set_peer_policy" => json!({ "circle": "nobody" }),
            "create_schedule" => {
                json!({ "name": format!("n{}", unique()), "every_seconds": 86_400, "prompt": "p" })
            }
            "remember" => json!({ "value": "x" }),
            "put_agent" => json!({ "model": "scripted/echo" }),
            "create_session" => json!({ "workspace_id": self.target, "agent": AGENT }),
            "chat_with_session" => {
                json!({ "messages": [{ "role": "user", "parts": [{ "type": "text", "text": "hello" }] }] })
            }
            "send_session_message" => json!({ "text": "hello" }),
            "decide_call" => {
                json!({ "approval_id": "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e", "decision": "approve" })
            }
            "submit_tool_result" => json!({ "call_id": "none", "output": 1 }),
            "interrupt_session" | "abort_session" => json!({ "run": 99 }),
            "resume_session" | "branch_session" => json!({}),
            "rewind_session" => json!({ "step": 0 }),
            "request_approval" => json!({ "action": "a", "reason": "r" }),
            "approve" | "deny" | "withdraw_approval" => json!({}),
            "create_tool_rule" => {
                json!({ "tool": "workspace_rm", "decision": "ask", "workspace_id": self.target })
            }
            "preview_schedule" => json!({ "every_seconds": 60 }),
            "change_schedule" => json!({ "prompt": "q" }),
            "put_position" => json!({ "x": 0.0, "y": 0.0 }),
            "create_webhook" => json!({ "name": "made", "url": "https://93.184.215.14/" }),
            "change_webhook" => json!({ "is_active": false }),
            "create_channel" => json!({ "name": "made" }),
            "change_agent_card" => json!({ "agent_card": null }),
            "change_workspace" => json!({ "name": "changed" }),
            "move_file" => json!({ "from": "a", "to": "b" }),
            "run_command" | "start_process" => json!({ "argv": ["true"] }),
            "resize_process" => json!({ "rows": 1, "columns": 1 }),
            "signal_process" => json!({ "signal": "terminate" }),
            "write_file" | "write_process_input" | "call_tool" | "register_runtime" | "heartbeat" => {
                json!({})
            }
            _ => return None,
        })
    }

    /// Makes the call and reads from the answer how the caller was taken.
    async fn verdict_of(&self, call: Call) -> (Verdict, String) {
        let response = call.open().await;
        let status = response.status().as_u16();
        let is_stream =
            response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        if status == 101 || is_stream {
            return (Verdict::LetIn, String::new());
        }
        let path = response.url().path().to_owned();
        let text = response.text().await.unwrap_or_default();
        let code = serde_json::from_str::<Value>(&text)
            .ok()
            .and_then(|json| json["code"].as_str().map(str::to_owned));
        let verdict = match (status, code.as_deref()) {
            (401, _) => Verdict::Unauthenticated,
            // The door of channels is open; what comes through it must be signed.
            (403, Some("hook_refused")) => Verdict::LetIn,
            (403, Some("csrf_failed")) => Verdict::WithoutCsrfHeader,
            (403, _) => Verdict::Forbidden,
            (
                404,
                Some("workspace_not_found" | "token_not_found" | "schedule_not_found" | "session_not_found"),
            ) => Verdict::Hidden,
            (
                404,
                Some("tool_rule_not_found" | "user_not_found" | "org_not_found" | "invitation_not_found"),
            ) => Verdict::Hidden,
            // Of a session that the caller knows, it is a question that nobody asked.
            (404, Some("approval_not_found")) if !path.starts_with("/api/v1/sessions/") => Verdict::Hidden,
            (429 | 500.., _) => panic!("{status}: {text}"),
            _ => Verdict::LetIn,
        };
        (verdict, format!("{status} {text}"))
    }
}

fn unique() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

fn workspace_in(org_id: OrgId, id: WorkspaceId) -> Workspace {
    let now = Timestamp::from_micros(5_000);
    let provider = ProviderConfig::Memory(MemoryConfig::default());
    Workspace {
        id,
        org_id,
        parent_id: None,
        name: "elsewhere".parse().unwrap(),
        spec: WorkspaceSpec::new(provider, CapabilitySet::EMPTY),
        generation: 1,
        observed_generation: 1,
        secrets_since: None,
        version: 1,
        status: Status::Online,
        reason: None,
        reference: None,
        created_at: now,
        updated_at: now,
        provisioning_started_at: None,
        provision_deadline: None,
        mending: Mending::default(),
        removed_at: None,
        is_purged: false,
    }
}

// F30, sec/U01
#[test]
fn every_operation_of_the_router_has_an_expectation_and_none_is_made_up() {
    let served: Vec<_> = operations().into_keys().collect();
    let mut expected: Vec<_> = NEEDS.iter().map(|(id, _)| (*id).to_owned()).collect();
    expected.sort();
    assert_eq!(served, expected, "say in NEEDS who may use a route");
    for (method, path, _) in warren_server::PUBLIC {
        let is_public = |operation: &&Operation| operation.method == *method && operation.path == *path;
        let all = operations();
        let id = &all.values().find(is_public).unwrap().id;
        assert!(NEEDS.contains(&(id.as_str(), Need::Public)), "{method} {path}");
    }
}

// F30, sec/U01, sec/U07, and "a token of one workspace tried on every route of another"
#[tokio::test]
async fn every_route_lets_in_whom_it_should_and_nobody_else() {
    let stage = Stage::set().await;
    let operations = operations();
    let (mut cells, mut wrong) = (0, Vec::new());
    for (id, need) in NEEDS {
        let operation = &operations[*id];
        // Wrong tokens are counted by the minute.
        stage.clock.advance_ms(60_000);
        for who in everybody() {
            let verdict = expected(*need, who, operation.method != "GET");
            let call = stage.request(operation, verdict).await;
            let (seen, answer) = stage.verdict_of(stage.authorize(call, who, *need).await).await;
            if seen != verdict && !is_as_good(*need, who, seen) {
                wrong.push(format!(
                    "{} with {who:?}: expected {verdict:?}, was {seen:?}: {answer}",
                    operation.id
                ));
            }
            // Otherwise the call shows nothing: it was refused for what it said and not for who said it.
            let is_about_state =
                ["sign_out", "resize_process", "a2a_extended_card"].contains(&operation.id.as_str());
            if who == Who::Admin && answer.starts_with("400 ") && !is_about_state {
                wrong.push(format!("{} is not called as it should be: {answer}", operation.id));
            }
            let knows_nothing = matches!(
                who,
                Who::UserOfOtherOrg
                    | Who::Person(_, Place::Elsewhere)
                    | Who::AdminElsewhere
                    | Who::WorkspaceOfOtherOrg
                    | Who::Workspace(Whose::Other)
                    | Who::Runner(Whose::Other)
            );
            // The log of an org tells what its own people reached for in vain.
            let is_own_log = *id == "list_audit_entries";
            // A backup is of all orgs, and only for those who run this Warren.
            let is_of_all = *id == "download_backup" && *need == Need::Operator;
            let tells = answer.contains(&stage.target.to_string()) && !is_own_log && !is_of_all;
            if knows_nothing && tells && seen == Verdict::LetIn {
                wrong.push(format!("{} with {who:?} tells of the workspace: {answer}", operation.id));
            }
            cells += 1;
        }
    }
    println!(
        "route × credential: {} operations × {} kinds = {cells} cells",
        operations.len(),
        everybody().len()
    );
    assert!(wrong.is_empty(), "{} of {cells} cells:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cells, operations.len() * everybody().len());
    let row = stage.warren.get(&format!("/api/v1/workspaces/{}", stage.other)).await.json();
    // Its generation goes up with the org's secrets, and when Warren itself starts again what fell silent meanwhile.
    let raised = operations_that_reach_all(&stage).await + restarts_of_its_own(&stage).await;
    // The second that the stage made.
    let as_made = (&json!("test 2"), &json!("running"), &json!(1 + raised));
    assert_eq!((&row["name"], &row["desired"], &row["generation"]), as_made, "the other one is untouched");
}

/// Where two answers tell the same. Whoever may not do this anywhere may be told so before anybody looks whether the thing is
/// theirs; and who runs this Warren may change people and orgs wherever they work.
fn is_as_good(need: Need, who: Who, seen: Verdict) -> bool {
    match (need, who) {
        (
            Need::On(_) | Need::OnToken(_) | Need::OnOthersToken(_) | Need::OnPerson(_),
            Who::Person(role, Place::Elsewhere),
        ) => seen == Verdict::Forbidden && !is_enough(&role.scopes().iter().collect::<Vec<_>>(), need),
        (Need::OnPerson(_), Who::AdminElsewhere | Who::AdminOfOtherOrg) => {
            matches!(seen, Verdict::LetIn | Verdict::Hidden)
        }
        _ => false,
    }
}

/// How often the other one was started again by nobody's wish.
async fn restarts_of_its_own(stage: &Stage) -> usize {
    let query =
        warren_store::EventQuery { after: 0, org_id: None, workspace_id: Some(stage.other), limit: 500 };
    let events = stage.warren.store.read(move |tx| tx.events(&query)).await.unwrap().rows;
    let mended = |event: &&warren_model::Event| {
        let is_start = matches!(
            event.read(),
            Ok(EventData::WorkspaceStatusChanged(change)) if change.to == Status::Provisioning
        );
        event.principal == warren_model::Principal::system("mending") && is_start
    };
    events.iter().filter(mended).count()
}

/// Changes of the org's secrets so far.
async fn operations_that_reach_all(stage: &Stage) -> usize {
    let query = warren_store::AuditQuery {
        org_id: Some(OrgId::DEFAULT),
        target_kind: Some("secret".into()),
        ..warren_store::AuditQuery::all(0, 500)
    };
    let changes = stage.warren.store.read(move |tx| tx.audit(&query)).await.unwrap().rows;
    changes.iter().filter(|entry| entry.details.contains(r#""owner":"org""#)).count()
}

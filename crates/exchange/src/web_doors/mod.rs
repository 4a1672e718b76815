//! The web doors of boxes (A81): the policy of a workspace, people who are asked, credentials that are bound to an origin, and
//! what is recorded. The proxy itself is `warren_outbound::web_door`.
//!
//! ```text
//!   stream out of a box ──▶ WebDoors::serve ──▶ the workspace's policy, as it is now ──▶ WebDoor
//!                                                          │ ask                 │ over
//!                                         approvals ◀──────┘                     └──▶ events, refusals
//! ```
//!
//! What people decided is read from their approvals, so that it counts after a restart too, and nowhere else.

mod usage;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;
use url::Url;
use warren_fleet::Fleet;
use warren_model::{
    Approval, ApprovalState, NetworkScheme, RefusalKind, SecretName, Status, Workspace, WorkspaceId,
};
use warren_outbound::web_door::{
    DoorKeeper, DoorLimits, DoorOutcome, DoorRecord, DoorStream, PersonSays, WebDoor,
};
use warren_outbound::{Cidr, Connector, Credential, OutboundPolicy};
use warren_rules::boxes::command_policy::CommandRefusal;
use warren_rules::outbound::network::asking::{self, Known};
use warren_rules::outbound::network::{GrantedNetwork, HostPort};
use warren_service::{Context, Error, Identity};
use warren_store::ApprovalQuery;

use crate::approvals::{Approvals, AskApproval, MAX_APPROVAL_WAIT_MS};
use usage::Usage;

/// What the operator says about the web doors of all workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebAccess {
    /// Private ranges that a granted name may lead to: a mirror in the company's network. None by default, whatever Warren
    /// itself may call.
    pub allow_private: Vec<Cidr>,
    pub credentials: Vec<BoundCredential>,
}

/// A secret that Warren puts into requests to one origin, so that no box has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundCredential {
    pub origin: HostPort,
    /// Of the workspace, or else of its org.
    pub secret: SecretName,
    /// Sent as user name and password. Absent: as a bearer token.
    pub user: Option<String>,
}

/// Serves the web doors of boxes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WebDoors {
    context: Context,
    door: WebDoor,
}

impl WebDoors {
    pub(crate) fn new(
        context: Context,
        fleet: Fleet,
        approvals: Approvals,
        connector: &Connector,
        access: WebAccess,
    ) -> Self {
        let WebAccess { allow_private, credentials } = access;
        let connect_timeout_ms = connector.policy().connect_timeout_ms;
        let connector = connector.under(OutboundPolicy { allow_private, connect_timeout_ms });
        let keeper = Keeper {
            usage: Usage::new(context.clone()),
            context: context.clone(),
            fleet,
            approvals,
            credentials,
            asking: tokio::sync::Mutex::default(),
        };
        Self { context, door: WebDoor::new(connector, Arc::new(keeper), DoorLimits::default()) }
    }

    /// Serves one stream out of the box of a workspace, by its policy as it stands now.
    #[tracing::instrument(name = "exchange.web_doors.serve", skip_all, fields(workspace.id = %workspace))]
    pub async fn serve<S: DoorStream>(&self, workspace: WorkspaceId, stream: S) {
        let network = match self.network_of(workspace).await {
            Ok(network) => network,
            Err(error) => {
                tracing::warn!(%error, "the network policy of a workspace could not be read: nothing is granted");
                GrantedNetwork::default()
            }
        };
        tokio::select! {
            () = self.door.serve(workspace, &network, stream) => {}
            () = self.context.stopping().cancelled() => {}
        }
    }

    async fn network_of(&self, id: WorkspaceId) -> Result<GrantedNetwork, Error> {
        let Some(row) = live(&self.context, id).await? else { return Ok(GrantedNetwork::default()) };
        Ok(GrantedNetwork::compile(&row.spec.doors.network).unwrap_or_else(|error| {
            tracing::warn!(%error, "a network policy cannot be held: nothing is granted");
            GrantedNetwork::default()
        }))
    }
}

async fn live(context: &Context, id: WorkspaceId) -> Result<Option<Workspace>, Error> {
    let row = context.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
    Ok(row.filter(|row| row.status != Status::Removed))
}

#[derive(Debug)]
struct Keeper {
    context: Context,
    fleet: Fleet,
    approvals: Approvals,
    credentials: Vec<BoundCredential>,
    usage: Usage,
    /// Held while it is looked up whether somebody was asked already, so that two connections ask once.
    asking: tokio::sync::Mutex<()>,
}

impl Keeper {
    async fn decide(
        &self,
        workspace: WorkspaceId,
        to: &HostPort,
        scheme: NetworkScheme,
    ) -> Result<PersonSays, Error> {
        let Some(row) = live(&self.context, workspace).await? else { return Ok(PersonSays::NotAsked) };
        let mut who = Identity::of_workspace(workspace, row.org_id, self.context.now());
        who.principal = asking::asker();
        let known = {
            let _alone = self.asking.lock().await;
            self.known_or_ask(&who, &row, to, scheme).await?
        };
        let id = match known {
            Known::Granted => return Ok(PersonSays::Granted),
            Known::Denied => return Ok(PersonSays::Denied),
            Known::Nothing => return Ok(PersonSays::NotAsked),
            Known::Waiting(id) => id,
        };
        let until = Instant::now() + Duration::from_millis(asking::WAIT_MS);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let wait_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).min(MAX_APPROVAL_WAIT_MS);
            match self.approvals.wait_for(&who, id, wait_ms).await?.state {
                ApprovalState::Approved => return Ok(PersonSays::Granted),
                ApprovalState::Denied => return Ok(PersonSays::Denied),
                ApprovalState::Pending if wait_ms > 0 && !self.context.is_stopping() => {}
                ApprovalState::Pending | ApprovalState::Expired | ApprovalState::Void => {
                    return Ok(PersonSays::Nothing);
                }
            }
        }
    }

    async fn known_or_ask(
        &self,
        who: &Identity,
        row: &Workspace,
        to: &HostPort,
        scheme: NetworkScheme,
    ) -> Result<Known, Error> {
        let action = asking::action(to, scheme);
        match asking::known(&self.questions(row).await?, &action, self.context.now()) {
            Known::Nothing => {}
            known => return Ok(known),
        }
        let ask = AskApproval {
            action,
            reason: format!(
                "A program in the workspace {} wants to connect to {to}, which its network policy does not name. Approved, \
                 the workspace may do so for a day.",
                row.name
            ),
            context: json!({ "host": to.host.as_str(), "port": to.port, "scheme": scheme }),
            expires_in_seconds: Some(asking::QUESTION_SECONDS),
            task_id: None,
        };
        Ok(Known::Waiting(self.approvals.ask(who, row.id, ask).await?.id))
    }

    /// The newest first, as many as a page has.
    async fn questions(&self, row: &Workspace) -> Result<Vec<Approval>, Error> {
        let limit = self.context.limits().max_page_size;
        let (org_id, workspace_id) = (Some(row.org_id), Some(row.id));
        let query = ApprovalQuery { org_id, workspace_id, state: None, before: None, limit };
        let page = self.context.store().read(move |tx| tx.approvals(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page).rows)
    }
}

#[async_trait]
impl DoorKeeper for Keeper {
    async fn ask(&self, workspace: WorkspaceId, to: &HostPort, scheme: NetworkScheme) -> PersonSays {
        self.decide(workspace, to, scheme).await.unwrap_or_else(|error| {
            tracing::warn!(workspace.id = %workspace, %error, "nobody could be asked about a host");
            PersonSays::NotAsked
        })
    }

    async fn credential(&self, workspace: WorkspaceId, url: &Url) -> Result<Option<Credential>, String> {
        let is_bound = |one: &&BoundCredential| {
            url.host_str() == Some(one.origin.host.as_str())
                && url.port_or_known_default() == Some(one.origin.port)
        };
        let Some(bound) = self.credentials.iter().find(is_bound) else { return Ok(None) };
        let opened = async {
            let Some(row) = live(&self.context, workspace).await? else { return Ok(None) };
            self.fleet.secrets.for_warren(row.org_id, Some(workspace), &bound.secret).await
        };
        let value = opened.await.map_err(|error: Error| {
            tracing::warn!(workspace.id = %workspace, secret = bound.secret.as_str(), %error,
                "a credential for a host could not be opened");
            error.to_string()
        })?;
        Ok(value.map(|value| match &bound.user {
            Some(user) => Credential::basic(url, user, value.reveal()),
            None => Credential::bearer(url, value.reveal()),
        }))
    }

    fn record(&self, workspace: WorkspaceId, record: DoorRecord) {
        match &record.outcome {
            DoorOutcome::Refused(refusal) if refusal.cause.is_by_policy() => {
                let refusal = CommandRefusal {
                    kind: RefusalKind::Network,
                    sentence: refusal.sentence.clone(),
                    allowed: String::new(),
                };
                // Without a log Warren stops.
                if let Ok(log) = self.fleet.tool_refusals.log() {
                    log.record(workspace, "web", &refusal);
                }
            }
            DoorOutcome::Closed | DoorOutcome::Cut(_) | DoorOutcome::Refused(_) => {
                self.usage.note(workspace, record);
            }
        }
    }
}

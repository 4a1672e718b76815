//! Agents that Warren itself runs in their boxes (F4, F18).
//!
//! ```text
//!   place open ──▶ runner started ──▶ join token, on its input ──▶ it registers ──▶ online
//!                    ▲                                                  │
//!                    └─────────── after a while ◀──── it ended ◀────────┘
//! ```
//!
//! A box without such an agent, whose programs may reach something through Warren, has a program in its place that carries
//! its doors and nothing else (A81).
//!
//! One task per workspace stays with its runner: starts it, hands what it says to the gateway, and starts it again when it
//! ends. The gateway is whoever serves the API. Only the replica that has the box runs its agent; a box that was taken over
//! is closed by the one that had it, and its runner ends with it.
//!
//! Surprise: a runner reaches Warren through its own input and output, which only Warren holds. There is no socket in the
//! box and none on the host, so that there is none to reach from another box. Its credentials are in its memory alone, and
//! each start has its own: the programs of its box are the same user, and what they could read they could say for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use warren_model::{ErrorCode, Principal, ScopeSet, Status, TokenKind, TokenSecret, Workspace, WorkspaceId};
use warren_rules::boxes::doors;
use warren_rules::lifecycle::residents;
use warren_service::{Actor, Context, Error, Identity};
use warren_workspace::shell::{Command, Dialog, Shell as _};
use warren_workspace::{Registry, SecretVariables};

use crate::replicas::Replicas;
use crate::secrets::SecretValues;
use crate::tokens::{MintToken, Minter, Tokens};

/// A runner registers at once, or not at all.
const JOIN_LIFETIME_MS: i64 = 10 * 60_000;
/// How long a command waits for the doors of its box. They are open a moment after the box is.
const DOORS_PATIENCE: Duration = Duration::from_secs(5);
/// Until it is looked again whether the box is still another replica's.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Serves what runners ask, as those that they are.
#[async_trait]
pub trait RunnerGateway: Send + Sync + std::fmt::Debug {
    /// Serves a runner until it ends, and returns how it ended. What it says is masked with its workspace's secrets.
    async fn attend(&self, workspace: WorkspaceId, talk: Dialog, secrets: SecretVariables) -> String;

    /// Serves what carries the doors of a box until it ends, and returns how it ended. `open` is told when programs can
    /// connect to them.
    async fn attend_doors(&self, workspace: WorkspaceId, talk: Dialog, open: oneshot::Sender<()>) -> String;
}

/// Which runners this process has, and who serves them.
#[derive(Debug)]
struct Runners {
    gateway: watch::Sender<Option<Arc<dyn RunnerGateway>>>,
    attended: Mutex<HashMap<WorkspaceId, CancellationToken>>,
    /// Whether the doors of a box are open, where something but a runner carries them.
    doors: Mutex<HashMap<WorkspaceId, watch::Sender<bool>>>,
}

impl Default for Runners {
    fn default() -> Self {
        Self { gateway: watch::channel(None).0, attended: Mutex::default(), doors: Mutex::default() }
    }
}

impl Runners {
    /// The one before, if any, is dismissed.
    fn begin(&self, id: WorkspaceId) -> CancellationToken {
        let token = CancellationToken::new();
        let mut attended = self.attended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = attended.insert(id, token.clone()) {
            before.cancel();
        }
        token
    }

    fn end(&self, id: WorkspaceId) {
        let mut attended = self.attended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = attended.remove(&id) {
            known.cancel();
        }
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn doors(&self, id: WorkspaceId) -> watch::Sender<bool> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.entry(id).or_insert_with(|| watch::channel(false).0).clone()
    }
}

/// Shuts the doors, as far as others know, when what carries them ends in whatever way.
struct OpenDoors(watch::Sender<bool>);

impl Drop for OpenDoors {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// What [`Residents`] needs beside its own runners.
#[derive(Debug, Clone)]
pub(crate) struct ResidentParts {
    pub(crate) context: Context,
    pub(crate) registry: Registry,
    pub(crate) replicas: Replicas,
    pub(crate) tokens: Tokens,
    pub(crate) values: SecretValues,
}

/// Runs the agents that Warren itself runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Residents {
    parts: ResidentParts,
    runners: Arc<Runners>,
}

impl Residents {
    pub(crate) fn new(parts: ResidentParts) -> Self {
        Self { parts, runners: Arc::default() }
    }

    /// The gateway knows the fleet, and the fleet the gateway: one of them lets go.
    pub(crate) fn drop_gateway(&self) {
        self.runners.gateway.send_replace(None);
    }

    /// Who speaks out of a box, for those who know the box: its workspace, and what may be done in its name.
    pub async fn speaker(&self, id: WorkspaceId) -> Result<(Identity, Workspace), Error> {
        let row =
            self.parts.context.store().read_few(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let row = row.filter(|row| row.status != Status::Removed);
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        Ok((Identity::of_workspace(id, row.org_id, row.created_at), row))
    }

    /// From now on runners are served. Until then none is started.
    pub fn set_gateway(&self, gateway: Arc<dyn RunnerGateway>) {
        self.runners.gateway.send_replace(Some(gateway));
    }

    /// Waits until programs that are started now find the doors of their box open. One that does not open holds nobody up
    /// for long: a program that needs it says so.
    pub(crate) async fn doors_open(&self, row: &Workspace) {
        if !doors::need_carrier(&row.spec) || !residents::is_started(&row.spec, row.status) {
            return;
        }
        let mut open = self.runners.doors(row.id).subscribe();
        let waiting = tokio::time::timeout(DOORS_PATIENCE, open.wait_for(|is_open| *is_open));
        if waiting.await.is_err() {
            tracing::warn!(workspace.id = %row.id, "the doors of a box are not open yet");
        }
    }

    /// Ends the runner of a workspace, if this process has it.
    pub(crate) fn dismiss(&self, id: WorkspaceId) {
        self.runners.end(id);
    }

    /// Stays with the runner of a workspace from now on, if it is Warren that runs it.
    pub(crate) fn attend(&self, row: &Workspace) {
        if !residents::is_attended(&row.spec) || self.parts.context.is_stopping() {
            return;
        }
        let (residents, id, dismissed) = (self.clone(), row.id, self.runners.begin(row.id));
        let span = tracing::info_span!("fleet.residents.supervise", workspace.id = %row.id);
        self.parts.context.spawn(span, async move {
            tokio::select! {
                biased;
                () = residents.parts.context.stopping().cancelled() => {}
                () = dismissed.cancelled() => {}
                () = residents.supervise(id) => {}
            }
        });
    }

    /// Starts the runner again and again, until somebody wants something else.
    async fn supervise(&self, id: WorkspaceId) {
        let mut gateways = self.runners.gateway.subscribe();
        let gateway = gateways.wait_for(Option::is_some).await.ok().and_then(|gateway| gateway.clone());
        let Some(gateway) = gateway else { return };
        let mut failures = 0;
        loop {
            // Another replica has it, or one did that has died, or the database is away.
            if !matches!(self.parts.replicas.is_elsewhere(id).await, Ok(false)) {
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            let row = self.parts.context.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await;
            match row {
                Ok(Some(row)) if residents::is_started(&row.spec, row.status) => {
                    let began = Instant::now();
                    let ended = self.run_once(&row, &*gateway).await;
                    let lived_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    failures = residents::failures_after(failures, lived_ms);
                    match ended {
                        Ok(how) => {
                            tracing::warn!(workspace.id = %id, how, failures, "a runner ended; it is started again");
                        }
                        Err(error) => {
                            tracing::warn!(workspace.id = %id, %error, failures, "a runner could not be run");
                        }
                    }
                }
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(workspace.id = %id, %error, "the workspace of a runner could not be read");
                    failures += 1;
                }
            }
            let wait = residents::restart_wait_ms(failures, self.parts.context.entropy().fraction());
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
    }

    /// Runs a runner once, from its start to its end. Returns how it ended.
    async fn run_once(&self, row: &Workspace, gateway: &dyn RunnerGateway) -> Result<String, Error> {
        let lease = self.parts.registry.acquire(row.id).await?;
        let shell = lease.workspace().shell().ok_or_else(no_box)?;
        let runner = shell.runner().ok_or_else(no_box)?;
        if !residents::is_run_by_warren(&row.spec) {
            let talk = shell.open_dialog(Command::argv([runner, "doors"])).await?;
            return Ok(self.carry_doors(row.id, talk, gateway).await);
        }
        let secrets = self.parts.values.variables(row).await?;
        let join = self.mint_join(row).await?;
        let options = residents::runner_options(&row.spec.agent);
        let words = [runner, "run"].into_iter().chain(options.iter().map(String::as_str)).chain(["--"]);
        let command = Command::argv(words.chain(row.spec.agent.command.iter().map(String::as_str)));
        let talk = secrets.shell(shell).open_dialog(command).await?;
        // Never in its arguments or variables, nor in a file of the box.
        let line = Bytes::from(format!("{}\n", join.reveal()));
        if talk.input.send(line).await.is_err() {
            return Ok("it ended before it was told anything".to_owned());
        }
        Ok(gateway.attend(row.id, talk, secrets).await)
    }

    async fn carry_doors(&self, id: WorkspaceId, talk: Dialog, gateway: &dyn RunnerGateway) -> String {
        let doors = OpenDoors(self.runners.doors(id));
        let (open, opened) = oneshot::channel();
        let opened = async {
            if opened.await.is_ok() {
                doors.0.send_replace(true);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            how = gateway.attend_doors(id, talk, open) => how,
            () = opened => String::new(),
        }
    }

    /// A fresh token; those of earlier starts end, and so do the credentials that they were exchanged for.
    async fn mint_join(&self, row: &Workspace) -> Result<TokenSecret, Error> {
        let (id, now) = (row.id, self.parts.context.now());
        self.parts
            .context
            .store()
            .write(move |tx| {
                tx.revoke_tokens_of(id, TokenKind::Join, now)?;
                tx.revoke_tokens_of(id, TokenKind::Runner, now)?;
                Ok::<_, Error>(())
            })
            .await?;
        let by = Minter {
            principal: Principal::system("reconciler"),
            expires_at: None,
            actor: Actor::system("reconciler", row.org_id),
        };
        let request = MintToken {
            kind: TokenKind::Join,
            name: "runner".to_owned(),
            scopes: ScopeSet::EMPTY,
            workspace_id: Some(id),
            expires_in_ms: Some(JOIN_LIFETIME_MS),
        };
        let minted = self.parts.tokens.mint_for(Principal::workspace(id), row.org_id, by, request).await?;
        Ok(minted.secret)
    }
}

fn no_box() -> Error {
    let detail = "the workspace has no box to run a program in";
    Error::with_detail(ErrorCode::CapabilityMissing, detail)
}

//! Telling about tasks those who do not listen: each is called at an address of their own whenever the task has changed
//! (X1).
//!
//! What a receiver was told is a version of the task. While the task is newer, a call is owed, whoever changed it and
//! whatever crashed in between; several changes in a row become one call with the task as it is. So a receiver may be
//! told the same twice, and never misses the end.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderName;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tracing::info_span;
use url::Url;
use warren_fleet::{BackgroundLoop, Tally};
use warren_model::event::{PushConfigRemoved, PushConfigSet, PushGivenUp};
use warren_model::{
    ErrorCode, EventData, NewEvent, Principal, PushConfig as Row, RequestKind, Task, TaskId, Timestamp,
};
use warren_rules::messages::pushes::{after_failure, after_success, claimed};
use warren_service::{Context, Error, Identity, Sealer};
use warren_store::WriteTx;
use zeroize::{Zeroize as _, Zeroizing};

use crate::a2a::{
    AuthenticationInfo, MEDIA_TYPE, PushConfig, StreamResponse, VERSION, VERSION_HEADER, task_to,
};
use crate::messages::FileView;
use warren_outbound::{Call, CallLimits, Connector, Credential};

/// How often what is owed is asked for: one read by an index.
const LOOK: Duration = Duration::from_millis(250);
const BATCH: u32 = 32;
/// Calls at once.
const MAX_CALLS: usize = 32;
const MAX_TOKEN_BYTES: usize = 4_096;
const MAX_SCHEME_BYTES: usize = 64;
/// Proves to the receiver that the call is about what it asked for.
const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// What is sealed of a config.
#[derive(Serialize, Deserialize, Default)]
struct Secrets {
    token: Option<String>,
    scheme: Option<String>,
    credentials: Option<String>,
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.token.zeroize();
        self.credentials.zeroize();
    }
}

/// Receivers that are called whenever a task has changed.
#[derive(Debug, Clone)]
pub struct PushConfigs {
    context: Context,
    sealer: Sealer,
    connector: Connector,
}

impl PushConfigs {
    pub(crate) fn new(context: Context, sealer: Sealer, connector: Connector) -> Self {
        Self { context, sealer, connector }
    }

    /// Whether a config could be kept: its address is judged by the code that judges calls (sec/A05).
    #[tracing::instrument(name = "exchange.push_configs.check", skip_all)]
    pub async fn check(&self, config: &PushConfig) -> Result<(), Error> {
        check_text(config)?;
        self.connector.check(&config.url).await?;
        Ok(())
    }

    /// Sets where somebody is told about a task that they may see. The same id again replaces it.
    #[tracing::instrument(name = "exchange.push_configs.put", skip_all, fields(task.id = %task.id))]
    pub async fn put(&self, who: &Identity, task: &Task, config: PushConfig) -> Result<PushConfig, Error> {
        self.check(&config).await?;
        let now = self.context.now();
        let id = config.id.clone().filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| self.context.entropy().id::<RequestKind>(now).to_string());
        let row = Row {
            task_id: task.id,
            owner: who.principal.clone(),
            url: config.url.clone(),
            sealed: self.seal(task.id, &id, &config),
            // From here on: what was before is in the answer to whoever set it.
            told_version: task.version,
            attempts: 0,
            not_before: now,
            created_at: now,
            id,
        };
        let (written, about) = (row.clone(), task.clone());
        let by = who.principal.clone();
        self.context
            .store()
            .write(move |tx| {
                let known = tx.push_configs(written.task_id)?;
                if known.len() >= Row::MAX_PER_TASK && known.iter().all(|one| one.id != written.id) {
                    let detail = format!("a task has at most {} push configs", Row::MAX_PER_TASK);
                    return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
                }
                tx.put_push_config(&written)?;
                let data = PushConfigSet { task_id: about.id, config_id: written.id.clone() };
                note(tx, &about, &by, data, now)
            })
            .await?;
        Ok(self.shown(row))
    }

    /// Of a task that the caller may see.
    #[tracing::instrument(name = "exchange.push_configs.list", skip_all, fields(task.id = %task.id))]
    pub async fn list(&self, task: &Task) -> Result<Vec<PushConfig>, Error> {
        let id = task.id;
        let rows = self.context.store().read(move |tx| tx.push_configs(id).map_err(Error::from)).await?;
        Ok(rows.into_iter().map(|row| self.shown(row)).collect())
    }

    /// One that is not there is removed already.
    #[tracing::instrument(name = "exchange.push_configs.remove", skip_all, fields(task.id = %task.id))]
    pub async fn remove(&self, who: &Identity, task: &Task, id: &str) -> Result<(), Error> {
        let (about, id, by, now) = (task.clone(), id.to_owned(), who.principal.clone(), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                if !tx.remove_push_config(about.id, &id)? {
                    return Ok(());
                }
                let data = PushConfigRemoved { task_id: about.id, config_id: id.clone() };
                note(tx, &about, &by, data, now)
            })
            .await
    }

    /// As it is shown: a token and credentials go in and do not come out again.
    fn shown(&self, row: Row) -> PushConfig {
        let secrets = self.secrets_of(&row).unwrap_or_default();
        PushConfig {
            id: Some(row.id),
            task_id: Some(row.task_id.to_string()),
            url: row.url,
            token: None,
            authentication: secrets
                .scheme
                .clone()
                .map(|scheme| AuthenticationInfo { scheme, credentials: None }),
        }
    }

    fn seal(&self, task_id: TaskId, id: &str, config: &PushConfig) -> Option<String> {
        let authentication = config.authentication.as_ref();
        let secrets = Secrets {
            token: config.token.clone().filter(|token| !token.is_empty()),
            scheme: authentication.map(|one| one.scheme.clone()),
            credentials: authentication.and_then(|one| one.credentials.clone()),
        };
        if secrets.token.is_none() && secrets.scheme.is_none() {
            return None;
        }
        let text = Zeroizing::new(serde_json::to_string(&secrets).unwrap_or_default());
        Some(self.sealer.seal_text(&Row::seal_place(task_id, id), &text))
    }

    /// `None`: it does not open.
    fn secrets_of(&self, row: &Row) -> Option<Secrets> {
        let Some(sealed) = &row.sealed else { return Some(Secrets::default()) };
        let text = self.sealer.open_text(&Row::seal_place(row.task_id, &row.id), sealed)?;
        serde_json::from_str(&text).ok()
    }

    /// What tells receivers of notifications, for whoever looks after it.
    pub(crate) fn background_loop(&self) -> impl BackgroundLoop + 'static {
        PushesLoop { push_configs: self.clone(), room: Arc::new(Semaphore::new(MAX_CALLS)) }
    }

    async fn push_what_is_owed(&self, room: &Arc<Semaphore>, tally: &mut Tally) -> Result<(), Error> {
        let now = self.context.now();
        let owed =
            self.context.store().read(move |tx| tx.owed_pushes(now, BATCH).map_err(Error::from)).await?;
        for row in self.context.readable(owed) {
            let Ok(place) = Arc::clone(room).acquire_owned().await else { return Ok(()) };
            let service = self.clone();
            let span = info_span!("exchange.push_configs.call", task.id = %row.task_id);
            tally.acted_on += 1;
            self.context.spawn(span, async move {
                service.push(row).await;
                drop(place);
            });
        }
        Ok(())
    }

    /// Makes one call, if nobody else is about to, and writes down how it went.
    async fn push(&self, row: Row) {
        let now = self.context.now();
        let held = claimed(&row, now);
        let (known, mine) = (row.clone(), held.clone());
        let task = self
            .context
            .store()
            .write(move |tx| {
                if tx.update_push_config(&mine, &known)? {
                    tx.task(mine.task_id).map_err(Error::from)
                } else {
                    Ok(None)
                }
            })
            .await;
        let Ok(Some(task)) = task else { return };
        let is_taken = tokio::select! {
            // The claim runs out by itself; whoever starts next calls again.
            () = self.context.stopping().cancelled() => return,
            is_taken = self.call(&row, &task) => is_taken,
        };
        let now = self.context.now();
        let next = if is_taken {
            Some(after_success(&held, task.version, now))
        } else {
            after_failure(&held, now, self.context.entropy().fraction())
        };
        if let Err(error) = self.write_down(held, next, task, now).await {
            tracing::warn!(%error, "how a notification went could not be written");
        }
    }

    async fn write_down(
        &self,
        held: Row,
        next: Option<Row>,
        task: Task,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.context
            .store()
            .write(move |tx| {
                if let Some(next) = &next {
                    tx.update_push_config(next, &held)?;
                    return Ok(());
                }
                let given_up = after_success(&held, task.version, now);
                if tx.update_push_config(&given_up, &held)? {
                    let (config_id, attempts) = (held.id.clone(), held.attempts);
                    let data = PushGivenUp { task_id: task.id, config_id, attempts };
                    note(tx, &task, &Principal::system("exchange"), data, now)?;
                }
                Ok(())
            })
            .await
    }

    /// Whether the receiver took it.
    async fn call(&self, row: &Row, task: &Task) -> bool {
        let Some(secrets) = self.secrets_of(row) else {
            tracing::warn!(task.id = %task.id, "a receiver's credential does not open any more; it must be set again");
            return false;
        };
        let Ok(url) = Url::parse(&row.url) else { return false };
        let seen = FileView::of_principal(&row.owner, task.workspace_id).task(task.clone());
        let body = serde_json::to_vec(&StreamResponse::Task(task_to(&seen, Some(0)))).unwrap_or_default();
        let mut call =
            Call::post(&row.url).body(MEDIA_TYPE, body).header(VERSION_HEADER, VERSION).limits(limits());
        if let Some(token) = &secrets.token {
            call = call.header(TOKEN_HEADER, token.as_str());
        }
        if let (Some(scheme), Some(credentials)) = (&secrets.scheme, &secrets.credentials) {
            let value = Zeroizing::new(format!("{scheme} {credentials}"));
            call = call.credential(Some(Credential::header(
                &url,
                HeaderName::from_static("authorization"),
                &value,
            )));
        }
        match self.connector.call(call).await {
            Ok(answer) => answer.status.is_success(),
            Err(_) => false,
        }
    }
}

/// A receiver has nothing to say that we would read.
fn limits() -> CallLimits {
    let brief = Duration::from_secs(15);
    CallLimits { first_byte: brief, idle: brief, whole: brief, body_bytes: 64 << 10, ..CallLimits::default() }
}

fn check_text(config: &PushConfig) -> Result<(), Error> {
    let invalid = |words: String| Err(Error::with_detail(ErrorCode::InvalidRequest, words));
    let is_line = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if config.id.as_ref().is_some_and(|id| id.len() > Row::MAX_ID_BYTES || id.chars().any(char::is_control)) {
        return invalid(format!("id: at most {} bytes, without control characters", Row::MAX_ID_BYTES));
    }
    if config.token.as_ref().is_some_and(|token| token.len() > MAX_TOKEN_BYTES || !is_line(token)) {
        return invalid(format!("token: at most {MAX_TOKEN_BYTES} bytes of one line of ASCII"));
    }
    let Some(authentication) = &config.authentication else { return Ok(()) };
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let scheme = &authentication.scheme;
    if scheme.is_empty() || scheme.len() > MAX_SCHEME_BYTES || !scheme.bytes().all(is_scheme) {
        return invalid("authentication.scheme: expected a word such as Bearer".to_owned());
    }
    if authentication.credentials.as_ref().is_some_and(|text| text.len() > MAX_TOKEN_BYTES || !is_line(text))
    {
        return invalid(format!(
            "authentication.credentials: at most {MAX_TOKEN_BYTES} bytes of one line of ASCII"
        ));
    }
    Ok(())
}

fn note(
    tx: &mut dyn WriteTx,
    task: &Task,
    by: &Principal,
    data: impl Into<EventData>,
    at: Timestamp,
) -> Result<(), Error> {
    Ok(tx.append_event(&NewEvent {
        at,
        org_id: task.org_id,
        workspace_id: Some(task.workspace_id),
        principal: by.clone(),
        data: data.into(),
    })?)
}

#[derive(Debug)]
struct PushesLoop {
    push_configs: PushConfigs,
    room: Arc<Semaphore>,
}

#[async_trait]
impl BackgroundLoop for PushesLoop {
    fn name(&self) -> &'static str {
        "push_notifications"
    }

    fn meaning(&self) -> &'static str {
        "Tells receivers of notifications how their tasks stand."
    }

    fn interval(&self) -> Duration {
        LOOK
    }

    async fn run(&self, tally: &mut Tally) -> Result<(), Error> {
        self.push_configs.push_what_is_owed(&self.room, tally).await
    }
}

//! Telling about tasks those who do not listen: each is called at an address of their own whenever the task has changed
//! (X1).
//!
//! What a receiver was told is a version of the task. While the task is newer, a call is owed, whoever changed it and
//! whatever crashed in between; several changes in a row become one call with the task as it is. So a receiver may be
//! told the same twice, and never misses the end.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;
use url::Url;
use warren_fleet::{Error, Identity};
use warren_model::{
    ErrorCode, EventKind, NewEvent, Principal, PushConfig as Row, RequestKind, Task, TaskId, Timestamp,
};
use warren_rules::messages::pushes::{after_failure, after_success, claimed};
use warren_store::WriteTx;
use zeroize::{Zeroize as _, Zeroizing};

use crate::a2a::{
    AuthenticationInfo, MEDIA_TYPE, PushConfig, StreamResponse, VERSION, VERSION_HEADER, task_to,
};
use crate::connector::{Call, CallLimits, Credential};
use crate::{Exchange, Sight};

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

impl Exchange {
    /// Whether a config could be kept: its address is judged by the code that judges calls (sec/A05).
    pub async fn check_push_config(&self, config: &PushConfig) -> Result<(), Error> {
        check_text(config)?;
        self.connector().check(&config.url).await.map_err(Error::from)?;
        Ok(())
    }

    /// Sets where somebody is told about a task that they may see. The same id again replaces it.
    pub async fn put_push_config(
        &self,
        who: &Identity,
        task: &Task,
        config: PushConfig,
    ) -> Result<PushConfig, Error> {
        self.check_push_config(&config).await?;
        let now = self.clock().now();
        let id = config.id.clone().filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| self.entropy().id::<RequestKind>(now).to_string());
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
        self.store()
            .write(move |tx| {
                let known = tx.push_configs(written.task_id)?;
                if known.len() >= Row::MAX_PER_TASK && known.iter().all(|one| one.id != written.id) {
                    let detail = format!("a task has at most {} push configs", Row::MAX_PER_TASK);
                    return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
                }
                tx.put_push_config(&written)?;
                note(
                    tx,
                    EventKind::PushConfigSet,
                    &about,
                    &by,
                    json!({ "task_id": about.id, "config_id": written.id }),
                    now,
                )
            })
            .await?;
        Ok(self.shown(row))
    }

    /// Of a task that the caller may see.
    pub async fn push_configs(&self, task: &Task) -> Result<Vec<PushConfig>, Error> {
        let id = task.id;
        let rows = self.store().read(move |tx| tx.push_configs(id).map_err(Error::from)).await?;
        Ok(rows.into_iter().map(|row| self.shown(row)).collect())
    }

    /// One that is not there is removed already.
    pub async fn remove_push_config(&self, who: &Identity, task: &Task, id: &str) -> Result<(), Error> {
        let (about, id, by, now) = (task.clone(), id.to_owned(), who.principal.clone(), self.clock().now());
        self.store()
            .write(move |tx| {
                if !tx.remove_push_config(about.id, &id)? {
                    return Ok(());
                }
                note(
                    tx,
                    EventKind::PushConfigRemoved,
                    &about,
                    &by,
                    json!({ "task_id": about.id, "config_id": id }),
                    now,
                )
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
        Some(self.fleet().sealer().seal_text(&warren_model::PushConfig::seal_place(task_id, id), &text))
    }

    /// `None`: it does not open.
    fn secrets_of(&self, row: &Row) -> Option<Secrets> {
        let Some(sealed) = &row.sealed else { return Some(Secrets::default()) };
        let text = self
            .fleet()
            .sealer()
            .open_text(&warren_model::PushConfig::seal_place(row.task_id, &row.id), sealed)?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn start_pushes(&self) {
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move { exchange.push_what_is_owed().await });
    }

    async fn push_what_is_owed(&self) {
        let room = Arc::new(Semaphore::new(MAX_CALLS));
        loop {
            let now = self.clock().now();
            let owed = self.store().read(move |tx| tx.owed_pushes(now, BATCH).map_err(Error::from)).await;
            let owed = owed.map(|owed| self.fleet().context().readable(owed)).unwrap_or_else(|error| {
                tracing::warn!(%error, "what is owed to receivers of notifications could not be read");
                Vec::new()
            });
            for row in owed {
                let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
                let exchange = self.clone();
                self.tasks_in_hand().spawn(async move {
                    exchange.push(row).await;
                    drop(place);
                });
            }
            tokio::select! {
                () = self.stopping().cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Makes one call, if nobody else is about to, and writes down how it went.
    async fn push(&self, row: Row) {
        let now = self.clock().now();
        let held = claimed(&row, now);
        let (known, mine) = (row.clone(), held.clone());
        let task = self
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
            () = self.stopping().cancelled() => return,
            is_taken = self.call(&row, &task) => is_taken,
        };
        let now = self.clock().now();
        let next = if is_taken {
            Some(after_success(&held, task.version, now))
        } else {
            after_failure(&held, now, self.entropy().fraction())
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
        self.store()
            .write(move |tx| {
                if let Some(next) = &next {
                    tx.update_push_config(next, &held)?;
                    return Ok(());
                }
                let given_up = after_success(&held, task.version, now);
                if tx.update_push_config(&given_up, &held)? {
                    let data = json!({ "task_id": task.id, "config_id": held.id, "attempts": held.attempts });
                    note(tx, EventKind::PushGivenUp, &task, &Principal::system("exchange"), data, now)?;
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
        let seen = Sight::of_principal(&row.owner, task.workspace_id).task(task.clone());
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
        match self.connector().call(call).await {
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
    kind: EventKind,
    task: &Task,
    by: &Principal,
    data: serde_json::Value,
    at: Timestamp,
) -> Result<(), Error> {
    Ok(tx.append_event(&NewEvent {
        at,
        kind,
        org_id: task.org_id,
        workspace_id: Some(task.workspace_id),
        principal: by.clone(),
        data,
    })?)
}

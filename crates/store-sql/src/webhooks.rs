//! Webhooks, what is owed to them, and channels, in SQL.

use warren_model::{
    Channel, ChannelId, EventKind, Network, OrgId, Principal, Timestamp, Webhook, WebhookCall, WebhookCallId,
    WebhookCallState, WebhookId, WorkspaceId,
};
use warren_store::{Batch, Error, Page, WebhookCallQuery, WebhookReads, WebhookWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, name, network, url, kinds, workspace_id, since, is_active, created_at, created_by"
    };
}
/// The order in which `read_call` takes them.
macro_rules! call_columns {
    () => {
        "id, webhook_id, seq, kind, body, state, attempts, due_at, last_status, last_error, created_at, ended_at"
    };
}
/// The order in which `read_channel` takes them.
macro_rules! channel_columns {
    () => {
        "id, org_id, workspace_id, name, network, created_at, created_by"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM webhooks WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM webhooks");
const ACTIVE: &str = concat!("SELECT ", columns!(), " FROM webhooks WHERE is_active ORDER BY id");
const COUNT: &str = "SELECT count(*) FROM webhooks WHERE org_id = $1";
const INSERT: &str =
    concat!("INSERT INTO webhooks (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)");
const SET_ACTIVE: &str = "UPDATE webhooks SET is_active = $1 WHERE id = $2 AND is_active <> $3";
const DELETE: &str = "DELETE FROM webhooks WHERE id = $1";

const GET_CALL: &str = concat!("SELECT ", call_columns!(), " FROM webhook_calls WHERE id = $1");
const LIST_CALLS: &str = concat!("SELECT ", call_columns!(), " FROM webhook_calls");
const DUE: &str = "SELECT w.id FROM webhooks w WHERE w.is_active AND EXISTS (SELECT 1 FROM webhook_calls c \
     WHERE c.webhook_id = w.id AND c.state = 'queued' AND c.due_at <= $1) ORDER BY w.id LIMIT $2";
const DUE_CALLS: &str = concat!(
    "SELECT ",
    call_columns!(),
    " FROM webhook_calls WHERE webhook_id = $1 AND state = 'queued' AND due_at <= $2 ORDER BY due_at, seq LIMIT $3"
);
const INSERT_CALL: &str = concat!(
    "INSERT INTO webhook_calls (",
    call_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (webhook_id, seq) DO NOTHING"
);
const UPDATE_CALL: &str = "UPDATE webhook_calls SET state = $1, attempts = $2, due_at = $3, last_status = $4, \
     last_error = $5, ended_at = $6 WHERE id = $7 AND attempts = $8 AND state = 'queued'";
const REQUEUE: &str = "UPDATE webhook_calls SET state = 'queued', attempts = 0, due_at = $1, ended_at = NULL \
     WHERE id = $2 AND state <> 'queued'";
const PRUNE: &str = "DELETE FROM webhook_calls WHERE id IN (SELECT id FROM webhook_calls WHERE ended_at < $1 \
     ORDER BY ended_at LIMIT $2)";
const CURSOR: &str = "SELECT seq FROM webhook_cursor WHERE id = 1";
const MOVE_CURSOR: &str = "UPDATE webhook_cursor SET seq = $1 WHERE id = 1 AND seq = $2";

const GET_CHANNEL: &str = concat!("SELECT ", channel_columns!(), " FROM channels WHERE id = $1");
const CHANNELS: &str =
    concat!("SELECT ", channel_columns!(), " FROM channels WHERE workspace_id = $1 ORDER BY id");
const INSERT_CHANNEL: &str =
    concat!("INSERT INTO channels (", channel_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7)");
const DELETE_CHANNEL: &str = "DELETE FROM channels WHERE id = $1";

impl WebhookReads for Transaction<'_> {
    fn webhook(&mut self, id: WebhookId) -> Result<Option<Webhook>, Error> {
        self.first("webhooks", GET, &[id.into()], read)
    }

    fn webhooks(
        &mut self,
        org_id: OrgId,
        after: Option<WebhookId>,
        limit: u32,
    ) -> Result<Page<Webhook, WebhookId>, Error> {
        let mut select = Select::new(LIST);
        select.and_value("org_id =", org_id);
        if let Some(after) = after {
            select.and_value("id >", after);
        }
        let select = select.page("id", limit);
        self.page("webhooks", &select, limit, read, read_id)
    }

    fn active_webhooks(&mut self) -> Result<Batch<Webhook>, Error> {
        self.sorted("webhooks", ACTIVE, &[], read)
    }

    fn count_webhooks(&mut self, org_id: OrgId) -> Result<u64, Error> {
        Ok(self.first("webhooks", COUNT, &[org_id.into()], read_count)?.unwrap_or(0))
    }

    fn webhook_call(&mut self, id: WebhookCallId) -> Result<Option<WebhookCall>, Error> {
        self.first("webhook_calls", GET_CALL, &[id.into()], read_call)
    }

    fn webhook_calls(&mut self, query: &WebhookCallQuery) -> Result<Page<WebhookCall, WebhookCallId>, Error> {
        let mut select = Select::new(LIST_CALLS);
        select.and_value("webhook_id =", query.webhook_id);
        if let Some(state) = query.state {
            select.and_value("state =", state.as_str());
        }
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        self.page("webhook_calls", &select, query.limit, read_call, read_id)
    }

    fn due_webhooks(&mut self, now: Timestamp, limit: u32) -> Result<Vec<WebhookId>, Error> {
        let values = [now.into(), Value::Int(Some(i64::from(limit)))];
        self.rows("webhooks", DUE, &values, read_id)
    }

    fn due_webhook_calls(
        &mut self,
        webhook_id: WebhookId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Batch<WebhookCall>, Error> {
        self.readable("webhook_calls", DUE_CALLS, &[webhook_id.into(), now.into()], limit, read_call)
    }

    fn webhook_cursor(&mut self) -> Result<u64, Error> {
        Ok(self.first("webhook_cursor", CURSOR, &[], read_count)?.unwrap_or(0))
    }

    fn channel(&mut self, id: ChannelId) -> Result<Option<Channel>, Error> {
        self.first("channels", GET_CHANNEL, &[id.into()], read_channel)
    }

    fn channels_of(&mut self, workspace_id: WorkspaceId) -> Result<Batch<Channel>, Error> {
        self.sorted("channels", CHANNELS, &[workspace_id.into()], read_channel)
    }
}

impl WebhookWrites for Transaction<'_> {
    fn insert_webhook(&mut self, webhook: &Webhook) -> Result<(), Error> {
        let names: Vec<&str> = webhook.kinds.iter().map(|kind| kind.as_str()).collect();
        let kinds = serde_json::Value::from(names).to_string();
        let created_by = webhook.created_by.to_string();
        let values = [
            webhook.id.into(),
            webhook.org_id.into(),
            webhook.name.as_str().into(),
            webhook.network.as_str().into(),
            webhook.url.as_str().into(),
            Value::Json(Some(&kinds)),
            webhook.workspace_id.into(),
            Value::count(webhook.since)?,
            Value::Bool(webhook.is_active),
            webhook.created_at.into(),
            created_by.as_str().into(),
        ];
        self.execute(INSERT, &values).map(drop)
    }

    fn set_webhook_active(&mut self, id: WebhookId, is_active: bool) -> Result<bool, Error> {
        let values = [Value::Bool(is_active), id.into(), Value::Bool(is_active)];
        Ok(self.execute(SET_ACTIVE, &values)? == 1)
    }

    fn delete_webhook(&mut self, id: WebhookId) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[id.into()])? == 1)
    }

    fn move_webhook_cursor(&mut self, from: u64, to: u64) -> Result<(), Error> {
        match self.execute(MOVE_CURSOR, &[Value::count(to)?, Value::count(from)?])? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }

    fn insert_webhook_call(&mut self, call: &WebhookCall) -> Result<(), Error> {
        let values = [
            call.id.into(),
            call.webhook_id.into(),
            Value::count(call.seq)?,
            call.kind.as_str().into(),
            call.body.as_str().into(),
            call.state.as_str().into(),
            Value::count(call.attempts.into())?,
            call.due_at.into(),
            Value::Int(call.last_status.map(i64::from)),
            call.last_error.as_deref().into(),
            call.created_at.into(),
            call.ended_at.into(),
        ];
        self.execute(INSERT_CALL, &values).map(drop)
    }

    fn update_webhook_call(&mut self, call: &WebhookCall, known_attempts: u32) -> Result<(), Error> {
        let values = [
            call.state.as_str().into(),
            Value::count(call.attempts.into())?,
            call.due_at.into(),
            Value::Int(call.last_status.map(i64::from)),
            call.last_error.as_deref().into(),
            call.ended_at.into(),
            call.id.into(),
            Value::count(known_attempts.into())?,
        ];
        match self.execute(UPDATE_CALL, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }

    fn requeue_webhook_call(&mut self, id: WebhookCallId, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(REQUEUE, &[at.into(), id.into()])? == 1)
    }

    fn prune_webhook_calls(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }

    fn insert_channel(&mut self, channel: &Channel) -> Result<(), Error> {
        let created_by = channel.created_by.to_string();
        let values = [
            channel.id.into(),
            channel.org_id.into(),
            channel.workspace_id.into(),
            channel.name.as_str().into(),
            channel.network.as_str().into(),
            channel.created_at.into(),
            created_by.as_str().into(),
        ];
        self.execute(INSERT_CHANNEL, &values).map(drop)
    }

    fn delete_channel(&mut self, id: ChannelId) -> Result<bool, Error> {
        Ok(self.execute(DELETE_CHANNEL, &[id.into()])? == 1)
    }
}

fn read(row: &mut Columns<'_>) -> Result<Webhook, Error> {
    Ok(Webhook {
        id: row.id()?,
        org_id: row.id()?,
        name: row.text()?.to_owned(),
        network: row.word(Network::parse)?,
        url: row.text()?.to_owned(),
        kinds: read_kinds(row)?,
        workspace_id: row.optional_id()?,
        since: row.count()?,
        is_active: row.bool()?,
        created_at: row.time()?,
        created_by: row.word(Principal::parse)?,
    })
}

fn read_kinds(row: &mut Columns<'_>) -> Result<Vec<EventKind>, Error> {
    let names: Vec<String> = row.json()?;
    let kinds = names.iter().map(|name| EventKind::parse(name));
    kinds.collect::<Option<_>>().ok_or_else(|| row.corrupt("an unknown kind of event"))
}

fn read_call(row: &mut Columns<'_>) -> Result<WebhookCall, Error> {
    Ok(WebhookCall {
        id: row.id()?,
        webhook_id: row.id()?,
        seq: row.count()?,
        kind: row.word(EventKind::parse)?,
        body: row.text()?.to_owned(),
        state: row.word(WebhookCallState::parse)?,
        attempts: row.small_count()?,
        due_at: row.optional_time()?,
        last_status: row.optional_small_count()?,
        last_error: row.optional_text()?.map(str::to_owned),
        created_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}

fn read_channel(row: &mut Columns<'_>) -> Result<Channel, Error> {
    Ok(Channel {
        id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        name: row.text()?.to_owned(),
        network: row.word(Network::parse)?,
        created_at: row.time()?,
        created_by: row.word(Principal::parse)?,
    })
}

//! Webhooks, what is owed to them, and channels, in SQL.

use warren_model::{
    Channel, ChannelId, EventKind, OrgId, Timestamp, Webhook, WebhookCall, WebhookCallId, WebhookId,
    WorkspaceId,
};
use warren_store::{Batch, Error, Page, WebhookCallQuery, WebhookReads, WebhookWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::Codec;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    WEBHOOKS: Webhook in "webhooks" {
        id, org_id, name, network, url, kinds: KindNames, workspace_id, since, is_active, created_at, created_by,
    }
}
table! {
    CALLS: WebhookCall in "webhook_calls" {
        id, webhook_id, seq, kind, body, created_at; state, attempts, due_at, last_status, last_error, ended_at,
    }
}
table! {
    CHANNELS: Channel in "channels" {
        id, org_id, workspace_id, name, network, created_at, created_by,
    }
}

static GET: Statement = Statement::new(|| WEBHOOKS.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| WEBHOOKS.select(""));
static ACTIVE: Statement = Statement::new(|| WEBHOOKS.select("WHERE is_active ORDER BY id"));
const COUNT: &str = "SELECT count(*) FROM webhooks WHERE org_id = $1";
static INSERT: Statement = Statement::new(|| WEBHOOKS.insert(""));
const SET_ACTIVE: &str = "UPDATE webhooks SET is_active = $1 WHERE id = $2 AND is_active <> $3";
const DELETE: &str = "DELETE FROM webhooks WHERE id = $1";

static GET_CALL: Statement = Statement::new(|| CALLS.select("WHERE id = $1"));
static LIST_CALLS: Statement = Statement::new(|| CALLS.select(""));
const DUE: &str = "SELECT w.id FROM webhooks w WHERE w.is_active AND EXISTS (SELECT 1 FROM webhook_calls c \
     WHERE c.webhook_id = w.id AND c.state = 'queued' AND c.due_at <= $1) ORDER BY w.id LIMIT $2";
static DUE_CALLS: Statement = Statement::new(|| {
    CALLS.select("WHERE webhook_id = $1 AND state = 'queued' AND due_at <= $2 ORDER BY due_at, seq LIMIT $3")
});
static INSERT_CALL: Statement = Statement::new(|| CALLS.insert("ON CONFLICT (webhook_id, seq) DO NOTHING"));
static UPDATE_CALL: Statement =
    Statement::new(|| CALLS.update(&["id", "attempts"]) + " AND state = 'queued'");
const REQUEUE: &str = "UPDATE webhook_calls SET state = 'queued', attempts = 0, due_at = $1, ended_at = NULL \
     WHERE id = $2 AND state <> 'queued'";
const PRUNE: &str = "DELETE FROM webhook_calls WHERE id IN (SELECT id FROM webhook_calls WHERE ended_at < $1 \
     ORDER BY ended_at LIMIT $2)";
const CURSOR: &str = "SELECT seq FROM webhook_cursor WHERE id = 1";
const MOVE_CURSOR: &str = "UPDATE webhook_cursor SET seq = $1 WHERE id = 1 AND seq = $2";

static GET_CHANNEL: Statement = Statement::new(|| CHANNELS.select("WHERE id = $1"));
static CHANNELS_OF_WORKSPACE: Statement =
    Statement::new(|| CHANNELS.select("WHERE workspace_id = $1 ORDER BY id"));
static INSERT_CHANNEL: Statement = Statement::new(|| CHANNELS.insert(""));
const DELETE_CHANNEL: &str = "DELETE FROM channels WHERE id = $1";

impl WebhookReads for Transaction<'_> {
    fn webhook(&mut self, id: WebhookId) -> Result<Option<Webhook>, Error> {
        WEBHOOKS.first(self, &GET, &[id.into()])
    }

    fn webhooks(
        &mut self,
        org_id: OrgId,
        after: Option<WebhookId>,
        limit: u32,
    ) -> Result<Page<Webhook, WebhookId>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("org_id =", org_id);
        if let Some(after) = after {
            select.and_value("id >", after);
        }
        let select = select.page("id", limit);
        WEBHOOKS.page(self, &select, limit, read_id)
    }

    fn active_webhooks(&mut self) -> Result<Batch<Webhook>, Error> {
        WEBHOOKS.batch(self, &ACTIVE, &[])
    }

    fn count_webhooks(&mut self, org_id: OrgId) -> Result<u64, Error> {
        Ok(self.first("webhooks", COUNT, &[org_id.into()], read_count)?.unwrap_or(0))
    }

    fn webhook_call(&mut self, id: WebhookCallId) -> Result<Option<WebhookCall>, Error> {
        CALLS.first(self, &GET_CALL, &[id.into()])
    }

    fn webhook_calls(&mut self, query: &WebhookCallQuery) -> Result<Page<WebhookCall, WebhookCallId>, Error> {
        let mut select = Select::new(&LIST_CALLS);
        select.and_value("webhook_id =", query.webhook_id);
        if let Some(state) = query.state {
            select.and_value("state =", state.as_str());
        }
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        CALLS.page(self, &select, query.limit, read_id)
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
        CALLS.readable(self, &DUE_CALLS, &[webhook_id.into(), now.into()], limit)
    }

    fn webhook_cursor(&mut self) -> Result<u64, Error> {
        Ok(self.first("webhook_cursor", CURSOR, &[], read_count)?.unwrap_or(0))
    }

    fn channel(&mut self, id: ChannelId) -> Result<Option<Channel>, Error> {
        CHANNELS.first(self, &GET_CHANNEL, &[id.into()])
    }

    fn channels_of(&mut self, workspace_id: WorkspaceId) -> Result<Batch<Channel>, Error> {
        CHANNELS.batch(self, &CHANNELS_OF_WORKSPACE, &[workspace_id.into()])
    }
}

impl WebhookWrites for Transaction<'_> {
    fn insert_webhook(&mut self, webhook: &Webhook) -> Result<(), Error> {
        self.execute(&INSERT, &WEBHOOKS.values(webhook)?).map(drop)
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
        self.execute(&INSERT_CALL, &CALLS.values(call)?).map(drop)
    }

    fn update_webhook_call(&mut self, call: &WebhookCall, known_attempts: u32) -> Result<(), Error> {
        let mut values = CALLS.changes(call)?;
        values.extend([call.id.into(), Value::count(known_attempts.into())?]);
        match self.execute(&UPDATE_CALL, &values)? {
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
        self.execute(&INSERT_CHANNEL, &CHANNELS.values(channel)?).map(drop)
    }

    fn delete_channel(&mut self, id: ChannelId) -> Result<bool, Error> {
        Ok(self.execute(DELETE_CHANNEL, &[id.into()])? == 1)
    }
}

/// The kinds of events that it is told of, by their names.
struct KindNames;

impl Codec<Vec<EventKind>> for KindNames {
    fn write<'a>(kinds: &'a Vec<EventKind>, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        values.push(Value::json(&names)?);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Vec<EventKind>, Error> {
        let names: Vec<String> = row.json()?;
        let kinds = names.iter().map(|name| EventKind::parse(name));
        kinds.collect::<Option<_>>().ok_or_else(|| row.corrupt("an unknown kind of event"))
    }
}

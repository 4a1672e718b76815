//! Messages to sessions in SQL.

use std::collections::HashMap;

use warren_model::session::{DropReason, QueuedState, SessionMessage};
use warren_model::{SessionId, SessionMessageId};
use warren_store::{Error, Page, SessionMessageQuery, SessionMessageReads, SessionMessageWrites};

use crate::row::{Columns, read_id};
use crate::select::Select;
use crate::stored::{BoundedJson, Codec, Plain};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    MESSAGES: SessionMessage in "session_messages" {
        id, session_id, author, parts: BoundedJson, mode, client_id, created_at;
        state: QueuedColumns [state, step, drop_reason],
    }
}

static GET: Statement = Statement::new(|| MESSAGES.select("WHERE session_id = $1 AND id = $2"));
static QUEUED: Statement =
    Statement::new(|| MESSAGES.select("WHERE session_id = $1 AND state = 'queued' ORDER BY id"));
static STRETCH: Statement =
    Statement::new(|| MESSAGES.select("WHERE session_id = $1 AND id >= $2 AND id <= $3"));
static LIST: Statement = Statement::new(|| MESSAGES.select(""));
static INSERT: Statement = Statement::new(|| MESSAGES.insert(""));
const SETTLE: &str = "UPDATE session_messages SET state = $1, step = $2, drop_reason = $3 \
     WHERE session_id = $4 AND id = $5 AND state = 'queued'";

impl SessionMessageReads for Transaction<'_> {
    fn session_message(
        &mut self,
        session_id: SessionId,
        id: SessionMessageId,
    ) -> Result<Option<SessionMessage>, Error> {
        MESSAGES.first(self, &GET, &[session_id.into(), id.into()])
    }

    fn queued_messages(&mut self, session_id: SessionId) -> Result<Vec<SessionMessage>, Error> {
        MESSAGES.rows(self, &QUEUED, &[session_id.into()])
    }

    fn session_messages_of(
        &mut self,
        session_id: SessionId,
        ids: &[SessionMessageId],
    ) -> Result<Vec<SessionMessage>, Error> {
        let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else { return Ok(Vec::new()) };
        let rows = MESSAGES.rows(self, &STRETCH, &[session_id.into(), (*first).into(), (*last).into()])?;
        let mut rows: HashMap<SessionMessageId, SessionMessage> =
            rows.into_iter().map(|row| (row.id, row)).collect();
        Ok(ids.iter().filter_map(|id| rows.remove(id)).collect())
    }

    fn session_messages(
        &mut self,
        query: &SessionMessageQuery,
    ) -> Result<Page<SessionMessage, SessionMessageId>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("session_id =", query.session_id);
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        MESSAGES.page(self, &select.page("id", query.limit), query.limit, read_id)
    }
}

impl SessionMessageWrites for Transaction<'_> {
    fn insert_session_message(&mut self, message: &SessionMessage) -> Result<(), Error> {
        self.execute(&INSERT, &MESSAGES.values(message)?).map(drop)
    }

    fn settle_session_message(
        &mut self,
        session_id: SessionId,
        id: SessionMessageId,
        state: QueuedState,
    ) -> Result<bool, Error> {
        let mut values = Vec::with_capacity(5);
        QueuedColumns::write(&state, &mut values)?;
        values.extend([session_id.into(), id.into()]);
        Ok(self.execute(SETTLE, &values)? > 0)
    }
}

/// A word, and the step or the reason that belongs to it.
struct QueuedColumns;

impl Codec<QueuedState> for QueuedColumns {
    fn write<'a>(state: &'a QueuedState, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        let (word, step, reason) = match state {
            QueuedState::Queued => ("queued", None, None),
            QueuedState::Delivered { step } => ("delivered", Some(*step), None),
            QueuedState::Dropped { reason } => ("dropped", None, Some(reason.as_str())),
        };
        values.extend([word.into(), Value::Int(step.map(i64::from)), reason.into()]);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<QueuedState, Error> {
        let (word, step): (_, Option<u32>) = (row.text()?, Plain::read(row)?);
        match (word, step, row.optional_word(DropReason::parse)?) {
            ("queued", None, None) => Ok(QueuedState::Queued),
            ("delivered", Some(step), None) => Ok(QueuedState::Delivered { step }),
            ("dropped", None, Some(reason)) => Ok(QueuedState::Dropped { reason }),
            _ => Err(row.corrupt(format_args!("not what belongs to `{word}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // P16
    #[test]
    fn messages_are_found_by_their_session() {
        for sql in [GET.as_str(), QUEUED.as_str(), STRETCH.as_str(), SETTLE] {
            let plan = plan_of(sql);
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
        }
        assert!(plan_of(&QUEUED).contains("session_messages_queued"), "{}", plan_of(&QUEUED));
    }
}

//! Steps and tool calls in SQL.
//!
//! A step's row holds what is looked for in columns, and the rest as one JSON value. Its calls are rows of their own, each
//! with its state, so that a database can refuse a second outcome.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as JsonValue;
use warren_model::session::{
    Block, CallState, DeltaMark, Lineage, ModelOrigin, Step, StepPhase, StopReason, TokenUsage, ToolCall,
};
use warren_model::{SessionId, SessionMessageId, Timestamp};
use warren_store::{Error, StepReads, StepWrites};

use crate::many::InsertMany;
use crate::row::Columns;
use crate::transaction::Transaction;
use crate::value::Value;

macro_rules! steps {
    ($tail:literal) => {
        concat!(
            "SELECT number, run, phase, detail, started_at, answered_at, ended_at FROM session_steps \
             WHERE session_id = $1 AND ",
            $tail
        )
    };
}
macro_rules! calls {
    ($tail:literal) => {
        concat!("SELECT step, call FROM session_calls WHERE session_id = $1 AND ", $tail)
    };
}
const SPAN: &str = steps!("number >= $2 AND number <= $3 ORDER BY number");
const SPAN_CALLS: &str = calls!("step >= $2 AND step <= $3 ORDER BY step, position");
const PAGE: &str = steps!("number > $2 ORDER BY number LIMIT $3");
const CALL: &str = calls!("call_id = $2");
const INSERT: &str = "INSERT INTO session_steps \
     (session_id, number, run, phase, detail, started_at, answered_at, ended_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
const UPDATE: &str = "UPDATE session_steps SET run = $1, phase = $2, detail = $3, started_at = $4, answered_at = $5, \
     ended_at = $6 WHERE session_id = $7 AND number = $8 AND phase <> 'closed'";
const INSERT_CALLS: InsertMany = InsertMany {
    table: "session_calls",
    columns: &["session_id", "step", "position", "call_id", "state", "call"],
    tail: "ON CONFLICT DO NOTHING",
};
const UPDATE_CALL: &str = "UPDATE session_calls SET state = $1, call = $2 \
     WHERE session_id = $3 AND step = $4 AND position = $5 AND call_id = $6 AND state <> 'closed'";

impl StepReads for Transaction<'_> {
    fn step(&mut self, session_id: SessionId, number: u32) -> Result<Option<Step>, Error> {
        Ok(read_span(self, session_id, number, number)?.pop())
    }

    fn steps(&mut self, session_id: SessionId, after: u32, limit: u32) -> Result<Vec<Step>, Error> {
        let values = [session_id.into(), small(after), small(limit)];
        let rows = self.rows("session_steps", PAGE, &values, read_row)?;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(Vec::new()) };
        let (first, last) = (first.number, last.number);
        with_calls(self, session_id, rows, first, last)
    }

    fn steps_of(&mut self, lineage: &Lineage) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::with_capacity(lineage.len() as usize);
        for span in lineage.spans() {
            steps.extend(read_span(self, span.session, span.first, span.last)?);
        }
        if steps.len() != lineage.len() as usize {
            return Err(Error::Corrupt("session_steps: steps of a lineage are missing".into()));
        }
        Ok(steps)
    }

    fn call(&mut self, session_id: SessionId, call_id: &str) -> Result<Option<(u32, ToolCall)>, Error> {
        self.first("session_calls", CALL, &[session_id.into(), call_id.into()], read_call)
    }
}

impl StepWrites for Transaction<'_> {
    fn insert_step(&mut self, step: &Step) -> Result<(), Error> {
        let row = StepRow::of(step);
        let values = [
            step.session_id.into(),
            small(row.number),
            small(row.run),
            row.phase.as_str().into(),
            Value::bounded_json(&row.detail)?,
            row.started_at.into(),
            row.answered_at.into(),
            row.ended_at.into(),
        ];
        if self.execute(INSERT, &values)? == 0 {
            return Err(Error::AlreadyExists);
        }
        insert_calls(self, step, 0)
    }

    fn update_step(&mut self, from: &Step, to: &Step) -> Result<(), Error> {
        if (from.session_id, from.number) != (to.session_id, to.number) || from.calls.len() > to.calls.len() {
            return Err(Error::Refused("a step keeps its number and its calls".into()));
        }
        let row = StepRow::of(to);
        if StepRow::of(from) != row {
            let values = [
                small(row.run),
                row.phase.as_str().into(),
                Value::bounded_json(&row.detail)?,
                row.started_at.into(),
                row.answered_at.into(),
                row.ended_at.into(),
                to.session_id.into(),
                small(row.number),
            ];
            changed(self.execute(UPDATE, &values)?)?;
        }
        for (position, (before, after)) in from.calls.iter().zip(&to.calls).enumerate() {
            if before != after {
                let key = [to.session_id.into(), small(to.number), Value::count(position as u64)?];
                let [session, step, position] = key;
                let (state, call) = (state_of(after).into(), Value::bounded_json(after)?);
                let values = [state, call, session, step, position, after.id.as_str().into()];
                changed(self.execute(UPDATE_CALL, &values)?)?;
            }
        }
        insert_calls(self, to, from.calls.len())
    }
}

fn changed(rows: u64) -> Result<(), Error> {
    if rows == 0 { Err(Error::Conflict) } else { Ok(()) }
}

fn insert_calls(tx: &mut Transaction<'_>, step: &Step, from: usize) -> Result<(), Error> {
    let mut values = Vec::with_capacity((step.calls.len() - from) * INSERT_CALLS.columns.len());
    for (position, call) in step.calls.iter().enumerate().skip(from) {
        values.extend([
            step.session_id.into(),
            small(step.number),
            Value::count(position as u64)?,
            call.id.as_str().into(),
            state_of(call).into(),
            Value::bounded_json(call)?,
        ]);
    }
    let expected = (step.calls.len() - from) as u64;
    if INSERT_CALLS.run(tx, &values)? < expected { Err(Error::AlreadyExists) } else { Ok(()) }
}

fn state_of(call: &ToolCall) -> &'static str {
    match call.state {
        CallState::Waiting(_) => "waiting",
        CallState::Started { .. } => "started",
        CallState::Closed(_) => "closed",
    }
}

fn small(number: u32) -> Value<'static> {
    Value::Int(Some(number.into()))
}

/// Both ends included.
fn read_span(
    tx: &mut Transaction<'_>,
    session_id: SessionId,
    first: u32,
    last: u32,
) -> Result<Vec<Step>, Error> {
    let values = [session_id.into(), small(first), small(last)];
    let rows = tx.rows("session_steps", SPAN, &values, read_row)?;
    with_calls(tx, session_id, rows, first, last)
}

/// Both lists are in the order of their steps.
fn with_calls(
    tx: &mut Transaction<'_>,
    session_id: SessionId,
    rows: Vec<StepRow<'static>>,
    first: u32,
    last: u32,
) -> Result<Vec<Step>, Error> {
    let values = [session_id.into(), small(first), small(last)];
    let mut calls = tx.rows("session_calls", SPAN_CALLS, &values, read_call)?.into_iter().peekable();
    let whole = |row: StepRow<'static>| {
        while calls.next_if(|(step, _)| *step < row.number).is_some() {}
        let own = std::iter::from_fn(|| calls.next_if(|(step, _)| *step == row.number));
        let own = own.map(|(_, call)| call).collect();
        row.into_step(session_id, own)
    };
    Ok(rows.into_iter().map(whole).collect())
}

fn read_call(row: &mut Columns<'_>) -> Result<(u32, ToolCall), Error> {
    Ok((row.small_count()?, row.json()?))
}

fn read_row(row: &mut Columns<'_>) -> Result<StepRow<'static>, Error> {
    Ok(StepRow {
        number: row.small_count()?,
        run: row.small_count()?,
        phase: row.word(StepPhase::parse)?,
        detail: row.json()?,
        started_at: row.time()?,
        answered_at: row.optional_time()?,
        ended_at: row.optional_time()?,
    })
}

/// A step without its calls.
#[derive(PartialEq)]
struct StepRow<'a> {
    number: u32,
    run: u32,
    phase: StepPhase,
    detail: Detail<'a>,
    started_at: Timestamp,
    answered_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

/// What of a step nothing is looked for by. Absent is what is empty: most steps have most of it empty.
#[derive(PartialEq, Serialize, Deserialize)]
struct Detail<'a> {
    #[serde(default, skip_serializing_if = "is_empty")]
    messages: Cow<'a, [SessionMessageId]>,
    #[serde(default, skip_serializing_if = "is_empty")]
    notices: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempt: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_under: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    model_index: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resume_token: Option<Cow<'a, JsonValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Cow<'a, ModelOrigin>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_head: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    blocks: Cow<'a, [Block]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop_reason: Option<StopReason>,
    #[serde(default)]
    usage: TokenUsage,
    #[serde(default)]
    cost_micros: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<Cow<'a, BTreeMap<String, JsonValue>>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    deltas: Cow<'a, [DeltaMark]>,
}

fn is_empty<T: Clone>(list: &[T]) -> bool {
    list.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl<'a> StepRow<'a> {
    fn of(step: &'a Step) -> Self {
        // Every field by name, so that a new one is not forgotten here.
        let Step {
            session_id: _,
            number,
            run,
            phase,
            messages,
            notices,
            attempt,
            failed_attempts,
            asked_under,
            model_index,
            resume_token,
            request_head,
            origin,
            blocks,
            calls: _,
            stop_reason,
            usage,
            cost_micros,
            state,
            deltas,
            started_at,
            answered_at,
            ended_at,
        } = step;
        let detail = Detail {
            messages: messages.into(),
            notices: notices.into(),
            attempt: *attempt,
            failed_attempts: *failed_attempts,
            asked_under: *asked_under,
            model_index: *model_index,
            resume_token: resume_token.as_ref().map(Cow::Borrowed),
            origin: origin.as_ref().map(Cow::Borrowed),
            request_head: request_head.as_deref().map(Cow::Borrowed),
            blocks: blocks.into(),
            stop_reason: *stop_reason,
            usage: *usage,
            cost_micros: *cost_micros,
            state: state.as_ref().map(Cow::Borrowed),
            deltas: deltas.into(),
        };
        Self {
            number: *number,
            run: *run,
            phase: *phase,
            detail,
            started_at: *started_at,
            answered_at: *answered_at,
            ended_at: *ended_at,
        }
    }

    fn into_step(self, session_id: SessionId, calls: Vec<ToolCall>) -> Step {
        let detail = self.detail;
        Step {
            session_id,
            number: self.number,
            run: self.run,
            phase: self.phase,
            messages: detail.messages.into_owned(),
            notices: detail.notices.into_owned(),
            attempt: detail.attempt,
            failed_attempts: detail.failed_attempts,
            asked_under: detail.asked_under,
            model_index: detail.model_index,
            resume_token: detail.resume_token.map(Cow::into_owned),
            request_head: detail.request_head.map(Cow::into_owned),
            origin: detail.origin.map(Cow::into_owned),
            blocks: detail.blocks.into_owned(),
            calls,
            stop_reason: detail.stop_reason,
            usage: detail.usage,
            cost_micros: detail.cost_micros,
            state: detail.state.map(Cow::into_owned),
            deltas: detail.deltas.into_owned(),
            started_at: self.started_at,
            answered_at: self.answered_at,
            ended_at: self.ended_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // P16
    #[test]
    fn a_span_of_steps_is_two_stretches_of_two_indexes() {
        for sql in [SPAN, SPAN_CALLS, PAGE, CALL, UPDATE, UPDATE_CALL] {
            let plan = plan_of(sql);
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
        }
        assert!(plan_of(SPAN).contains("(session_id=? AND number>? AND number<?)"), "{}", plan_of(SPAN));
    }
}

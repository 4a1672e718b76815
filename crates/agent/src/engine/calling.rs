//! Carrying out a tool call: in the workspace through `operations`, or from what the session holds.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use warren_model::session::{CallOutcome, StreamItem, ToolCall, ToolPlace, ToolResult};
use warren_model::{ErrorCode, Timestamp};
use warren_operations::{CallOptions, CommandKey, CommandStart, OutputSink, ToolOutcome};
use warren_rules::sessions::{CallFinding, Effect, Input};
use warren_service::Error;

use super::identity_of;
use super::owner::Work;
use crate::tools::{READ_RESULT, UPDATE_STATE};

/// What `read_result` hands out at most, unless asked for less.
const MAX_READ_BYTES: u64 = 32 << 10;
/// What is kept of a result; the store takes no more.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// How long a box is waited for that has to say what became of a command.
const PROBE_PATIENCE: Duration = Duration::from_secs(60);
const PROBE_PAUSE: Duration = Duration::from_secs(1);
/// Pieces of output that may wait to be packed before the command has to.
const WAITING_PIECES: usize = 64;

/// A result, and the whole of it where only its beginning is shown.
type Ended = (CallOutcome, Option<Vec<u8>>);

/// Carries a call out and ends with its outcome.
pub(super) async fn call(work: Work) {
    let (step, index, attempt) = match work.effect {
        Effect::RunCall { step, index, attempt } => (step, index, attempt),
        Effect::AttachCall { step, index, attempt } => (step, index, attempt),
        Effect::ProbeCall { step, index, attempt } => {
            let Some(call) = work.step.calls.get(index as usize) else { return };
            let finding = probe(&work, call, attempt).await;
            let input = Input::CallProbed { step, index, attempt, finding };
            return work.end(Vec::new(), None, input).await;
        }
        Effect::AskModel { .. } => return,
    };
    let Some(call) = work.step.calls.get(index as usize).cloned() else { return };
    let patience = Duration::from_secs(u64::from(work.agent.limits.call_seconds));
    let (sink, pieces) = OutputSink::new(WAITING_PIECES);
    // What is dropped here ends a command in its box.
    let calling = tokio::time::timeout(patience, carry_out(&work, &call, attempt, sink));
    let (ended, rest) = showing(&work, &call.id, pieces, calling).await;
    let (outcome, whole) = ended.unwrap_or_else(|_| {
        let sentence = format!("it took longer than {} s and was ended", patience.as_secs());
        (CallOutcome::failed(sentence), None)
    });
    let result = whole.map(|bytes| (call.id.clone(), bytes));
    work.end(rest, result, Input::CallEnded { step, index, attempt, outcome }).await;
}

/// Waits for the end of a call and shows meanwhile what it writes: the first piece at once, then what came within a moment
/// or is enough (A62). Returns what was not shown yet, too.
async fn showing<T>(
    work: &Work,
    call_id: &str,
    mut pieces: mpsc::Receiver<String>,
    calling: impl Future<Output = T>,
) -> (T, Vec<StreamItem>) {
    let config = work.engine.0.config;
    let step = work.step.number;
    let item = |text: String| StreamItem::CallOutput { step, call_id: call_id.to_owned(), text };
    let mut calling = std::pin::pin!(calling);
    let (mut waiting, mut due, mut is_open) = (String::new(), Instant::now(), true);
    loop {
        tokio::select! {
            ended = &mut calling => {
                while let Ok(more) = pieces.try_recv() {
                    waiting.push_str(&more);
                }
                let rest = if waiting.is_empty() { Vec::new() } else { vec![item(waiting)] };
                return (ended, rest);
            }
            piece = pieces.recv(), if is_open => match piece {
                Some(more) => waiting.push_str(&more),
                None => is_open = false,
            },
            () = sleep_until(due), if !waiting.is_empty() => due = Instant::now(),
        }
        if !waiting.is_empty() && (Instant::now() >= due || waiting.len() >= config.pack_bytes) {
            work.show(vec![item(std::mem::take(&mut waiting))]).await;
            due = Instant::now() + config.pack_for;
        }
    }
}

/// Whether a command that an earlier owner began is still there (A4). A place that cannot be reached at first is asked
/// again for a while.
async fn probe(work: &Work, call: &ToolCall, attempt: u32) -> CallFinding {
    let (who, key) = (identity_of(&work.session), key_of(work, call, attempt));
    let until = Instant::now() + PROBE_PATIENCE;
    loop {
        let known = work.engine.0.operations.tools.knows(&who, work.session.workspace_id, &key).await;
        let evidence = match known {
            // Also one that has ended: its end is told to whoever takes it up.
            Ok(true) => return CallFinding::Running,
            Ok(false) => "its owner was lost, and its box knows nothing of it: the box was begun anew since, or the command \
                          was never begun; it was not begun again"
                .to_owned(),
            Err(error) if Instant::now() < until => {
                tracing::warn!(%error, "a command that was begun earlier cannot be asked about; it is tried again");
                tokio::time::sleep(PROBE_PAUSE).await;
                continue;
            }
            Err(error) => format!("its owner was lost, and its box could not be asked about it: {error}"),
        };
        return CallFinding::Unknown { evidence };
    }
}

/// What a command is called in its box: no other one ever has this name.
fn key_of(work: &Work, call: &ToolCall, attempt: u32) -> CommandKey {
    let began = call.started_at.map_or(0, Timestamp::as_micros);
    let name = format!("{}/{}/{began}/{attempt}", work.session.id, call.id);
    CommandKey { name, leave: work.engine.context().stopping().clone() }
}

async fn carry_out(work: &Work, call: &ToolCall, attempt: u32, sink: OutputSink) -> Ended {
    match call.place {
        ToolPlace::Workspace => in_workspace(work, call, attempt, sink).await,
        ToolPlace::Session => (in_session(work, call).await, None),
        ToolPlace::Client | ToolPlace::Person | ToolPlace::Unknown => {
            (CallOutcome::failed("nobody carries this tool out here"), None)
        }
    }
}

async fn in_workspace(work: &Work, call: &ToolCall, attempt: u32, sink: OutputSink) -> Ended {
    let who = identity_of(&work.session);
    let tools = &work.engine.0.operations.tools;
    let arguments = call.effective().clone();
    let key = call.can_probe.then(|| key_of(work, call, attempt));
    let start = match (key, &work.effect) {
        (Some(key), Effect::AttachCall { .. }) => CommandStart::TakeUp(key),
        (Some(key), _) => CommandStart::WithKey(key),
        (None, _) => CommandStart::Plain,
    };
    let options = CallOptions { output: Some(sink), start };
    let called = tools.call_with(&who, work.session.workspace_id, &call.tool, arguments, options).await;
    match called {
        Err(error)
            if error.code == ErrorCode::ProcessNotFound
                && matches!(work.effect, Effect::AttachCall { .. }) =>
        {
            let evidence = "its owner was lost, and so was its box before its end was heard of".to_owned();
            (CallOutcome::Unknown { evidence }, None)
        }
        Ok(ToolOutcome::Answered(answer)) => {
            let (result, whole) = bounded(answer, &call.id, work.agent.limits.result_bytes as usize);
            (CallOutcome::Done { result }, whole)
        }
        Ok(ToolOutcome::Refused(refusal)) => {
            let told = json!({ "refused": refusal.sentence, "allowed": refusal.allowed });
            (CallOutcome::Failed { result: ToolResult::new(told) }, None)
        }
        Err(error) => {
            let entry = error.code.entry();
            let sentence = error.detail.unwrap_or_else(|| entry.sentence.to_owned());
            let told =
                json!({ "error": { "code": entry.code, "message": sentence, "remedy": entry.remedy } });
            (CallOutcome::Failed { result: ToolResult::new(told) }, None)
        }
    }
}

/// What the model is shown of a result, and the whole where that is longer (A20). However long it is, it is in memory once
/// beside what is kept of it.
pub(crate) fn bounded(answer: Value, call_id: &str, most: usize) -> (ToolResult, Option<Vec<u8>>) {
    let (total, mut whole) = match answer {
        Value::String(text) if text.len() <= most => return (ToolResult::new(Value::String(text)), None),
        Value::String(text) => (text.len(), text.into_bytes()),
        other => {
            let mut written = KeptBeginning::default();
            let _ = serde_json::to_writer(&mut written, &other);
            if written.total <= most {
                return (ToolResult::new(other), None);
            }
            (written.total, written.kept)
        }
    };
    whole.truncate(MAX_KEPT_BYTES);
    let beginning = String::from_utf8_lossy(&whole[..most.min(whole.len())]);
    // A character that is cut is left out.
    let beginning = beginning.trim_end_matches('\u{fffd}');
    let rest = format!(
        "\n[{} of {total} bytes are shown; read on with read_result, call \"{call_id}\", offset {}]",
        beginning.len(),
        beginning.len()
    );
    let shown = format!("{beginning}{rest}");
    let result = ToolResult { whole_bytes: Some(total as u64), ..ToolResult::text(shown) };
    (result, Some(whole))
}

/// The beginning of what is written, and how long all of it is.
#[derive(Default)]
struct KeptBeginning {
    kept: Vec<u8>,
    total: usize,
}

impl std::io::Write for KeptBeginning {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = MAX_KEPT_BYTES.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.total += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn in_session(work: &Work, call: &ToolCall) -> CallOutcome {
    let arguments = call.effective();
    match call.tool.as_str() {
        READ_RESULT => read_result(work, arguments).await,
        UPDATE_STATE => update_state(work, arguments),
        other => CallOutcome::failed(format!("there is no tool `{other}`")),
    }
}

async fn read_result(work: &Work, arguments: &Value) -> CallOutcome {
    let Some(call_id) = arguments.get("call").and_then(Value::as_str).map(str::to_owned) else {
        return CallOutcome::failed("call: expected the id of a call");
    };
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let offset = number("offset").unwrap_or(0);
    let limit = number("limit").unwrap_or(MAX_READ_BYTES).clamp(1, MAX_READ_BYTES);
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    // A call of a session from which this one was branched has its result there.
    let step = call_id.split('_').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    let session_id = work.session.lineage.session_of(step).unwrap_or(work.session.id);
    let store = work.engine.context().store();
    let read =
        store.read(move |tx| tx.read_result(session_id, &call_id, offset, limit).map_err(Error::from)).await;
    match read {
        Ok(Some(part)) => {
            let text = String::from_utf8_lossy(&part.bytes).into_owned();
            let next = offset + part.bytes.len() as u64;
            let next_offset = (next < part.total_bytes).then_some(next);
            let told = json!({ "text": text, "next_offset": next_offset, "total_bytes": part.total_bytes });
            CallOutcome::Done { result: ToolResult::new(told) }
        }
        Ok(None) => CallOutcome::failed(
            "no more of that call is kept: it was shown as a whole, or its session was not used for long",
        ),
        Err(error) => {
            tracing::warn!(%error, "a result could not be read");
            CallOutcome::failed("the result could not be read; try again")
        }
    }
}

fn update_state(work: &Work, arguments: &Value) -> CallOutcome {
    let Some(fields) = arguments.as_object() else {
        return CallOutcome::failed("expected an object with the fields to change");
    };
    if let Some(unknown) = fields.keys().find(|name| !work.agent.state.contains_key(*name)) {
        let known: Vec<_> = work.agent.state.keys().map(String::as_str).collect();
        return CallOutcome::failed(format!(
            "there is no field `{unknown}`; there are: {}",
            known.join(", ")
        ));
    }
    let state = fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    CallOutcome::Done { result: ToolResult { state, ..ToolResult::text("noted") } }
}

//! Noticing that a run goes in circles (A15).

use serde_json::{Value, json};
use warren_model::fingerprint;
use warren_model::session::{CallOutcome, LoopWatch, Step};

/// How many steps back a repetition is noticed, so that a circle of several calls is one too.
const RECENT: usize = 16;

/// What a closed step shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    /// Told to the model.
    Warn(String),
    /// Told to people.
    Stuck(String),
}

/// Looks at a step that is about to be closed. A call counts as the same only with the same outcome: asking a process for
/// more output is no circle as long as there is more.
pub(super) fn look(watch: &mut LoopWatch, step: &Step, repeats: u32) -> Verdict {
    if step.calls.is_empty() {
        return Verdict::Fine;
    }
    let told = |outcome: Option<&CallOutcome>| match outcome {
        Some(CallOutcome::Done { result } | CallOutcome::Failed { result }) => result.value.clone(),
        Some(CallOutcome::Denied { reason }) => Value::String(reason.clone()),
        Some(CallOutcome::Unknown { evidence }) => Value::String(evidence.clone()),
        None => Value::Null,
    };
    let calls = step.calls.iter().map(|call| json!([call.tool, call.effective(), told(call.outcome())]));
    let mark = fingerprint(&calls.collect());
    if watch.recent.contains(&mark) {
        watch.stale_steps += 1;
    } else {
        watch.stale_steps = 0;
    }
    watch.recent.push(mark);
    if watch.recent.len() > RECENT {
        watch.recent.remove(0);
    }
    let error = step.calls.iter().rev().find_map(|call| match call.outcome() {
        Some(CallOutcome::Failed { result }) => Some((call.tool.as_str(), result.to_text())),
        _ => None,
    });
    match &error {
        Some((_, text)) => {
            let mark = fingerprint(&Value::String(text.clone()));
            watch.same_errors = if watch.error == mark { watch.same_errors + 1 } else { 1 };
            watch.error = mark;
        }
        None => (watch.same_errors, watch.error) = (0, String::new()),
    }
    verdict(watch, step, error.as_ref().map(|(_, text)| text.as_str()), repeats)
}

fn verdict(watch: &LoopWatch, step: &Step, error: Option<&str>, repeats: u32) -> Verdict {
    let tools: Vec<_> = step.calls.iter().map(|call| call.tool.as_str()).collect();
    let tools = tools.join(", ");
    // The first of a row is not a repetition.
    let same = watch.stale_steps + 1;
    let error = error.map(|text| warren_model::truncate_utf8(text, 200)).unwrap_or_default();
    if same >= repeats.saturating_mul(2) {
        return Verdict::Stuck(format!(
            "the last {same} steps brought nothing new; the latest calls: {tools}"
        ));
    }
    if watch.same_errors >= repeats.saturating_mul(2) {
        let times = watch.same_errors;
        return Verdict::Stuck(format!("the same error came {times} times in a row: {error}"));
    }
    if same == repeats {
        return Verdict::Warn(format!(
            "You have made calls with the same result {same} times. Do something else, or say what keeps you."
        ));
    }
    if watch.same_errors == repeats {
        let times = watch.same_errors;
        return Verdict::Warn(format!(
            "The same error came {times} times in a row. Find its cause or take another way: {error}"
        ));
    }
    Verdict::Fine
}

//! What runtimes report, between the wire and the model.

use serde_json::{Map, Value};
use warren_api as api;
use warren_model as model;
use warren_model::{Displacement, ErrorCode, RuntimeReport, Timestamp};

use crate::problem::Failure;

pub(super) fn vitals(vitals: &model::Vitals) -> api::Vitals {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let model::Displaced { scheduler, session, status_mgmt, deduplication } = vitals.displaced;
    let displaced = [
        ("scheduler", scheduler),
        ("session", session),
        ("status_mgmt", status_mgmt),
        ("deduplication", deduplication),
    ];
    api::Vitals {
        error_rate: vitals.error_rate,
        sample_error: vitals.sample_error.clone(),
        active_tasks: vitals.active_tasks,
        current_task: vitals.current_task.clone(),
        uptime_s: vitals.uptime_s,
        runtime_state: vitals.runtime_state.as_str().to_owned(),
        displaces: displaced.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (*name).to_owned()).collect(),
        idle_timeout_seconds: vitals.idle_timeout_seconds,
        seen_outcomes: count(vitals.outcomes.recent.len()),
        seen_failures: count(vitals.outcomes.failures()),
        last_outcome_at: text(vitals.outcomes.last_at),
        last_heartbeat_at: text(vitals.last_heartbeat_at),
        last_progress_at: text(vitals.last_progress_at),
        last_task_at: text(vitals.last_task_at),
    }
}

/// Warnings of one report; more would tell nobody anything new.
const MAX_WARNINGS: usize = 20;
/// Of the name of a field that nobody knows.
const MAX_NAME_BYTES: usize = 64;

/// A report as the rules read it, and what of it was left out. A runtime that is newer than this Warren, or that says one
/// thing wrong, is alive all the same (X10, F11); what is no object says nothing at all.
pub(crate) fn report_from(body: Value) -> Result<(RuntimeReport, Vec<String>), Failure> {
    let Value::Object(fields) = body else {
        return Err(Failure::new(ErrorCode::InvalidRequest, "expected an object"));
    };
    let mut said = Said { fields, path: "", warnings: Vec::new() };
    let mut report = RuntimeReport {
        error_rate: said.take("error_rate", "a number from 0 to 1", Value::as_f64),
        sample_error: said.take("sample_error", "a text", text),
        active_tasks: said.take("active_tasks", "a whole number from 0 to 100000", number),
        current_task: said.take("current_task", "a text", text),
        uptime_s: said.take("uptime_s", "a whole number", whole),
        last_progress_at: said.take("last_progress_at", "a time by RFC 3339", |value| {
            value.as_str().and_then(|text| text.parse().ok())
        }),
        runtime_state: said
            .take("runtime_state", "a text", text)
            .map(|word| model::RuntimeState::from_report(&word)),
        ..RuntimeReport::default()
    };
    let metadata = said.take("runtime_metadata", "an object", object);
    let mut warnings = said.finish();
    if let Some(fields) = metadata {
        let mut said = Said { fields, path: "runtime_metadata.", warnings: Vec::new() };
        report.idle_timeout_seconds =
            said.take("idle_timeout_seconds", "a whole number from 0 to 2592000", number);
        let capabilities = said.take("capabilities", "an object", object);
        warnings.extend(said.finish());
        if let Some(fields) = capabilities {
            let mut said = Said { fields, path: "runtime_metadata.capabilities.", warnings: Vec::new() };
            report.displaced = Displacement {
                scheduler: said.take("scheduler", "true or false", Value::as_bool),
                session: said.take("session", "true or false", Value::as_bool),
                status_mgmt: said.take("status_mgmt", "true or false", Value::as_bool),
                deduplication: said.take("deduplication", "true or false", Value::as_bool),
            };
            warnings.extend(said.finish());
        }
    }
    warnings.truncate(MAX_WARNINGS);
    Ok((report, warnings))
}

/// The fields of one object of a report, read one by one.
struct Said {
    fields: Map<String, Value>,
    path: &'static str,
    warnings: Vec<String>,
}

impl Said {
    fn take<T>(&mut self, name: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = self.fields.remove(name).filter(|value| !value.is_null())?;
        let taken = read(&value);
        if taken.is_none() {
            self.warnings.push(format!("{}{name}: expected {expected}; it was left out", self.path));
        }
        taken
    }

    /// What was said and nobody asked for.
    fn finish(self) -> Vec<String> {
        let path = self.path;
        let unknown = self.fields.keys().map(|name| {
            let name: String = model::truncate_utf8(name, MAX_NAME_BYTES).escape_debug().collect();
            format!("{path}{name}: Warren does not know this field; it was left out")
        });
        self.warnings.into_iter().chain(unknown).take(MAX_WARNINGS).collect()
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

/// `60.0` is a whole number too.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
fn whole(value: &Value) -> Option<u64> {
    let as_float = || value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=9e15).contains(float));
    value.as_u64().or_else(|| as_float().map(|float| float as u64))
}

fn number(value: &Value) -> Option<u32> {
    whole(value).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // F11, X10
    #[test]
    fn what_a_report_says_wrong_is_left_out_and_named_and_the_rest_counts() {
        let cases = [
            (json!({ "error_rate": "0.5" }), "error_rate: expected a number from 0 to 1"),
            (json!({ "active_tasks": -1 }), "active_tasks: expected a whole number"),
            (json!({ "active_tasks": 1.5 }), "active_tasks: expected a whole number"),
            (json!({ "active_tasks": 5_000_000_000_u64 }), "active_tasks: expected a whole number"),
            (json!({ "last_progress_at": "yesterday" }), "last_progress_at: expected a time"),
            (json!({ "last_progress_at": 17 }), "last_progress_at: expected a time"),
            (json!({ "sample_error": ["x"] }), "sample_error: expected a text"),
            (json!({ "no_such_field": 1 }), "no_such_field: Warren does not know this field"),
            (json!({ "runtime_metadata": 1 }), "runtime_metadata: expected an object"),
            (
                json!({ "runtime_metadata": { "idle_timeout_seconds": -1 } }),
                "runtime_metadata.idle_timeout_seconds: expected a whole number",
            ),
            (
                json!({ "runtime_metadata": { "capabilities": { "everything": true } } }),
                "runtime_metadata.capabilities.everything: Warren does not know",
            ),
            (
                json!({ "runtime_metadata": { "capabilities": { "session": "yes" } } }),
                "runtime_metadata.capabilities.session: expected true or false",
            ),
        ];
        for (mut said, expected) in cases {
            said["uptime_s"] = json!(5);
            let (report, warnings) = report_from(said.clone()).unwrap();
            assert_eq!(report, RuntimeReport { uptime_s: Some(5), ..RuntimeReport::default() }, "{said}");
            assert_eq!(warnings.len(), 1, "{said}: {warnings:?}");
            assert!(warnings[0].starts_with(expected), "{said}: {warnings:?}");
        }
        for said in [json!([]), json!("wedged"), json!(null), json!(1)] {
            assert!(report_from(said).is_err());
        }
    }

    // F11
    #[test]
    fn a_report_that_is_right_is_taken_as_it_is() {
        let said = json!({
            "error_rate": 0.5, "sample_error": "401", "active_tasks": 2.0, "current_task": "t", "uptime_s": 60.0,
            "last_progress_at": null, "runtime_state": "wedged",
            "runtime_metadata": { "capabilities": { "session": true }, "idle_timeout_seconds": 30 },
        });
        let (report, warnings) = report_from(said).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        let expected = RuntimeReport {
            error_rate: Some(0.5),
            sample_error: Some("401".into()),
            active_tasks: Some(2),
            current_task: Some("t".into()),
            uptime_s: Some(60),
            last_progress_at: None,
            runtime_state: Some(model::RuntimeState::Wedged),
            displaced: Displacement { session: Some(true), ..Displacement::default() },
            idle_timeout_seconds: Some(30),
        };
        assert_eq!(report, expected);
    }
}

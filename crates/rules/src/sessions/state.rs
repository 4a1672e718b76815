//! The state that an agent keeps: what the calls of a step change is put together once, when the step is closed (A21).

use std::collections::BTreeMap;

use serde_json::{Number, Value};
use warren_model::session::{CallOutcome, ToolCall};
use warren_model::{Merge, StateField};

/// Puts the changes of a step's calls into the state, in the order of the calls, however they ran. Returns the names of
/// what changed. Fields that the agent does not declare are left alone.
pub fn fan_in(
    fields: &BTreeMap<String, StateField>,
    state: &mut BTreeMap<String, Value>,
    calls: &[ToolCall],
) -> Vec<String> {
    let mut changed = Vec::new();
    for call in calls {
        let Some(CallOutcome::Done { result }) = call.outcome() else { continue };
        for (name, value) in &result.state {
            let Some(field) = fields.get(name) else { continue };
            let before = state.get(name).cloned().unwrap_or(Value::Null);
            let after = merge(field.merge, before.clone(), value);
            if after != before {
                state.insert(name.clone(), after);
                if !changed.contains(name) {
                    changed.push(name.clone());
                }
            }
        }
    }
    changed
}

fn merge(how: Merge, before: Value, value: &Value) -> Value {
    match how {
        Merge::Replace => value.clone(),
        Merge::Append => {
            let mut items = list(before);
            items.extend(list(value.clone()));
            Value::Array(items)
        }
        Merge::Union => {
            let mut items = list(before);
            for item in list(value.clone()) {
                if !items.contains(&item) {
                    items.push(item);
                }
            }
            Value::Array(items)
        }
        Merge::Increment => add(&before, value),
        Merge::Max => greater(before, value),
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

/// Whole numbers stay whole as long as they fit.
fn add(before: &Value, value: &Value) -> Value {
    if let (Some(one), Some(other)) = (whole(before), whole(value))
        && let Some(sum) = one.checked_add(other)
    {
        return Value::from(sum);
    }
    let sum = before.as_f64().unwrap_or(0.0) + value.as_f64().unwrap_or(0.0);
    Number::from_f64(sum).map_or_else(|| before.clone(), Value::Number)
}

fn whole(value: &Value) -> Option<i64> {
    if value.is_null() { Some(0) } else { value.as_i64() }
}

fn greater(before: Value, value: &Value) -> Value {
    match (before.as_f64(), value.as_f64()) {
        (None, Some(_)) => value.clone(),
        (Some(one), Some(other)) if other > one => value.clone(),
        _ => before,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use warren_model::session::{CallState, ToolPlace, ToolResult};

    use super::*;

    fn field(merge: Merge) -> BTreeMap<String, StateField> {
        let field = StateField { merge, initial: Value::Null, description: String::new() };
        BTreeMap::from([("x".to_owned(), field)])
    }

    fn call(value: Value) -> ToolCall {
        let state = BTreeMap::from([("x".to_owned(), value)]);
        let result = ToolResult { state, ..ToolResult::text("ok") };
        ToolCall {
            id: "c".into(),
            tool: "set_state".into(),
            place: ToolPlace::Session,
            proposed: Value::Null,
            is_idempotent: true,
            can_probe: false,
            exclusive: Vec::new(),
            decision: None,
            state: CallState::Closed(CallOutcome::Done { result }),
            started_at: None,
            ended_at: None,
        }
    }

    fn merged(merge: Merge, values: &[Value]) -> Value {
        let mut state = BTreeMap::new();
        let calls: Vec<_> = values.iter().cloned().map(call).collect();
        fan_in(&field(merge), &mut state, &calls);
        state.remove("x").unwrap_or(Value::Null)
    }

    // A21
    #[test]
    fn each_merge_does_what_it_says() {
        assert_eq!(merged(Merge::Replace, &[json!(1), json!("b")]), json!("b"));
        assert_eq!(merged(Merge::Append, &[json!([1]), json!(2), json!([3, 4])]), json!([1, 2, 3, 4]));
        assert_eq!(merged(Merge::Union, &[json!([1, 2]), json!([2, 3])]), json!([1, 2, 3]));
        assert_eq!(merged(Merge::Increment, &[json!(1), json!(2.5)]), json!(3.5));
        assert_eq!(merged(Merge::Max, &[json!(3), json!(7), json!(5)]), json!(7));
        assert_eq!(merged(Merge::Increment, &[json!("x"), json!(2)]), json!(2.0));
    }

    proptest! {
        // A21, Q6: N parallel increments give +N, N appends give N.
        #[test]
        fn nothing_of_parallel_calls_is_lost(steps in prop::collection::vec(-1_000i64..1_000, 0..64)) {
            let values: Vec<Value> = steps.iter().copied().map(Value::from).collect();
            let sum = merged(Merge::Increment, &values);
            prop_assert_eq!(sum.as_i64().unwrap_or(0), steps.iter().sum::<i64>());
            let list = merged(Merge::Append, &values);
            prop_assert_eq!(list.as_array().map_or(0, Vec::len), values.len());
        }
    }
}

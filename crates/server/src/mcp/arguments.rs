//! Arguments of tools as typed values.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use warren_model::{ErrorCode, WorkspaceId, from_json};

use crate::problem::Failure;

/// A tool that takes nothing, or nothing more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// All arguments of a tool. What does not fit is told by its name.
pub(super) fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Failure> {
    from_json(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.inner();
        let detail = if path == "." { inner.to_string() } else { format!("{path}: {inner}") };
        Failure::new(ErrorCode::InvalidRequest, detail)
    })
}

/// The same for a tool that is about one workspace: which one, and all else. What is not an id cannot exist, and is told
/// as the API tells it.
pub(super) fn read_with_workspace<T: DeserializeOwned>(
    mut arguments: JsonObject,
) -> Result<(WorkspaceId, T), Failure> {
    let wrong = |problem| Failure::new(ErrorCode::InvalidRequest, format!("workspace_id: {problem}"));
    let id = arguments.remove("workspace_id").ok_or_else(|| wrong("is missing"))?;
    let id = id.as_str().ok_or_else(|| wrong("expected a string"))?;
    let id = id.parse().map_err(|_| Failure::from(ErrorCode::WorkspaceNotFound))?;
    Ok((id, read(arguments)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Rest {
        lines: Vec<u8>,
    }

    fn taken(arguments: Value) -> Result<(WorkspaceId, Rest), String> {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        read_with_workspace(arguments).map_err(|failure| failure.to_problem("").detail.unwrap_or_default())
    }

    // S30
    #[test]
    fn arguments_that_are_missing_or_unknown_are_told_by_name() {
        const ID: &str = "0190f3b0-0000-7000-8000-000000000001";
        let (id, rest) = taken(json!({ "workspace_id": ID, "lines": [1] })).unwrap();
        assert_eq!((id.to_string().as_str(), rest), (ID, Rest { lines: vec![1] }));
        let told = |arguments| taken(arguments).unwrap_err();
        assert_eq!(told(json!({})), "workspace_id: is missing");
        assert_eq!(told(json!({ "workspace_id": 7 })), "workspace_id: expected a string");
        assert_eq!(told(json!({ "workspace_id": ID })), "missing field `lines`");
        let odd = told(json!({ "workspace_id": ID, "lines": [], "force": true }));
        assert!(odd.starts_with("force: unknown field"), "{odd}");
        let odd = told(json!({ "workspace_id": ID, "lines": [1, "x"] }));
        assert!(odd.starts_with("lines[1]: "), "{odd}");
    }
}

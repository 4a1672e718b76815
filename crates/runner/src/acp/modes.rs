//! In which mode a program works: one in which it asks, unless the workspace says otherwise. Pure.

use serde_json::Value;

/// Modes in which a program asks before it acts, as programs call them; the most useful first.
const ASKING: [&str; 9] =
    ["default", "approve", "ask", "manual", "normal", "read-only", "readonly", "build", "plan"];
/// Copilot's mode in which it asks; others call theirs in which they do not `agent`.
const COPILOT_ASKING: &str = "https://agentclientprotocol.com/protocol/session-modes#agent";
/// Modes of that list that one may be in, and that nobody is put into.
const NEVER_CHOSEN: [&str; 2] = ["build", "plan"];

/// What is to be done about the mode of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModeChoice {
    Keep,
    Set(String),
    /// It decides by itself, or so it seems, and offers no other mode.
    NoneAsks {
        current: String,
    },
    /// The workspace names one that it does not have.
    Unknown {
        wanted: String,
        offered: Vec<String>,
    },
}

/// From `modes` of a new session; `wanted` is what the workspace says.
pub(crate) fn choose(modes: &Value, wanted: Option<&str>) -> ModeChoice {
    let offered: Vec<String> = modes
        .get("availableModes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|mode| mode.get("id")?.as_str().map(str::to_owned))
        .collect();
    let current = modes.get("currentModeId").and_then(Value::as_str);
    match (wanted, current) {
        (Some(wanted), current) if current == Some(wanted) => ModeChoice::Keep,
        (Some(wanted), _) if offered.iter().any(|mode| mode == wanted) => ModeChoice::Set(wanted.to_owned()),
        (Some(wanted), _) => ModeChoice::Unknown { wanted: wanted.to_owned(), offered },
        (None, None) => ModeChoice::Keep,
        (None, Some(current)) if asks(current) => ModeChoice::Keep,
        (None, Some(current)) => {
            let by_name = |name: &&str| offered.iter().find(|mode| plain(mode) == **name);
            let chosen = ASKING.iter().filter(|name| !NEVER_CHOSEN.contains(name)).find_map(by_name);
            chosen.map_or_else(
                || ModeChoice::NoneAsks { current: current.to_owned() },
                |mode| ModeChoice::Set(mode.clone()),
            )
        }
    }
}

/// Whether a program in this mode asks before it acts.
pub(crate) fn asks(mode: &str) -> bool {
    mode == COPILOT_ASKING || ASKING.contains(&plain(mode).as_str())
}

/// Some programs name their modes by addresses.
fn plain(mode: &str) -> String {
    mode.rsplit(['#', '/']).next().unwrap_or(mode).to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn modes(current: &str, all: &[&str]) -> Value {
        let all: Vec<_> = all.iter().map(|id| json!({ "id": id, "name": id })).collect();
        json!({ "currentModeId": current, "availableModes": all })
    }

    // A82
    #[test]
    fn a_program_that_decides_by_itself_is_put_into_a_mode_in_which_it_asks() {
        let set = |mode: &str| ModeChoice::Set(mode.to_owned());
        let codex = modes("agent", &["read-only", "agent", "agent-full-access"]);
        assert_eq!(choose(&codex, None), set("read-only"));
        assert_eq!(choose(&codex, Some("agent")), ModeChoice::Keep);
        assert_eq!(choose(&codex, Some("agent-full-access")), set("agent-full-access"));
        let claude = ["default", "acceptEdits", "plan", "bypassPermissions"];
        assert_eq!(choose(&modes("default", &claude), None), ModeChoice::Keep);
        assert_eq!(choose(&modes("bypassPermissions", &claude), None), set("default"));
        assert_eq!(
            choose(&modes("auto", &["auto", "smart_approve", "approve", "chat"]), None),
            set("approve")
        );
        assert_eq!(choose(&modes("https://x.example/modes#plan", &[]), None), ModeChoice::Keep);
        assert_eq!(choose(&modes(COPILOT_ASKING, &[]), None), ModeChoice::Keep);
        assert_eq!(choose(&modes("yolo", &["yolo"]), None), ModeChoice::NoneAsks { current: "yolo".into() });
        let unknown = ModeChoice::Unknown { wanted: "x".into(), offered: vec!["a".into()] };
        assert_eq!(choose(&modes("a", &["a"]), Some("x")), unknown);
        assert_eq!(choose(&Value::Null, None), ModeChoice::Keep);
    }
}

//! How the program of a resident agent is spoken with (A80).

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

text_enum! {
    /// What passes between a runner and its program.
    RunnerAdapter {
        /// A process for each message: text on its input, its output is the answer.
        Stdio = "stdio",
        /// A process for each message: lines of JSON both ways.
        Json = "json",
        /// One process that lives on and speaks the Agent Client Protocol.
        Acp = "acp",
        /// One process that lives on and serves A2A over HTTP on loopback.
        A2a = "a2a",
    }
}

/// What a runner is told about its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerSpec {
    pub adapter: RunnerAdapter,
    /// The mode in which the program works; absent: one in which it asks before it acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What the program takes over from Warren, by name (F17).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declares: Vec<String>,
    /// How long its work may show no progress; absent: as long as for others (X10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_seconds: Option<u32>,
    /// How long the program may take to answer for the first time; absent: a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_timeout_seconds: Option<u32>,
    /// Where a program that serves A2A listens, such as `http://127.0.0.1:8000/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a2a_url: Option<String>,
}

impl RunnerSpec {
    /// The names that `declares` may have.
    pub const CAPABILITIES: [&'static str; 4] = ["scheduler", "session", "status_mgmt", "deduplication"];
    /// The prompt that a resident agent is told first in each conversation.
    pub const INITIAL_PROMPT: &'static str = "initial";
    const MAX_TEXT_BYTES: usize = 500;
    const MAX_IDLE_SECONDS: u32 = 30 * 24 * 3_600;
    const MAX_START_SECONDS: u32 = 3_600;

    /// The first thing that is wrong with it, as a sentence that names its path.
    pub fn problem(&self) -> Option<String> {
        let is_plain = |text: &String| {
            (1..=Self::MAX_TEXT_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        if self.mode.as_ref().is_some_and(|mode| !is_plain(mode)) {
            return Some("mode: 1 to 500 characters without control characters".into());
        }
        let unknown = self.declares.iter().position(|name| !Self::CAPABILITIES.contains(&name.as_str()));
        if let Some(at) = unknown {
            return Some(format!("declares[{at}]: expected one of {}", Self::CAPABILITIES.join(", ")));
        }
        if self.idle_timeout_seconds.is_some_and(|seconds| !(1..=Self::MAX_IDLE_SECONDS).contains(&seconds)) {
            return Some(format!("idle_timeout_seconds: expected 1 to {}", Self::MAX_IDLE_SECONDS));
        }
        if self.start_timeout_seconds.is_some_and(|seconds| !(1..=Self::MAX_START_SECONDS).contains(&seconds))
        {
            return Some(format!("start_timeout_seconds: expected 1 to {}", Self::MAX_START_SECONDS));
        }
        match (&self.a2a_url, self.adapter) {
            (Some(url), RunnerAdapter::A2a) if is_loopback(url) && is_plain(url) => None,
            (Some(_), RunnerAdapter::A2a) => {
                Some("a2a_url: expected an address on loopback, such as `http://127.0.0.1:8000/`".into())
            }
            (None, RunnerAdapter::A2a) => {
                Some("a2a_url: it is missing, and the adapter `a2a` calls it".into())
            }
            (Some(_), _) => Some("a2a_url: only with the adapter `a2a`".into()),
            (None, _) => None,
        }
    }
}

/// The shape only: the runner calls nothing else.
fn is_loopback(url: &str) -> bool {
    ["http://127.0.0.1:", "http://localhost:"].iter().any(|start| {
        let rest = url.strip_prefix(start).unwrap_or_default();
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let path = &rest[port.len()..];
        port.parse::<u16>().is_ok_and(|port| port > 0) && (path.is_empty() || path.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // A80
    #[test]
    fn what_cannot_be_is_told_with_its_path() {
        let problem = |value| serde_json::from_value::<RunnerSpec>(value).unwrap().problem();
        assert_eq!(problem(json!({ "adapter": "acp", "mode": "default", "declares": ["session"] })), None);
        assert_eq!(problem(json!({ "adapter": "a2a", "a2a_url": "http://127.0.0.1:8000/" })), None);
        for (value, at) in [
            (json!({ "adapter": "acp", "mode": "" }), "mode: "),
            (json!({ "adapter": "acp", "declares": ["session", "x"] }), "declares[1]: "),
            (json!({ "adapter": "acp", "idle_timeout_seconds": 0 }), "idle_timeout_seconds: "),
            (json!({ "adapter": "acp", "start_timeout_seconds": 0 }), "start_timeout_seconds: "),
            (json!({ "adapter": "a2a" }), "a2a_url: it is missing"),
            (json!({ "adapter": "acp", "a2a_url": "http://127.0.0.1:1/" }), "a2a_url: only"),
            (json!({ "adapter": "a2a", "a2a_url": "http://192.0.2.1:80/" }), "a2a_url: expected"),
            (json!({ "adapter": "a2a", "a2a_url": "http://127.0.0.1:80@192.0.2.1/" }), "a2a_url: expected"),
        ] {
            let told = problem(value.clone()).unwrap_or_default();
            assert!(told.starts_with(at), "{value}: {told}");
        }
        assert!(serde_json::from_value::<RunnerSpec>(json!({ "adapter": "telepathy" })).is_err());
    }
}

//! What a runner is told to do.

use std::path::PathBuf;
use std::time::Duration;

use warren_api::RuntimeCapabilities;

use crate::Credentials;

/// How a runner speaks with its program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Adapter {
    /// A process for each message: text on its input, its output is the answer.
    #[default]
    Stdio,
    /// A process for each message: the message as a line of JSON, lines of JSON as progress and answer.
    Json,
    /// One process that lives on and speaks the Agent Client Protocol.
    Acp,
    /// One process that lives on and serves A2A over HTTP on loopback.
    A2a,
}

impl Adapter {
    pub const ALL: [Self; 4] = [Self::Stdio, Self::Json, Self::Acp, Self::A2a];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Json => "json",
            Self::Acp => "acp",
            Self::A2a => "a2a",
        }
    }

    /// By its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|adapter| adapter.as_str() == name)
    }
}

/// What a runner is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The program that works on messages, and its arguments.
    pub command: Vec<String>,
    pub credentials: Credentials,
    /// Phrases of errors that mean a wedge; none: the usual ones.
    pub wedge_signs: Vec<String>,
    pub adapter: Adapter,
    pub options: AgentOptions,
}

/// What the workspace says about its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOptions {
    /// The workspace's root: where the program works, and below which files are served to it.
    pub root: PathBuf,
    /// The mode of the program; absent: one in which it asks before it acts.
    pub mode: Option<String>,
    /// Said first in each conversation.
    pub initial_prompt: Option<String>,
    /// Where it is kept which session of the program a conversation is; absent: in memory.
    pub sessions_file: Option<PathBuf>,
    /// Where the program finds Warren's tools (MCP over HTTP).
    pub tools_url: Option<String>,
    /// Where a program that serves A2A listens.
    pub a2a_url: Option<String>,
    /// What the program takes over from Warren.
    pub capabilities: Option<RuntimeCapabilities>,
    /// How long its work may show no progress; absent: Warren's own.
    pub idle_timeout_seconds: Option<u32>,
    /// How long the program may take to answer for the first time.
    pub start_timeout: Duration,
    /// For the program, beside the runner's own.
    pub variables: Vec<(String, String)>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            root: PathBuf::from("."),
            mode: None,
            initial_prompt: None,
            sessions_file: None,
            tools_url: None,
            a2a_url: None,
            capabilities: None,
            idle_timeout_seconds: None,
            start_timeout: Duration::from_secs(60),
            variables: Vec::new(),
        }
    }
}

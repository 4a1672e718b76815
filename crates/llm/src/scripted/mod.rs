//! A model that answers from a script: for a first run without a key, and for tests. The same request gets the same answer.
//!
//! ```text
//!   script (YAML) ──▶ Script ──▶ ScriptPlayer::plan(Conversation) ──▶ Plan ──┬─▶ ScriptedModel, in this process
//!                                     ▲                                      └─▶ server/, on the three wires
//!                                     └── from a ModelRequest, or from what came over a wire
//! ```
//!
//! What is answered is read from the conversation alone, so that one script serves every session. Only faults are counted.

mod conversation;
mod play;
mod script;

pub(crate) use conversation::{Conversation, SeenCall};
pub use play::ScriptedModel;
#[cfg(feature = "server")]
pub(crate) use play::{Piece, Plan, ScriptPlayer};
pub use script::{Condition, Fault, FaultKind, Script, ScriptCall, ScriptError, ScriptTurn, ScriptUsage};

/// The scripts that Warren brings, by their names.
pub const BUILT_IN: [&str; 3] = ["hello", "tour", "echo"];

impl Script {
    /// A script that Warren brings.
    pub fn built_in(name: &str) -> Option<Self> {
        let text = match name {
            "hello" => include_str!("scripts/hello.yaml"),
            "tour" => include_str!("scripts/tour.yaml"),
            "echo" => include_str!("scripts/echo.yaml"),
            _ => return None,
        };
        Some(Self::read(text).expect("a test reads every built-in script"))
    }
}

#[cfg(test)]
mod tests;

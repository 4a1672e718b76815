//! Steps of sessions, with their tool calls as rows of their own (A4, A70).

use warren_model::SessionId;
use warren_model::session::{Lineage, Step, ToolCall};

use crate::Error;

pub trait StepReads {
    /// With its calls.
    fn step(&mut self, session_id: SessionId, number: u32) -> Result<Option<Step>, Error>;
    /// Steps of one session by their number, also those that it went back behind, with their calls.
    fn steps(&mut self, session_id: SessionId, after: u32, limit: u32) -> Result<Vec<Step>, Error>;
    /// Every step of a lineage in its order, with its calls. Fails with `Corrupt` if one is missing.
    fn steps_of(&mut self, lineage: &Lineage) -> Result<Vec<Step>, Error>;
    /// A call by the model's name for it, and the step that it belongs to.
    fn call(&mut self, session_id: SessionId, call_id: &str) -> Result<Option<(u32, ToolCall)>, Error>;
}

pub trait StepWrites {
    /// With its calls. Fails with `AlreadyExists` if the number or the name of a call was used in this session before.
    fn insert_step(&mut self, step: &Step) -> Result<(), Error>;
    /// Turns the step that was read as `from` into `to`: the row if it differs, calls that differ, and those that are new
    /// at the end. A closed step and a closed call do not change any more: `Conflict`. So a call has one outcome, whatever
    /// a program believes.
    fn update_step(&mut self, from: &Step, to: &Step) -> Result<(), Error>;
}

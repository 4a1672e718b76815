//! Events: facts that happened, with a sequence number, written in the transaction of the change.
//!
//! Each kind has one struct for its data, and all of them stand in the table of [`kinds`]. What is written is such a
//! struct ([`EventData`]). What is read from the log is the JSON as it was written ([`EventJson`]), perhaps by another
//! version of Warren: it is passed on unchanged, and who wants its fields asks [`Event::read`] for the struct.
//!
//! The schemas in the OpenAPI document are made from the same table when the server puts the document together, since
//! the `api` crate depends on no other crate of Warren. Its Rust client hands the data on as JSON; programs that want it
//! typed read it with [`EventData::from_json`].

mod field;
mod kinds;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{OrgId, Principal, Timestamp, WorkspaceId};

pub use field::Spellings;
pub(crate) use field::{FieldType, spelled_field};
pub use kinds::*;

/// A field of an event's data, for the reference page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventField {
    pub name: &'static str,
    /// What it holds, in words.
    pub holds: String,
    /// Where it holds one word out of a list.
    pub spellings: Option<Spellings>,
    /// It may be left out; others may be null but are there.
    pub is_optional: bool,
}

impl EventKind {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Whether it is written to the log. What is not is told to those who listen, and forgotten.
    pub const fn is_stored(self) -> bool {
        !matches!(self, Self::WorkspaceHeartbeat)
    }
}

/// A fact to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub at: Timestamp,
    pub org_id: OrgId,
    pub workspace_id: Option<WorkspaceId>,
    pub principal: Principal,
    pub data: EventData,
}

impl NewEvent {
    pub const fn kind(&self) -> EventKind {
        self.data.kind()
    }
}

/// A fact as it stands in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Counts from 1 without gaps, in commit order.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
    pub org_id: OrgId,
    pub workspace_id: Option<WorkspaceId>,
    pub principal: Principal,
    pub data: EventJson,
}

impl Event {
    /// The fields of its data. An error says that another version of Warren wrote it differently; the JSON can still be
    /// shown and passed on.
    pub fn read(&self) -> Result<EventData, serde_json::Error> {
        EventData::from_json(self.kind, self.data.as_value())
    }
}

/// The data of an event as JSON, as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventJson(Value);

impl EventJson {
    pub const fn as_value(&self) -> &Value {
        &self.0
    }
}

impl fmt::Display for EventJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&EventData> for EventJson {
    fn from(data: &EventData) -> Self {
        Self(data.to_json())
    }
}

impl From<Value> for EventJson {
    fn from(json: Value) -> Self {
        Self(json)
    }
}

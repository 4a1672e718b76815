//! Events, as the wire has them.

use warren_api as api;
use warren_model as model;

use super::principal;

pub(crate) fn live_event(event: &model::NewEvent) -> api::LiveEvent {
    api::LiveEvent {
        at: event.at.to_string(),
        kind: event.kind().as_str().to_owned(),
        workspace_id: event.workspace_id.map(|id| id.to_string()),
        data: event.data.to_json(),
    }
}

pub(crate) fn event(event: &model::Event) -> api::Event {
    api::Event {
        seq: event.seq,
        at: event.at.to_string(),
        kind: event.kind.as_str().to_owned(),
        workspace_id: event.workspace_id.map(|id| id.to_string()),
        principal: principal(&event.principal),
        data: event.data.as_value().clone(),
    }
}

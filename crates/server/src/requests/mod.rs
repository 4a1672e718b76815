//! Requests of the API that HTTP handlers and MCP tools have in common: from the types of the wire through one service
//! and back to them. What a handler adds are statuses and headers, what a tool adds is how a model is answered; access,
//! limits and words are the same for both (W64).

mod access_first;
pub(crate) mod approvals;
pub(crate) mod commands;
pub(crate) mod delegations;
pub(crate) mod memories;
pub(crate) mod notices;
pub(crate) mod watch;
pub(crate) mod workspaces;

pub(crate) use self::access_first::access_first;

//! Every workspace as an A2A 1.0 agent (X1).
//!
//! ```text
//!   POST /a2a/{workspace}                       JSON-RPC  ─┐
//!   …/message:send, …/tasks, …/tasks/{id}:…     HTTP+JSON ─┴▶ operations ──▶ exchange: rows, and agents behind them
//!   GET  /a2a/{workspace}/.well-known/agent-card.json ─▶ card
//! ```
//!
//! Warren is the A2A server. Tasks are its own rows, so that they survive restarts of both sides and can be asked for
//! while the agent sleeps; the agent's own names for its tasks stay behind Warren.
//!
//! Two kinds of failure. Who asks, and whether the workspace exists for them, is settled before A2A begins and answered
//! as anywhere in the API, by a problem document; so is what no binding can express. All else is answered in the words
//! of the protocol, spelled for the binding.
//!
//! Nothing here is in the OpenAPI document: these routes are described by the protocol. `routes()` is their one list.

mod card;
mod error;
mod methods;
mod push;
mod request;
mod rest;
mod rpc;
mod stream;

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, delete, get, post};

use crate::App;

/// One route: its method and path, and a name to speak of it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct A2aRoute {
    pub name: &'static str,
    pub method: &'static str,
    pub path: &'static str,
}

type Row = (&'static str, &'static str, &'static str, fn() -> MethodRouter<Arc<App>>);

/// The list, from which the router and the tests of who may use it are made.
const ROUTES: &[Row] = &[
    ("a2a_call", "POST", "/a2a/{id}", || post(rpc::call)),
    ("a2a_call_with_slash", "POST", "/a2a/{id}/", || post(rpc::call)),
    ("a2a_card", "GET", "/a2a/{id}/.well-known/agent-card.json", || get(card::show)),
    ("a2a_extended_card", "GET", "/a2a/{id}/extendedAgentCard", || get(rest::extended_card)),
    ("a2a_send", "POST", "/a2a/{id}/message:send", || post(rest::send)),
    ("a2a_stream", "POST", "/a2a/{id}/message:stream", || post(rest::stream)),
    ("a2a_list_tasks", "GET", "/a2a/{id}/tasks", || get(rest::list_tasks)),
    // Also `{task}:subscribe`.
    ("a2a_get_task", "GET", "/a2a/{id}/tasks/{task}", || get(rest::get_task)),
    // `{task}:cancel` and `{task}:subscribe`.
    ("a2a_act_on_task", "POST", "/a2a/{id}/tasks/{task}", || post(rest::act_on_task)),
    ("a2a_list_push_configs", "GET", "/a2a/{id}/tasks/{task}/pushNotificationConfigs", || {
        get(rest::list_push)
    }),
    ("a2a_create_push_config", "POST", "/a2a/{id}/tasks/{task}/pushNotificationConfigs", || {
        post(rest::create_push)
    }),
    ("a2a_get_push_config", "GET", "/a2a/{id}/tasks/{task}/pushNotificationConfigs/{config}", || {
        get(rest::get_push)
    }),
    ("a2a_delete_push_config", "DELETE", "/a2a/{id}/tasks/{task}/pushNotificationConfigs/{config}", || {
        delete(rest::delete_push)
    }),
];

/// All routes by which A2A is spoken.
pub fn routes() -> impl Iterator<Item = A2aRoute> {
    ROUTES.iter().map(|(name, method, path, _)| A2aRoute { name, method, path })
}

pub(crate) fn router() -> Router<Arc<App>> {
    ROUTES.iter().fold(Router::new(), |router, (_, _, path, handler)| router.route(path, handler()))
}

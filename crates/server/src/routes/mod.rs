//! The routes. Each module is one noun; `api()` is the one list of them, from which both the router and the
//! OpenAPI document come.

mod admin;
mod agents;
mod approvals;
mod audit;
mod budgets;
mod bundles;
mod commands;
mod events;
mod exchange;
mod files;
mod health;
mod image_logins;
mod info;
mod invitations;
mod keys;
mod lifecycle;
mod memory;
mod models;
mod orgs;
mod runtimes;
mod schedules;
mod secrets;
mod sessions;
pub(crate) mod sign_in;
mod sign_in_provider;
mod templates;
mod tokens;
mod tool_rules;
mod tools;
mod users;
mod watch;
mod webhooks;
mod workspaces;

pub use sign_in_provider::{CALLBACK as PROVIDER_CALLBACK, ProviderSignIn};

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use warren_model::ErrorCode;

use self::commands::{exec, processes, terminal};
use self::exchange::{conversations, delegations, messages, notices, peers, queue, runtime, uploads};
use crate::http::unread;
use crate::problem::Failure;
use crate::{App, a2a, auth, forwarding, guard, mcp, openapi, page, problem};

/// Every route of the API, with its description.
pub(crate) fn api() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(workspaces::create, workspaces::list))
        .routes(routes!(workspaces::show, workspaces::patch, workspaces::remove))
        .routes(routes!(lifecycle::pause))
        .routes(routes!(lifecycle::resume))
        .routes(routes!(lifecycle::hibernate))
        .routes(routes!(lifecycle::wake))
        .routes(routes!(lifecycle::restart))
        .routes(routes!(lifecycle::reset))
        .routes(routes!(workspaces::health))
        .routes(routes!(templates::expand))
        .routes(routes!(templates::collapse))
        .routes(routes!(templates::put_position, templates::remove_position))
        .routes(routes!(bundles::export))
        .routes(routes!(bundles::import))
        .routes(routes!(templates::list))
        .routes(routes!(templates::show, templates::put, templates::remove))
        .routes(routes!(templates::import))
        .routes(routes!(schedules::create, schedules::list_of_workspace))
        .routes(routes!(schedules::list))
        .routes(routes!(schedules::preview))
        .routes(routes!(schedules::show, schedules::patch, schedules::remove))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::run))
        .routes(routes!(schedules::runs))
        .routes(routes!(memory::list))
        .routes(routes!(memory::search))
        .routes(routes!(memory::put, memory::show, memory::remove))
        .routes(routes!(models::list))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show, agents::put))
        .routes(routes!(agents::show_version))
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::pending))
        .routes(routes!(sessions::stream::follow))
        .routes(routes!(sessions::chat::post))
        .routes(routes!(sessions::chat::resume))
        .routes(routes!(sessions::messages::send))
        .routes(routes!(sessions::messages::show, sessions::messages::cancel))
        .routes(routes!(sessions::control::decide))
        .routes(routes!(sessions::control::submit_result))
        .routes(routes!(sessions::control::interrupt))
        .routes(routes!(sessions::control::abort))
        .routes(routes!(sessions::control::resume))
        .routes(routes!(sessions::history::rewind))
        .routes(routes!(sessions::history::branch))
        .routes(routes!(sessions::history::upgrade))
        .routes(routes!(sessions::history::steps))
        .routes(routes!(sessions::history::context))
        .routes(routes!(sessions::history::checkpoints))
        .routes(routes!(approvals::create, approvals::list_of_workspace))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::show))
        .routes(routes!(approvals::approve))
        .routes(routes!(approvals::withdraw))
        .routes(routes!(approvals::deny))
        .routes(routes!(tool_rules::create, tool_rules::list))
        .routes(routes!(tool_rules::show, tool_rules::revoke))
        .routes(routes!(files::read, files::write, files::delete))
        .routes(routes!(files::rename))
        .routes(routes!(files::list_directory, files::make_directory))
        .routes(routes!(watch::watch))
        .routes(routes!(exec::run))
        .routes(routes!(processes::start, processes::list))
        .routes(routes!(processes::show))
        .routes(routes!(processes::output))
        .routes(routes!(processes::write_stdin))
        .routes(routes!(processes::resize))
        .routes(routes!(processes::signal))
        .routes(routes!(terminal::socket))
        .routes(routes!(tools::catalog))
        .routes(routes!(tools::call))
        .routes(routes!(tokens::create, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(tokens::made))
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::set, secrets::remove))
        .routes(routes!(secrets::rotate_key))
        .routes(routes!(secrets::list_of_workspace))
        .routes(routes!(secrets::set_of_workspace, secrets::remove_of_workspace))
        .routes(routes!(image_logins::list))
        .routes(routes!(image_logins::set, image_logins::remove))
        .routes(routes!(audit::list))
        .routes(routes!(audit::head))
        .routes(routes!(sign_in::sign_in, sign_in::show, sign_in::sign_out))
        .routes(routes!(sign_in::make_link))
        .routes(routes!(sign_in::ways))
        .routes(routes!(sign_in::switch_org))
        .routes(routes!(invitations::preview))
        .routes(routes!(invitations::accept))
        .routes(routes!(invitations::create, invitations::list))
        .routes(routes!(invitations::revoke))
        .routes(routes!(users::create, users::list))
        .routes(routes!(users::show, users::patch, users::remove))
        .routes(routes!(users::make_link))
        .routes(routes!(orgs::create, orgs::list))
        .routes(routes!(orgs::show, orgs::patch, orgs::remove))
        .routes(routes!(sign_in_provider::begin, sign_in_provider::begin_with_invitation))
        .routes(routes!(sign_in_provider::callback))
        .routes(routes!(events::stream))
        .routes(routes!(events::socket))
        .routes(routes!(messages::send))
        .routes(routes!(messages::list))
        .routes(routes!(messages::show))
        .routes(routes!(messages::cancel))
        .routes(routes!(queue::list, queue::clear))
        .routes(routes!(queue::show, queue::remove))
        .routes(routes!(runtime::claim))
        .routes(routes!(runtime::progress))
        .routes(routes!(runtime::answer))
        .routes(routes!(delegations::create, delegations::list))
        .routes(routes!(delegations::show))
        .routes(routes!(delegations::cancel))
        .routes(routes!(conversations::create, conversations::list))
        .routes(routes!(conversations::show, conversations::change, conversations::remove))
        .routes(routes!(conversations::post, conversations::messages))
        .routes(routes!(conversations::search))
        .routes(routes!(uploads::create))
        .routes(routes!(notices::notify))
        .routes(routes!(notices::feed))
        .routes(routes!(peers::list))
        .routes(routes!(peers::show_policy, peers::set_policy))
        .routes(routes!(budgets::show, budgets::set))
        .routes(routes!(runtimes::register))
        .routes(routes!(runtimes::heartbeat))
        .routes(routes!(runtimes::change_card))
        .routes(routes!(admin::sweeps))
        .routes(routes!(admin::run_sweep))
        .routes(routes!(admin::backup))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::show, webhooks::patch, webhooks::remove))
        .routes(routes!(webhooks::calls))
        .routes(routes!(webhooks::redeliver))
        .routes(routes!(webhooks::create_channel, webhooks::channels))
        .routes(routes!(webhooks::remove_channel))
        .routes(routes!(webhooks::receive))
        .routes(routes!(keys::keys))
        .routes(routes!(info::info))
        .routes(routes!(info::openapi))
}

/// The whole server as one service. Layers run from the last added to the first.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let (api, _) = api().split_for_parts();
    let document = serde_json::to_value(openapi::document()).expect("the document is plain data");
    let mcp = mcp::router(app, &document);
    let api = api.merge(mcp).merge(a2a::router());
    let api = api
        .route_layer(from_fn_with_state(Arc::clone(app), forwarding::pass_on))
        .route_layer(from_fn_with_state(Arc::clone(app), auth::require_token))
        .route_layer(from_fn_with_state(Arc::clone(app), forwarding::refuse_clients_of_workers));
    let page = Router::new().fallback(page::serve).layer(CompressionLayer::new());
    Router::new()
        .merge(api)
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/reference/errors", get(health::error_reference))
        .method_not_allowed_fallback(|| async { Failure::from(ErrorCode::MethodNotAllowed) })
        .fallback_service(page)
        .layer(from_fn_with_state(Arc::clone(app), guard::check_host_and_origin))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(from_fn_with_state(Arc::clone(app), problem::write_problems))
        .layer(from_fn_with_state(Arc::clone(app), forwarding::read_mark))
        .layer(map_response(|response| async { page::add_security_headers(response) }))
        .layer(from_fn(unread::close_after_unread_body))
        .with_state(Arc::clone(app))
}

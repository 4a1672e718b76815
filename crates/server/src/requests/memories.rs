//! What agents remember: written, and searched for.

use serde::Deserialize;
use utoipa::IntoParams;
use warren_api as api;
use warren_exchange::{MAX_FOUND, Remember};
use warren_model as model;
use warren_model::{MemoryScope, WorkspaceId};
use warren_service::Identity;

use crate::App;
use crate::convert;
use crate::paging::{page_size, unreadable};
use crate::problem::Failure;

const DEFAULT_FOUND: u32 = 20;

/// Under what something is remembered.
#[derive(Debug)]
pub(crate) struct MemoryKey {
    pub(crate) scope: MemoryScope,
    pub(crate) key: String,
}

/// What is written, and whether it is new.
pub(crate) async fn remember(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    under: MemoryKey,
    body: api::Remember,
) -> Result<(model::Memory, bool), Failure> {
    let new = Remember {
        scope: under.scope,
        key: under.key,
        value: body.value,
        ttl_seconds: body.ttl_seconds,
        task_id: body.task_id.as_deref().map(|id| convert::id_from("task_id", id)).transpose()?,
        expected_version: body.expected_version,
    };
    Ok(app.exchange.memories.remember(who, id, new).await?)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchParams {
    /// Words that must all be there, or begin one that is.
    pub(crate) q: String,
    /// Only of this scope; absent: of all.
    #[param(inline)]
    pub(crate) scope: Option<api::MemoryScope>,
    /// At most so many; 20 unless told.
    #[param(minimum = 1, maximum = 100)]
    pub(crate) limit: Option<u32>,
}

pub(crate) async fn search(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    params: SearchParams,
) -> Result<api::FoundMemories, Failure> {
    let limit = page_size(params.limit.or(Some(DEFAULT_FOUND)), MAX_FOUND)?;
    let scope = params.scope.map(convert::memory_scope_from);
    let found = app.exchange.memories.search(who, id, scope, &params.q, limit).await?;
    Ok(api::FoundMemories {
        items: found.rows.iter().map(convert::memory).collect(),
        unreadable: unreadable(&found.unreadable),
    })
}

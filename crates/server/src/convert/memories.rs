//! What agents remember, between the model and the wire.

use warren_api as api;
use warren_model as model;

use super::principal;

pub(crate) fn memory(memory: &model::Memory) -> api::Memory {
    api::Memory {
        id: memory.id.to_string(),
        scope: memory_scope(memory.place.scope()),
        key: memory.key.clone(),
        value: memory.value.clone(),
        version: memory.version,
        masked: memory.masked,
        author: principal(&memory.author),
        workspace_id: memory.workspace_id.to_string(),
        task_id: memory.task_id.map(|id| id.to_string()),
        created_at: memory.created_at.to_string(),
        updated_at: memory.updated_at.to_string(),
        expires_at: memory.expires_at.map(|at| at.to_string()),
    }
}

pub(crate) fn memory_scope(scope: model::MemoryScope) -> api::MemoryScope {
    match scope {
        model::MemoryScope::Local => api::MemoryScope::Local,
        model::MemoryScope::Team => api::MemoryScope::Team,
        model::MemoryScope::Org => api::MemoryScope::Org,
    }
}

pub(crate) fn memory_scope_from(scope: api::MemoryScope) -> model::MemoryScope {
    match scope {
        api::MemoryScope::Local => model::MemoryScope::Local,
        api::MemoryScope::Team => model::MemoryScope::Team,
        api::MemoryScope::Org => model::MemoryScope::Org,
    }
}

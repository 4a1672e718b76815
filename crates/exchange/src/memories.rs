//! What agents remember: written, found and forgotten through a workspace, from where it stands in its tree (X50).

use warren_fleet::Fleet;
use warren_model::event::{MemoryForgotten, MemoryWritten};
use warren_model::{
    ErrorCode, EventData, Memory, MemoryId, MemoryScope, NewEvent, Principal, Status, TaskId, Timestamp,
    TokenKind, Workspace, WorkspaceId,
};
use warren_rules::messages::memory::{self, MAX_QUERY_WORDS, Scrubbed, Standpoint};
use warren_service::Action;
use warren_service::{Context, Error, Identity};
use warren_store::{Batch, MemoryQuery, MemorySearch, Page, ReadTx, WriteTx};

use crate::kinship;

/// What a search looks at before it is put in order: the newest of what has all the words.
const MAX_CANDIDATES: u32 = 500;
/// Of one search.
pub const MAX_FOUND: u32 = 100;
const MAX_TTL_SECONDS: u32 = 10 * 366 * 24 * 3_600;

/// Something to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    pub scope: MemoryScope,
    pub key: String,
    pub value: String,
    /// Forgotten after so long; absent: never.
    pub ttl_seconds: Option<u32>,
    /// The work in which it is written.
    pub task_id: Option<TaskId>,
    /// Only if this is still the version that is there; 0: only if nothing is.
    pub expected_version: Option<u64>,
}

/// What agents remember.
#[derive(Debug, Clone)]
pub struct Memories {
    context: Context,
    fleet: Fleet,
}

impl Memories {
    pub(crate) fn new(context: Context, fleet: Fleet) -> Self {
        Self { context, fleet }
    }

    /// Remembers something, in place of what is there under its key. Credentials in it are masked first. Returns also
    /// whether the key is new.
    #[tracing::instrument(name = "exchange.memories.remember", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn remember(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        request: Remember,
    ) -> Result<(Memory, bool), Error> {
        let row = self.fleet.workspaces.get(who, Action::UseWorkspace, workspace_id).await?;
        check_may_write(who, &row, request.scope)?;
        self.check(&request)?;
        let known = self.fleet.redactors.of_workspace(&row).await?;
        if memory::scrub(&request.key, &known).masked > 0 {
            return Err(Error::with_detail(
                ErrorCode::InvalidMemory,
                "key: it holds what looks like a credential",
            ));
        }
        let scrubbed = memory::scrub(&request.value, &known);
        let now = self.context.now();
        let write = MemoryWrite {
            workspace_id,
            author: who.principal.clone(),
            now,
            max: self.context.limits().max_memories_per_place.into(),
            expires_at: request.ttl_seconds.map(|seconds| now.plus_ms(i64::from(seconds) * 1_000)),
            scrubbed,
            request,
        };
        // A write that names no version is the last word.
        let (id, may_retry) = (self.context.entropy().id(now), write.request.expected_version.is_none());
        self.context.write_with_retries(may_retry, move |tx| write.write(tx, id)).await
    }

    fn check(&self, request: &Remember) -> Result<(), Error> {
        let invalid = |detail: &str| Err(Error::with_detail(ErrorCode::InvalidMemory, detail));
        if !memory::is_key(&request.key) {
            return invalid("key: expected 1 to 200 characters without control characters");
        }
        if request.value.contains('\0') {
            return invalid("value: it holds the character NUL");
        }
        if request.ttl_seconds.is_some_and(|seconds| !(1..=MAX_TTL_SECONDS).contains(&seconds)) {
            return invalid("ttl_seconds: expected 1 to 316224000");
        }
        let max = self.context.limits().max_memory_bytes;
        if request.value.len() as u64 > max {
            let detail = format!("the limit is {max} bytes (`limits.max_memory_bytes`)");
            return Err(Error::with_detail(ErrorCode::MemoryTooLarge, detail));
        }
        Ok(())
    }

    /// What is remembered under a key: of several places of a team, the nearest counts.
    #[tracing::instrument(name = "exchange.memories.recall", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn recall(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        scope: MemoryScope,
        key: String,
    ) -> Result<Memory, Error> {
        self.fleet.workspaces.get(who, Action::ReadWorkspaces, workspace_id).await?;
        let now = self.context.now();
        self.context
            .store()
            .read(move |tx| {
                let standing = Standing::of(tx, workspace_id)?;
                for place in memory::places_of(scope, standing.point()) {
                    if let Some(found) = tx.memory(place, &key)?.filter(|one| !one.is_expired(now)) {
                        return Ok(found);
                    }
                }
                Err(Error::new(ErrorCode::MemoryNotFound))
            })
            .await
    }

    /// All that a workspace can read, in one scope or in all.
    #[tracing::instrument(name = "exchange.memories.list", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn list(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        scope: Option<MemoryScope>,
        after: Option<MemoryId>,
        limit: u32,
    ) -> Result<Page<Memory, MemoryId>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWorkspaces, workspace_id).await?;
        let (now, limit) = (self.context.now(), limit.clamp(1, self.context.limits().max_page_size));
        let page = self
            .context
            .store()
            .read(move |tx| {
                let places = Standing::of(tx, workspace_id)?.places(scope);
                Ok::<_, Error>(tx.memories(&MemoryQuery { places, now, after, limit })?)
            })
            .await?;
        Ok(self.context.listed(page))
    }

    /// What a workspace can read that has all these words, or words that begin with them; the best first.
    #[tracing::instrument(name = "exchange.memories.search", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn search(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        scope: Option<MemoryScope>,
        query: &str,
        limit: u32,
    ) -> Result<Batch<Memory>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWorkspaces, workspace_id).await?;
        let words = memory::words(query);
        if words.is_empty() || words.len() > MAX_QUERY_WORDS {
            let detail = format!("q: expected 1 to {MAX_QUERY_WORDS} words");
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let (now, wanted) = (self.context.now(), words.clone());
        let mut found = self
            .context
            .store()
            .read(move |tx| {
                let places = Standing::of(tx, workspace_id)?.places(scope);
                let search = MemorySearch { places, words: wanted.clone(), now, limit: MAX_CANDIDATES };
                tx.search_memories(&search).map_err(Error::from)
            })
            .await?;
        self.context.tell_unreadable(&found.unreadable);
        found.rows.sort_by_cached_key(|one| std::cmp::Reverse((memory::rank(&words, one), one.id)));
        found.rows.truncate(limit.clamp(1, MAX_FOUND) as usize);
        Ok(found)
    }

    /// Forgets what a workspace could write itself: its own, its team's, its org's.
    #[tracing::instrument(name = "exchange.memories.forget", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn forget(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        scope: MemoryScope,
        key: String,
    ) -> Result<(), Error> {
        let row = self.fleet.workspaces.get(who, Action::UseWorkspace, workspace_id).await?;
        check_may_write(who, &row, scope)?;
        let (now, by) = (self.context.now(), who.principal.clone());
        self.context
            .store()
            .write(move |tx| {
                let standing = Standing::of(tx, workspace_id)?;
                let found = tx.memory(memory::place_of(scope, standing.point()), &key)?;
                let found = found.filter(|one| !one.is_expired(now));
                let found = found.ok_or_else(|| Error::new(ErrorCode::MemoryNotFound))?;
                if !tx.delete_memory(found.id, found.version)? {
                    return Err(Error::new(ErrorCode::VersionConflict));
                }
                let data = MemoryForgotten { memory_id: found.id, scope, key: found.key.clone() };
                Ok(tx.append_event(&event_of(&found, workspace_id, &by, now, data))?)
            })
            .await
    }
}

/// People write where they may use a workspace; an agent, where its policy lets it.
fn check_may_write(who: &Identity, row: &Workspace, scope: MemoryScope) -> Result<(), Error> {
    let is_agent = matches!(who.token.kind, TokenKind::Workspace | TokenKind::Runner);
    if !is_agent || memory::may_agent_write(scope, row.spec.peers.as_ref()) {
        return Ok(());
    }
    let detail = "scope: an agent writes for its org only where its workspace's peer policy has the circle `org`; use \
                  `team`, or ask a person";
    Err(Error::with_detail(ErrorCode::Forbidden, detail))
}

/// A workspace with its way to the root.
#[derive(Debug)]
struct Standing {
    row: Workspace,
    above: Vec<WorkspaceId>,
}

impl Standing {
    fn of(tx: &mut dyn ReadTx, id: WorkspaceId) -> Result<Self, Error> {
        let row = tx.workspace(id)?.filter(|row| row.status != Status::Removed);
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let above = kinship::above(tx, &row)?;
        Ok(Self { row, above })
    }

    fn point(&self) -> Standpoint<'_> {
        Standpoint { id: self.row.id, org_id: self.row.org_id, above: &self.above }
    }

    fn places(&self, scope: Option<MemoryScope>) -> Vec<warren_model::MemoryPlace> {
        let scopes = scope.map_or_else(|| MemoryScope::ALL.to_vec(), |scope| vec![scope]);
        scopes.into_iter().flat_map(|scope| memory::places_of(scope, self.point())).collect()
    }
}

/// One write, with all that the transaction may not make up itself.
#[derive(Debug, Clone)]
struct MemoryWrite {
    workspace_id: WorkspaceId,
    author: Principal,
    now: Timestamp,
    max: u64,
    expires_at: Option<Timestamp>,
    scrubbed: Scrubbed,
    request: Remember,
}

impl MemoryWrite {
    fn write(&self, tx: &mut dyn WriteTx, id: MemoryId) -> Result<(Memory, bool), Error> {
        let standing = Standing::of(tx, self.workspace_id)?;
        if let Some(task_id) = self.request.task_id {
            let task = tx.task(task_id)?.filter(|task| task.workspace_id == self.workspace_id);
            task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
        }
        let place = memory::place_of(self.request.scope, standing.point());
        let before = tx.memory(place, &self.request.key)?;
        let is_new = before.as_ref().is_none_or(|one| one.is_expired(self.now));
        self.check_version(before.as_ref().filter(|_| !is_new))?;
        let mut memory = Memory {
            id: before.as_ref().map_or(id, |one| one.id),
            org_id: standing.row.org_id,
            place,
            key: self.request.key.clone(),
            value: self.scrubbed.text.clone(),
            words: memory::words_of(&self.request.key, &self.scrubbed.text),
            masked: self.scrubbed.masked,
            author: self.author.clone(),
            workspace_id: self.workspace_id,
            task_id: self.request.task_id,
            created_at: before.as_ref().filter(|_| !is_new).map_or(self.now, |one| one.created_at),
            updated_at: self.now,
            expires_at: self.expires_at,
            version: 1,
        };
        match &before {
            Some(before) => memory.version = tx.update_memory(&memory, before.version)?,
            None if tx.count_memories(place)? >= self.max => return Err(Error::new(ErrorCode::MemoryLimit)),
            None => tx.insert_memory(&memory)?,
        }
        let data = MemoryWritten {
            memory_id: memory.id,
            scope: self.request.scope,
            key: memory.key.clone(),
            version: memory.version,
            masked: memory.masked,
        };
        tx.append_event(&event_of(&memory, self.workspace_id, &self.author, self.now, data))?;
        Ok((memory, is_new))
    }

    fn check_version(&self, before: Option<&Memory>) -> Result<(), Error> {
        let current = before.map_or(0, |one| one.version);
        match self.request.expected_version {
            Some(expected) if expected != current => {
                let detail = format!("the current version is {current}");
                Err(Error::with_detail(ErrorCode::PreconditionFailed, detail))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn event_of(
    memory: &Memory,
    workspace_id: WorkspaceId,
    by: &Principal,
    at: Timestamp,
    data: impl Into<EventData>,
) -> NewEvent {
    let (org_id, principal) = (memory.org_id, by.clone());
    NewEvent { at, org_id, workspace_id: Some(workspace_id), principal, data: data.into() }
}

//! What comes with a workspace out of a bundle, made ready to be written (F51).

use warren_doors::Entropy;
use warren_model::{
    BundleMemory, BundlePeers, BundleSchedule, ErrorCode, Limits, Memory, MemoryPlace, MemoryScope,
    Principal, Timestamp, Workspace, WorkspaceSpec,
};
use warren_rules::messages::memory::{is_key, scrub, words_of};
use warren_rules::text::redaction::Redactor;
use warren_service::Error;

/// What a bundle says of one workspace.
#[derive(Debug, Clone)]
pub(crate) struct FromBundle {
    pub(crate) spec: WorkspaceSpec,
    pub(crate) peers: Option<BundlePeers>,
    pub(crate) memory: Vec<BundleMemory>,
    /// Absent: those that its spec was made with.
    pub(crate) schedules: Option<Vec<BundleSchedule>>,
}

/// For whom, by whom and within which limits memories are made.
pub(crate) struct MemoryDrafting<'a> {
    pub(crate) row: &'a Workspace,
    pub(crate) author: &'a Principal,
    pub(crate) now: Timestamp,
    pub(crate) limits: &'a Limits,
    pub(crate) entropy: &'a dyn Entropy,
    /// Secrets that are masked here, whatever was masked where it was written.
    pub(crate) known: &'a Redactor,
}

impl MemoryDrafting<'_> {
    /// Memories as they are to be written, and what is to be told of those that are not.
    pub(crate) fn all(&self, memories: &[BundleMemory]) -> Result<(Vec<Memory>, Vec<String>), Error> {
        let max = self.limits.max_memories_per_place as usize;
        for scope in [MemoryScope::Local, MemoryScope::Team] {
            if memories.iter().filter(|one| one.scope == scope).count() > max {
                return Err(Error::new(ErrorCode::MemoryLimit));
            }
        }
        let (mut made, mut expired) = (Vec::with_capacity(memories.len()), 0_usize);
        for (at, one) in memories.iter().enumerate() {
            if one.expires_at.is_some_and(|end| end <= self.now) {
                expired += 1;
                continue;
            }
            made.push(self.one(one).map_err(|mut error| {
                let told = error.detail.take().unwrap_or_default();
                error.detail = Some(format!("memory[{at}].{told}"));
                error
            })?);
        }
        let told = (expired > 0).then(|| format!("memory: {expired} of it had expired and was left out"));
        Ok((made, told.into_iter().collect()))
    }

    fn one(&self, one: &BundleMemory) -> Result<Memory, Error> {
        let place = match one.scope {
            MemoryScope::Local => MemoryPlace::Local(self.row.id),
            MemoryScope::Team => MemoryPlace::Team(self.row.id),
            MemoryScope::Org => {
                return Err(Error::with_detail(ErrorCode::InvalidMemory, "scope: expected local or team"));
            }
        };
        if !is_key(&one.key) || scrub(&one.key, self.known).masked > 0 {
            let detail = "key: expected 1 to 200 characters without control characters or credentials";
            return Err(Error::with_detail(ErrorCode::InvalidMemory, detail));
        }
        if one.value.contains('\0') {
            return Err(Error::with_detail(ErrorCode::InvalidMemory, "value: it holds the character NUL"));
        }
        let max = self.limits.max_memory_bytes;
        if one.value.len() as u64 > max {
            let detail = format!("value: the limit is {max} bytes (`limits.max_memory_bytes`)");
            return Err(Error::with_detail(ErrorCode::MemoryTooLarge, detail));
        }
        let scrubbed = scrub(&one.value, self.known);
        Ok(Memory {
            id: self.entropy.id(self.now),
            org_id: self.row.org_id,
            place,
            key: one.key.clone(),
            words: words_of(&one.key, &scrubbed.text),
            value: scrubbed.text,
            masked: scrubbed.masked,
            author: self.author.clone(),
            workspace_id: self.row.id,
            task_id: None,
            created_at: self.now,
            updated_at: self.now,
            expires_at: one.expires_at,
            version: 1,
        })
    }
}

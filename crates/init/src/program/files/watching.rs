//! A watch over a tree, as the owner asks for it: changes are handed over an answer at a time.

use rustix::io::Errno;
use warren_confined_fs::{Root, TreeChange, TreeWatch};
use warren_init::FileChange;

/// Changes of one answer.
const MAX_CHANGES: usize = 256;
/// What the changes of one answer may take together; a path is at most a few kilobytes.
const MAX_CHANGE_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) tree: TreeWatch,
    /// The request that waits for changes.
    pub(super) waiting: Option<u32>,
}

impl Watch {
    pub(super) fn new(root: &Root, path: &[u8]) -> Result<Self, Errno> {
        Ok(Self { tree: TreeWatch::new(root, path)?, waiting: None })
    }

    /// The changes since the last call, as many as one answer takes.
    pub(super) fn take_changes(&mut self, root: &Root) -> Vec<FileChange> {
        self.tree.read(root);
        let mut changes = Vec::new();
        let mut bytes = 0;
        while changes.len() < MAX_CHANGES && bytes < MAX_CHANGE_BYTES {
            let Some(change) = self.tree.next_change() else { break };
            bytes += match &change {
                TreeChange::Created(path) | TreeChange::Modified(path) | TreeChange::Removed(path) => {
                    path.len()
                }
                TreeChange::Lagged => 0,
            };
            changes.push(match change {
                TreeChange::Created(path) => FileChange::Created(path),
                TreeChange::Modified(path) => FileChange::Modified(path),
                TreeChange::Removed(path) => FileChange::Removed(path),
                TreeChange::Lagged => FileChange::Lagged,
            });
        }
        changes
    }
}

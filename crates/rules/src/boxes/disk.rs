//! When a workspace holds more of the disk than it may.
//!
//! What it holds is looked at several times a second. Nearly all of it can be seen: files by their names, and files that were
//! deleted but are still open, mapped or run. What is on its way through a socket has no size that anybody could ask for.
//! While something of that kind is there, what the file system has lost since everything could last be seen, and what
//! nothing else explains, counts as the workspace's:
//!
//! ```text
//!   at the last look that saw all:   free 900   held  40
//!   now, with something unseen:      free 700   held  90      lost 200, of which 50 are seen: 150 are unseen
//! ```
//!
//! So a workspace can hide once what it held anyway, and nothing more.

const MIB: u64 = 1 << 20;
/// Names that a workspace may have for each megabyte that it may hold: fewer than file systems usually make room for
/// (one in 16 kB), and more than any tree of sources needs.
const ENTRIES_PER_MB: u64 = 128;
/// However small it is.
const MIN_ENTRIES: u64 = 16_384;

/// What a workspace may hold of its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimit {
    pub max_bytes: u64,
    /// Files, folders and links.
    pub max_entries: u64,
}

impl DiskLimit {
    pub fn of_mb(disk_mb: u32) -> Self {
        let mb = u64::from(disk_mb);
        Self { max_bytes: mb * MIB, max_entries: (mb * ENTRIES_PER_MB).max(MIN_ENTRIES) }
    }
}

/// What one look saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Of files that have a name.
    pub named_bytes: u64,
    pub entries: u64,
    /// Of files and folders that were deleted and are still held.
    pub deleted_bytes: u64,
    pub deleted_entries: u64,
    /// Something is held whose size nobody can tell.
    pub has_unseen: bool,
}

impl DiskUse {
    fn held(&self) -> FreeSpace {
        FreeSpace {
            bytes: self.named_bytes.saturating_add(self.deleted_bytes),
            entries: self.entries.saturating_add(self.deleted_entries),
        }
    }
}

/// Bytes, and files, folders and links: what a file system has left, or what somebody holds of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FreeSpace {
    pub bytes: u64,
    pub entries: u64,
}

impl FreeSpace {
    fn less(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            entries: self.entries.saturating_sub(other.entries),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            entries: self.entries.saturating_add(other.entries),
        }
    }
}

/// The last look that saw everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllSeen {
    pub free: FreeSpace,
    pub held: FreeSpace,
}

/// Of which a workspace has too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    Bytes,
    Entries,
    /// Only together with what cannot be seen.
    Unseen,
}

impl Excess {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "its files take more than it may hold",
            Self::Entries => "it has more files than it may have",
            Self::Unseen => {
                "with what it holds out of sight (descriptors that no process has received, files that are deleted and \
                 mapped, or what processes hand on that come and go), it takes more than it may hold"
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    pub excess: Option<Excess>,
    /// To be remembered for the next look.
    pub all_seen: AllSeen,
}

/// Judges one look; `free` is what the file system had left when it began.
pub fn judge(limit: DiskLimit, used: DiskUse, free: FreeSpace, last: Option<AllSeen>) -> Judgement {
    let held = used.held();
    let now = AllSeen { free, held };
    // A first look that does not see everything has nothing to compare with but itself.
    let all_seen = if used.has_unseen { last.unwrap_or(now) } else { now };
    let unseen = all_seen.free.less(free).less(held.less(all_seen.held));
    let with_unseen = held.and(unseen);
    let excess = if held.bytes > limit.max_bytes {
        Some(Excess::Bytes)
    } else if held.entries > limit.max_entries {
        Some(Excess::Entries)
    } else if with_unseen.bytes > limit.max_bytes || with_unseen.entries > limit.max_entries {
        Some(Excess::Unseen)
    } else {
        None
    };
    Judgement { excess, all_seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: DiskLimit = DiskLimit { max_bytes: 100, max_entries: 10 };

    fn free(bytes: u64) -> FreeSpace {
        FreeSpace { bytes, entries: 1_000 }
    }

    fn seen(named_bytes: u64, deleted_bytes: u64) -> DiskUse {
        DiskUse { named_bytes, deleted_bytes, entries: 1, ..DiskUse::default() }
    }

    // sec/S16
    #[test]
    fn files_with_and_without_names_count_together_and_so_does_their_number() {
        for (used, excess) in [
            (seen(100, 0), None),
            (seen(60, 40), None),
            (seen(60, 41), Some(Excess::Bytes)),
            (seen(u64::MAX, u64::MAX), Some(Excess::Bytes)),
            (DiskUse { entries: 10, ..seen(0, 0) }, None),
            (DiskUse { entries: 11, ..seen(0, 0) }, Some(Excess::Entries)),
            (DiskUse { entries: 6, deleted_entries: 5, ..seen(0, 0) }, Some(Excess::Entries)),
        ] {
            assert_eq!(judge(LIMIT, used, free(500), None).excess, excess, "{used:?}");
        }
    }

    // sec/S16
    #[test]
    fn what_the_disk_lost_counts_only_while_something_is_out_of_sight() {
        let first = judge(LIMIT, seen(50, 0), free(1_000), None);
        assert_eq!(first.all_seen.held.bytes, 50);
        // A neighbour has written a lot: nothing of this workspace's.
        let neighbour = judge(LIMIT, seen(50, 0), free(100), Some(first.all_seen));
        assert_eq!(neighbour.excess, None);
        assert_eq!(neighbour.all_seen.free.bytes, 100);
        // The same loss with something in flight is its own.
        let unseen = DiskUse { has_unseen: true, ..seen(50, 0) };
        assert_eq!(judge(LIMIT, unseen, free(951), Some(first.all_seen)).excess, None);
        let hidden = judge(LIMIT, unseen, free(949), Some(first.all_seen));
        assert_eq!(hidden.excess, Some(Excess::Unseen));
        assert_eq!(
            hidden.all_seen, first.all_seen,
            "what was seen last is what counts until all is seen again"
        );
        // So are files that take no space.
        let fewer = FreeSpace { bytes: 1_000, entries: 990 };
        assert_eq!(judge(LIMIT, unseen, fewer, Some(first.all_seen)).excess, Some(Excess::Unseen));
        assert_eq!(judge(LIMIT, seen(50, 0), fewer, Some(first.all_seen)).excess, None, "a neighbour's");
        // What it shows more of explains as much of the loss.
        let shown = DiskUse { has_unseen: true, ..seen(90, 0) };
        assert_eq!(judge(LIMIT, shown, free(955), Some(first.all_seen)).excess, None);
    }

    // sec/S16
    #[test]
    fn the_first_look_and_space_that_others_gave_back_accuse_nobody() {
        let unseen = DiskUse { has_unseen: true, ..seen(90, 0) };
        let first = judge(LIMIT, unseen, free(1_000), None);
        assert_eq!(first.excess, None);
        assert_eq!(judge(LIMIT, unseen, free(5_000), Some(first.all_seen)).excess, None);
        assert_eq!(judge(LIMIT, unseen, free(980), Some(first.all_seen)).excess, Some(Excess::Unseen));
    }

    // sec/S16
    #[test]
    fn a_small_workspace_may_have_a_tree_of_sources_and_a_large_one_not_all_the_inodes() {
        assert_eq!(DiskLimit::of_mb(1), DiskLimit { max_bytes: MIB, max_entries: MIN_ENTRIES });
        assert_eq!(DiskLimit::of_mb(10_240).max_entries, 1_310_720);
    }
}

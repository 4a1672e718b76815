//! Files and directories, as the wire has them.

use warren_api as api;
use warren_workspace::{WorkspacePath, fs};

pub(crate) fn listing(path: &WorkspacePath, listing: fs::Listing) -> api::Listing {
    api::Listing {
        path: path.as_str().to_owned(),
        entries: listing.entries.iter().map(entry).collect(),
        next_cursor: listing.next,
    }
}

pub(crate) fn entry(entry: &fs::Entry) -> api::Entry {
    let kind = match entry.kind {
        fs::EntryKind::File => api::EntryKind::File,
        fs::EntryKind::Directory => api::EntryKind::Directory,
        fs::EntryKind::Symlink => api::EntryKind::Symlink,
        fs::EntryKind::Special => api::EntryKind::Special,
    };
    api::Entry {
        path: entry.path.clone(),
        is_lossy: entry.is_lossy,
        kind,
        bytes: entry.bytes,
        modified_at: entry.modified_at.to_string(),
        mode: format!("{:04o}", entry.mode),
        link_target: entry.link_target.clone(),
    }
}

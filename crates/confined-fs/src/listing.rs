//! Listing a directory in order, with memory for a page.
//!
//! Within a directory the entries are keyed by their name and the subtrees by their name and a slash. All paths of a
//! subtree share that prefix, so walking the keys in order yields all paths in order: `a`, `a-b`, `a/x`.

use std::os::unix::ffi::OsStrExt;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use crate::entries::{for_each_entry, is_directory};
use crate::smallest::Smallest;

/// The keys of one directory that a page of at most `wanted` more entries may need, in order. `after` is the rest of the
/// cursor below this directory; keys up to it are left out. Of the smallest `2n + 2` keys at least `n` are entries: a
/// subtree's key comes after its entry's, save for the one subtree that the cursor is in.
pub fn sorted_keys(
    directory: BorrowedFd<'_>,
    after: Option<&[u8]>,
    wanted: usize,
    with_subtrees: bool,
) -> Result<Vec<Vec<u8>>, Errno> {
    let mut keys = Smallest::new(2 * wanted + 2);
    let mut subtree = Vec::new();
    for_each_entry(directory, |name, kind| {
        let bytes = name.as_bytes();
        if after.is_none_or(|after| bytes > after) {
            keys.offer_bytes(bytes);
        }
        if with_subtrees && is_directory(directory, name, kind) {
            subtree.clear();
            subtree.extend_from_slice(bytes);
            subtree.push(b'/');
            if after.is_none_or(|after| subtree.as_slice() > after || after.starts_with(&subtree)) {
                keys.offer_bytes(&subtree);
            }
        }
        Ok(())
    })?;
    Ok(keys.into_sorted())
}

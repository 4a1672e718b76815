//! Which paths an archive may have, in which order. One rule for what is verified and what is unpacked.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};
use warren_model::WorkspaceId;

use crate::tar::{Entry, EntryKind};
use crate::{CONFIG, DATABASE, PLACES};

const MAX_PATH_BYTES: usize = 8_192;
const SHARED: &str = "shared";
const MAX_SHARE_BYTES: usize = 64;

/// What is known of the part that is read now: which paths there are, and what each is. A path is kept as 16 bytes of its
/// hash, so that a million files take tens of megabytes.
#[derive(Debug, Default)]
pub(crate) struct Known {
    part: Option<String>,
    finished: HashSet<String>,
    paths: HashMap<[u8; 16], Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Link,
}

impl Known {
    /// Judges the next entry and returns the name of its part, and whether it is the first of it.
    pub(crate) fn admit(&mut self, entry: &Entry) -> Result<(String, bool), &'static str> {
        let part = part_of(&entry.path)?;
        let is_first = self.part.as_deref() != Some(&part);
        if is_first {
            if self.finished.contains(part.as_str()) {
                return Err("a part comes twice");
            }
            let before = self.part.replace(part.clone());
            self.finished.extend(before);
            self.paths.clear();
        }
        let is_root = entry.path == part.as_bytes();
        let kind = match &entry.kind {
            EntryKind::Directory => Kind::Directory,
            EntryKind::File => Kind::File,
            EntryKind::Symlink(target) if is_sound_target(target) => Kind::Link,
            EntryKind::Symlink(_) => return Err("a link leads nowhere"),
            EntryKind::HardLink(target) => {
                if self.paths.get(&key(target)) != Some(&Kind::File) || part_of(target)? != part {
                    return Err("a second name is for a file that is not in its part");
                }
                Kind::File
            }
        };
        let is_single = part == DATABASE || part == CONFIG;
        let is_plain_file = entry.kind == EntryKind::File && entry.sparse_length.is_none();
        match (is_single, is_root) {
            (true, true) if is_plain_file => {}
            (true, _) => return Err("the database or the config is not one file"),
            (false, true) if kind == Kind::Directory => {}
            (false, true) => return Err("a workspace is not a directory"),
            (false, false) => {
                let parent = entry.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                if self.paths.get(&key(&entry.path[..parent])) != Some(&Kind::Directory) {
                    return Err("an entry is in no directory of its part");
                }
            }
        }
        if self.paths.insert(key(&entry.path), kind).is_some() {
            return Err("a path comes twice");
        }
        Ok((part, is_first))
    }
}

fn key(path: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&Sha256::digest(path)[..16]);
    short
}

fn is_sound_target(target: &[u8]) -> bool {
    !target.is_empty() && target.len() <= MAX_PATH_BYTES && !target.contains(&0)
}

/// The part that a path belongs to, by its first names.
fn part_of(path: &[u8]) -> Result<String, &'static str> {
    let out_of_place = "an entry is where no backup has any";
    let is_sound = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && name.len() <= 255;
    if path.len() > MAX_PATH_BYTES || path.contains(&0) || !path.split(|byte| *byte == b'/').all(is_sound) {
        return Err("a path is not sound");
    }
    let mut names = path.split(|byte| *byte == b'/').map(std::str::from_utf8);
    let mut next = || names.next().and_then(Result::ok);
    let first = next().ok_or(out_of_place)?;
    if first == DATABASE || first == CONFIG {
        return Ok(first.to_owned());
    }
    if !PLACES.contains(&first) {
        return Err(out_of_place);
    }
    let second = next().ok_or(out_of_place)?;
    if second.parse::<WorkspaceId>().is_ok_and(|id| id.to_string() == second) {
        return Ok(format!("{first}/{second}"));
    }
    let third = next().ok_or(out_of_place)?;
    let is_share = |name: &str| {
        let is_taken = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.len() <= MAX_SHARE_BYTES && name.bytes().all(is_taken)
    };
    if first == PLACES[0] && second == SHARED && is_share(third) {
        return Ok(format!("{first}/{second}/{third}"));
    }
    Err(out_of_place)
}

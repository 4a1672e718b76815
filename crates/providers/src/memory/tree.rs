//! The files themselves: one ordered map from path to node, and the operations on it as plain functions.
//!
//! Paths sort byte by byte, so a listing is a range of the map. Every node is charged for its contents, its path
//! and a fixed cost, so that a million empty files meet the limit too.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use warren_model::{ErrorCode, Timestamp};
use warren_workspace::fs::{Change, CpOptions, Entry, EntryKind, LsQuery, WriteMode};
use warren_workspace::{Error, WorkspacePath};

use crate::cursor;

/// What a node costs besides its path and contents: map slot, counters, allocation.
const NODE_BYTES: u64 = 200;

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Absent: a directory.
    pub(super) contents: Option<Bytes>,
    pub(super) modified_at: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
    /// Bytes charged, including what running writes have reserved.
    used: u64,
}

impl Tree {
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Takes `bytes` from the total, or says that it is full.
    pub(super) fn reserve(&mut self, bytes: u64, max_total: u64) -> Result<(), Error> {
        if self.used.saturating_add(bytes) > max_total {
            let detail = format!("all files together may have {max_total} bytes (max_total_mb)");
            return Err(Error::operation(ErrorCode::StorageFull, detail));
        }
        self.used += bytes;
        Ok(())
    }

    pub(super) fn release(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }

    pub(super) fn file(&self, path: &WorkspacePath) -> Result<(&Bytes, Timestamp), Error> {
        let node = self.node(path)?;
        match &node.contents {
            Some(contents) => Ok((contents, node.modified_at)),
            None => Err(wrong(ErrorCode::NotAFile, path, "is a directory")),
        }
    }

    pub(super) fn entry(&self, path: &WorkspacePath) -> Result<Entry, Error> {
        if path.is_root() {
            return Ok(entry("", None, Timestamp::from_micros(0)));
        }
        let node = self.node(path)?;
        Ok(entry(path.as_str(), node.contents.as_ref(), node.modified_at))
    }

    /// Checks that a file could be put at `path`, before its contents arrive.
    pub(super) fn check_file_place(&self, path: &WorkspacePath, mode: WriteMode) -> Result<(), Error> {
        if path.is_root() {
            return Err(wrong(ErrorCode::NotAFile, path, "is the workspace root"));
        }
        self.check_ancestors(path)?;
        match self.nodes.get(path.as_str()) {
            None => Ok(()),
            Some(_) if mode.must_be_new() => Err(wrong(ErrorCode::FileExists, path, "exists already")),
            Some(node) if node.contents.is_none() => Err(wrong(ErrorCode::NotAFile, path, "is a directory")),
            Some(_) => Ok(()),
        }
    }

    /// Puts a file whose bytes were reserved already. Tells whether it is new.
    pub(super) fn put_file(
        &mut self,
        path: &WorkspacePath,
        contents: Bytes,
        now: Timestamp,
        max_total: u64,
    ) -> Result<bool, Error> {
        self.make_ancestors(path, now, max_total)?;
        let is_new = !self.nodes.contains_key(path.as_str());
        if is_new {
            self.reserve(overhead(path.as_str()), max_total)?;
        }
        let node = Node { contents: Some(contents), modified_at: now };
        if let Some(old) = self.nodes.insert(path.as_str().to_owned(), node) {
            self.release(old.contents.map_or(0, |old| old.len() as u64));
        }
        Ok(is_new)
    }

    /// Tells which directories were made.
    pub(super) fn mkdir(
        &mut self,
        path: &WorkspacePath,
        now: Timestamp,
        max_total: u64,
    ) -> Result<Vec<String>, Error> {
        let mut made = self.make_ancestors(path, now, max_total)?;
        if path.is_root() {
            return Ok(made);
        }
        match self.nodes.get(path.as_str()) {
            Some(node) if node.contents.is_none() => {}
            Some(_) => return Err(wrong(ErrorCode::FileExists, path, "is a file")),
            None => {
                self.put_directory(path.as_str(), now, max_total)?;
                made.push(path.as_str().to_owned());
            }
        }
        Ok(made)
    }

    pub(super) fn rm(&mut self, path: &WorkspacePath, recursive: bool) -> Result<Vec<Change>, Error> {
        protect_root(path)?;
        self.node(path)?;
        let below = self.paths_below(path.as_str());
        if !below.is_empty() && !recursive {
            return Err(wrong(ErrorCode::DirectoryNotEmpty, path, "is not empty"));
        }
        let gone = below.into_iter().chain([path.as_str().to_owned()]);
        Ok(gone
            .map(|path| {
                self.take(&path);
                Change::Removed(path)
            })
            .collect())
    }

    pub(super) fn mv(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: bool,
        now: Timestamp,
        max_total: u64,
    ) -> Result<Vec<Change>, Error> {
        protect_root(from)?;
        protect_root(to)?;
        let is_directory = self.node(from)?.contents.is_none();
        if from == to {
            return Ok(Vec::new());
        }
        if to.is_within(from) {
            return Err(wrong(ErrorCode::InvalidPath, to, "lies inside what is to be moved"));
        }
        self.check_target(to, is_directory, overwrite)?;
        self.make_ancestors(to, now, max_total)?;
        self.take(to.as_str());
        let mut changes = Vec::new();
        for path in self.paths_below(from.as_str()).into_iter().chain([from.as_str().to_owned()]) {
            let target = format!("{}{}", to.as_str(), &path[from.as_str().len()..]);
            if let Some(node) = self.take(&path) {
                self.used += charge(&target, &node);
                self.nodes.insert(target.clone(), node);
            }
            changes.extend([Change::Removed(path), Change::Created(target)]);
        }
        Ok(changes)
    }

    pub(super) fn cp(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        options: CpOptions,
        now: Timestamp,
        max_total: u64,
    ) -> Result<Vec<Change>, Error> {
        protect_root(to)?;
        let is_directory = from.is_root() || self.node(from)?.contents.is_none();
        if is_directory && !options.recursive {
            return Err(wrong(ErrorCode::NotAFile, from, "is a directory; copy it recursively"));
        }
        if to.is_within(from) {
            return Err(wrong(ErrorCode::InvalidPath, to, "lies inside what is to be copied"));
        }
        self.check_target(to, is_directory, options.overwrite)?;
        let sources = self.paths_below(from.as_str());
        let copies: Vec<(String, Node)> = sources
            .iter()
            .chain([&from.as_str().to_owned()])
            .filter_map(|path| {
                let node = Node { modified_at: now, ..self.nodes.get(path)?.clone() };
                Some((format!("{}{}", to.as_str(), &path[from.as_str().len()..]), node))
            })
            .collect();
        self.make_ancestors(to, now, max_total)?;
        self.reserve(copies.iter().map(|(path, node)| charge(path, node)).sum(), max_total)?;
        self.take(to.as_str());
        let changes = copies.iter().map(|(path, _)| Change::Created(path.clone())).collect();
        self.nodes.extend(copies);
        Ok(changes)
    }

    pub(super) fn ls(
        &self,
        path: &WorkspacePath,
        query: &LsQuery,
        limit: usize,
    ) -> Result<(Vec<Entry>, Option<String>), Error> {
        if !path.is_root() && self.node(path)?.contents.is_some() {
            return Err(wrong(ErrorCode::NotADirectory, path, "is a file"));
        }
        let prefix = prefix_of(path.as_str());
        let after = match &query.after {
            Some(text) => String::from_utf8(cursor::decode(text)?)
                .map_err(|_| wrong(ErrorCode::InvalidCursor, path, "was not listed with this cursor"))?,
            None => prefix.clone(),
        };
        let depth = query.depth.max(1) as usize;
        let mut listed = self
            .nodes
            .range::<str, _>((Bound::Excluded(after.max(prefix.clone()).as_str()), Bound::Unbounded))
            .take_while(|(path, _)| path.starts_with(&prefix))
            .filter(|(path, _)| path[prefix.len()..].split('/').count() <= depth)
            .map(|(path, node)| entry(path, node.contents.as_ref(), node.modified_at));
        let entries: Vec<_> = listed.by_ref().take(limit).collect();
        let next = listed.next().and(entries.last()).map(|last| cursor::encode(last.path.as_bytes()));
        Ok((entries, next))
    }

    /// All files at or below `path`, in order.
    pub(super) fn files_below(&self, path: &WorkspacePath) -> Result<Vec<(String, Bytes)>, Error> {
        if !path.is_root()
            && let Some(contents) = &self.node(path)?.contents
        {
            return Ok(vec![(path.as_str().to_owned(), contents.clone())]);
        }
        let prefix = prefix_of(path.as_str());
        let below = self.range_below(&prefix);
        Ok(below.filter_map(|(path, node)| Some((path.clone(), node.contents.clone()?))).collect())
    }

    pub(super) fn contents(&self, path: &str) -> Option<Bytes> {
        self.nodes.get(path)?.contents.clone()
    }

    fn node(&self, path: &WorkspacePath) -> Result<&Node, Error> {
        self.check_ancestors(path)?;
        match self.nodes.get(path.as_str()) {
            Some(node) => Ok(node),
            None if path.is_root() => Err(wrong(ErrorCode::NotAFile, path, "is the workspace root")),
            None => Err(wrong(ErrorCode::FileNotFound, path, "does not exist")),
        }
    }

    /// A file cannot have anything below it.
    fn check_ancestors(&self, path: &WorkspacePath) -> Result<(), Error> {
        let mut ancestor = path.parent();
        while let Some(directory) = ancestor {
            if self.contents(directory.as_str()).is_some() {
                return Err(wrong(ErrorCode::NotADirectory, &directory, "is a file"));
            }
            ancestor = directory.parent();
        }
        Ok(())
    }

    fn check_target(&self, to: &WorkspacePath, is_directory: bool, overwrite: bool) -> Result<(), Error> {
        self.check_ancestors(to)?;
        let Some(target) = self.nodes.get(to.as_str()) else {
            return Ok(());
        };
        match (overwrite, target.contents.is_none(), is_directory) {
            (false, ..) => Err(wrong(ErrorCode::FileExists, to, "exists already")),
            (true, true, false) => Err(wrong(ErrorCode::NotAFile, to, "is a directory")),
            (true, false, true) => Err(wrong(ErrorCode::NotADirectory, to, "is a file")),
            (true, true, true) if !self.paths_below(to.as_str()).is_empty() => {
                Err(wrong(ErrorCode::DirectoryNotEmpty, to, "is not empty"))
            }
            (true, ..) => Ok(()),
        }
    }

    fn make_ancestors(
        &mut self,
        path: &WorkspacePath,
        now: Timestamp,
        max_total: u64,
    ) -> Result<Vec<String>, Error> {
        self.check_ancestors(path)?;
        let mut missing = Vec::new();
        let mut ancestor = path.parent();
        while let Some(directory) = ancestor.filter(|one| !one.is_root()) {
            if self.nodes.contains_key(directory.as_str()) {
                break;
            }
            missing.push(directory.as_str().to_owned());
            ancestor = directory.parent();
        }
        missing.reverse();
        for directory in &missing {
            self.put_directory(directory, now, max_total)?;
        }
        Ok(missing)
    }

    fn put_directory(&mut self, path: &str, now: Timestamp, max_total: u64) -> Result<(), Error> {
        self.reserve(overhead(path), max_total)?;
        let node = Node { contents: None, modified_at: now };
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }

    fn take(&mut self, path: &str) -> Option<Node> {
        let node = self.nodes.remove(path)?;
        self.release(charge(path, &node));
        Some(node)
    }

    fn range_below(&self, prefix: &str) -> impl Iterator<Item = (&String, &Node)> {
        self.nodes
            .range::<str, _>((Bound::Excluded(prefix), Bound::Unbounded))
            .take_while(move |(path, _)| path.starts_with(prefix))
    }

    fn paths_below(&self, path: &str) -> Vec<String> {
        let prefix = prefix_of(path);
        self.range_below(&prefix).map(|(path, _)| path.clone()).collect()
    }
}

fn protect_root(path: &WorkspacePath) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root cannot be removed, moved or replaced";
        return Err(Error::operation(ErrorCode::RootProtected, detail));
    }
    Ok(())
}

fn prefix_of(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}/") }
}

fn overhead(path: &str) -> u64 {
    NODE_BYTES + path.len() as u64
}

fn charge(path: &str, node: &Node) -> u64 {
    overhead(path) + node.contents.as_ref().map_or(0, |contents| contents.len() as u64)
}

fn entry(path: &str, contents: Option<&Bytes>, modified_at: Timestamp) -> Entry {
    Entry {
        path: path.to_owned(),
        is_lossy: false,
        kind: contents.map_or(EntryKind::Directory, |_| EntryKind::File),
        bytes: contents.map_or(0, |contents| contents.len() as u64),
        modified_at,
        mode: if contents.is_some() { 0o644 } else { 0o755 },
        link_target: None,
    }
}

pub(super) fn wrong(code: ErrorCode, path: &WorkspacePath, what: &str) -> Error {
    Error::operation(code, format!("{path} {what}"))
}

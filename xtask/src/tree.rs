//! The repository as the checks see it: every file that is or could be committed, in memory.
//!
//! Files that `.gitignore` names are left out; files that are not UTF-8 are known by name only. Tests make a tree
//! from literals instead of a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Paths relative to the root, with `/`, and their text.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    root: Option<PathBuf>,
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        let walk = ignore::WalkBuilder::new(root)
            .hidden(false)
            .parents(false)
            .ignore(false)
            .git_global(false)
            .git_exclude(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for entry in walk {
            let entry = entry.context("walk the repository")?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let relative = entry.path().strip_prefix(root).context("a walk stays below its root")?;
            let name = relative.to_string_lossy().replace('\\', "/");
            let bytes = std::fs::read(entry.path()).with_context(|| format!("read {name}"))?;
            files.insert(name, String::from_utf8(bytes).ok());
        }
        Ok(Self { root: Some(root.to_owned()), files })
    }

    #[cfg(test)]
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), Some(text.to_owned())));
        Self { root: None, files: files.collect() }
    }

    /// The folder it was read from; a tree made in a test has none.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(crate) fn has_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        self.files.range(prefix.clone()..).next().is_some_and(|(first, _)| first.starts_with(&prefix))
    }

    /// Every text file as (path, text).
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Text files whose names end in `.` and one of the extensions.
    pub(crate) fn with_extension<'a>(
        &'a self,
        extensions: &'a [&'a str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts().filter(|(path, _)| {
            path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
        })
    }

    /// The folders of our crates (`crates/*` and `xtask`), by the manifests in them.
    pub(crate) fn crates(&self) -> impl Iterator<Item = CrateFolder<'_>> {
        self.files.keys().filter_map(|path| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            let name = folder.strip_prefix("crates/").unwrap_or(folder);
            (folder == "xtask" || folder.starts_with("crates/")).then_some(CrateFolder {
                name,
                folder,
                manifest: path,
            })
        })
    }
}

/// Where a crate lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrateFolder<'a> {
    /// The name without `warren-`.
    pub(crate) name: &'a str,
    pub(crate) folder: &'a str,
    pub(crate) manifest: &'a str,
}

/// The first folder upwards that holds `xtask/Cargo.toml`. Not a path fixed at compile time: the build folder may be
/// shared by several clones.
pub(crate) fn find_root(from: &Path) -> Result<PathBuf> {
    from.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file())
        .map(Path::to_owned)
        .with_context(|| format!("{} is not inside the repository", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_left_out_and_hidden_ones_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".gitignore", "/target\n");
        write("target/debug/x.rs", "built");
        write(".git/config", "git");
        write(".ci/run", "#!/bin/sh");
        write("crates/model/Cargo.toml", "");
        std::fs::write(folder.path().join("logo.png"), [0xff, 0xfe, 0x00]).unwrap();

        let tree = Tree::load(folder.path()).unwrap();
        assert!(tree.has_file(".ci/run") && tree.has_file("logo.png"));
        assert!(!tree.has_file("target/debug/x.rs") && !tree.has_file(".git/config"));
        assert_eq!(tree.text("logo.png"), None);
        assert!(tree.has_folder("crates/model") && !tree.has_folder("crates/mod"));
        assert_eq!(tree.crates().map(|one| one.name).collect::<Vec<_>>(), ["model"]);
    }

    #[test]
    fn the_root_is_found_from_a_folder_below_it_and_not_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("xtask/src")).unwrap();
        assert!(find_root(folder.path()).is_err());
        std::fs::write(folder.path().join("xtask/Cargo.toml"), "").unwrap();
        assert_eq!(find_root(&folder.path().join("xtask/src")).unwrap(), folder.path());
    }
}

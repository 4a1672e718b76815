//! `warren ws cp`: files and trees into, out of and between workspaces.
//!
//! ```text
//!   source ──children──▶ one pending list of pairs ──▶ directory: made, its children are pending
//!                                                  ├─▶ file: streamed, whole or not at all
//!                                                  └─▶ anything else: left out and named
//! ```
//!
//! A workspace is not trusted: a name it lists must be a plain name before it becomes a path on this machine.

use std::io;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt as _;
use serde_json::json;
use warren_api::EntryKind;
use warren_api::client::{ByteRange, Client, Error, FileBytes, PathContents};
use warren_model::ErrorCode;

use super::{files, local_files};
use crate::arguments::CopyArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Local(PathBuf),
    Remote { id: String, path: String },
}

/// Something in a directory.
#[derive(Debug, PartialEq, Eq)]
enum Child {
    File(String),
    Directory(String),
    /// What it is called and why it is not copied.
    LeftOut(String, &'static str),
}

#[derive(Debug, Default)]
struct Tally {
    files: u64,
    bytes: u64,
    left_out: Vec<String>,
}

struct Copier<'a> {
    context: &'a Context,
    client: &'a Client,
    tally: Tally,
}

pub(crate) async fn run(context: &Context, client: &Client, arguments: &CopyArguments) -> Outcome<Exit> {
    let source = place(client, &arguments.source).await?;
    let mut target = place(client, &arguments.destination).await?;
    if let (Place::Local(_), Place::Local(_)) = (&source, &target) {
        return Err(Report::new(ErrorCode::InvalidUsage)
            .because("neither side names a workspace")
            .hint("Write one side as `WORKSPACE:PATH`; for two local paths use `cp`.")
            .into());
    }
    let mut copier = Copier { context, client, tally: Tally::default() };
    if let Some(name) = source.base_name()
        && (arguments.destination.ends_with('/') || copier.is_directory(&target).await?)
    {
        target = target.join(&name);
    }
    if !copier.is_directory(&source).await? {
        copier.copy_file(&source, &target).await?;
    } else if arguments.recursive {
        refuse_copy_into_itself(&source, &target)?;
        copier.copy_tree(source, target).await?;
    } else {
        return Err(Report::new(ErrorCode::NotAFile)
            .because(format!("{} is a directory", arguments.source))
            .hint("Copy directories with `-r`.")
            .into());
    }
    copier.tell()
}

/// `WORKSPACE:PATH`, unless a slash comes before the colon.
async fn place(client: &Client, text: &str) -> Outcome<Place> {
    match split_remote(text) {
        Some((workspace, path)) => {
            Ok(Place::Remote { id: resolve(client, workspace).await?, path: path.to_owned() })
        }
        None => Ok(Place::Local(PathBuf::from(text))),
    }
}

fn split_remote(text: &str) -> Option<(&str, &str)> {
    let (workspace, path) = text.split_once(':')?;
    let is_local = workspace.is_empty() || workspace.contains('/') || workspace.starts_with('.');
    (!is_local).then_some((workspace, path.trim_start_matches('/')))
}

impl Place {
    fn join(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(path.join(name)),
            Self::Remote { id, path } => {
                let parent = path.trim_end_matches('/');
                let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
                Self::Remote { id: id.clone(), path }
            }
        }
    }

    /// `None` for a root: then its contents are copied, not a directory of its name.
    fn base_name(&self) -> Option<String> {
        match self {
            Self::Local(path) => Some(path.file_name()?.to_str()?.to_owned()),
            Self::Remote { path, .. } => {
                let name = path.trim_end_matches('/').rsplit('/').next()?;
                is_plain_name(name).then(|| name.to_owned())
            }
        }
    }
}

fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

fn refuse_copy_into_itself(source: &Place, target: &Place) -> Outcome<()> {
    if let (Place::Remote { id, path }, Place::Remote { id: to_id, path: to_path }) = (source, target)
        && id == to_id
        && as_prefix(to_path).starts_with(&as_prefix(path))
    {
        return Err(Report::new(ErrorCode::InvalidUsage)
            .because("the destination lies within the source")
            .hint("Choose a destination outside of the source.")
            .into());
    }
    Ok(())
}

/// Ends in a slash, so that `a` is no part of `ab`. The root is a part of everything.
fn as_prefix(path: &str) -> String {
    match path.trim_matches('/') {
        "" => String::new(),
        path => format!("{path}/"),
    }
}

impl Copier<'_> {
    async fn is_directory(&self, place: &Place) -> Outcome<bool> {
        match place {
            Place::Local(path) => Ok(path.is_dir()),
            Place::Remote { id, path } => {
                let peek = ByteRange { offset: None, length: Some(1) };
                match self.client.open_path(id, path, peek).await {
                    Ok(contents) => Ok(matches!(contents, PathContents::Directory(_))),
                    Err(Error::Problem(problem)) if problem.code == ErrorCode::FileNotFound.as_str() => {
                        Ok(false)
                    }
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    async fn copy_tree(&mut self, source: Place, target: Place) -> Outcome<()> {
        let mut pending = vec![(source, target)];
        while let Some((from, to)) = pending.pop() {
            self.make_directory(&to).await?;
            for child in self.children(&from).await? {
                match child {
                    Child::Directory(name) => pending.push((from.join(&name), to.join(&name))),
                    Child::File(name) => self.copy_file(&from.join(&name), &to.join(&name)).await?,
                    Child::LeftOut(name, why) => {
                        self.context.output.note(&format!("left out: {name} ({why})"));
                        self.tally.left_out.push(name);
                    }
                }
            }
        }
        Ok(())
    }

    async fn copy_file(&mut self, from: &Place, to: &Place) -> Outcome<()> {
        let bytes = match (from, to) {
            (Place::Local(file), Place::Remote { id, path }) => {
                local_files::upload(self.client, id, path, file).await?.bytes
            }
            (Place::Remote { id, path }, Place::Local(file)) => {
                local_files::download(self.open(id, path).await?, file).await?
            }
            (Place::Remote { id, path }, Place::Remote { id: to_id, path: to_path }) => {
                let contents = self.open(id, path).await?;
                let pieces = contents.map_err(|error| io::Error::other(error.to_string()));
                self.client.put_file(to_id, to_path, None, pieces).await?.bytes
            }
            (Place::Local(_), Place::Local(_)) => 0,
        };
        self.tally.files += 1;
        self.tally.bytes += bytes;
        Ok(())
    }

    async fn open(&self, id: &str, path: &str) -> Outcome<FileBytes> {
        match self.client.open_path(id, path, ByteRange::default()).await? {
            PathContents::File(bytes) => Ok(bytes),
            PathContents::Directory(_) => Err(Report::new(ErrorCode::NotAFile)
                .because(format!("`{path}` became a directory while it was copied"))
                .into()),
        }
    }

    async fn make_directory(&self, place: &Place) -> Outcome<()> {
        match place {
            Place::Local(path) => {
                std::fs::create_dir_all(path).map_err(|error| Report::local_file(path, &error).into())
            }
            // The root is there already.
            Place::Remote { path, .. } if path.is_empty() => Ok(()),
            Place::Remote { id, path } => Ok(self.client.create_directory(id, path).await?),
        }
    }

    async fn children(&self, place: &Place) -> Outcome<Vec<Child>> {
        match place {
            Place::Local(path) => {
                local_children(path).map_err(|error| Report::local_file(path, &error).into())
            }
            Place::Remote { id, path } => {
                let entries = files::entries(self.client, id, path, 1).await?;
                Ok(entries.iter().map(remote_child).collect())
            }
        }
    }

    fn tell(&self) -> Outcome<Exit> {
        let Tally { files, bytes, left_out } = &self.tally;
        if self.context.output.is_json {
            let document = json!({ "files": files, "bytes": bytes, "left_out": left_out });
            self.context.output.json(&document)?;
        } else {
            let word = if *files == 1 { "file" } else { "files" };
            self.context.output.note(&format!("Copied {files} {word}, {bytes} bytes."));
        }
        Ok(Exit::OK)
    }
}

fn remote_child(entry: &warren_api::Entry) -> Child {
    let name = entry.path.rsplit('/').next().unwrap_or_default().to_owned();
    if entry.is_lossy || !is_plain_name(&name) {
        return Child::LeftOut(name, "its name is not valid UTF-8 or not a plain name");
    }
    match entry.kind {
        EntryKind::File => Child::File(name),
        EntryKind::Directory => Child::Directory(name),
        EntryKind::Symlink => Child::LeftOut(name, "a link"),
        EntryKind::Special => Child::LeftOut(name, "a device, fifo or socket"),
    }
}

/// Sorted, so that two runs do the same in the same order.
fn local_children(path: &Path) -> io::Result<Vec<Child>> {
    let mut entries: Vec<std::fs::DirEntry> = std::fs::read_dir(path)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    entries.iter().map(local_child).collect()
}

fn local_child(entry: &std::fs::DirEntry) -> io::Result<Child> {
    let kind = entry.file_type()?;
    let name = match entry.file_name().into_string() {
        Ok(name) => name,
        Err(name) => {
            let shown = name.to_string_lossy().into_owned();
            return Ok(Child::LeftOut(shown, "its name is not valid UTF-8"));
        }
    };
    Ok(if kind.is_dir() {
        Child::Directory(name)
    } else if kind.is_file() {
        Child::File(name)
    } else if kind.is_symlink() {
        Child::LeftOut(name, "a link")
    } else {
        Child::LeftOut(name, "a device, fifo or socket")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // S10
    #[test]
    fn a_colon_makes_a_workspace_unless_a_slash_comes_first() {
        assert_eq!(split_remote("demo:a/b"), Some(("demo", "a/b")));
        assert_eq!(split_remote("demo:"), Some(("demo", "")));
        assert_eq!(split_remote("demo:/a"), Some(("demo", "a")));
        for local in ["a/b", "./a:b", "/srv/a:b", ":x", "../a:b", "plain"] {
            assert_eq!(split_remote(local), None, "{local}");
        }
    }

    // S10
    #[test]
    fn a_name_listed_by_a_workspace_cannot_lead_out_of_the_destination() {
        let entry = |path: &str| warren_api::Entry {
            path: path.into(),
            is_lossy: false,
            kind: EntryKind::File,
            bytes: 0,
            modified_at: String::new(),
            mode: String::new(),
            link_target: None,
        };
        for path in ["a/..", "..", "", "a/", "a/\0"] {
            assert!(matches!(remote_child(&entry(path)), Child::LeftOut(..)), "{path:?}");
        }
        assert_eq!(remote_child(&entry("../../etc/passwd")), Child::File("passwd".into()));
    }

    // S10
    #[test]
    fn a_tree_is_not_copied_into_itself() {
        let at = |path: &str| Place::Remote { id: "w".into(), path: path.into() };
        assert!(refuse_copy_into_itself(&at("a"), &at("a/b")).is_err());
        assert!(refuse_copy_into_itself(&at("a"), &at("a")).is_err());
        assert!(refuse_copy_into_itself(&at(""), &at("b")).is_err());
        assert!(refuse_copy_into_itself(&at("a"), &at("ab")).is_ok());
        let other = Place::Remote { id: "v".into(), path: "a/b".into() };
        assert!(refuse_copy_into_itself(&at("a"), &other).is_ok());
    }
}

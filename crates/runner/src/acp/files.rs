//! Files that a program has its client read and write: below the workspace's root, text, and of bounded size.
//!
//! The program is the same user and can open files by itself. What is kept here is the promise of the protocol: nothing
//! outside of the workspace is touched in the client's name.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

/// Of one file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Answers `fs/read_text_file`.
pub(crate) fn read(root: &Path, params: &Value) -> Result<Value, String> {
    let path = existing(root, &path_of(params)?)?;
    let file = std::fs::File::open(&path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("the file has more than {MAX_FILE_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "the file is not text".to_owned())?;
    let number =
        |name: &str| params.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
    let content = match (number("line"), number("limit")) {
        (None, None) => text,
        (line, limit) => {
            let lines = text.split_inclusive('\n').skip(line.unwrap_or(1).saturating_sub(1));
            lines.take(limit.unwrap_or(usize::MAX)).collect()
        }
    };
    Ok(json!({ "content": content }))
}

/// Answers `fs/write_text_file`.
pub(crate) fn write(root: &Path, params: &Value) -> Result<Value, String> {
    let content = params.get("content").and_then(Value::as_str).ok_or("content: expected text")?;
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("content: at most {MAX_FILE_BYTES} bytes"));
    }
    let path = path_of(params)?;
    let target = match existing(root, &path) {
        Ok(target) => target,
        Err(_) if path.symlink_metadata().is_ok() => return Err(outside(&path)),
        Err(_) => new_below(root, &path)?,
    };
    std::fs::write(&target, content).map_err(|error| error.to_string())?;
    Ok(json!({}))
}

fn path_of(params: &Value) -> Result<PathBuf, String> {
    let path = PathBuf::from(params.get("path").and_then(Value::as_str).ok_or("path: expected text")?);
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && is_plain {
        Ok(path)
    } else {
        Err("path: expected an absolute path without `..`".into())
    }
}

/// A regular file below the root, by its real path.
fn existing(root: &Path, path: &Path) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    if !is_below(root, &real) {
        return Err(outside(path));
    }
    if real.is_file() { Ok(real) } else { Err(format!("{}: not a regular file", path.display())) }
}

/// A file that is not there yet; directories on the way are made.
fn new_below(root: &Path, path: &Path) -> Result<PathBuf, String> {
    let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(|| outside(path))?;
    let there = folder.ancestors().find(|one| one.exists()).ok_or_else(|| outside(path))?;
    let real = there.canonicalize().map_err(|error| error.to_string())?;
    if !is_below(root, &real) {
        return Err(outside(path));
    }
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let real = folder.canonicalize().map_err(|error| error.to_string())?;
    if is_below(root, &real) { Ok(real.join(name)) } else { Err(outside(path)) }
}

/// Whether this real path is the root or below it.
pub(crate) fn is_below(root: &Path, real: &Path) -> bool {
    root.canonicalize().is_ok_and(|root| real.starts_with(root))
}

fn outside(path: &Path) -> String {
    format!("{}: not below the workspace", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    // A80
    #[test]
    fn only_what_is_below_the_workspace_is_read_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(folder.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("none"), root.join("dangling")).unwrap();
        let at = |path: &str| json!({ "path": root.join(path), "content": "one\ntwo\nthree\n" });
        assert_eq!(write(&root, &at("a/b.txt")), Ok(json!({})));
        assert_eq!(read(&root, &at("a/b.txt")), Ok(json!({ "content": "one\ntwo\nthree\n" })));
        let some = json!({ "path": root.join("a/b.txt"), "line": 2, "limit": 1 });
        assert_eq!(read(&root, &some), Ok(json!({ "content": "two\n" })));
        for path in ["../secret", "out/secret", "out/new", "dangling", "/etc/passwd", ""] {
            let told = (read(&root, &at(path)), write(&root, &at(path)));
            assert!(matches!(told, (Err(_), Err(_))), "{path}: {told:?}");
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("secret")).unwrap(), "s");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing was made outside");
        assert!(read(&root, &json!({ "path": "/dev/zero" })).is_err());
    }
}

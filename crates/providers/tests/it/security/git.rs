//! Programs that a repository names (sec/T07): git runs them where git runs, and git runs in the box.

use std::path::Path;

use super::case::{Boxed, Case};
use super::oracles::Outside;
use super::outside::{program, says};
use crate::fixture::Local;

/// A repository that starts programs at every turn. Each leaves its mark at a path that is outside of any box.
fn plant(folder: &Path, mark: &Path) {
    let git = |words: &[&str]| {
        says(
            program("git")
                .args(["-c", "safe.directory=*", "-c", "user.name=x", "-c", "user.email=x@example.com"])
                .arg("-C")
                .arg(folder)
                .args(words),
        )
    };
    git(&["init", "--quiet", "."]);
    std::fs::write(folder.join("file"), "one\n").unwrap();
    std::fs::write(
        folder.join(".gitattributes"),
        "*.x filter=planted diff=planted\nfile filter=planted diff=planted\n",
    )
    .unwrap();
    git(&["add", "file", ".gitattributes"]);
    git(&["commit", "--quiet", "--message", "x"]);
    std::fs::write(folder.join("file"), "two\n").unwrap();
    let run = |name: &str| format!("echo {name} >> {}; cat", mark.display());
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("core.pager", "pager"),
        ("core.editor", "editor"),
        ("core.sshCommand", "ssh"),
        ("filter.planted.clean", "clean"),
        ("filter.planted.smudge", "smudge"),
        ("diff.planted.textconv", "textconv"),
        ("diff.external", "external"),
        ("gpg.program", "gpg"),
        ("alias.planted", "alias"),
    ] {
        let value = if key.starts_with("alias") { format!("!{}", run(name)) } else { run(name) };
        git(&["config", key, &value]);
    }
    let hooks = [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "pre-push",
    ];
    for hook in hooks {
        let path = folder.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\necho {hook} >> {}\n", mark.display())).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    // A bare repository in plain sight, and a `.git` that is a file.
    for name in ["HEAD", "config", "objects", "refs"] {
        let from = folder.join(".git").join(name);
        says(program("cp").arg("-r").arg(from).arg(folder.join(name)));
    }
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::write(folder.join("sub/.git"), "gitdir: ../.git\n").unwrap();
}

const COMMANDS: &str = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.com GIT_COMMITTER_NAME=x \
    GIT_COMMITTER_EMAIL=x@example.com HOME=$PWD; git config --global safe.directory '*'; git status; git diff; git log -p; \
    git add -A; git commit -m x; git checkout -f HEAD; git planted; (cd sub && git status); git --git-dir=. status; true";

/// As whoever made them: root's files are not the box's to change.
fn give(boxed: &Boxed) {
    let owner = boxed.outer_user().to_string();
    says(program("chown").args(["--recursive", &format!("{owner}:{owner}")]).arg(&boxed.root));
}

// sec/T07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_repository_starts_it_starts_inside_the_box() {
    let case = Case::sandbox();
    let boxed = case.open().await;
    let mark = case.outside.folder.join("mark");
    plant(&boxed.root, &mark);
    give(&boxed);
    let said = boxed.says(COMMANDS).await;
    assert!(said.contains("commit"), "git ran: {said}");
    assert!(!mark.exists());
    case.outside.assert_untouched();
    // Nor does Warren itself look at a repository by git when it lists, searches or watches.
    boxed.fs().ls(&warren_workspace::WorkspacePath::root(), &Default::default()).await.unwrap();
    assert!(!mark.exists());
}

// control: sec/T07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_box_the_same_repository_reaches_out() {
    let folder = tempfile::tempdir().unwrap();
    let outside = Outside::make(&folder.path().join("outside"));
    let local = Local::open().await;
    let mark = outside.folder.join("mark");
    plant(&local.root(), &mark);
    local.shell().run(warren_workspace::shell::Command::script(COMMANDS)).await.unwrap();
    let marks = std::fs::read_to_string(&mark).unwrap();
    let distinct: std::collections::BTreeSet<_> = marks.lines().collect();
    assert!(distinct.len() >= 8, "{distinct:?}");
}

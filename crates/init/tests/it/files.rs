//! The files of the workspace over the channel (W83). What an owner builds on it is tested with the provider's side.

use warren_init::{
    Call, CallAnswer, Failure, FailureKind, FileAnswer, FileCall, FileChange, MAX_PIECE_BYTES,
};

use crate::fixture::{Connection, Inside, eventually};

fn ask(owner: &mut Connection, call: FileCall) -> CallAnswer {
    owner.call(Call::File(call))
}

fn open(owner: &mut Connection, call: FileCall) -> u32 {
    match ask(owner, call) {
        CallAnswer::File(FileAnswer::Opened { handle, .. }) => handle,
        other => panic!("{other:?}"),
    }
}

fn failed_with(answer: &CallAnswer, errno: i32) -> bool {
    matches!(answer, CallAnswer::Failed(Failure { kind: FailureKind::System, errno: found }) if *found == errno)
}

// W83
#[test]
fn what_is_staged_is_seen_whole_or_not_at_all() {
    let mut inside = Inside::start();
    let path = b"new/folder/file".to_vec();
    let handle = open(&mut inside.owner, FileCall::Stage { path: path.clone(), create_new: true });
    let piece = vec![7; MAX_PIECE_BYTES];
    for _ in 0..5 {
        assert_eq!(ask(&mut inside.owner, FileCall::Add { handle, bytes: piece.clone() }), CallAnswer::Done);
    }
    assert_eq!(std::fs::read_dir(inside.path("")).unwrap().count(), 0, "nobody sees it yet");
    let committed = ask(&mut inside.owner, FileCall::Commit { handle });
    assert_eq!(committed, CallAnswer::File(FileAnswer::Written { created: true }));
    assert_eq!(std::fs::read(inside.path("new/folder/file")).unwrap().len(), 5 * piece.len());
    let again = ask(&mut inside.owner, FileCall::Stage { path: path.clone(), create_new: true });
    assert!(failed_with(&again, libc::EEXIST), "{again:?}");
    let handle = open(&mut inside.owner, FileCall::Open { path });
    match ask(&mut inside.owner, FileCall::Read { handle, offset: 100, max_bytes: u32::MAX }) {
        CallAnswer::File(FileAnswer::Piece { bytes }) => assert_eq!(bytes, piece),
        other => panic!("{other:?}"),
    }
}

// W21, W83
#[test]
fn paths_are_resolved_beneath_the_workspace() {
    let mut inside = Inside::start();
    for (target, link) in [("/etc/passwd", "absolute"), ("..", "up"), ("/proc/1/root", "magic")] {
        std::os::unix::fs::symlink(target, inside.path(link)).unwrap();
    }
    for path in ["absolute", "up/x", "magic/etc/passwd", "/etc/passwd", "../x", "a/../../x"] {
        for call in [
            FileCall::Open { path: path.into() },
            FileCall::Stage { path: path.into(), create_new: false },
            FileCall::OpenAppend { path: path.into() },
        ] {
            let answer = ask(&mut inside.owner, call);
            let is_refused =
                [libc::EXDEV, libc::ELOOP, libc::ENOENT].iter().any(|errno| failed_with(&answer, *errno));
            assert!(is_refused, "{path}: {answer:?}");
        }
    }
    let root = ask(&mut inside.owner, FileCall::Remove { path: Vec::new(), recursive: true });
    assert!(failed_with(&root, libc::EBUSY), "{root:?}");
}

// W83: those who serve files are no stray, and a copy of a large tree holds up nobody.
#[test]
fn commands_and_files_go_on_beside_each_other() {
    let mut inside = Inside::start();
    inside.owner.run("mkdir -p tree && cd tree && for i in $(seq 300); do mkdir d$i; echo x > d$i/f; done");
    let copy = FileCall::Copy {
        from: b"tree".to_vec(),
        to: b"copy".to_vec(),
        recursive: true,
        overwrite: false,
        max_file_bytes: 100,
        max_bytes: 1 << 24,
    };
    let copying = inside.owner.send(Call::File(copy));
    for _ in 0..20 {
        assert_eq!(inside.owner.run("exit 4").exit.exit_code, Some(4));
        let stat = ask(&mut inside.owner, FileCall::Stat { path: b"tree".to_vec() });
        assert!(matches!(stat, CallAnswer::File(FileAnswer::Entry(_))), "{stat:?}");
    }
    assert_eq!(inside.owner.reply(copying), CallAnswer::Done);
    assert_eq!(inside.owner.run("ls copy | wc -l; cat copy/d300/f").text(), "300\nx\n");
    let removal = FileCall::Remove { path: b"copy".to_vec(), recursive: true };
    assert_eq!(ask(&mut inside.owner, removal), CallAnswer::Done);
    assert!(!inside.path("copy").exists());
}

// W83
#[test]
fn changes_are_told_to_whoever_waits() {
    let mut inside = Inside::start();
    let handle = open(&mut inside.owner, FileCall::Watch { path: Vec::new() });
    let waiting = inside.owner.send(Call::File(FileCall::Changes { handle }));
    inside.owner.run("echo x > new");
    match inside.owner.reply(waiting) {
        CallAnswer::File(FileAnswer::Changes(changes)) => {
            assert_eq!(changes.first(), Some(&FileChange::Created(b"new".to_vec())));
        }
        other => panic!("{other:?}"),
    }
    inside.owner.run("rm new");
    let mut all = Vec::new();
    eventually("the removal is told", || {
        match ask(&mut inside.owner, FileCall::Changes { handle }) {
            CallAnswer::File(FileAnswer::Changes(changes)) => all.extend(changes),
            other => panic!("{other:?}"),
        }
        all.contains(&FileChange::Removed(b"new".to_vec()))
    });
    let waiting = inside.owner.send(Call::File(FileCall::Changes { handle }));
    assert_eq!(ask(&mut inside.owner, FileCall::Close { handle }), CallAnswer::Done);
    assert!(matches!(inside.owner.reply(waiting), CallAnswer::Failed(_)), "nobody waits for a closed watch");
}

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use super::*;
use crate::failure::Failure;

fn refusal_within(path: &Path, patience: Duration) -> Report {
    match DataFolder::open_within(path, patience).unwrap_err() {
        Failure::Told(report) => *report,
        Failure::BrokenPipe => panic!("no pipe is involved"),
    }
}

fn refusal(path: &Path) -> Report {
    refusal_within(path, Duration::ZERO)
}

/// A process that has the folder's lock open, as a child of a server has; it ends when its input does.
#[expect(clippy::disallowed_methods, reason = "another process must hold the lock")]
fn child_with_lock(folder: DataFolder) -> Child {
    let lock = Stdio::from(folder._lock);
    Command::new("cat").stdin(Stdio::piped()).stdout(lock).spawn().unwrap()
}

fn note(folder: &Path, process: u32) {
    fs::write(folder.join(LOCK_NAME), format!("{process}\n")).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "another process must have lived")]
fn dead_process() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

// S10
#[test]
fn a_new_folder_is_private_and_held_by_one_at_a_time() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("deep/data");
    let held = DataFolder::open(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let refused = refusal(&path);
    assert_eq!(refused.code, "data_folder_in_use");
    assert!(refused.causes[0].contains(&format!("process {}", std::process::id())), "{refused:?}");
    drop(held);
    DataFolder::open(&path).unwrap();
}

// S10
#[test]
fn a_path_that_cannot_be_a_folder_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "precious").unwrap();
    for path in [file.clone(), file.join("below")] {
        assert_eq!(refusal(&path).code, "data_folder_unusable", "{}", path.display());
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

// S10
#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_points_to_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let precious = parent.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let path = parent.path().join("data");
    fs::create_dir(&path).unwrap();
    std::os::unix::fs::symlink(&precious, path.join(LOCK_NAME)).unwrap();
    assert_eq!(refusal(&path).code, "data_folder_unusable");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

// S10, O2
#[test]
fn a_lock_that_outlives_its_dead_server_for_a_moment_is_waited_for() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().to_owned();
    let mut child = child_with_lock(DataFolder::open(&path).unwrap());
    note(&path, dead_process());
    let refused = refusal_within(&path, Duration::from_millis(100));
    assert_eq!(refused.code, "data_folder_in_use", "the lock is held");

    let opening = std::thread::spawn(move || DataFolder::open_within(&path, Duration::from_secs(60)));
    drop(child.stdin.take());
    child.wait().unwrap();
    opening.join().unwrap().unwrap();
}

// S10
#[test]
fn a_living_server_is_respected_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let mut child = child_with_lock(DataFolder::open(parent.path()).unwrap());
    note(parent.path(), child.id());
    let started = Instant::now();
    let refused = refusal_within(parent.path(), Duration::from_secs(60));
    assert!(refused.causes[0].contains(&format!("process {}", child.id())), "{refused:?}");
    assert!(started.elapsed() < Duration::from_secs(30), "it waited");
    drop(child.stdin.take());
    child.wait().unwrap();
}

// S10, O2
#[test]
fn a_server_that_ended_unnoticed_by_its_parent_is_dead() {
    #[expect(clippy::disallowed_methods, reason = "another process must end")]
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let process = Pid::from_child(&child);
    // Its output closes as it ends; the state changes a little later.
    child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while is_another_living_process(process) {
        assert!(Instant::now() < deadline, "it counts as alive");
    }
    child.wait().unwrap();
}

// S10
#[test]
fn only_what_a_database_came_before_is_a_sign_of_use() {
    let folder = tempfile::tempdir().unwrap();
    let workspaces = folder.path().join(WORKSPACES_NAME);
    assert_eq!(sign_of_use(folder.path()), None);
    fs::create_dir_all(workspaces.join(".staging")).unwrap();
    assert_eq!(sign_of_use(folder.path()), None, "a first start that was killed");
    fs::create_dir(workspaces.join("01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e")).unwrap();
    assert!(sign_of_use(folder.path()).unwrap().contains("(1)"));
    fs::remove_dir_all(&workspaces).unwrap();
    fs::write(access::path_in(folder.path()), "{}").unwrap();
    assert!(sign_of_use(folder.path()).is_some());
}

//! Links, mounts and working directories: what a program in a box may plant for those outside.

use std::time::Duration;

use tokio::time::Instant;
use warren_doors::Environment;
use warren_model::ErrorCode;
use warren_workspace::WorkspacePath;
use warren_workspace::shell::Command;

use super::case::{Boxed, Case, Kind, Shape, stdout};
use super::in_each_box;
use super::oracles::Outside;
use super::outside::{Mounted, as_user, program, says};

in_each_box!(
    links_in_a_workspace_lead_nobody_out,
    a_working_directory_cannot_lead_out,
    files_that_an_agent_writes_change_no_policy,
);

/// Names that tools, and careless launchers, make or mount below a workspace.
const LURES: [&str; 10] =
    [".git", ".claude", ".agents", ".warren", "tmp", ".vscode", ".config", "proc", "dev", ".warren-init"];

// sec/S06
async fn links_in_a_workspace_lead_nobody_out(case: Case) {
    let mut boxed = case.open().await;
    let outside = case.outside.folder.display().to_string();
    for target in [format!("/oldroot{outside}"), format!("/proc/1/root{outside}"), "../..".into(), outside] {
        for lure in LURES {
            boxed.run(&format!("rm -rf {lure}; ln -s {target} {lure}")).await;
        }
        boxed.close().await;
        let began = Instant::now();
        let again = case.resolve(&boxed).await;
        // Two seconds, and as many again for a busy machine.
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        let said = again
            .says("for lure in .git .claude .agents tmp; do echo x > $lure/planted; done; ls tmp/")
            .await;
        assert!(!said.contains("secret"), "{said}");
        case.outside.assert_untouched();
        boxed = again;
    }
}

// control: sec/S06
#[test]
fn a_launcher_that_mounts_below_a_writable_folder_is_led_out() {
    let folder = tempfile::tempdir().unwrap();
    let outside = Outside::make(&folder.path().join("outside"));
    let workspace = folder.path().join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let version = says(program("bwrap").arg("--version"));
    std::os::unix::fs::symlink(format!("/oldroot{}", outside.folder.display()), workspace.join(".git"))
        .unwrap();
    let ended = as_user(100_321, "bwrap")
        .args(["--ro-bind", "/", "/", "--tmpfs", "/run", "--bind"])
        .arg(&workspace)
        .args(["/run/workspace", "--dir", "/run/workspace/.git/planted", "--", "/bin/true"])
        .output()
        .unwrap();
    // From 0.12 on bubblewrap itself refuses (CVE-2026-87766); the defence is then its, too.
    let is_mended =
        ["bubblewrap 0.12", "bubblewrap 0.13", "bubblewrap 1."].iter().any(|new| version.starts_with(new));
    assert_eq!(outside.is_touched(), !is_mended, "{version} {ended:?}");
}

fn in_directory(cwd: WorkspacePath) -> Command {
    Command { cwd, ..Command::argv(["pwd"]) }
}

// sec/S24
async fn a_working_directory_cannot_lead_out(case: Case) {
    let boxed = case.open().await;
    boxed
        .run(
            "ln -s /proc/self/fd fds; ln -s /proc/self/cwd/../.. up; ln -s / root; ln -s .. above; mkdir sub",
        )
        .await;
    let numbered = (7..=20).flat_map(|number| [format!("/proc/self/fd/{number}"), format!("fds/{number}")]);
    let named = ["/proc/self/cwd/../..", "up", "root", "root/etc", "above", "sub/../..", "../..", "/"]
        .map(str::to_owned);
    for directory in numbered.chain(named) {
        // Refused by its spelling, or else by whoever would go there: never gone to.
        let code = match WorkspacePath::parse(&directory) {
            Err(error) => error.code(),
            Ok(path) if path == WorkspacePath::root() => continue,
            Ok(path) => boxed.shell().run(in_directory(path)).await.unwrap_err().code(),
        };
        let refused = [
            ErrorCode::PathEscapes,
            ErrorCode::InvalidPath,
            ErrorCode::FileNotFound,
            ErrorCode::NotADirectory,
        ];
        assert!(refused.contains(&code), "{directory}: {code}");
    }
    let sub = boxed.shell().run(in_directory(WorkspacePath::parse("sub").unwrap())).await.unwrap();
    assert_eq!(stdout(&sub), "/workspace/sub");
    case.outside.assert_untouched();
}

// control: sec/S24
#[tokio::test]
async fn a_launcher_that_goes_where_it_is_told_is_led_out() {
    let folder = std::fs::File::open("/").unwrap();
    rustix::io::fcntl_setfd(&folder, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    let mut command = program("sh");
    command.args(["-c", &format!("cd /proc/self/fd/{number} && pwd -P")]);
    assert_eq!(says(&mut command).trim(), "/");
}

/// All that decides how a box is shut, as its workspace tells it.
fn policy(boxed: &Boxed) -> serde_json::Value {
    let mut limits = boxed.workspace.limits();
    // Which container it is says how often it was made, and nothing of how.
    if let Some(fields) = limits["box"].as_object_mut() {
        for own in ["generation", "container"] {
            fields.remove(own);
        }
    }
    limits
}

// sec/S27
async fn files_that_an_agent_writes_change_no_policy(case: Case) {
    let boxed = case.open().await;
    let (before, was) = (policy(&boxed), boxed.probe(&["identity"]).await);
    boxed.run(
        "for file in warren.toml .warren/config.toml .warren/policy.json .claude/settings.json .claude/settings.local.json \
         .agents/hooks.json .git/config .git/hooks/pre-commit .env .envrc .bashrc .profile .config/warren/config.toml \
         Dockerfile docker-compose.yml .dockerignore seccomp.json; do \
           mkdir -p $(dirname $file); \
           echo '{\"isolation\": \"none\", \"network\": \"host\", \"privileged\": true, \"pass_env\": [\"*\"]}' > $file; \
           chmod 755 $file; \
         done",
    )
    .await;
    boxed.close().await;
    let again = case.resolve(&boxed).await;
    assert_eq!(policy(&again), before);
    assert_eq!(again.probe(&["identity"]).await, was);
    assert!(again.says("cat .env").await.contains("privileged"), "the files are there");
}

// control: sec/S27
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_that_changes_changes_the_policy() {
    for case in [Case::sandbox(), Case::docker()] {
        let (one, other) =
            (case.open().await, case.open_with(&Shape::limited(|limits| limits.pids = 99)).await.unwrap());
        assert_ne!(policy(&one), policy(&other));
    }
}

// sec/S22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_host_mounts_below_a_workspace_is_not_seen_in_it() {
    for kind in [Kind::Sandbox, Kind::Docker] {
        let folder = tempfile::tempdir().unwrap();
        // Mounts below it are passed on, as on hosts where `/` is shared.
        let shared = Mounted::memory(folder.path(), 65_536).shared();
        let case = Case::below(kind, Environment::default(), folder);
        let boxed = case.open().await;
        boxed.run("mkdir sub; echo mine > sub/file").await;
        let mounted = Mounted::memory(&boxed.root.join("sub"), 64);
        std::fs::write(boxed.root.join("sub/host"), "x").unwrap();
        assert_eq!(boxed.says("ls sub").await, "file", "{kind:?}");
        assert!(!boxed.says("cat /proc/self/mountinfo").await.contains("/workspace/sub"));
        // And the other way round: a mount in the box would need a right that it has not.
        let said = boxed.says("mount -t tmpfs none /workspace/sub && echo mounted").await;
        assert!(!said.contains("mounted"), "{said}");
        drop(mounted);
        assert_eq!(std::fs::read_to_string(boxed.root.join("sub/file")).unwrap(), "mine\n");
        boxed.close().await;
        drop((boxed, case, shared));
    }
}

// control: sec/S22
#[test]
fn a_launcher_that_listens_to_the_hosts_mounts_sees_them() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Mounted::memory(folder.path(), 1_024).shared();
    let (fifo, sub) = (folder.path().join("fifo"), folder.path().join("sub"));
    std::fs::create_dir(&sub).unwrap();
    says(program("mkfifo").arg(&fifo));
    let listening = program("unshare")
        .args(["--mount", "--propagation", "slave", "sh", "-c"])
        .arg(format!("read -r _ < {}; ls {}", fifo.display(), sub.display()))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The fifo is opened once the namespace is there.
    let mut gate = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let mounted = Mounted::memory(&sub, 64);
    std::fs::write(sub.join("host"), "x").unwrap();
    std::io::Write::write_all(&mut gate, b"go\n").unwrap();
    let said = String::from_utf8(listening.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(said.trim(), "host");
    drop((mounted, shared));
}

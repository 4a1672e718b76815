//! A box that cannot be shut is not opened (sec/S26): each pre-condition is taken away in turn, with the real parts.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{Capability, ErrorCode, Isolation, Mount, MountMode, ProviderConfig, SandboxConfig};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_workspace::shell::Command;
use warren_workspace::{Error, OpenRequest, Provider};

use super::case::{Case, Shape};
use super::in_each_box;
use super::oracles::Outside;
use super::outside::require_root;
use crate::fixture::new_id;

in_each_box!(a_workspace_that_is_somebody_elses_is_not_opened, a_source_that_is_not_there_is_not_mounted);

/// A provider whose bubblewrap is a file that the test writes.
struct Tampered {
    folder: TempDir,
    provider: SandboxProvider,
    outside: Outside,
}

impl Tampered {
    fn new() -> Self {
        // Not in `/tmp`, which is covered where bubblewrap is started.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let outside = Outside::make(&folder.path().join("outside"));
        let settings =
            SandboxSettings { bubblewrap: vec![folder.path().join("bwrap")], ..SandboxSettings::default() };
        let base = folder.path().join("base");
        let provider =
            SandboxProvider::new(&base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy)
                .unwrap();
        Self { folder, provider, outside }
    }

    /// A shell script in bubblewrap's place.
    fn with_script(script: &str) -> Self {
        let tampered = Self::new();
        tampered.write(&format!("#!/bin/sh\n{script}\n"), 0o755);
        tampered
    }

    fn write(&self, text: &str, mode: u32) {
        let path = self.folder.path().join("bwrap");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn base(&self) -> PathBuf {
        self.folder.path().join("base")
    }

    /// Opens a box and runs a command that leaves a mark, if it is let.
    async fn open(&self, config: SandboxConfig) -> Result<(), Error> {
        let request = OpenRequest {
            workspace_id: new_id(),
            config: ProviderConfig::Sandbox(config),
            declared: [Capability::Fs, Capability::Shell].into_iter().collect(),
        };
        let opened = self.provider.open(request).await?;
        let mark = format!("touch mark {}/mark", self.outside.folder.display());
        let _ = opened.workspace.shell().unwrap().run(Command::script(mark)).await;
        Ok(())
    }

    /// Refused, with the code that says so and words that name the reason; nothing has run.
    async fn assert_refused(&self, config: SandboxConfig, reason: &str) {
        let error = self.open(config).await.expect_err(reason);
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{reason}: {error}");
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        assert!(!error.is_transient(), "{reason}: {error}");
        self.outside.assert_untouched();
        assert!(!has_mark(&self.base()), "{reason}: a command has run");
    }
}

fn has_mark(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries = entries.map(|entry| entry.path());
    entries
        .any(|path| path.file_name().is_some_and(|name| name == "mark") || path.is_dir() && has_mark(&path))
}

fn any() -> SandboxConfig {
    SandboxConfig::default()
}

/// The real bubblewrap without some of its words, written as a pattern of the shell.
fn without(pattern: &str, also_its_value: bool) -> String {
    let skip = if also_its_value { "skip=1;" } else { "" };
    format!(
        "case \" $* \" in *' --version '*) exec bwrap --version ;; esac\n\
         i=$#; skip=0\n\
         while [ $i -gt 0 ]; do\n\
           word=$1; shift; i=$((i-1))\n\
           if [ $skip = 1 ]; then skip=0; continue; fi\n\
           case $word in {pattern}) {skip} continue ;; esac\n\
           set -- \"$@\" \"$word\"\n\
         done\n\
         PATH=/usr/bin:/bin exec bwrap \"$@\""
    )
}

fn but_with(script: &str, words: &str) -> String {
    script.replace("exec bwrap \"$@\"", &format!("exec bwrap {words} \"$@\""))
}

// sec/S26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bubblewrap_that_cannot_be_trusted_is_not_used() {
    // 1 to 5: it is not there, is no program, can be changed by others, is too old, does not say what it is.
    let tampered = Tampered::new();
    tampered.assert_refused(any(), "not installed").await;
    let script = "#!/bin/sh\necho bubblewrap 0.11.0\n";
    tampered.write(script, 0o644);
    tampered.assert_refused(any(), "not a program").await;
    tampered.write(script, 0o777);
    tampered.assert_refused(any(), "changed by others").await;
    tampered.write("#!/bin/sh\necho bubblewrap 0.4.1\n", 0o755);
    tampered.assert_refused(any(), "at least").await;
    tampered.write("#!/bin/sh\necho something else 9.9.9\n", 0o755);
    tampered.assert_refused(any(), "version").await;
    // 6: it belongs to another user, who could change it at any time.
    tampered.write(script, 0o755);
    require_root("gives a program to another user");
    std::os::unix::fs::chown(tampered.folder.path().join("bwrap"), Some(100_001), None).unwrap();
    tampered.assert_refused(any(), "changed by others").await;
    // 7: another system's sandbox is asked for.
    tampered.assert_refused(SandboxConfig { isolation: Isolation::Seatbelt, ..any() }, "seatbelt").await;
}

// sec/S26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_that_lacks_part_of_its_wall_is_not_given_out() {
    for (missing, script, reason) in [
        (
            "process namespace",
            but_with(&without("--unshare-all|--as-pid-1", false), "--unshare-uts"),
            "process namespace",
        ),
        (
            "empty set of capabilities",
            but_with(&without("--cap-drop", true), "--cap-add ALL"),
            "it has capabilities",
        ),
        ("filters", without("--add-seccomp-fd", true), "system calls are not filtered"),
        ("user", but_with(&without("--uid|--gid", true), "--uid 0 --gid 0"), "runs as root"),
        // Bubblewrap itself will not keep others from making users when it has made none.
        (
            "user namespace",
            without("--unshare-all|--unshare-user", false),
            "bubblewrap could not make the box",
        ),
    ] {
        println!("without its {missing}");
        Tampered::with_script(&script).assert_refused(any(), reason).await;
    }
}

// sec/S26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_claims_to_be_a_box_is_not_given_out() {
    let version = "[ \"$1\" = --version ] && echo bubblewrap 0.11.0 && exit";
    // The kernel refuses the namespaces.
    let refused = format!("{version}; echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
    Tampered::with_script(&refused).assert_refused(any(), "No permissions to create new namespace").await;
    // It ends at once, or says nothing for ever.
    Tampered::with_script(&format!("{version}; exit 0")).assert_refused(any(), "did not come up").await;
    // Process 1 is started without any bubblewrap at all: it says so itself.
    let bare = format!(
        "{version}\nwhile [ $# -gt 0 ] && [ \"$1\" != -- ]; do \
           [ \"$1\" = --ro-bind ] && [ \"$3\" = /etc ] && etc=$2; shift; done\n\
         shift; shift; exec $etc/warren/warren-init --channel fd:3 --root /"
    );
    Tampered::with_script(&bare).assert_refused(any(), "process namespace").await;
    // Something else is in process 1's place: it runs in the box, says nothing that is understood, and is ended.
    let tampered = Tampered::with_script("exec /usr/bin/bwrap \"$@\"");
    let program = tampered.base().join(".box/etc/warren/warren-init");
    std::fs::remove_file(&program).unwrap();
    std::fs::copy("/bin/true", &program).unwrap();
    tampered.assert_refused(any(), "did not come up").await;
}

// sec/S26: whatever a fault in bubblewrap lets somebody do, the host's files are not there to do it with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bubblewrap_itself_sees_no_more_of_the_host_than_a_box_does() {
    require_root("is handed over by handle");
    let version = "[ \"$1\" = --version ] && echo bubblewrap 0.11.0 && exit";
    let told = format!("{version}; echo 'bwrap:' /* '|' /dev/* '|' $(cat /etc/hostname) >&2; exit 1");
    let error = Tampered::with_script(&told).open(any()).await.unwrap_err().to_string();
    let seen = error.split_once("bwrap: ").map(|(_, seen)| seen).unwrap_or_else(|| panic!("{error}"));
    let seen: Vec<Vec<&str>> = seen.split('|').map(|part| part.split_whitespace().collect()).collect();
    let system = ["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"];
    let rest: Vec<_> = seen[0].iter().filter(|place| !system.contains(place)).collect();
    assert_eq!(rest, [&"/dev", &"/etc", &"/proc", &"/tmp"], "{error}");
    let devices = ["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"];
    let devices = devices.iter().chain(&["tty", "urandom", "zero"]).map(|name| format!("/dev/{name}"));
    assert_eq!(seen[1], devices.collect::<Vec<_>>(), "{error}");
    assert_eq!(seen[2], ["warren"], "{error}");
}

// control: sec/S26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_pre_condition_met_the_same_command_runs() {
    let tampered = Tampered::with_script("exec /usr/bin/bwrap \"$@\"");
    tampered.open(any()).await.unwrap();
    assert!(has_mark(&tampered.base()));
    tampered.outside.assert_untouched();
}

// sec/S26
async fn a_workspace_that_is_somebody_elses_is_not_opened(case: Case) {
    require_root("gives a workspace to another user");
    let boxed = case.open().await;
    boxed.close().await;
    for uid in [0, 1_000] {
        std::os::unix::fs::chown(&boxed.root, Some(uid), Some(uid)).unwrap();
        match case.provider.resolve(boxed.id, &boxed.config, &boxed.reference).await {
            Err(error) => assert_eq!(error.code(), ErrorCode::WorkspaceFailed, "{error}"),
            // It has been given to a user of its own again; it never runs as that one.
            Ok(workspace) => {
                assert!(boxed.outer_user() >= 100_000);
                workspace.close().await.unwrap();
            }
        }
    }
}

// sec/S26
async fn a_source_that_is_not_there_is_not_mounted(case: Case) {
    let gone = case.beside("gone");
    std::fs::remove_dir(&gone).unwrap();
    let source = gone.to_str().unwrap().to_owned();
    let mut shape = Shape::default();
    shape.mounts.push(Mount { source, target: "/data".into(), mode: MountMode::Ro });
    let error = case.open_with(&shape).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidConfig, "{error}");
    assert!(error.to_string().contains("does not exist"), "{error}");
    assert!(!gone.exists(), "a missing source is not made");
}

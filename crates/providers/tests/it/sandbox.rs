//! What is the sandbox's alone: its pool, its mounts, its limits, and that it works whoever Warren is.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{BoxLimits, Capability, Mount, MountMode, ProviderConfig, SandboxConfig, WorkspaceId};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_workspace::shell::{Command, Dialog, Poll, PtySize, RunEvent, RunResult, Start};
use warren_workspace::{Error, OpenRequest, Opened, Presence, Provider as _, Workspace};

fn provider(base: &Path, pool_size: usize) -> SandboxProvider {
    let settings = SandboxSettings { pool_size, ..SandboxSettings::default() };
    let environment = Environment::default();
    SandboxProvider::new(base, settings, environment, Arc::new(SystemClock), &OsEntropy).unwrap()
}

fn new_id() -> WorkspaceId {
    (&OsEntropy as &dyn Entropy).id(SystemClock.now())
}

async fn open(provider: &SandboxProvider, config: SandboxConfig) -> Result<Opened, Error> {
    let declared = [Capability::Fs, Capability::Shell].into_iter().collect();
    let config = ProviderConfig::Sandbox(config);
    provider.open(OpenRequest { workspace_id: new_id(), config, declared }).await
}

async fn run(workspace: &Arc<dyn Workspace>, script: &str) -> Result<RunResult, Error> {
    workspace.shell().unwrap().run(Command::script(script)).await
}

async fn output(workspace: &Arc<dyn Workspace>, script: &str) -> String {
    let result = run(workspace, script).await.unwrap();
    String::from_utf8_lossy(&[&result.stdout.bytes[..], &result.stderr.bytes].concat()).into_owned()
}

// W72: Warren need not be root. The suite itself is run again as a plain user.
#[test]
#[expect(clippy::disallowed_methods, reason = "starts this test program again as another user")]
fn the_sandbox_works_when_warren_is_a_plain_user() {
    const PLAIN: u32 = 54_321;
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let program = folder.path().join("suite");
    std::fs::copy(&own, &program).unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut suite = std::process::Command::new(&program);
    suite.env_clear().env("TMPDIR", &temporary).env("PATH", "/usr/bin:/bin").arg("contract::sandbox::");
    if rustix::process::geteuid().is_root() {
        for path in [folder.path(), &temporary, &program] {
            std::os::unix::fs::chown(path, Some(PLAIN), Some(PLAIN)).unwrap();
        }
        suite.uid(PLAIN).gid(PLAIN);
    }
    let told = suite.output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout);
    let verdict = told.lines().find(|line| line.starts_with("test result:")).unwrap_or_default();
    assert!(verdict.contains("0 failed") && !verdict.contains(" 0 passed"), "{told}");
}

// W73
#[tokio::test(flavor = "multi_thread")]
async fn mounts_are_seen_and_only_those_that_say_so_can_be_written() {
    let (base, host) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let host = host.path().canonicalize().unwrap();
    for name in ["in", "out"] {
        std::fs::create_dir(host.join(name)).unwrap();
        // Whoever the box runs as.
        std::fs::set_permissions(host.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
    }
    std::fs::write(host.join("in/note"), "from the host").unwrap();
    let mount = |name: &str, mode| Mount {
        source: host.join(name).to_str().unwrap().into(),
        target: format!("/{name}"),
        mode,
    };
    let config = SandboxConfig {
        mounts: vec![mount("in", MountMode::Ro), mount("out", MountMode::Rw)],
        ..SandboxConfig::default()
    };
    let workspace = open(&provider(base.path(), 0), config).await.unwrap().workspace;
    let told = output(&workspace, "cat /in/note; echo x > /in/x || echo refused; echo made > /out/y").await;
    assert!(told.starts_with("from the host") && told.contains("refused"), "{told}");
    assert!(!host.join("in/x").exists());
    assert_eq!(std::fs::read_to_string(host.join("out/y")).unwrap(), "made\n");
    workspace.close().await.unwrap();
}

// W72: what describe() says of limits is what holds.
#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_and_are_told() {
    let base = tempfile::tempdir().unwrap();
    let limits = BoxLimits { memory_mb: 64, pids: 20, tmp_mb: 1, ..BoxLimits::default() };
    let config = SandboxConfig { limits, ..SandboxConfig::default() };
    let workspace = open(&provider(base.path(), 0), config).await.unwrap().workspace;
    let told = workspace.limits();
    for (name, number) in
        [("memory", "mb"), ("pids", "count"), ("tmp", "mb"), ("cpu", "cpus"), ("disk", "mb")]
    {
        let limit = &told["box"]["limits"][name];
        assert!(limit["enforced_by"].is_string() && limit[number].is_number(), "{name}: {told}");
    }
    // Root can have control groups of either version, wherever it stands in them; a plain user those that it was given.
    for name in ["memory", "pids", "cpu"].into_iter().filter(|_| rustix::process::geteuid().is_root()) {
        let enforced_by = told["box"]["limits"][name]["enforced_by"].as_str().unwrap();
        assert!(enforced_by.starts_with("cgroup v"), "{name}: {enforced_by}");
    }
    let full = output(&workspace, "cd /tmp; head -c 3000000 /dev/zero > x; wc -c < x").await;
    assert!(full.contains("No space left") && full.contains("1048576"), "{full}");
    let crowd = output(&workspace, "for i in $(seq 40); do sleep 5 & done; echo all").await;
    assert!(crowd.contains("fork") || crowd.contains("Resource temporarily"), "{crowd}");
    let hungry =
        run(&workspace, "x=$(head -c 200000000 /dev/zero | tr '\\0' 'x'); echo ${#x}").await.unwrap();
    assert_ne!(hungry.exit_code, Some(0), "{hungry:?}");
    assert_eq!(output(&workspace, "echo still here").await, "still here\n");
    workspace.close().await.unwrap();
}

// W77: process 1 is of the same user as the programs, and yet out of their reach.
#[tokio::test(flavor = "multi_thread")]
async fn no_program_limits_or_ends_process_1() {
    let base = tempfile::tempdir().unwrap();
    let workspace = open(&provider(base.path(), 0), SandboxConfig::default()).await.unwrap().workspace;
    let tried =
        output(&workspace, "prlimit --pid 1 --nofile=0:0; kill -9 1; kill -TERM 1; kill -STOP 1").await;
    assert!(tried.contains("not permitted"), "{tried}");
    let own = output(&workspace, "prlimit --nofile=64:64 sh -c 'ulimit -n'").await;
    assert_eq!(own, "64\n", "its own limits are a program's business");
    assert_eq!(output(&workspace, "echo alive").await, "alive\n");
}

// W72, sec/S20: devices are the same for all boxes and nobody's to change; terminals are each box's own.
#[tokio::test(flavor = "multi_thread")]
async fn boxes_share_no_terminals_and_cannot_change_their_devices() {
    let base = tempfile::tempdir().unwrap();
    let provider = provider(base.path(), 0);
    let mut boxes = Vec::new();
    for _ in 0..2 {
        boxes.push(open(&provider, SandboxConfig::default()).await.unwrap().workspace);
    }
    let command = Command::script("tty; sleep 60");
    let start = Start { command, pty: Some(PtySize { rows: 24, columns: 80 }) };
    let shell = boxes[0].shell().unwrap();
    let process = shell.start(start).await.unwrap().id;
    let polled = shell.poll(process, Poll { offset: 0, max_bytes: 100, wait_ms: 10_000 }).await.unwrap();
    assert!(polled.bytes.starts_with(b"/dev/pts/0"), "{polled:?}");
    assert_eq!(output(&boxes[0], "ls /dev/pts").await, "0\nptmx\n");
    assert_eq!(output(&boxes[1], "ls /dev/pts").await, "ptmx\n");
    let change = "for f in /dev/new /dev/pts/new; do touch $f && echo made $f; done; rm /dev/null && echo removed; \
                  chmod 777 /dev/zero && echo changed; mv /dev/full /dev/empty && echo moved; \
                  echo x > /dev/null && head -c 2 /dev/zero | wc -c; echo x > /dev/shm/f && cat /dev/shm/f";
    let told = output(&boxes[1], &format!("exec 2>/dev/null; {change}")).await;
    assert_eq!(told, "2\nx\n");
    for one in boxes {
        one.close().await.unwrap();
    }
}

// W72: the pool's boxes are bound late, and only where they are exactly what would be made.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_workspace_takes_a_box_from_the_pool_only_if_it_is_what_was_asked_for() {
    let base = tempfile::tempdir().unwrap();
    let provider = provider(base.path(), 2);
    provider.fill_pool().await.unwrap();
    let spare_folders = || {
        let names = std::fs::read_dir(base.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".pool-")).count()
    };
    assert_eq!(spare_folders(), 2);
    let pooled = open(&provider, SandboxConfig::default()).await.unwrap();
    assert_eq!(output(&pooled.workspace, "echo hello > f; cat f; ls -A").await, "hello\nf\n");
    assert_eq!(
        std::fs::read_to_string(base.path().join(pooled.workspace.id().to_string()).join("f")).unwrap(),
        "hello\n"
    );
    // Another policy: none of the pool's boxes will do.
    let limits = BoxLimits { tmp_mb: 3, ..BoxLimits::default() };
    let other = open(&provider, SandboxConfig { limits, ..SandboxConfig::default() }).await.unwrap();
    let size = output(&other.workspace, "df -k /tmp | tail -1").await;
    assert!(size.contains("3072"), "{size}");
    // Files survive the box, also one from the pool.
    pooled.workspace.close().await.unwrap();
    let config = ProviderConfig::Sandbox(SandboxConfig::default());
    let again = provider.resolve(pooled.workspace.id(), &config, &pooled.reference).await.unwrap();
    assert_eq!(output(&again, "cat f").await, "hello\n");
    for workspace in [again, other.workspace] {
        workspace.close().await.unwrap();
    }
    provider.drain_pool();
}

// W16, W82: what a Warren that was killed has left is gone after the next start.
#[tokio::test(flavor = "multi_thread")]
async fn spare_folders_of_a_dead_process_are_swept_at_start() {
    let base = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(base.path().join(".pool-dead-1/inner")).unwrap();
    let provider = provider(base.path(), 0);
    assert!(!base.path().join(".pool-dead-1").exists());
    provider.reap(&Default::default()).await.unwrap();
}

// W32: what a command leaves behind ends with it, in a box too.
#[tokio::test(flavor = "multi_thread")]
async fn no_child_outlives_its_command() {
    let base = tempfile::tempdir().unwrap();
    let workspace = open(&provider(base.path(), 0), SandboxConfig::default()).await.unwrap().workspace;
    let started = Instant::now();
    run(&workspace, "(setsid sh -c 'trap \"\" TERM HUP; sleep 300' &) ; sleep 300 & echo done")
        .await
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    let left = output(&workspace, "ps -e -o comm= | grep -c sleep").await;
    assert_eq!(left.trim(), "0");
    workspace.close().await.unwrap();
}

// F18
#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_talked_to_for_as_long_as_somebody_listens() {
    let base = tempfile::tempdir().unwrap();
    let provider = provider(base.path(), 0);
    let workspace = open(&provider, SandboxConfig::default()).await.unwrap().workspace;
    let shell = workspace.shell().unwrap();
    let talk = shell.open_dialog(Command::script("echo $$ > pid; echo ready; cat")).await.unwrap();
    let Dialog { input, events: mut said } = talk;
    let mut heard = Vec::new();
    // More than any pipe, window or frame holds, both ways.
    let sent = vec![b'x'; 3 << 20];
    let sending = {
        let (input, sent) = (input.clone(), sent.clone());
        tokio::spawn(async move {
            for piece in sent.chunks(100_000) {
                input.send(piece.to_vec().into()).await.unwrap();
            }
        })
    };
    while heard.len() < sent.len() + b"ready\n".len() {
        match said.next().await.unwrap().unwrap() {
            RunEvent::Stdout(piece) => heard.extend_from_slice(&piece),
            other => panic!("{other:?}"),
        }
    }
    sending.await.unwrap();
    assert!(heard.starts_with(b"ready\n") && heard[6..] == sent[..]);
    assert_eq!(shell.list().await.unwrap(), [], "nobody else can listen to it");
    drop(said);
    let gone =
        "for i in $(seq 100); do kill -0 $(cat pid) 2>/dev/null || { echo gone; exit; }; sleep 0.05; done";
    assert_eq!(output(&workspace, gone).await.trim(), "gone", "it ends with whoever listened");
    let talk = shell.open_dialog(Command::script("cat; exit 7")).await.unwrap();
    let Dialog { input, events: said } = talk;
    drop(input);
    let last = said.collect::<Vec<_>>().await.pop().unwrap().unwrap();
    assert!(matches!(last, RunEvent::Finished(RunResult { exit_code: Some(7), .. })), "{last:?}");
    workspace.close().await.unwrap();
}

/// The host's numbers of all processes in the box, process 1 and what started it included.
async fn host_processes(workspace: &Arc<dyn Workspace>) -> Vec<rustix::process::Pid> {
    let namespace = output(workspace, "readlink /proc/self/ns/pid").await;
    let is_inside = |number: &str| {
        let link = std::fs::read_link(format!("/proc/{number}/ns/pid"));
        link.is_ok_and(|link| link.to_string_lossy() == namespace.trim())
    };
    let names =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let inside: Vec<_> = names.filter(|name| is_inside(name)).collect();
    assert!(!inside.is_empty(), "no process of {namespace} was found");
    inside.iter().map(|number| rustix::process::Pid::from_raw(number.parse().unwrap()).unwrap()).collect()
}

fn signal(processes: &[rustix::process::Pid], signal: rustix::process::Signal) {
    for process in processes {
        // One that has ended meanwhile has what it was to get.
        let _ = rustix::process::kill_process(*process, signal);
    }
}

// F20: the look that the health sweep and the probes are built on
#[tokio::test(flavor = "multi_thread")]
async fn a_box_tells_that_it_is_there_and_one_that_was_killed_or_closed_is_gone() {
    use rustix::process::Signal;
    let base = tempfile::tempdir().unwrap();
    let provider = provider(base.path(), 0);
    let alive = open(&provider, SandboxConfig::default()).await.unwrap().workspace;
    let killed = open(&provider, SandboxConfig::default()).await.unwrap().workspace;
    for workspace in [&alive, &killed] {
        assert_eq!(workspace.presence().await, Presence::Here);
    }
    // Stopped, it does not answer, which is not the same as being gone; it is asked and not only looked at.
    let inside = host_processes(&killed).await;
    signal(&inside, Signal::STOP);
    assert_eq!((killed.presence().await, killed.loss()), (Presence::Unknown, None));
    signal(&inside, Signal::CONT);
    assert_eq!(killed.presence().await, Presence::Here);
    signal(&inside, Signal::KILL);
    let until = Instant::now() + Duration::from_secs(20);
    while killed.presence().await != Presence::Gone("the box has ended") {
        assert!(Instant::now() < until, "the end of the box was not noticed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(alive.presence().await, Presence::Here, "its neighbour is none the worse");
    alive.close().await.unwrap();
    assert_eq!(alive.presence().await, Presence::Gone("the box has ended"));
    killed.close().await.unwrap();
    // A workspace of files alone has no box to lose.
    let declared = [Capability::Fs].into_iter().collect();
    let config = ProviderConfig::Sandbox(SandboxConfig::default());
    let files =
        provider.open(OpenRequest { workspace_id: new_id(), config, declared }).await.unwrap().workspace;
    assert_eq!(files.presence().await, Presence::Here);
}

// W72, S11: that the program is there says nothing of a host that does not let it make a box.
#[tokio::test]
async fn a_bubblewrap_that_makes_no_box_is_not_available() {
    let folder = tempfile::tempdir().unwrap();
    provider(&folder.path().join("good"), 0).availability().await.unwrap();
    let left: Vec<_> = std::fs::read_dir(folder.path().join("good")).unwrap().flatten().collect();
    let spares = left.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with(".pool"));
    assert_eq!(spares.count(), 0, "the trial leaves nothing behind: {left:?}");

    let program = folder.path().join("bwrap");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.12.0 && exit\n\
                  echo 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let settings = SandboxSettings { bubblewrap: vec![program], ..SandboxSettings::default() };
    let base = folder.path().join("bad");
    let clock = Arc::new(SystemClock);
    let bad = SandboxProvider::new(&base, settings, Environment::default(), clock, &OsEntropy).unwrap();
    let error = bad.availability().await.unwrap_err();
    assert_eq!(error.code(), warren_model::ErrorCode::ProviderUnavailable, "{error}");
    assert!(error.to_string().contains("namespace"), "{error}");
}

// W31, W72: what the kernel says to nobody is told with the limit that was met.
#[tokio::test(flavor = "multi_thread")]
async fn out_of_memory_says_which_limit_was_met() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider(folder.path(), 0);
    let limits = BoxLimits { memory_mb: 64, ..BoxLimits::default() };
    let opened = open(&provider, SandboxConfig { limits, ..SandboxConfig::default() }).await.unwrap();
    let hungry = "x=$(head -c 200000000 /dev/zero | tr '\\0' 'x'); echo ${#x}";
    let told = output(&opened.workspace, hungry).await;
    if rustix::process::geteuid().is_root() {
        assert!(told.contains("out of memory") && told.contains("limit of 64 MB"), "{told}");
    }
    let result = run(&opened.workspace, "echo fine; exit 3").await.unwrap();
    assert!(result.stderr.bytes.is_empty(), "nothing is said of a plain failure: {result:?}");
}

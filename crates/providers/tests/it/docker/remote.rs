//! A daemon that shares no directory with Warren (W83): the same daemon, reached by TCP.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use warren_model::{
    BoxLimits, Capability, DockerConfig, DockerRelaxations, ErrorCode, Mount, MountMode, ProviderConfig,
    Reuse, WorkspaceId,
};
use warren_providers::docker::DaemonTimeouts;
use warren_providers::{DockerProvider, DockerSettings};
use warren_workspace::contract::Harness;
use warren_workspace::fs::CpOptions;
use warren_workspace::shell::Command;
use warren_workspace::{Error, OpenRequest, Provider, Workspace};

use super::daemon::{
    Box_, Daemon, Docker, brief, config, containers_of, docker_says, program, provider_at, remove_all_of,
    run_in, shared, text,
};
use crate::fixture::{contents, new_id, path};

/// A TCP port of this machine that leads to a daemon's socket, for as long as it is open.
struct Tunnel {
    host: String,
    is_open: Arc<AtomicBool>,
}

impl Tunnel {
    fn to(daemon: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let host = format!("tcp://{}", listener.local_addr().unwrap());
        let is_open = Arc::new(AtomicBool::new(true));
        let (socket, open) = (daemon.trim_start_matches("unix://").to_owned(), Arc::clone(&is_open));
        // On a thread of its own: tests look at the daemon by a command, and wait for that.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(pass(client, socket.clone(), Arc::clone(&open)));
                }
            });
        });
        Self { host, is_open }
    }

    /// Connections that are there end, and none is made.
    fn shut(&self) {
        self.is_open.store(false, Ordering::SeqCst);
    }

    fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }
}

async fn pass(mut client: tokio::net::TcpStream, socket: String, is_open: Arc<AtomicBool>) {
    let closed = async {
        while is_open.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let passing = async {
        let mut server = tokio::net::UnixStream::connect(socket).await?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await
    };
    // Whoever hangs up in the middle hangs up.
    tokio::select! {
        biased;
        () = closed => {}
        _ = passing => {}
    }
}

struct Remote {
    tunnel: Tunnel,
    folder: TempDir,
}

impl Remote {
    fn new() -> Self {
        Self { tunnel: Tunnel::to(shared()), folder: tempfile::tempdir().unwrap() }
    }
}

impl Harness for Remote {
    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(provider_at(&self.tunnel.host, self.folder.path(), DaemonTimeouts::default()))
    }

    fn config(&self) -> ProviderConfig {
        ProviderConfig::Docker(DockerConfig { max_file_mb: 2, max_grep_file_mb: 1, ..config() })
    }

    fn is_durable(&self) -> bool {
        true
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        remove_all_of(shared(), self.folder.path());
    }
}

// W7, W83: the same suite as with a daemon on this machine.
mod contract {
    warren_workspace::contract_tests!(super::Remote::new(), [provider, fs, shell]);
}

fn remote() -> (Docker, Tunnel) {
    let tunnel = Tunnel::to(shared());
    (Docker::behind(&tunnel.host, shared(), DaemonTimeouts::default()), tunnel)
}

fn volumes_of(docker: &Docker) -> Vec<String> {
    let label = format!("label=dev.warren.instance={}", docker.instance());
    let listed = docker_says(&docker.host, &["volume", "ls", "--quiet", "--filter", &label]);
    listed.lines().map(str::to_owned).collect()
}

fn files_volume(docker: &Docker, workspace: WorkspaceId) -> String {
    format!("warren-{}-{workspace}", docker.instance())
}

async fn wait_for_eviction(opened: &Box_) {
    loop {
        match opened.shell().run(Command::argv(["true"])).await {
            Err(error) if error.is_evicted() => return,
            // The command that was under way when it happened is told apart.
            Err(error) => assert_eq!(error.code(), ErrorCode::WorkspaceEvicted, "{error}"),
            Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

// W83, W74
#[tokio::test]
async fn a_container_of_a_remote_daemon_is_as_shut_as_one_here_and_has_nothing_of_its_host() {
    let (docker, _tunnel) = remote();
    let opened = docker.open().await;
    let container = containers_of(&docker.host, opened.id).remove(0);
    let inspected: serde_json::Value =
        serde_json::from_str(&docker_says(&docker.host, &["inspect", &container])).unwrap();
    let real = &inspected[0]["Mounts"];
    let mounts: BTreeSet<_> =
        real.as_array().unwrap().iter().map(|mount| mount["Type"].as_str().unwrap()).collect();
    assert_eq!(mounts, BTreeSet::from(["volume"]), "{real}");
    // The rest is asked for by the golden request, and what the daemon made of it is compared at every start.
    let status = text(&opened.run("cat /proc/self/status").await);
    for expected in ["CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.contains(expected), "{expected}: {status}");
    }
    for place in ["/", "/.warren", "/.warren/init", "/bin", "/etc"] {
        let tried = opened.run(&format!("echo x > {place}/planted || echo x > {place}")).await;
        assert_ne!(tried.exit_code, Some(0), "{place}");
    }
    let descriptors = opened.shell().run(Command::argv(["ls", "/proc/self/fd"])).await.unwrap();
    assert_eq!(text(&descriptors).lines().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    let reached = opened.run("echo planted > /proc/1/fd/1; cat /proc/1/fd/0").await;
    assert_ne!(reached.exit_code, Some(0), "the channel is out of reach");
    let told = opened.workspace.limits();
    assert_eq!(told["box"]["files"], "a volume of the daemon", "{told}");
    assert!(std::fs::read_dir(docker.base().join(opened.id.to_string())).unwrap().next().is_none());
    opened.workspace.close().await.unwrap();
    assert!(containers_of(&docker.host, opened.id).is_empty());
}

// W83, W31: the whole output goes to a file that only the box can write.
#[tokio::test]
async fn output_is_spilled_into_the_volume() {
    let (docker, _tunnel) = remote();
    let opened = docker.open().await;
    opened.workspace.fs().unwrap().write(&path("log"), contents("before"), Default::default()).await.unwrap();
    let spilling = Command { spill_to: Some(path("log")), ..Command::script("seq 100000") };
    let result = opened.shell().run(spilling).await.unwrap();
    assert!(result.stdout.truncated);
    assert_eq!(text(&opened.run("wc -l < log; head -1 log; tail -1 log").await), "100000\n1\n100000");
}

// W83, W75
#[tokio::test]
async fn files_outlive_containers_and_restarts_and_go_with_destroy() {
    let (docker, tunnel) = remote();
    let opened = docker.open().await;
    opened.run("echo kept > file; chmod 755 .").await;
    let container = containers_of(&docker.host, opened.id).remove(0);
    docker_says(&docker.host, &["kill", &container]);
    wait_for_eviction(&opened).await;
    assert!(opened.workspace.loss().is_some());

    let restarted = provider_at(&tunnel.host, &docker.base(), DaemonTimeouts::default());
    let again = restarted.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(
        text(&run_in(again.as_ref(), "cat file; echo more >> file; ls /.warren").await),
        "kept\nbin\ninit\nrunner"
    );
    again.close().await.unwrap();
    assert!(volumes_of(&docker).contains(&files_volume(&docker, opened.id)));
    restarted.destroy(opened.id, &opened.reference).await.unwrap();
    assert!(!volumes_of(&docker).contains(&files_volume(&docker, opened.id)));
    assert!(containers_of(&docker.host, opened.id).is_empty());
    assert!(!docker.base().join(opened.id.to_string()).exists());
    restarted.destroy(opened.id, &opened.reference).await.expect("done twice, it is done");
}

// W83, W74: files follow the user that the config names, there and back.
#[tokio::test]
async fn files_in_a_volume_belong_to_whoever_the_config_names() {
    let (docker, _tunnel) = remote();
    let opened = docker.open().await;
    opened.run("echo kept > file; chmod 666 file").await;
    let relax = DockerRelaxations { user: Some("4321:4321".into()), ..DockerRelaxations::default() };
    let relaxed = ProviderConfig::Docker(DockerConfig { relax: Box::new(relax), ..config() });
    for (config, is_named) in [(&relaxed, true), (&opened.config, false)] {
        let again = docker.provider.resolve(opened.id, config, &opened.reference).await.unwrap();
        let seen =
            text(&run_in(again.as_ref(), "id -u; cat file; echo x > made_by_$(id -u) && echo made").await);
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!((lines[0] == "4321", &lines[1..]), (is_named, &["kept", "made"][..]), "{seen}");
        again.close().await.unwrap();
    }
}

// W83, W32: a command that does not end is ended there too.
#[tokio::test]
async fn a_command_past_its_deadline_leaves_nothing_behind() {
    let (docker, _tunnel) = remote();
    let opened = docker.open().await;
    let command = Command { timeout_ms: Some(300), ..Command::script("trap '' TERM; sleep 300 & sleep 300") };
    assert!(opened.shell().run(command).await.unwrap().timed_out);
    assert_eq!(text(&opened.run("ps | grep -c 'sleep 30[0]'").await), "0");
}

// W83, W16: the box ends with its connection, so that a Warren that is gone keeps nothing running.
#[tokio::test]
async fn a_connection_that_is_cut_ends_the_box_and_is_an_eviction() {
    let (docker, tunnel) = remote();
    let opened = docker.open().await;
    opened.run("echo kept > file").await;
    let container = containers_of(&docker.host, opened.id).remove(0);
    tunnel.shut();
    let state = || docker_says(&docker.host, &["inspect", "--format", "{{.State.Running}}", &container]);
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while state() == "true" {
        assert!(std::time::Instant::now() < until, "the container runs on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    wait_for_eviction(&opened).await;
    let down = docker.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap_err();
    assert!(down.is_transient(), "{down}");
    tunnel.open();
    let again = docker.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(text(&run_in(again.as_ref(), "cat file").await), "kept");
}

// W83, W76
#[tokio::test]
async fn left_over_volumes_are_removed_and_no_others() {
    let (docker, tunnel) = remote();
    let (kept, live, orphan) = (docker.open().await, docker.open().await, docker.open().await);
    for opened in [&kept, &live, &orphan] {
        opened.workspace.close().await.unwrap();
    }
    // As a destroy that was cut off, and as volumes of others.
    std::fs::remove_dir(docker.base().join(orphan.id.to_string())).unwrap();
    std::fs::remove_dir(docker.base().join(live.id.to_string())).unwrap();
    let mine = format!("dev.warren.instance={}", docker.instance());
    let of_orphan = format!("dev.warren.workspace={}", orphan.id);
    let strangers = [
        docker_says(&docker.host, &["volume", "create", "--label", "somebody=else"]),
        docker_says(
            &docker.host,
            &["volume", "create", "--label", "dev.warren.instance=0000", "--label", &of_orphan],
        ),
        // It bears our label, and a name that we never give.
        docker_says(&docker.host, &["volume", "create", "--label", &mine, "--label", &of_orphan]),
    ];
    let ids = (kept.id, live.id, orphan.id);
    drop((kept.workspace, live.workspace, orphan.workspace));
    let restarted = provider_at(&tunnel.host, &docker.base(), DaemonTimeouts::default());
    let report = restarted.reap(&BTreeSet::from([ids.1])).await.unwrap();
    assert_eq!((report.removed, report.problems), (1, vec![]));
    let left = docker_says(&docker.host, &["volume", "ls", "--quiet"]);
    assert!(strangers.iter().all(|name| left.contains(name.as_str())), "a stranger's volume was removed");
    assert!(!left.contains(&files_volume(&docker, ids.2)));
    for id in [ids.0, ids.1] {
        assert!(left.contains(&files_volume(&docker, id)), "files go by destroy alone");
    }
    for name in strangers {
        docker_says(&docker.host, &["volume", "rm", &name]);
    }
}

// W83: what only a daemon on this machine can do is refused before anything is made.
#[tokio::test]
async fn mounts_and_reconnecting_are_refused_with_the_reason() {
    let (docker, _tunnel) = remote();
    let mount = Mount { source: "/etc".into(), target: "/in".into(), mode: MountMode::Ro };
    for (config, named) in [
        (DockerConfig { mounts: vec![mount], ..config() }, "mounts"),
        (DockerConfig { reuse: Reuse::Reconnect, ..config() }, "reuse"),
    ] {
        let refused = docker.open_with(config).await.err().unwrap();
        assert_eq!(refused.code(), ErrorCode::InvalidConfig);
        assert!(refused.to_string().contains(named), "{refused}");
    }
    assert!(volumes_of(&docker).is_empty());
}

// W83, W4: files that are elsewhere are said to be, and are not shown as gone.
#[tokio::test]
async fn a_ref_of_the_other_sort_of_daemon_is_refused() {
    let (docker, _tunnel) = remote();
    let elsewhere = docker.open().await;
    let local = provider_at(&docker.host, &docker.base(), DaemonTimeouts::default());
    let refused = local.resolve(elsewhere.id, &elsewhere.config, &elsewhere.reference).await.unwrap_err();
    assert!(!refused.is_transient() && refused.to_string().contains("volume"), "{refused}");

    let here = Docker::new();
    let opened = here.open().await;
    let tunnel = Tunnel::to(shared());
    let by_tcp = provider_at(&tunnel.host, &here.base(), DaemonTimeouts::default());
    let refused = by_tcp.resolve(opened.id, &opened.config, &opened.reference).await.unwrap_err();
    assert!(!refused.is_transient() && refused.to_string().contains("folder of this machine"), "{refused}");
    docker_says(&docker.host, &["rm", "--force", &containers_of(&docker.host, elsewhere.id)[0]]);
    docker_says(&docker.host, &["volume", "rm", &files_volume(&docker, elsewhere.id)]);
    let gone =
        docker.provider.resolve(elsewhere.id, &elsewhere.config, &elsewhere.reference).await.unwrap_err();
    assert!(!gone.is_transient() && gone.to_string().contains("gone"), "{gone}");
}

// W83: files need the box there, and nobody is given commands who did not declare them.
#[tokio::test]
async fn a_workspace_of_files_alone_has_no_shell() {
    let (docker, _tunnel) = remote();
    let request = OpenRequest {
        workspace_id: new_id(),
        config: ProviderConfig::Docker(config()),
        declared: [Capability::Fs].into_iter().collect(),
    };
    let opened = docker.provider.open(request).await.unwrap();
    assert!(opened.workspace.shell().is_none());
    opened.workspace.fs().unwrap().append(&path("f"), "x".into()).await.unwrap();
    opened.workspace.close().await.unwrap();
    docker.provider.destroy(opened.workspace.id(), &opened.reference).await.unwrap();
    assert!(!volumes_of(&docker).contains(&files_volume(&docker, opened.workspace.id())));
}

// sec/S16, W83
#[tokio::test]
async fn a_single_file_is_limited_there_and_what_is_not_is_told() {
    let (docker, _tunnel) = remote();
    let limits = BoxLimits { disk_mb: 4, ..BoxLimits::default() };
    let opened = docker.open_with(DockerConfig { limits, ..config() }).await.unwrap();
    let size = text(&opened.run("head -c 8000000 /dev/zero > f; wc -c < f").await);
    assert_eq!(size, (4 << 20).to_string());
    assert_eq!(
        opened.workspace.limits()["box"]["limits"]["disk"]["enforced_by"],
        "per file by rlimit; not in all"
    );
}

// sec/B01, W83
#[tokio::test]
async fn a_copy_in_a_volume_takes_no_more_than_what_is_copied_and_less_than_the_disk_limit() {
    let (docker, _tunnel) = remote();
    let limits = BoxLimits { disk_mb: 16, ..BoxLimits::default() };
    let opened = docker.open_with(DockerConfig { limits, ..config() }).await.unwrap();
    let fs = opened.workspace.fs().unwrap();
    let taken = async || {
        text(&opened.run("du -s -k .").await).split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    opened
        .run(
            "mkdir holes names; cd holes; for i in $(seq 20); do truncate -s 5000000 $i; done; echo end >> 7",
        )
        .await;
    opened.run("cd names; head -c 5000000 /dev/urandom > 0; for i in $(seq 9); do ln 0 $i; done").await;
    let before = taken().await;
    let recursive = CpOptions { recursive: true, overwrite: false };
    fs.cp(&path("holes"), &path("copy"), recursive).await.unwrap();
    assert!(taken().await < before + 1_000, "holes stay holes");
    assert_eq!(text(&opened.run("cmp holes/7 copy/7 && wc -c < copy/7").await), "5000004");
    fs.cp(&path("names/3"), &path("alone"), recursive).await.unwrap();
    assert_eq!(text(&opened.run("cmp names/0 alone && echo same").await), "same");
    // Fifty megabytes, were each of its names to become a file.
    let before = taken().await;
    let refused = fs.cp(&path("names"), &path("names-copy"), recursive).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageFull, "{refused}");
    assert_eq!(taken().await, before, "what was begun is cleared away");
    assert_eq!(text(&opened.run("ls -A").await), "alone\ncopy\nholes\nnames");
}

fn addressed(host: &str, base: &Path) -> DockerProvider {
    provider_at(host, base, brief())
}

async fn open_in(provider: &DockerProvider) -> Result<Arc<dyn Workspace>, Error> {
    let declared = [Capability::Fs, Capability::Shell].into_iter().collect();
    let config = ProviderConfig::Docker(config());
    Ok(provider.open(OpenRequest { workspace_id: new_id(), config, declared }).await?.workspace)
}

// W83, W12: a provider that cannot be used is said to be, and is in nobody's way.
#[tokio::test]
async fn an_address_that_cannot_be_used_makes_the_provider_unavailable_and_nothing_else() {
    let base = tempfile::tempdir().unwrap();
    for (host, remedy) in [
        ("tcp://10.255.0.1:2375", "allow_plain_tcp"),
        ("ssh://somebody@example.com", "ssh -N -L"),
        ("nonsense", "tcp://host:port"),
    ] {
        let provider = addressed(host, base.path());
        for error in
            [provider.availability().await.unwrap_err(), open_in(&provider).await.map(drop).unwrap_err()]
        {
            assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
            assert!(!error.is_transient() && error.to_string().contains(remedy), "{host}: {error}");
        }
        provider.reap(&BTreeSet::new()).await.unwrap();
    }
}

// W83, W12
#[tokio::test]
async fn a_remote_daemon_that_comes_later_is_used_then() {
    let base = tempfile::tempdir().unwrap();
    let tunnel = Tunnel::to(shared());
    tunnel.shut();
    let provider = addressed(&tunnel.host, base.path());
    assert!(provider.availability().await.unwrap_err().is_transient());
    assert!(open_in(&provider).await.map(drop).unwrap_err().is_transient());
    tunnel.open();
    provider.availability().await.unwrap();
    let workspace = open_in(&provider).await.unwrap();
    assert_eq!(text(&run_in(workspace.as_ref(), "echo here").await), "here");
    workspace.close().await.unwrap();
    remove_all_of(shared(), base.path());
}

// W83: many at once furnish one program volume.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boxes_that_are_opened_at_once_share_one_program() {
    let (docker, _tunnel) = remote();
    let opened: Vec<Box_> = futures_util::future::join_all((0..4).map(|_| docker.open())).await;
    for one in &opened {
        assert_eq!(text(&one.run("echo fine").await), "fine");
    }
    let programs = volumes_of(&docker).into_iter().filter(|name| name.contains("-program-")).count();
    assert_eq!((programs, volumes_of(&docker).len()), (1, 5));
    let ids: BTreeSet<_> = opened.iter().map(|one| one.id).collect();
    assert_eq!(docker.provider.reap(&ids).await.unwrap().removed, 0);
    let label = format!("label=dev.warren.instance={}", docker.instance());
    let listed = docker_says(&docker.host, &["ps", "--all", "--quiet", "--filter", &label]);
    assert_eq!(listed.lines().count(), 4, "no furnishing container is left");
}

/// An authority, and a certificate of it for each name: `server` for 127.0.0.1, and `client`.
fn make_certificates(folder: &Path) {
    let openssl = |words: &[&str]| {
        let made = program("openssl").current_dir(folder).args(words).output();
        let made = made.expect("install the Debian package openssl");
        assert!(made.status.success(), "{words:?}: {}", String::from_utf8_lossy(&made.stderr));
    };
    let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let authority =
        ["-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca-key.pem", "-out", "ca.pem"];
    openssl(&[&["req"], &new_key[..], &authority].concat());
    for (name, subject, use_) in [
        ("server", "/CN=daemon", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth"),
        ("client", "/CN=warren", "extendedKeyUsage=clientAuth"),
    ] {
        let (key, request, certificate) =
            (format!("{name}-key.pem"), format!("{name}.csr"), format!("{name}.pem"));
        std::fs::write(folder.join("extensions"), use_).unwrap();
        openssl(&[&["req"], &new_key[..], &["-subj", subject, "-keyout", &key, "-out", &request]].concat());
        let signed = ["x509", "-req", "-days", "2", "-in", &request, "-CA", "ca.pem", "-CAkey", "ca-key.pem"];
        openssl(
            &[&signed[..], &["-CAcreateserial", "-extfile", "extensions", "-out", &certificate]].concat(),
        );
    }
    std::fs::copy(folder.join("client-key.pem"), folder.join("key.pem")).unwrap();
    std::fs::copy(folder.join("client.pem"), folder.join("cert.pem")).unwrap();
}

// W83: the way that other machines are reached by.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_asks_for_certificates_is_given_them() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let host = format!("tcp://127.0.0.1:{port}");
    let flags = [
        ["--host", &host],
        ["--tlscacert", &at("ca.pem")],
        ["--tlscert", &at("server.pem")],
        ["--tlskey", &at("server-key.pem")],
    ];
    let flags: Vec<&'static str> = flags.concat().into_iter().map(|flag| &*flag.to_owned().leak()).collect();
    let daemon = Daemon::start([vec!["--tlsverify"], flags].concat().leak());
    let made = |certificates| {
        let settings = DockerSettings { host: Some(host.clone()), certificates, ..DockerSettings::default() };
        let clock = Arc::new(warren_doors::SystemClock);
        let base = folder.path().join("base");
        DockerProvider::new(&base, settings, Default::default(), clock, &warren_doors::OsEntropy).unwrap()
    };
    assert!(made(None).availability().await.is_err(), "in the clear it does not answer");
    let provider = made(Some(folder.path().to_owned()));
    provider.availability().await.unwrap();
    let workspace = open_in(&provider).await.unwrap();
    assert_eq!(text(&run_in(workspace.as_ref(), "seq 20000 | tail -1").await), "20000");
    workspace.close().await.unwrap();
    drop(daemon);
}

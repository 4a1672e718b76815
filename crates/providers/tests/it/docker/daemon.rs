//! The daemon that tests run against, and workspaces in it.
//!
//! `WARREN_TEST_DOCKER` names a daemon that has the images of `scripts/docker.sh`. Without it the test process starts a
//! private one by `scripts/docker.sh run`, which ends with the process: it waits on a pipe that we hold.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tempfile::TempDir;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{Capability, DockerConfig, ProviderConfig, PullPolicy, Ref, WorkspaceId};
use warren_providers::docker::DaemonTimeouts;
use warren_providers::{DockerProvider, DockerSettings};
use warren_workspace::shell::{self, RunResult, Shell};
use warren_workspace::{AllowedRegistries, ListedRegistries};
use warren_workspace::{Error, OpenRequest, Opened, Provider, Workspace};

use crate::fixture::new_id;

pub(crate) const IMAGE: &str = "warren-test:busybox";

#[expect(
    clippy::disallowed_methods,
    reason = "tests start the daemon by the script that people use, and look at it"
)]
pub(crate) fn program(path: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(path)
}

fn script(verb: &str, folder: &Path, flags: &[&str]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/docker.sh");
    let mut command = program(script);
    command.arg(verb).arg(folder).args(flags);
    command
}

/// A daemon of the test's own, that lives no longer than this value, nor than the process.
pub(crate) struct Daemon {
    pub(crate) host: String,
    folder: PathBuf,
    flags: &'static [&'static str],
    /// Closing it ends the daemon.
    stdin: Option<ChildStdin>,
    script: Child,
}

impl Daemon {
    pub(crate) fn start(flags: &'static [&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap().keep().join("docker");
        let mut child = script("run", &folder, flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/docker.sh can be started");
        let mut host = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut host).unwrap();
        let host = host.trim().to_owned();
        assert!(
            host.starts_with("unix://"),
            "no Docker daemon for the tests: install the Debian packages docker.io and busybox-static and run as root, \
             or set WARREN_TEST_DOCKER to a daemon that has the images of scripts/docker.sh"
        );
        Self { host, folder, flags, stdin: child.stdin.take(), script: child }
    }

    pub(crate) fn pid(&self) -> i32 {
        std::fs::read_to_string(self.folder.join("run/dockerd.pid")).unwrap().trim().parse().unwrap()
    }

    /// As a crash does.
    pub(crate) fn kill(&self) {
        let pid = rustix::process::Pid::from_raw(self.pid()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    pub(crate) fn restart(&self) {
        let output = script("start", &self.folder, self.flags).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), self.host);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.script.wait();
        let _ = std::fs::remove_dir(self.folder.parent().unwrap());
    }
}

/// The daemon that tests share.
pub(crate) fn shared() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| match Environment::of_process().get("WARREN_TEST_DOCKER") {
        Some(host) => host.to_owned(),
        // Never dropped: the pipe closes with the process.
        None => Box::leak(Box::new(Daemon::start(&[]))).host.clone(),
    })
}

/// The `docker` command: what an operator sees, independent of our own client.
pub(crate) fn docker(host: &str, arguments: &[&str]) -> Output {
    program("docker")
        .arg("--host")
        .arg(host)
        .args(arguments)
        .output()
        .expect("install the Debian package docker.io")
}

#[track_caller]
pub(crate) fn docker_says(host: &str, arguments: &[&str]) -> String {
    let output = docker(host, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Ids of the containers of one workspace, whatever their state.
pub(crate) fn containers_of(host: &str, workspace: WorkspaceId) -> Vec<String> {
    let label = format!("label=dev.warren.workspace={workspace}");
    let listed = docker_says(host, &["ps", "--all", "--quiet", "--no-trunc", "--filter", &label]);
    listed.lines().map(str::to_owned).collect()
}

pub(crate) fn provider_at(host: &str, base: &Path, patience: DaemonTimeouts) -> DockerProvider {
    provider_with(base, DockerSettings { host: Some(host.to_owned()), patience, ..pulling_from_here() })
}

/// With a registry of the test's own, which is on this machine.
pub(crate) fn pulling_from_here() -> DockerSettings {
    let registries = AllowedRegistries::parse(["docker.io", "127.0.0.1:*"]).unwrap();
    DockerSettings { pull_gate: Arc::new(ListedRegistries(registries)), ..DockerSettings::default() }
}

pub(crate) fn provider_with(base: &Path, settings: DockerSettings) -> DockerProvider {
    let planted: Environment = [("API_KEY", "planted")].into_iter().collect();
    DockerProvider::new(base, settings, planted, Arc::new(SystemClock), &OsEntropy).unwrap()
}

/// Short enough that a test of a slow daemon is not.
pub(crate) fn brief() -> DaemonTimeouts {
    DaemonTimeouts {
        call: Duration::from_secs(5),
        pull_silence: Duration::from_secs(1),
        pull: Duration::from_secs(3),
    }
}

pub(crate) fn config() -> DockerConfig {
    DockerConfig {
        image: IMAGE.into(),
        pull_policy: PullPolicy::Never,
        max_timeout_ms: 60_000,
        ..DockerConfig::default()
    }
}

/// A provider over a folder of its own. Everything it made is gone with this value.
pub(crate) struct Docker {
    /// The daemon itself, whatever stands between it and the provider.
    pub(crate) host: String,
    pub(crate) provider: DockerProvider,
    pub(crate) folder: TempDir,
}

impl Docker {
    pub(crate) fn new() -> Self {
        Self::at(shared(), DaemonTimeouts::default())
    }

    pub(crate) fn at(host: &str, patience: DaemonTimeouts) -> Self {
        Self::behind(host, host, patience)
    }

    /// The provider reaches the daemon at `host` by another address.
    pub(crate) fn behind(address: &str, host: &str, patience: DaemonTimeouts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let provider = provider_at(address, &folder.path().join("base"), patience);
        Self { host: host.to_owned(), provider, folder }
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().join("base")
    }

    pub(crate) fn instance(&self) -> String {
        std::fs::read_to_string(self.base().join(".instance")).unwrap()
    }

    /// As a restarted Warren has it.
    pub(crate) fn restarted(&self) -> DockerProvider {
        provider_at(&self.host, &self.base(), DaemonTimeouts::default())
    }

    pub(crate) async fn open(&self) -> Box_ {
        self.open_with(config()).await.unwrap()
    }

    pub(crate) async fn open_with(&self, config: DockerConfig) -> Result<Box_, Error> {
        let id = new_id();
        self.open_as(id, config).await
    }

    pub(crate) async fn open_as(&self, id: WorkspaceId, config: DockerConfig) -> Result<Box_, Error> {
        let config = ProviderConfig::Docker(config);
        let request = OpenRequest {
            workspace_id: id,
            config: config.clone(),
            declared: [Capability::Fs, Capability::Shell].into_iter().collect(),
        };
        let Opened { workspace, reference } = self.provider.open(request).await?;
        Ok(Box_ { id, config, workspace, reference })
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        remove_all_of(&self.host, &self.base());
    }
}

/// The containers and volumes of the provider over a folder.
pub(crate) fn remove_all_of(host: &str, base: &Path) {
    let instance = std::fs::read_to_string(base.join(".instance")).unwrap_or_default();
    let label = format!("label=dev.warren.instance={instance}");
    for (list, remove) in [
        (&["ps", "--all", "--quiet"][..], &["rm", "--force", "--volumes"][..]),
        (&["volume", "ls", "--quiet"], &["volume", "rm", "--force"]),
    ] {
        let listed = docker(host, &[list, &["--filter", &label]].concat()).stdout;
        for id in String::from_utf8(listed).unwrap_or_default().lines() {
            docker(host, &[remove, &[id]].concat());
        }
    }
}

/// An open workspace with a container.
pub(crate) struct Box_ {
    pub(crate) id: WorkspaceId,
    pub(crate) config: ProviderConfig,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) reference: Ref,
}

impl Box_ {
    pub(crate) fn shell(&self) -> &dyn Shell {
        self.workspace.shell().unwrap()
    }

    pub(crate) async fn run(&self, script: &str) -> RunResult {
        run_in(self.workspace.as_ref(), script).await
    }
}

pub(crate) async fn run_in(workspace: &dyn Workspace, script: &str) -> RunResult {
    workspace.shell().unwrap().run(shell::Command::script(script)).await.unwrap()
}

pub(crate) fn text(result: &RunResult) -> String {
    String::from_utf8_lossy(&result.stdout.bytes).trim().to_owned()
}

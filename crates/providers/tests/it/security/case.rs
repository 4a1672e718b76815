//! Boxes of either provider, made alike.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{
    BoxLimits, Capability, DockerConfig, Mount, MountMode, ProviderConfig, Ref, SandboxConfig, WorkspaceId,
};
use warren_providers::{DockerProvider, DockerSettings, SandboxProvider, SandboxSettings};
use warren_workspace::fs::Fs;
use warren_workspace::shell::{Command, RunResult, Shell};
use warren_workspace::{Error, OpenRequest, Opened, Provider, Workspace};

use super::oracles::Outside;
use super::probe;
use crate::docker::daemon;
use crate::fixture::new_id;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sandbox,
    Docker,
}

/// A provider over a folder of its own, with something beside it that must not change (oracle A).
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) outside: Outside,
    folder: TempDir,
}

/// What differs between boxes of one test.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) limits: BoxLimits,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) max_output_bytes: u64,
}

impl Default for Shape {
    fn default() -> Self {
        let source = probe::path().to_str().unwrap().to_owned();
        Self {
            limits: BoxLimits { cpus: 2.0, ..BoxLimits::default() },
            mounts: vec![Mount { source, target: probe::IN_BOX.into(), mode: MountMode::Ro }],
            max_output_bytes: 256 << 10,
        }
    }
}

impl Shape {
    pub(crate) fn limited(change: impl FnOnce(&mut BoxLimits)) -> Self {
        let mut shape = Self::default();
        change(&mut shape.limits);
        shape
    }

    pub(crate) fn with_mount(mut self, source: &std::path::Path, target: &str, mode: MountMode) -> Self {
        let source = source.to_str().unwrap().to_owned();
        self.mounts.push(Mount { source, target: target.into(), mode });
        self
    }
}

impl Case {
    pub(crate) fn sandbox() -> Self {
        Self::new(Kind::Sandbox, Environment::default())
    }

    pub(crate) fn docker() -> Self {
        Self::new(Kind::Docker, Environment::default())
    }

    pub(crate) fn new(kind: Kind, environment: Environment) -> Self {
        Self::below(kind, environment, tempfile::tempdir().unwrap())
    }

    pub(crate) fn below(kind: Kind, environment: Environment, folder: TempDir) -> Self {
        let base = folder.path().join("base");
        let provider: Arc<dyn Provider> = match kind {
            Kind::Sandbox => {
                let settings = SandboxSettings::default();
                Arc::new(
                    SandboxProvider::new(&base, settings, environment, Arc::new(SystemClock), &OsEntropy)
                        .unwrap(),
                )
            }
            Kind::Docker => {
                let host = Some(daemon::shared().to_owned());
                let settings = DockerSettings { host, ..DockerSettings::default() };
                Arc::new(
                    DockerProvider::new(&base, settings, environment, Arc::new(SystemClock), &OsEntropy)
                        .unwrap(),
                )
            }
        };
        let outside = Outside::make(&folder.path().join("outside"));
        Self { kind, provider, outside, folder }
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().join("base").canonicalize().unwrap()
    }

    /// A folder of the test's own, beside the workspaces and what must not change.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let path = self.folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn config(&self, shape: &Shape) -> ProviderConfig {
        let Shape { limits, mounts, max_output_bytes } = shape.clone();
        match self.kind {
            Kind::Sandbox => ProviderConfig::Sandbox(SandboxConfig {
                limits,
                mounts,
                max_output_bytes,
                max_timeout_ms: 120_000,
                ..SandboxConfig::default()
            }),
            Kind::Docker => ProviderConfig::Docker(DockerConfig {
                limits,
                mounts,
                max_output_bytes,
                max_timeout_ms: 120_000,
                ..daemon::config()
            }),
        }
    }

    pub(crate) async fn open(&self) -> Boxed {
        self.open_with(&Shape::default()).await.unwrap()
    }

    pub(crate) async fn open_with(&self, shape: &Shape) -> Result<Boxed, Error> {
        self.open_as(new_id(), self.config(shape)).await
    }

    pub(crate) async fn open_as(&self, id: WorkspaceId, config: ProviderConfig) -> Result<Boxed, Error> {
        let request = OpenRequest {
            workspace_id: id,
            config: config.clone(),
            declared: [Capability::Fs, Capability::Shell].into_iter().collect(),
        };
        let Opened { workspace, reference } = self.provider.open(request).await?;
        Ok(Boxed { id, config, workspace, reference, root: self.base().join(id.to_string()) })
    }

    pub(crate) async fn resolve(&self, earlier: &Boxed) -> Boxed {
        let Boxed { id, config, reference, root, .. } = earlier;
        let workspace = self.provider.resolve(*id, config, reference).await.unwrap();
        Boxed { id: *id, config: config.clone(), workspace, reference: reference.clone(), root: root.clone() }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if self.kind == Kind::Docker {
            let instance = std::fs::read_to_string(self.base().join(".instance")).unwrap_or_default();
            let label = format!("label=dev.warren.instance={instance}");
            let listed =
                daemon::docker(daemon::shared(), &["ps", "--all", "--quiet", "--filter", &label]).stdout;
            for id in String::from_utf8_lossy(&listed).lines() {
                daemon::docker(daemon::shared(), &["rm", "--force", "--volumes", id]);
            }
        }
    }
}

/// An open box.
pub(crate) struct Boxed {
    pub(crate) id: WorkspaceId,
    pub(crate) config: ProviderConfig,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) reference: Ref,
    /// The workspace's folder on the host.
    pub(crate) root: PathBuf,
}

impl Boxed {
    pub(crate) fn fs(&self) -> &dyn Fs {
        self.workspace.fs().unwrap()
    }

    pub(crate) fn shell(&self) -> &dyn Shell {
        self.workspace.shell().unwrap()
    }

    pub(crate) async fn run(&self, script: &str) -> RunResult {
        self.shell().run(Command::script(script)).await.unwrap()
    }

    pub(crate) async fn run_within(&self, script: &str, timeout_ms: u64) -> RunResult {
        let command = Command { timeout_ms: Some(timeout_ms), ..Command::script(script) };
        self.shell().run(command).await.unwrap()
    }

    /// What a script says, both ways, trimmed.
    pub(crate) async fn says(&self, script: &str) -> String {
        let result = self.run(script).await;
        let both = [&result.stdout.bytes[..], &result.stderr.bytes[..]].concat();
        String::from_utf8_lossy(&both).trim().to_owned()
    }

    pub(crate) async fn probe(&self, words: &[&str]) -> String {
        let command = Command::argv(std::iter::once(probe::IN_BOX).chain(words.iter().copied()));
        let result = self.shell().run(command).await.unwrap();
        String::from_utf8_lossy(&result.stdout.bytes).into_owned()
    }

    /// Whom its files and processes belong to on the host.
    pub(crate) fn outer_user(&self) -> u32 {
        std::fs::metadata(&self.root).unwrap().uid()
    }

    pub(crate) async fn close(&self) {
        self.workspace.close().await.unwrap();
    }
}

pub(crate) fn stdout(result: &RunResult) -> String {
    String::from_utf8_lossy(&result.stdout.bytes).trim().to_owned()
}

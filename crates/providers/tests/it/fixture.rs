//! A `local` workspace in a temp directory, with something outside that must not change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use warren_doors::{Clock, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{ErrorCode, LocalConfig, ProviderConfig, Ref, WorkspaceId};
use warren_providers::LocalProvider;
use warren_workspace::fs::{ByteRange, ByteStream, Fs, WriteMode};
use warren_workspace::shell::Shell;
use warren_workspace::{Error, OpenRequest, Provider, Workspace, WorkspacePath};

pub(crate) struct Local {
    directory: tempfile::TempDir,
    pub(crate) provider: LocalProvider,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) reference: Ref,
    pub(crate) id: WorkspaceId,
}

pub(crate) fn provider(base: &Path, environment: Environment) -> LocalProvider {
    LocalProvider::new(base, environment, Arc::new(SystemClock), Arc::new(OsEntropy)).unwrap()
}

pub(crate) fn new_id() -> WorkspaceId {
    (&OsEntropy as &dyn Entropy).id(SystemClock.now())
}

impl Local {
    pub(crate) async fn open() -> Self {
        Self::open_with(LocalConfig::default(), Environment::default()).await
    }

    pub(crate) async fn open_with(config: LocalConfig, environment: Environment) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("outside")).unwrap();
        std::fs::write(directory.path().join("outside/secret"), "SECRET").unwrap();
        let provider = provider(&directory.path().join("base"), environment);
        let id = new_id();
        let request = OpenRequest {
            workspace_id: id,
            config: ProviderConfig::Local(config),
            declared: provider.capabilities(),
        };
        let opened = provider.open(request).await.unwrap();
        Self { directory, provider, workspace: opened.workspace, reference: opened.reference, id }
    }

    pub(crate) fn fs(&self) -> &dyn Fs {
        self.workspace.fs().unwrap()
    }

    pub(crate) fn shell(&self) -> &dyn Shell {
        self.workspace.shell().unwrap()
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.directory.path().join("base")
    }

    /// The workspace's directory on the host.
    pub(crate) fn root(&self) -> PathBuf {
        self.base().join(self.id.to_string())
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    /// Oracle A: what lies outside is as it was.
    #[track_caller]
    pub(crate) fn assert_outside_untouched(&self) {
        assert_eq!(tree(&self.outside()), [("secret".to_owned(), "SECRET".to_owned())]);
        let beside: Vec<_> = std::fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(beside.len(), 2, "{beside:?}");
    }

    pub(crate) async fn put(&self, at: &str, text: impl AsRef<[u8]>) {
        let written = self.fs().write(&path(at), contents(text), WriteMode::Replace).await;
        written.unwrap();
    }

    pub(crate) async fn get(&self, at: &str) -> Result<Vec<u8>, Error> {
        read(self.fs(), &WorkspacePath::parse(at)?).await
    }
}

pub(crate) async fn read(fs: &dyn Fs, path: &WorkspacePath) -> Result<Vec<u8>, Error> {
    let mut stream = fs.read(path, ByteRange::default()).await?.stream;
    let mut all = Vec::new();
    while let Some(piece) = stream.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

pub(crate) fn contents(text: impl AsRef<[u8]>) -> ByteStream {
    stream::iter([Ok(Bytes::copy_from_slice(text.as_ref()))]).boxed()
}

#[track_caller]
pub(crate) fn assert_code<T>(result: Result<T, Error>, code: ErrorCode) {
    match result {
        Ok(_) => panic!("{code} was expected"),
        Err(error) => assert_eq!(error.code(), code, "{error}"),
    }
}

/// Names and contents of a directory, sorted.
pub(crate) fn tree(directory: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_else(|_| "?".into());
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect();
    files.sort();
    files
}

/// Resident memory of this process, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

/// How much of something a test does: enough by default, or as much as the named variable says.
pub(crate) fn number_from_env(name: &str, default: u64) -> u64 {
    Environment::of_process().get(name).map_or(default, |number| number.parse().unwrap())
}

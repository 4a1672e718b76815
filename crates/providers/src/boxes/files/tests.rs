//! The files part of the contract suite, over a real init.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use warren_model::{
    Capability, CapabilitySet, ErrorCode, LocalConfig, ProviderConfig, ProviderKind, Ref, WorkspaceId,
};
use warren_workspace::contract::Harness;
use warren_workspace::fs::{ByteRange, Fs, WriteMode};
use warren_workspace::shell::Shell;
use warren_workspace::{Error, OpenRequest, Opened, Provider, ReapReport, Workspace, WorkspacePath};

use super::BoxFs;
use crate::boxes::channel::Channel;
use crate::boxes::program;
use crate::directory::FileLimits;

const LIMITS: FileLimits = FileLimits::from_mb(2, 1);
const MAX_COPY_BYTES: u64 = 1 << 30;

/// A workspace whose files are reached through an init only, as in a container on another host.
#[derive(Debug)]
struct Remote {
    id: WorkspaceId,
    fs: BoxFs,
    _init: Mutex<tokio::process::Child>,
}

#[expect(clippy::disallowed_methods, reason = "a test's own process 1")]
async fn start(folder: &Path, root: &Path) -> (BoxFs, tokio::process::Child) {
    let init = program::install(program::Program::Init, folder).unwrap();
    let mut child = tokio::process::Command::new(init)
        .args(["--channel", "stdio", "--landlock", "off", "--root"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (reading, writing) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let patience = Duration::from_secs(20);
    let (channel, _) = Channel::open(Box::new(reading), Box::new(writing), patience).await.unwrap();
    (BoxFs::new(channel, LIMITS, MAX_COPY_BYTES), child)
}

#[async_trait]
impl Workspace for Remote {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        Some(&self.fs)
    }

    fn shell(&self) -> Option<&dyn Shell> {
        None
    }

    fn limits(&self) -> serde_json::Value {
        serde_json::json!({ "max_file_mb": 2, "max_grep_file_mb": 1 })
    }

    async fn close(&self) -> Result<(), Error> {
        self.fs.channel.shut();
        Ok(())
    }
}

#[derive(Debug)]
struct RemoteProvider {
    folder: std::path::PathBuf,
}

#[async_trait]
impl Provider for RemoteProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Local
    }

    fn capabilities(&self) -> CapabilitySet {
        [Capability::Fs].into_iter().collect()
    }

    fn check(&self, _: &ProviderConfig) -> Result<(), Error> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let root = self.folder.join(request.workspace_id.to_string());
        std::fs::create_dir_all(&root).unwrap();
        let (fs, init) = start(&self.folder, &root).await;
        let reference = Ref {
            provider: ProviderKind::Local.to_string(),
            schema_version: 1,
            capabilities: self.capabilities(),
            payload: serde_json::Value::Null,
        };
        let workspace = Arc::new(Remote { id: request.workspace_id, fs, _init: Mutex::new(init) });
        Ok(Opened { workspace, reference })
    }

    async fn resolve(
        &self,
        _: WorkspaceId,
        _: &ProviderConfig,
        _: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        Err(Error::evicted("a test's workspace is opened once"))
    }

    async fn destroy(&self, _: WorkspaceId, _: &Ref) -> Result<(), Error> {
        Ok(())
    }

    async fn reap(&self, _: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        Ok(ReapReport::default())
    }
}

struct RemoteHarness(tempfile::TempDir);

impl Harness for RemoteHarness {
    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(RemoteProvider { folder: self.0.path().to_owned() })
    }

    fn config(&self) -> ProviderConfig {
        ProviderConfig::Local(LocalConfig { max_file_mb: 2, max_grep_file_mb: 1, ..LocalConfig::default() })
    }

    fn is_durable(&self) -> bool {
        false
    }
}

// W7, W20, W83
mod contract {
    warren_workspace::contract_tests!(super::RemoteHarness(tempfile::tempdir().unwrap()), [fs]);
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

async fn read(fs: &BoxFs, at: &str) -> Result<Vec<u8>, Error> {
    let mut stream = fs.read(&path(at), ByteRange::default()).await?.stream;
    let mut all = Vec::new();
    while let Some(piece) = stream.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

async fn write(fs: &BoxFs, at: &str, text: &'static str) -> Result<(), Error> {
    let contents = futures_util::stream::iter([Ok(bytes::Bytes::from_static(text.as_bytes()))]).boxed();
    fs.write(&path(at), contents, WriteMode::Replace).await.map(drop)
}

struct Fixture {
    folder: tempfile::TempDir,
    fs: BoxFs,
    _init: tokio::process::Child,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        let (fs, init) = start(folder.path(), &folder.path().join("root")).await;
        Self { folder, fs, _init: init }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("root").join(name)
    }
}

// W21, W83
#[tokio::test]
async fn no_link_leads_out_of_a_box() {
    let fixture = Fixture::new().await;
    let fs = &fixture.fs;
    std::fs::write(fixture.folder.path().join("secret"), "secret").unwrap();
    std::fs::create_dir(fixture.at("inner")).unwrap();
    std::fs::write(fixture.at("inner/file"), "inside").unwrap();
    for (target, link) in [
        ("../secret", "out"),
        ("inner/../../secret", "later"),
        ("/etc/passwd", "absolute"),
        ("/proc/self/root", "magic"),
        ("..", "up"),
        ("ring", "ring"),
        ("inner/file", "good"),
        ("../inner/./file", "inner/roundabout"),
        ("inner", "directory"),
        ("new", "dangling"),
    ] {
        std::os::unix::fs::symlink(target, fixture.at(link)).unwrap();
    }
    for at in ["out", "later", "absolute", "magic/etc/passwd", "up/secret", "ring"] {
        assert_eq!(read(fs, at).await.unwrap_err().code(), ErrorCode::PathEscapes, "{at}");
        assert_eq!(write(fs, at, "x").await.unwrap_err().code(), ErrorCode::PathEscapes, "{at}");
        assert_eq!(
            fs.append(&path(at), "x".into()).await.unwrap_err().code(),
            ErrorCode::PathEscapes,
            "{at}"
        );
    }
    assert_eq!(std::fs::read_to_string(fixture.folder.path().join("secret")).unwrap(), "secret");
    for at in ["good", "inner/roundabout", "directory/file"] {
        assert_eq!(read(fs, at).await.unwrap(), b"inside", "{at}");
    }
    write(fs, "good", "changed").await.unwrap();
    assert_eq!(read(fs, "inner/file").await.unwrap(), b"changed", "written through the link");
    assert!(fixture.at("good").is_symlink());
    write(fs, "dangling", "made").await.unwrap();
    assert_eq!(read(fs, "new").await.unwrap(), b"made");
    fs.rm(&path("directory"), true).await.unwrap();
    assert!(fixture.at("inner/file").exists(), "the link was removed, not what it names");
}

// W24, W83
#[tokio::test]
async fn special_files_of_a_box_are_never_opened() {
    let fixture = Fixture::new().await;
    let fs = &fixture.fs;
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, fixture.at("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    for at in ["fifo", "socket"] {
        assert_eq!(read(fs, at).await.unwrap_err().code(), ErrorCode::SpecialFile, "{at}");
        assert_eq!(write(fs, at, "x").await.unwrap_err().code(), ErrorCode::SpecialFile, "{at}");
        assert_eq!(
            fs.append(&path(at), "x".into()).await.unwrap_err().code(),
            ErrorCode::SpecialFile,
            "{at}"
        );
    }
    let options = warren_workspace::fs::CpOptions { recursive: true, overwrite: true };
    assert_eq!(
        fs.cp(&path("fifo"), &path("copy"), options).await.unwrap_err().code(),
        ErrorCode::SpecialFile
    );
}

// W20, W83
#[tokio::test]
async fn a_written_file_keeps_its_mode_and_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::new().await;
    write(&fixture.fs, "tool", "one").await.unwrap();
    std::fs::set_permissions(fixture.at("tool"), std::fs::Permissions::from_mode(0o750)).unwrap();
    write(&fixture.fs, "tool", "two").await.unwrap();
    assert_eq!(std::fs::metadata(fixture.at("tool")).unwrap().permissions().mode() & 0o777, 0o750);
    // One that is given up in the middle.
    let broken = futures_util::stream::iter([
        Ok(bytes::Bytes::from_static(b"half")),
        Err(Error::operation(ErrorCode::RequestTimeout, "gone")),
    ]);
    fixture.fs.write(&path("deep/er/file"), broken.boxed(), WriteMode::Replace).await.unwrap_err();
    let names: Vec<_> =
        std::fs::read_dir(fixture.at("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["tool"]);
}

// W83: what serves files in the box was killed by somebody there.
#[tokio::test]
async fn files_are_served_again_after_their_server_was_killed() {
    let fixture = Fixture::new().await;
    let fs = &fixture.fs;
    write(fs, "f", "one").await.unwrap();
    let init = fixture._init.id().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{init}/task/{init}/children")).unwrap();
    let server = rustix::process::Pid::from_raw(children.trim().parse().unwrap()).unwrap();
    let mut changes = fs.watch(&WorkspacePath::root()).await.unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(20), changes.next()).await.expect("watches end");
    assert!(ended.is_none());
    assert_eq!(read(fs, "f").await.unwrap(), b"one");
}

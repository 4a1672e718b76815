//! The provider: makes, finds, ends and sweeps sandboxes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Gid, MemfdFlags, Mode, OFlags, Uid, fchown, fstat, memfd_create, open};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit};
use serde::{Deserialize, Serialize};
use warren_confined_fs::{Owner, Root, Staging, make_folder, sync_directory};
use warren_doors::{Clock, Entropy, Environment};
use warren_init::SpawnLimits;
use warren_model::{
    Capability, CapabilitySet, ErrorCode, Isolation, MIB, ProviderConfig, ProviderKind, Ref, SandboxConfig,
    WorkspaceId,
};
use warren_workspace::{Error, OpenRequest, Opened, Provider, ReapReport, Workspace};

use super::arguments::{Bind, PROGRAMS, RUNNER, Shape, System, command_line};
use super::backend::{self, Bubblewrap, unavailable};
use super::box_etc;
use super::cgroup::Cgroups;
use super::launch::{Launch, Launcher, PassedTree};
use super::live_box::LiveBox;
use super::pool::{self, Policy, Pool, SpareBox};
use super::workspace::{Boxed, SandboxWorkspace};
use crate::boxes::config::{BoxConfig, check_offered};
use crate::boxes::disk::{self, DiskKeeper, MEASURED};
use crate::boxes::memory_limit::MemoryLimit;
use crate::boxes::mounts::{self, Grant};
use crate::boxes::not_held::not_held;
use crate::boxes::owner::Owners;
use crate::boxes::shell::{BoxParts, BoxShell, spill_opener};
use crate::boxes::{reference, syscalls};
use crate::directory::{DirectoryFs, OpenDirectory, blocking, errno, open_staging};
use crate::process;

const REFILL_PAUSE: Duration = Duration::from_millis(50);
const POOL_PREFIX: &str = ".pool-";
/// Descriptors of each program in a box.
const OPEN_FILES: u64 = 1_024;

/// What is the same for all sandboxes of a Warren.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// Where bubblewrap may be; the first that is there counts.
    pub bubblewrap: Vec<PathBuf>,
    /// Boxes kept ready for new workspaces.
    pub pool_size: usize,
    /// Folders of Warren's own that no mount may reach.
    pub private: Vec<PathBuf>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            bubblewrap: backend::USUAL_PLACES.map(PathBuf::from).to_vec(),
            pool_size: 0,
            private: Vec::new(),
        }
    }
}

/// The bubblewrap that sandboxes with these settings would use, or why there is none. For people who ask.
pub fn find_bubblewrap(settings: &SandboxSettings) -> Result<Bubblewrap, Error> {
    backend::find(Isolation::Auto, &settings.bubblewrap, version_of)
}

/// Cheap to clone: what it holds is shared.
#[derive(Debug, Clone)]
pub struct SandboxProvider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    base: PathBuf,
    /// What boxes find there.
    etc: PathBuf,
    settings: SandboxSettings,
    staging: Arc<Staging>,
    owners: Owners,
    cgroups: Arc<Cgroups>,
    launcher: Arc<Launcher>,
    filters: Vec<Vec<u8>>,
    system: System,
    environment: Arc<Environment>,
    clock: Arc<dyn Clock>,
    instance: String,
    pool: Pool,
    disks: DiskKeeper,
    found: Mutex<Option<Bubblewrap>>,
    /// The bubblewrap that a box was made with.
    works: tokio::sync::Mutex<Option<Bubblewrap>>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    workspace: WorkspaceId,
}

impl reference::Payload for Payload {
    const KIND: ProviderKind = ProviderKind::Sandbox;
    const SCHEMA_VERSION: u32 = 1;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }
}

impl SandboxProvider {
    /// Keeps workspaces below `base`, which is made if it is missing. Works without bubblewrap too, until one is opened.
    pub fn new(
        base: &Path,
        settings: SandboxSettings,
        environment: Environment,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self, Error> {
        let failed = |what: &'static str| {
            move |error: io::Error| errno::opening(Errno::from_io_error(&error).unwrap_or(Errno::IO), what)
        };
        std::fs::create_dir_all(base).map_err(failed("the sandboxes' folder cannot be made"))?;
        let base = base.canonicalize().map_err(failed("the sandboxes' folder cannot be found"))?;
        let instance = process::random_mark(entropy);
        let staging = open_staging(&base, instance.clone())
            .map_err(|errno| errno::opening(errno, "the sandboxes' folder cannot be used"))?;
        let etc = box_etc::write_box_etc(&base.join(".box"))
            .map_err(failed("what boxes are given cannot be written"))?;
        sweep_pool(&base).map_err(failed("the sandboxes' folder cannot be listed"))?;
        let owners = Owners::of(&base).map_err(failed("the sandboxes' folder cannot be listed"))?;
        let group = group_name(&base).map_err(failed("the sandboxes' folder cannot be written"))?;
        let cgroups = Arc::new(Cgroups::of_host(&group));
        let system = System::of_host();
        let mount_namespace = (super::warren_uid() == 0).then(|| (system.clone(), etc.clone()));
        let launcher = Launcher::new(Arc::clone(&cgroups), instance.clone(), mount_namespace)
            .map_err(failed("no thread can be started"))?;
        Ok(Self {
            inner: Arc::new(Inner {
                etc,
                staging: Arc::new(staging),
                owners,
                cgroups,
                launcher: Arc::new(launcher),
                filters: syscalls::filters()?,
                system,
                environment: Arc::new(environment),
                clock,
                instance,
                pool: Pool::new(settings.pool_size),
                disks: DiskKeeper::default(),
                found: Mutex::default(),
                works: tokio::sync::Mutex::default(),
                settings,
                base,
            }),
        })
    }

    /// The bubblewrap that is used, or why none is.
    pub fn bubblewrap(&self) -> Result<Bubblewrap, Error> {
        self.inner.bubblewrap(Isolation::Auto)
    }

    /// Ends the boxes that wait in the pool.
    pub fn drain_pool(&self) {
        self.inner.pool.drain();
    }

    /// Fills the pool and waits until it is full.
    pub async fn fill_pool(&self) -> Result<(), Error> {
        for _ in 0..self.inner.pool.order() {
            let spare = self.inner.make_spare().await;
            let failed = spare.as_ref().err().cloned();
            self.inner.pool.deliver(spare.ok());
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The same, while others go on.
    fn refill_pool(&self) {
        let missing = self.inner.pool.order();
        if missing == 0 {
            return;
        }
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            // Whoever took one has something to run first.
            tokio::time::sleep(REFILL_PAUSE).await;
            for _ in 0..missing {
                let spare = inner.make_spare().await;
                if let Err(error) = &spare {
                    tracing::warn!(%error, "no box could be made for the pool");
                }
                inner.pool.deliver(spare.ok());
            }
        });
    }
}

impl Inner {
    fn bubblewrap(&self, isolation: Isolation) -> Result<Bubblewrap, Error> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*found
            && isolation != Isolation::Seatbelt
            && known.path.exists()
        {
            return Ok(known.clone());
        }
        *found = None;
        let new = backend::find(isolation, &self.settings.bubblewrap, version_of)?;
        *found = Some(new.clone());
        Ok(new)
    }

    /// A folder for a workspace, and whose it is.
    fn make_folder(&self, folder: &Path) -> Result<Owner, Error> {
        let failed = |errno| errno::opening(errno, "the workspace's folder cannot be made");
        make_folder(folder).map_err(failed)?;
        let handle = open_folder(folder).map_err(failed)?;
        let stat = fstat(&handle).map_err(failed)?;
        if let Some(owner) = self.owners.of_directory(stat.st_uid, stat.st_gid) {
            return Ok(owner);
        }
        // New, or made by a process that ended before it could give it away.
        let owner = self.owners.give().ok_or_else(|| {
            Error::permanent(
                ErrorCode::WorkspaceLimit,
                "this data folder has had as many sandboxes as it can",
            )
        })?;
        fchown(&handle, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid))).map_err(failed)?;
        Ok(owner)
    }

    /// The owner of a folder that must be there.
    fn owner_of(&self, folder: &Path) -> Result<Owner, Error> {
        let handle = open_folder(folder).map_err(|errno| match errno {
            Errno::NOENT => {
                Error::permanent(ErrorCode::WorkspaceFailed, "the workspace's folder is gone from the host")
            }
            other => errno::opening(other, "the workspace's folder cannot be opened"),
        })?;
        let stat =
            fstat(&handle).map_err(|errno| errno::opening(errno, "the workspace's folder cannot be read"))?;
        self.owners.of_directory(stat.st_uid, stat.st_gid).ok_or_else(|| {
            let detail =
                "the workspace's folder belongs to a user that owns no sandbox here; it is not opened";
            Error::permanent(ErrorCode::WorkspaceFailed, detail)
        })
    }

    async fn make_box(&self, folder: &Path, owner: Owner, config: &SandboxConfig) -> Result<LiveBox, Error> {
        let bubblewrap = self.bubblewrap(config.isolation)?;
        let private: Vec<&Path> =
            self.settings.private.iter().map(PathBuf::as_path).chain([self.base.as_path()]).collect();
        let grants = mounts::open(&config.mounts, &private)?;
        let failed = |error: io::Error| start_failure(&error);
        let (launch, ours, complaints) =
            self.prepare(folder, owner, config, &bubblewrap, grants).map_err(failed)?;
        let started = self.launcher.launch(launch).await.map_err(failed)?;
        LiveBox::take_over(started, ours, complaints, Arc::clone(&self.launcher)).await
    }

    fn prepare(
        &self,
        folder: &Path,
        owner: Owner,
        config: &SandboxConfig,
        bubblewrap: &Bubblewrap,
        grants: Vec<Grant>,
    ) -> io::Result<(Launch, UnixStream, io::PipeReader)> {
        let is_root = super::warren_uid() == 0;
        let mut stage = PassedTrees { is_root, handed: Vec::new() };
        let folder_handle = open_folder(folder)?;
        let workspace = stage.put(&folder_handle, folder, true)?;
        let program = bubblewrap.path.canonicalize()?;
        let program = match self.system.holds(&program) {
            true => program,
            false => stage.put(&open_program(&program)?, &program, false)?,
        };
        let mut binds = Vec::new();
        for grant in grants {
            let source = stage.put(&grant.handle, &grant.source, grant.is_directory)?;
            binds.push(Bind { source, target: grant.target, is_writable: grant.is_writable });
        }
        let arguments = command_line(&Shape {
            system: &self.system,
            workspace: &workspace,
            etc: if is_root { Path::new("/etc") } else { &self.etc },
            devices: is_root.then_some(Path::new("/dev")),
            mounts: &binds,
            limits: &config.limits,
            filters: self.filters.len(),
        });
        let (ours, theirs) = UnixStream::pair()?;
        let (complaints, complaining) = io::pipe()?;
        let launch = Launch {
            program,
            arguments,
            owner: is_root.then_some(owner),
            handed: stage.handed,
            box_limits: config.limits.clone(),
            channel: theirs.into(),
            filters: self.filters.iter().map(|filter| in_memory(filter)).collect::<io::Result<_>>()?,
            limits: self.process_limits(config),
            complaints: complaining.into(),
        };
        Ok((launch, ours, complaints))
    }

    fn process_limits(&self, config: &SandboxConfig) -> Vec<(Resource, Rlimit)> {
        let fixed = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
        let mut limits = vec![(Resource::Core, fixed(core_limit()))];
        if !self.cgroups.has_pids() {
            limits.push((Resource::Nproc, fixed(u64::from(config.limits.pids))));
        }
        limits
    }

    fn spawn_limits(&self, config: &SandboxConfig) -> SpawnLimits {
        let memory = u64::from(config.limits.memory_mb) * MIB;
        SpawnLimits {
            open_files: Some(OPEN_FILES),
            address_space_bytes: (!self.cgroups.has_memory()).then_some(memory),
            ..SpawnLimits::default()
        }
    }

    /// Makes a box and ends it, unless one was made before with this bubblewrap: that the program is there says nothing of
    /// a host that forbids user namespaces.
    async fn try_once(&self) -> Result<(), Error> {
        let bubblewrap = self.bubblewrap(Isolation::Auto)?;
        let mut works = self.works.lock().await;
        if works.as_ref() != Some(&bubblewrap) {
            pool::discard(&self.make_spare().await?);
            *works = Some(bubblewrap);
        }
        Ok(())
    }

    async fn make_spare(&self) -> Result<SpareBox, Error> {
        let config = SandboxConfig::default();
        let policy = Policy::of(&config, self.bubblewrap(config.isolation)?);
        let folder = self.base.join(format!("{POOL_PREFIX}{}-{}", self.instance, self.pool.next_number()));
        let owner = self.make_folder(&folder)?;
        match self.make_box(&folder, owner, &config).await {
            Ok(live) => Ok(SpareBox { live, folder, owner, policy }),
            Err(error) => {
                let _ = std::fs::remove_dir(&folder);
                Err(error)
            }
        }
    }

    /// A box from the pool, its folder renamed to `folder`, if one fits.
    async fn take_spare(&self, folder: &Path, config: &SandboxConfig) -> Option<(LiveBox, Owner)> {
        let bubblewrap = self.bubblewrap(config.isolation).ok()?;
        let spare = self.pool.take(&Policy::of(config, bubblewrap))?;
        let (from, to, base) = (spare.folder.clone(), folder.to_owned(), self.base.clone());
        let renamed = blocking(move || {
            // Never over a folder that is there: it would be a workspace's.
            rustix::fs::renameat_with(CWD, &from, CWD, &to, rustix::fs::RenameFlags::NOREPLACE)
                .and_then(|()| sync_directory(open_folder(&base)?))
                .map_err(|errno| errno::opening(errno, "a spare folder cannot be taken"))
        });
        match renamed.await {
            Ok(()) => Some((spare.live, spare.owner)),
            Err(_) => {
                let _ = std::fs::remove_dir(&spare.folder);
                None
            }
        }
    }

    fn workspace(
        &self,
        id: WorkspaceId,
        home: WorkspaceParts<'_>,
        config: &SandboxConfig,
        declared: CapabilitySet,
    ) -> Result<Arc<dyn Workspace>, Error> {
        let WorkspaceParts { folder, owner, live } = home;
        let root = Root::open(folder)
            .map_err(|errno| errno::opening(errno, "the workspace's folder cannot be opened"))?;
        let limits = BoxConfig::from(config).file_limits();
        let separate = (super::warren_uid() == 0).then_some(owner);
        let meter = self.disks.meter_of(id, folder, config.limits.disk_mb);
        let place = OpenDirectory::new(root, Arc::clone(&self.staging), limits, separate);
        let place = Arc::new(place.with_space_check(meter.room()));
        let confinement = self.confinement(config, owner, live.as_ref());
        let boxed = live.map(|live| {
            self.disks.watch(Arc::clone(&meter), live.channel.end(), live.killer(), live.look_for_hidden());
            let shell = BoxShell::new(BoxParts {
                channel: live.channel.clone(),
                rules: BoxConfig::from(config).rules(self.spawn_limits(config)),
                environment: Arc::clone(&self.environment),
                clock: Arc::clone(&self.clock),
                open_spill: spill_opener(Arc::clone(&place)),
                end_box: live.killer(),
                runner: RUNNER,
                programs: PROGRAMS,
                memory: MemoryLimit { mb: config.limits.memory_mb, count_kills: live.count_kills() },
            })
            .with_disk(meter);
            Boxed { shell, live }
        });
        Ok(Arc::new(SandboxWorkspace {
            id,
            fs: declared.contains(Capability::Fs).then(|| DirectoryFs::new(Arc::clone(&place))),
            place,
            boxed,
            config: config.clone(),
            confinement,
        }))
    }

    /// What really holds, for `describe()`.
    fn confinement(&self, config: &SandboxConfig, owner: Owner, live: Option<&LiveBox>) -> serde_json::Value {
        let Some(live) = live else {
            return serde_json::Value::Null;
        };
        let enforced = self.cgroups.enforcement();
        let facts = &live.greeting.facts;
        let bubblewrap = self.bubblewrap(config.isolation).ok();
        serde_json::json!({
            "by": "bubblewrap",
            "version": bubblewrap.as_ref().map(|found| found.version.to_string()),
            "remark": bubblewrap.as_ref().and_then(Bubblewrap::remark),
            "outer_user": owner.uid,
            "user_of_its_own": super::warren_uid() == 0,
            "network": "none",
            "seccomp": facts.seccomp_mode == 2,
            "landlock_abi": facts.landlock_abi,
            "capabilities": "none",
            "not_held": not_held(enforced.memory, super::warren_uid() == 0),
            "limits": {
                "memory": { "mb": config.limits.memory_mb, "enforced_by": enforced.memory },
                "cpu": { "cpus": config.limits.cpus, "enforced_by": enforced.cpu },
                "pids": { "count": config.limits.pids, "enforced_by": enforced.pids },
                "tmp": { "mb": config.limits.tmp_mb, "enforced_by": "tmpfs size" },
                "disk": disk::told(&config.limits, MEASURED),
            },
        })
    }
}

/// Where a workspace lives.
struct WorkspaceParts<'a> {
    folder: &'a Path,
    owner: Owner,
    /// Absent where it has files only.
    live: Option<LiveBox>,
}

/// 1, as process 1 of the box sets it too: 0 would let the host's handler for core dumps run. Root may raise its own.
fn core_limit() -> u64 {
    let most = if super::warren_uid() == 0 { None } else { getrlimit(Resource::Core).maximum };
    most.unwrap_or(1).min(1)
}

/// Puts things where bubblewrap finds them: on the stage as root, by path otherwise.
struct PassedTrees {
    is_root: bool,
    handed: Vec<PassedTree>,
}

impl PassedTrees {
    fn put(&mut self, handle: &OwnedFd, path: &Path, is_directory: bool) -> io::Result<PathBuf> {
        if !self.is_root {
            return Ok(path.to_path_buf());
        }
        let number = self.handed.len();
        self.handed.push(PassedTree::new(handle.as_fd(), is_directory, number)?);
        Ok(PassedTree::path(number))
    }
}

#[async_trait]
impl Provider for SandboxProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Sandbox
    }

    fn capabilities(&self) -> CapabilitySet {
        [Capability::Fs, Capability::Shell].into_iter().collect()
    }

    async fn availability(&self) -> Result<(), Error> {
        self.inner.try_once().await
    }

    fn check(&self, config: &ProviderConfig) -> Result<(), Error> {
        BoxConfig::from(config_of(config)?).check()
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let config = config_of(&request.config)?;
        self.check(&request.config)?;
        check_offered(self.kind(), request.declared, self.capabilities())?;
        let inner = &self.inner;
        let id = request.workspace_id;
        let folder = inner.base.join(id.to_string());
        let wants_box = request.declared.contains(Capability::Shell);
        let spare = if wants_box { inner.take_spare(&folder, config).await } else { None };
        let (live, owner) = match spare {
            Some((live, owner)) => (Some(live), owner),
            None => {
                // Before anything is made: without a backend nothing is.
                if wants_box {
                    inner.bubblewrap(config.isolation)?;
                }
                let owner = inner.make_folder(&folder)?;
                let live = match wants_box {
                    true => Some(inner.make_box(&folder, owner, config).await.inspect_err(|_| {
                        // Nobody has a ref to it yet. One that holds files is not removed by this.
                        let _ = std::fs::remove_dir(&folder);
                    })?),
                    false => None,
                };
                (live, owner)
            }
        };
        self.refill_pool();
        let workspace =
            inner.workspace(id, WorkspaceParts { folder: &folder, owner, live }, config, request.declared)?;
        let reference = reference::write(&Payload { workspace: id }, request.declared)?;
        Ok(Opened { workspace, reference })
    }

    async fn resolve(
        &self,
        workspace_id: WorkspaceId,
        config: &ProviderConfig,
        reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.check(config)?;
        let config = config_of(config)?;
        let Payload { workspace } = reference::read(reference, workspace_id)?;
        let folder = self.inner.base.join(workspace.to_string());
        let owner = self.inner.owner_of(&folder)?;
        let live = if reference.capabilities.contains(Capability::Shell) {
            Some(self.inner.make_box(&folder, owner, config).await?)
        } else {
            None
        };
        self.inner.workspace(
            workspace_id,
            WorkspaceParts { folder: &folder, owner, live },
            config,
            reference.capabilities,
        )
    }

    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        let Payload { workspace } = reference::read(reference, workspace_id)?;
        self.inner.disks.forget(workspace);
        let (base, staging) = (self.inner.base.clone(), Arc::clone(&self.inner.staging));
        blocking(move || {
            let failed = |errno| errno::opening(errno, "the workspace's files cannot be deleted");
            let base = Root::open(&base).map_err(failed)?;
            // Renamed first: a crash from here on is finished by the reaper, and nobody opens half a workspace.
            match staging.discard(base.handle(), workspace.to_string().as_ref()) {
                Ok(discarded) => staging.delete_discarded(&discarded).map_err(failed),
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(failed(errno)),
            }
        })
        .await
    }

    async fn shut_down(&self) {
        self.inner.pool.drain();
        let launcher = Arc::clone(&self.inner.launcher);
        let ended = blocking(move || {
            launcher.retire();
            Ok(())
        });
        if let Err(error) = ended.await {
            tracing::warn!(%error, "the launcher of boxes did not end in order");
        }
    }

    /// Directories of workspaces are never guessed to be garbage: they go by `destroy` alone. Boxes of a process that
    /// died have ended with it; what is left of them are control groups.
    async fn reap(&self, _live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            let (removed, mut problems) = inner
                .staging
                .sweep(|_| {})
                .map_err(|errno| errno::opening(errno, "leftovers cannot be listed"))?;
            // Those of this process are seen to by their undertakers.
            let (groups, more) = inner.cgroups.sweep(|name| name.starts_with(&inner.instance));
            problems.extend(more);
            Ok(ReapReport { removed: removed + groups, problems })
        })
        .await
    }
}

fn config_of(config: &ProviderConfig) -> Result<&SandboxConfig, Error> {
    match config {
        ProviderConfig::Sandbox(config) => Ok(config),
        _ => Err(Error::permanent(
            ErrorCode::InvalidConfig,
            format!("kind: the sandbox provider was given a config for `{}`", config.kind()),
        )),
    }
}

fn open_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn open_program(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Folders of spare boxes whose process is gone. They are empty, or were never given out.
fn sweep_pool(base: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(base)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(POOL_PREFIX) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The name of this folder's control groups: the same after a restart, so that what a dead process left is found.
fn group_name(base: &Path) -> io::Result<String> {
    let stat = rustix::fs::stat(base)?;
    Ok(format!("{:x}-{:x}", stat.st_dev, stat.st_ino))
}

/// Bytes as a file of no name, from its beginning.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("filter", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn start_failure(error: &io::Error) -> Error {
    let detail = format!("the box could not be started: {error}");
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::ENOSPC | libc::EBUSY) => {
            Error::transient(ErrorCode::ProviderUnavailable, detail)
        }
        _ => unavailable(detail),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "asks bubblewrap for its version; nothing of a workspace is near"
)]
fn version_of(path: &Path) -> Option<String> {
    let output = std::process::Command::new(path).arg("--version").env_clear().output().ok()?;
    String::from_utf8(output.stdout).ok()
}

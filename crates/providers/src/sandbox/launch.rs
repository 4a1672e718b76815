//! Starts bubblewrap: the one place where a box comes to be.
//!
//! As root, Warren gives the box a user of its own before bubblewrap even starts, since bubblewrap started by root does
//! not isolate. That user cannot reach Warren's folders by path, so what it needs is handed over in a mount namespace
//! of its own, by handle:
//!
//! ```text
//!   Warren (root)       open_tree(handle)                      detached copies of the workspace and of mounts
//!   child, still root   join control groups; a copy of `mount_namespace`; move the detached ones to its stage, by number
//!   child, box's user   exec bubblewrap with no environment and descriptors 0 to 5
//! ```
//!
//! All boxes are started by one thread that lives as long as the provider: "die with the parent" means the parent
//! *thread*, and threads of an async runtime come and go.

#![expect(unsafe_code, reason = "fork, mounts and identity before exec; each block says why it holds")]

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::process::{Resource, Rlimit, setrlimit, setsid};
use tokio::sync::oneshot;
use warren_confined_fs::Owner;
use warren_doors::reset_signals;
use warren_model::BoxLimits;

use super::arguments::{CHANNEL_FD, FIRST_FILTER_FD, System};
use super::cgroup::{BoxCgroup, Cgroups};
use super::mount_namespace::MountNamespace;

/// Covered in the child's own mount namespace by what is handed over. It is there on every system.
const STAGE: &str = "/tmp";
/// Descriptors that are moved to fixed numbers must not stand where those are.
const ABOVE_FIXED: RawFd = 64;

/// What is handed over by handle, where the box's user could not go by path.
#[derive(Debug)]
pub(super) struct PassedTree {
    tree: OwnedFd,
    target: CString,
    is_directory: bool,
}

impl PassedTree {
    /// A detached copy of what `handle` stands for, without what is mounted below it. `number` names it on the stage.
    pub(super) fn new(handle: BorrowedFd<'_>, is_directory: bool, number: usize) -> io::Result<Self> {
        let flags = (libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC) as libc::c_uint
            | libc::AT_EMPTY_PATH as libc::c_uint;
        // SAFETY: a system call on a live descriptor and a static empty string; its answer is a new descriptor of ours.
        let tree = unsafe { libc::syscall(libc::SYS_open_tree, handle.as_raw_fd(), c"".as_ptr(), flags) };
        if tree < 0 {
            return Err(io::Error::last_os_error());
        }
        let tree = RawFd::try_from(tree).map_err(io::Error::other)?;
        // SAFETY: as above: the descriptor is new, and nobody else has it.
        let tree = unsafe { OwnedFd::from_raw_fd(tree) };
        Ok(Self { tree, target: CString::new(format!("{STAGE}/{number}"))?, is_directory })
    }

    /// Where bubblewrap finds it.
    pub(super) fn path(number: usize) -> PathBuf {
        Path::new(STAGE).join(number.to_string())
    }
}

/// All that a start needs.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Absent: Warren is not root, and the box has Warren's own user.
    pub(super) owner: Option<Owner>,
    pub(super) handed: Vec<PassedTree>,
    pub(super) box_limits: BoxLimits,
    pub(super) channel: OwnedFd,
    pub(super) filters: Vec<OwnedFd>,
    pub(super) limits: Vec<(Resource, Rlimit)>,
    pub(super) complaints: OwnedFd,
}

/// The thread that starts boxes.
///
/// To move a process between control groups takes the kernel a grace period, many times what the rest of a start takes.
/// Where single threads can be moved, this one therefore goes into the next box's group beforehand, so that the box is
/// born there.
#[derive(Debug)]
pub(super) struct Launcher {
    /// Absent once it is told to end.
    running: Mutex<Option<(mpsc::Sender<Job>, JoinHandle<()>)>>,
}

/// What the shared mount namespace is made of: the host's system, and the `/etc` of boxes.
pub(super) type Plan = (System, PathBuf);
type Job = (Launch, oneshot::Sender<io::Result<Started>>);

/// A bubblewrap under way, and the groups that it is in.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) cgroup: BoxCgroup,
}

impl Launcher {
    /// `instance` begins the names of its control groups.
    pub(super) fn new(
        cgroups: Arc<Cgroups>,
        instance: String,
        mount_namespace: Option<Plan>,
    ) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("box-launcher".into()).spawn(move || {
            let mut cradle = NextBox {
                cgroups,
                instance,
                made: 0,
                next: None,
                plan: mount_namespace,
                mount_namespace: None,
            };
            // Tried again, and told, when the first box is started.
            let _ = cradle.build_mount_namespace();
            cradle.prepare();
            for (launch, answer) in queue {
                cradle.start(launch, answer);
            }
            cradle.end();
        })?;
        Ok(Self { running: Mutex::new(Some((jobs, thread))) })
    }

    pub(super) async fn launch(&self, launch: Launch) -> io::Result<Started> {
        let (answer, answered) = oneshot::channel();
        let gone = || io::Error::other("the launcher has ended");
        {
            let running = self.running();
            let (jobs, _) = running.as_ref().ok_or_else(gone)?;
            jobs.send((launch, answer)).map_err(|_| gone())?;
        }
        answered.await.map_err(|_| gone())?
    }

    /// Ends the thread, and with it every box that it started. Waits until nothing of them is left, which is soon.
    pub(super) fn retire(&self) {
        let running = self.running().take();
        if let Some((jobs, thread)) = running {
            drop(jobs);
            let _ = thread.join();
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<(mpsc::Sender<Job>, JoinHandle<()>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.retire();
    }
}

/// What the launching thread prepares for the next box.
struct NextBox {
    cgroups: Arc<Cgroups>,
    instance: String,
    made: u64,
    /// The group that this thread is in, if threads can be moved.
    next: Option<BoxCgroup>,
    /// Absent: Warren is not root.
    plan: Option<Plan>,
    mount_namespace: Option<MountNamespace>,
}

impl NextBox {
    fn build_mount_namespace(&mut self) -> io::Result<()> {
        if let Some((system, etc)) = &self.plan
            && self.mount_namespace.is_none()
        {
            self.mount_namespace = Some(MountNamespace::make(system, etc)?);
        }
        Ok(())
    }

    fn make_group(&mut self) -> io::Result<BoxCgroup> {
        self.made += 1;
        self.cgroups.make(&format!("{}-{}", self.instance, self.made))
    }

    /// Goes into the next group. Should it fail, the next box is moved after its birth.
    fn prepare(&mut self) {
        if !self.cgroups.can_move_threads() {
            return;
        }
        self.next = self.make_group().ok().filter(|group| {
            // As most boxes want it, so that nothing has to be written while somebody waits.
            let entered = group.limit_space(&BoxLimits::default()).and_then(|()| group.enter());
            if let Err(error) = &entered {
                tracing::warn!(%error, "a thread cannot be moved between control groups");
                let _ = self.cgroups.leave();
                let _ = group.end();
            }
            entered.is_ok()
        });
    }

    fn start(&mut self, launch: Launch, answer: oneshot::Sender<io::Result<Started>>) {
        let limits = launch.box_limits.clone();
        let is_inside = self.next.is_some();
        let group = match self.next.take().map_or_else(|| self.make_group(), Ok) {
            Ok(group) => group,
            Err(error) => {
                let _ = answer.send(Err(error));
                return;
            }
        };
        let is_limited = is_inside && limits == BoxLimits::default();
        let limited = if is_limited { Ok(()) } else { group.limit_space(&limits) };
        let started = limited.and_then(|()| self.build_mount_namespace()).and_then(|()| {
            let entrances = if is_inside { Vec::new() } else { group.entrances()? };
            if !is_inside {
                group.limit_time(&limits)?;
            }
            start(launch, entrances, self.mount_namespace.as_ref())
        });
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                self.prepare();
                let _ = group.end();
                let _ = answer.send(Err(error));
                return;
            }
        };
        let time = group.clone();
        let process = rustix::process::Pid::from_child(&child);
        if let Err(Ok(mut unwanted)) = answer.send(Ok(Started { child, cgroup: group })) {
            let _ = unwanted.child.kill();
            let _ = unwanted.child.wait();
            self.prepare();
            let _ = unwanted.cgroup.end();
            return;
        }
        if is_inside {
            self.prepare();
            // Only now that this thread is out: it would be slowed down with the box.
            if let Err(error) = time.limit_time(&limits)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::error!(%error, "a box cannot be given its share of the processor; it is ended");
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        }
    }

    fn end(mut self) {
        let _ = self.cgroups.leave();
        if let Some(group) = self.next.take() {
            let _ = group.end();
        }
        // The boxes die with this thread; nothing of them is to be left.
        let (_, problems) = self.cgroups.sweep(|name| !name.starts_with(&self.instance));
        for problem in problems {
            tracing::warn!("{problem}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the door for boxes; commands in them go through process 1")]
fn start(
    launch: Launch,
    groups: Vec<OwnedFd>,
    mount_namespace: Option<&MountNamespace>,
) -> io::Result<Child> {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(launch.complaints));
    let mut fixed = vec![(lifted(&launch.channel)?, CHANNEL_FD)];
    for (filter, number) in launch.filters.iter().zip(FIRST_FILTER_FD..) {
        fixed.push((lifted(filter)?, number));
    }
    let (owner, handed, limits) = (launch.owner, launch.handed, launch.limits);
    let mount_namespace = mount_namespace.map(|mount_namespace| mount_namespace.as_fd().as_raw_fd());
    // SAFETY: the closure runs in the child between fork and exec, where only async-signal-safe calls are allowed. It
    // makes bare system calls on values that were made before the fork; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            setsid()?;
            for group in &groups {
                rustix::io::write(group, b"0")?;
            }
            for (resource, limit) in &limits {
                setrlimit(*resource, *limit)?;
            }
            if let Some(owner) = owner {
                enter_copy(mount_namespace.ok_or(io::ErrorKind::NotFound)?)?;
                set_stage(&handed)?;
                become_owner(owner)?;
            }
            for (from, to) in &fixed {
                if libc::dup2(from.as_raw_fd(), *to) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            reset_signals()?;
            let after = FIRST_FILTER_FD as usize + fixed.len() - 1;
            close_on_exec_from(after as libc::c_uint)
        });
    }
    command.spawn()
}

/// A copy with a number above those that are given out fixed.
fn lifted(descriptor: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor.as_fd(), ABOVE_FIXED)?)
}

/// In the child: a copy of the shared mount namespace, from which nothing leads back to the host's.
fn enter_copy(mount_namespace: RawFd) -> io::Result<()> {
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: system calls on static strings and on a descriptor that the parent holds open; each failure is told.
    unsafe {
        check(libc::setns(mount_namespace, libc::CLONE_NEWNS))?;
        check(libc::unshare(libc::CLONE_NEWNS))?;
        check(libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), private, std::ptr::null()))
    }
}

/// In the child: terminals for this box alone, and a stage that holds what is handed over.
fn set_stage(handed: &[PassedTree]) -> io::Result<()> {
    let options = c"size=256k,nr_inodes=128,mode=0755";
    let terminals = c"newinstance,ptmxmode=0666,mode=620";
    // SAFETY: system calls with static strings and live descriptors; each failure is told.
    unsafe {
        let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
        let (kind, place) = (c"devpts".as_ptr(), c"/dev/pts".as_ptr());
        check(libc::mount(kind, place, kind, flags, terminals.as_ptr().cast()))?;
        let (kind, place) = (c"tmpfs".as_ptr(), STAGE_C.as_ptr());
        check(libc::mount(kind, place, kind, flags | libc::MS_NODEV, options.as_ptr().cast()))?;
        for one in handed {
            if one.is_directory {
                check(libc::mkdir(one.target.as_ptr(), 0o700))?;
            } else {
                let file =
                    libc::open(one.target.as_ptr(), libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o600);
                check(file)?;
                libc::close(file);
            }
            let moved = libc::syscall(
                libc::SYS_move_mount,
                one.tree.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_FDCWD,
                one.target.as_ptr(),
                libc::MOVE_MOUNT_F_EMPTY_PATH as libc::c_uint,
            );
            check(if moved < 0 { -1 } else { 0 })?;
            // A copy of a shared mount is shared too: what the host mounts below it later would be seen (sec/S22).
            let private = libc::MS_REC | libc::MS_PRIVATE;
            let place = one.target.as_ptr();
            check(libc::mount(std::ptr::null(), place, std::ptr::null(), private, std::ptr::null()))?;
        }
    }
    Ok(())
}

const STAGE_C: &std::ffi::CStr = c"/tmp";

/// In the child: the box's user, for good.
fn become_owner(owner: Owner) -> io::Result<()> {
    // SAFETY: system calls with integer arguments. The raw calls change this thread alone, which is all a forked child has.
    unsafe {
        check_long(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()))?;
        check_long(libc::syscall(libc::SYS_setresgid, owner.gid, owner.gid, owner.gid))?;
        check_long(libc::syscall(libc::SYS_setresuid, owner.uid, owner.uid, owner.uid))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn check_long(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Descriptors are only marked: the one through which a failure to start is told must last until then.
fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: a bare system call with integer arguments; no descriptor is closed here.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check_long(result)
}

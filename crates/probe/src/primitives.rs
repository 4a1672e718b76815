//! Calls that have opened boxes before, or that open up much of the kernel (sec/S03, S09, S10).

#![expect(unsafe_code, reason = "a cloned child must end before it returns")]

use std::ffi::CStr;

use libc::c_long;

use crate::system::{Outcome, at, call, tell, tell_apart};

const MISSING: &CStr = c"/.probe-missing";
const PLACE: &CStr = c"/proc/self";
const ROOT: &CStr = c"/";
const NOTHING: [u64; 32] = [0; 32];

/// 52 of them. Each needs its right before it looks at its arguments, or does nothing when it is allowed.
pub(crate) fn all() {
    mounts();
    tell_apart("unshare_user", || unshare(libc::CLONE_NEWUSER));
    tell_apart("unshare_mount", || unshare(libc::CLONE_NEWNS));
    tell_apart("unshare_net", || unshare(libc::CLONE_NEWNET));
    tell_apart("unshare_pid", || unshare(libc::CLONE_NEWPID));
    tell_apart("clone_user", || clone(c_long::from(libc::CLONE_NEWUSER)));
    tell_apart("clone3_user", || clone3(libc::CLONE_NEWUSER as u64));
    tell_apart("setns", || call(libc::SYS_setns, [-1, 0, 0, 0, 0, 0]));
    other_processes();
    kernel_programs();
    whole_system();
    sockets_of_note();
}

fn mounts() {
    let text = |text: &CStr| text.as_ptr() as c_long;
    let (root, place, missing) = (text(ROOT), text(PLACE), text(MISSING));
    let no_such = text(c"no-such-filesystem");
    let here = c_long::from(libc::AT_FDCWD);
    let one = |name: &str, number, arguments: [c_long; 6]| tell_apart(name, || call(number, arguments));
    one("mount", libc::SYS_mount, [text(c"none"), root, no_such, 0, 0, 0]);
    one("umount", libc::SYS_umount2, [place, 0, 0, 0, 0, 0]);
    one("pivot_root", libc::SYS_pivot_root, [place, place, 0, 0, 0, 0]);
    one("chroot", libc::SYS_chroot, [place, 0, 0, 0, 0, 0]);
    one("fsopen", libc::SYS_fsopen, [no_such, 0, 0, 0, 0, 0]);
    one("fsmount", libc::SYS_fsmount, [-1, 0, 0, 0, 0, 0]);
    one("fspick", libc::SYS_fspick, [here, root, 0, 0, 0, 0]);
    one("open_tree", libc::SYS_open_tree, [here, root, 1, 0, 0, 0]);
    one("move_mount", libc::SYS_move_mount, [-1, text(c""), -1, text(c""), 4, 0]);
    one("mount_setattr", libc::SYS_mount_setattr, [here, root, 0, at(&NOTHING), 32, 0]);
    one("swapon", libc::SYS_swapon, [missing, 0, 0, 0, 0, 0]);
    one("swapoff", libc::SYS_swapoff, [missing, 0, 0, 0, 0, 0]);
    one("quotactl", libc::SYS_quotactl, [0x0080_0005 << 8, missing, 0, 0, 0, 0]);
    one("fanotify_init", libc::SYS_fanotify_init, [0, 0, 0, 0, 0, 0]);
    one("open_by_handle_at", libc::SYS_open_by_handle_at, [-1, at(&NOTHING), 0, 0, 0, 0]);
    let (mut handle, mut mount) = ([0_u32; 40], 0);
    handle[0] = 128;
    let handle = std::ptr::from_mut(&mut handle) as c_long;
    let mount = std::ptr::from_mut::<i32>(&mut mount) as c_long;
    one("name_to_handle_at", libc::SYS_name_to_handle_at, [here, root, handle, mount, 0, 0]);
    tell_apart("mknod_device", || {
        let path = c"/tmp/.probe-device";
        let made = call(
            libc::SYS_mknodat,
            [here, path.as_ptr() as c_long, c_long::from(libc::S_IFCHR | 0o600), 0x103, 0, 0],
        );
        let _ = call(libc::SYS_unlinkat, [here, path.as_ptr() as c_long, 0, 0, 0, 0]);
        made
    });
}

fn other_processes() {
    let me = c_long::from(std::process::id());
    let (mut here, there) = ([0_u8; 8], [1_u8; 8]);
    let local = [std::ptr::from_mut(&mut here) as usize, 8];
    let remote = [std::ptr::from_ref(&there) as usize, 8];
    let one = |name: &str, number, arguments: [c_long; 6]| tell_apart(name, || call(number, arguments));
    one("ptrace", libc::SYS_ptrace, [0, 0, 0, 0, 0, 0]);
    one("process_vm_readv", libc::SYS_process_vm_readv, [me, at(&local), 1, at(&remote), 1, 0]);
    one("process_vm_writev", libc::SYS_process_vm_writev, [me, at(&local), 1, at(&local), 1, 0]);
    one("pidfd_getfd", libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0, 0]);
    one("kcmp", libc::SYS_kcmp, [me, me, 1, 0, 0, 0]);
}

fn kernel_programs() {
    let text = |text: &CStr| text.as_ptr() as c_long;
    // An array map with one element of four bytes.
    let map: [u32; 32] = std::array::from_fn(|index| [2, 4, 4, 1].get(index).copied().unwrap_or(0));
    // A software clock of this process, the kernel left out.
    let mut event = [0_u64; 16];
    event[0] = 1 | 128 << 32;
    event[5] = 1 << 5 | 1 << 6;
    let one = |name: &str, number, arguments: [c_long; 6]| tell_apart(name, || call(number, arguments));
    one("bpf", libc::SYS_bpf, [0, at(&map), 128, 0, 0, 0]);
    one("keyctl", libc::SYS_keyctl, [0, -3, 0, 0, 0, 0]);
    one("add_key", libc::SYS_add_key, [text(c"user"), text(c"probe"), text(c"x"), 1, -2, 0]);
    one("request_key", libc::SYS_request_key, [text(c"user"), text(c"probe-missing"), 0, 0, 0, 0]);
    one("io_uring_setup", libc::SYS_io_uring_setup, [1, at(&NOTHING), 0, 0, 0, 0]);
    one("io_uring_register", libc::SYS_io_uring_register, [-1, 0, 0, 0, 0, 0]);
    one("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0, 0]);
    one("perf_event_open", libc::SYS_perf_event_open, [at(&event), 0, -1, -1, 0, 0]);
    one("init_module", libc::SYS_init_module, [0, 0, 0, 0, 0, 0]);
    one("finit_module", libc::SYS_finit_module, [-1, text(c""), 0, 0, 0, 0]);
    one("delete_module", libc::SYS_delete_module, [text(c"no_such_module"), 0o4000, 0, 0, 0, 0]);
    one("kexec_load", libc::SYS_kexec_load, [0, 0, 0, -1, 0, 0]);
}

fn whole_system() {
    let one = |name: &str, number, arguments: [c_long; 6]| tell_apart(name, || call(number, arguments));
    one("acct", libc::SYS_acct, [MISSING.as_ptr() as c_long, 0, 0, 0, 0, 0]);
    // Without its magic numbers.
    one("reboot", libc::SYS_reboot, [0, 0, 0, 0, 0, 0]);
    // Sets nothing.
    one("settimeofday", libc::SYS_settimeofday, [0, 0, 0, 0, 0, 0]);
    one("syslog", libc::SYS_syslog, [10, 0, 0, 0, 0, 0]);
    #[cfg(target_arch = "x86_64")]
    {
        one("iopl", libc::SYS_iopl, [3, 0, 0, 0, 0, 0]);
        one("ioperm", libc::SYS_ioperm, [0x80, 1, 1, 0, 0, 0]);
    }
}

fn sockets_of_note() {
    let raw = libc::SOCK_RAW;
    for (name, family, kind, protocol) in [
        ("socket_packet", libc::AF_PACKET, raw, 0),
        ("socket_vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        ("socket_netlink", libc::AF_NETLINK, raw, 0),
        ("socket_alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        ("socket_raw", libc::AF_INET, raw, libc::IPPROTO_ICMP),
    ] {
        tell_apart(name, || socket(family, kind, protocol));
    }
}

/// Every namespace, by every call that makes or joins one.
pub(crate) fn namespaces() {
    let kinds = [
        ("mount", libc::CLONE_NEWNS),
        ("cgroup", libc::CLONE_NEWCGROUP),
        ("uts", libc::CLONE_NEWUTS),
        ("ipc", libc::CLONE_NEWIPC),
        ("user", libc::CLONE_NEWUSER),
        ("pid", libc::CLONE_NEWPID),
        ("net", libc::CLONE_NEWNET),
        ("time", 0x80),
    ];
    for (name, flag) in kinds {
        tell_apart(&format!("unshare_{name}"), || unshare(flag));
        if flag != 0x80 {
            tell_apart(&format!("clone_{name}"), || clone(c_long::from(flag)));
            // The kernel itself reads 32 bits of the flags; a filter that read 64 would be passed.
            tell_apart(&format!("clone_high_{name}"), || clone(c_long::from(flag) | 1 << 40));
        }
        tell_apart(&format!("clone3_{name}"), || clone3(flag as u64));
    }
    for of in ["1", "self"] {
        for name in ["mnt", "uts", "ipc", "user", "pid", "net", "cgroup"] {
            tell_apart(&format!("setns_{of}_{name}"), || join(&format!("/proc/{of}/ns/{name}")));
        }
    }
}

fn join(path: &str) -> Outcome {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::open(path).map_err(|error| error.raw_os_error().unwrap_or(-1))?;
    call(libc::SYS_setns, [c_long::from(file.as_raw_fd()), 0, 0, 0, 0, 0])
}

/// Families that reach past a network namespace, or into parts of the kernel that few have looked at.
pub(crate) fn sockets() {
    const XDP: i32 = 44;
    let (raw, stream) = (libc::SOCK_RAW, libc::SOCK_STREAM);
    for (name, family, kind) in [
        ("vsock", libc::AF_VSOCK, stream),
        ("netlink", libc::AF_NETLINK, raw),
        ("packet", libc::AF_PACKET, raw),
        ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET),
        ("bluetooth", libc::AF_BLUETOOTH, raw),
        ("xdp", XDP, raw),
        ("key", libc::AF_KEY, raw),
        ("tipc", libc::AF_TIPC, stream),
        ("can", libc::AF_CAN, raw),
    ] {
        tell(name, socket(family, kind, 0));
        // The same family, in the 32 bits that the kernel reads.
        let high = c_long::from(family) | 1 << 32;
        tell(&format!("{name}_high"), call(libc::SYS_socket, [high, c_long::from(kind), 0, 0, 0, 0]));
    }
}

fn socket(family: i32, kind: i32, protocol: i32) -> Outcome {
    call(libc::SYS_socket, [family.into(), kind.into(), protocol.into(), 0, 0, 0])
}

fn unshare(flag: i32) -> Outcome {
    call(libc::SYS_unshare, [flag.into(), 0, 0, 0, 0, 0])
}

fn clone(flags: c_long) -> Outcome {
    end_child(call(libc::SYS_clone, [flags | c_long::from(libc::SIGCHLD), 0, 0, 0, 0, 0]))
}

fn clone3(flags: u64) -> Outcome {
    let mut arguments = [0_u64; 11];
    arguments[0] = flags;
    arguments[4] = libc::SIGCHLD as u64;
    end_child(call(libc::SYS_clone3, [at(&arguments), 88, 0, 0, 0, 0]))
}

fn end_child(outcome: Outcome) -> Outcome {
    if outcome == Ok(0) {
        // SAFETY: the new child ends at once; the answer is the parent's.
        unsafe { libc::_exit(0) };
    }
    outcome
}

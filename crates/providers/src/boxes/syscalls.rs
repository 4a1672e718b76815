//! The system calls that programs in a box may make: one list, from which the sandbox's filter and the container's
//! profile are both made.
//!
//! What is not listed is refused with EPERM. Calls of other architectures (32-bit, x32) end the process: their numbers
//! mean something else, and a filter that did not look would be passed by them. `clone3` is answered "not implemented",
//! since its flags cannot be looked at; libraries then use `clone`, whose flags can.
//!
//! `fallocate` gives space back and takes none: it would take a whole disk in a millisecond, before anybody could look.
//! Whoever asks is told that the file system does not offer it, and libraries then write instead.
//!
//! Arguments are compared as 32 bits, as the kernel itself reads them; with 64, setting a high bit would pass.

use std::collections::BTreeSet;

use seccompiler::{BpfProgram, sock_filter};
use serde_json::{Value, json};
use warren_model::ErrorCode;
use warren_workspace::Error;

/// Allowed whatever the arguments.
const PLAIN: &[&str] = &[
    "accept",
    "accept4",
    "bind",
    "brk",
    "capget",
    "capset",
    "chdir",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "close",
    "close_range",
    "connect",
    "copy_file_range",
    "dup",
    "dup3",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "eventfd2",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flistxattr",
    "flock",
    "fremovexattr",
    "fsetxattr",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "futex",
    "get_robust_list",
    "getcpu",
    "getcwd",
    "getdents64",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getitimer",
    "getpeername",
    "getpgid",
    "getpid",
    "getppid",
    "getpriority",
    "getrandom",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getrusage",
    "getsid",
    "getsockname",
    "getsockopt",
    "gettid",
    "gettimeofday",
    "getuid",
    "getxattr",
    "inotify_add_watch",
    "inotify_init1",
    "inotify_rm_watch",
    "ioprio_get",
    "ioprio_set",
    "kill",
    "landlock_add_rule",
    "landlock_create_ruleset",
    "landlock_restrict_self",
    "lgetxattr",
    "linkat",
    "listen",
    "listxattr",
    "llistxattr",
    "lremovexattr",
    "lseek",
    "lsetxattr",
    "madvise",
    "membarrier",
    "memfd_create",
    "mincore",
    "mkdirat",
    "mknodat",
    "mlock",
    "mlock2",
    "mlockall",
    "mmap",
    "mprotect",
    "mq_getsetattr",
    "mq_notify",
    "mq_open",
    "mq_timedreceive",
    "mq_timedsend",
    "mq_unlink",
    "mremap",
    "msgctl",
    "msgget",
    "msgrcv",
    "msgsnd",
    "msync",
    "munlock",
    "munlockall",
    "munmap",
    "nanosleep",
    "newfstatat",
    "openat",
    "openat2",
    "pidfd_open",
    "pidfd_send_signal",
    "pipe2",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "ppoll",
    "prctl",
    "pread64",
    "preadv",
    "preadv2",
    "process_madvise",
    "pselect6",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlinkat",
    "readv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "remap_file_pages",
    "removexattr",
    "renameat",
    "renameat2",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigqueueinfo",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "rt_tgsigqueueinfo",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_rr_get_interval",
    "sched_setaffinity",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
    "sched_yield",
    "seccomp",
    "semctl",
    "semget",
    "semop",
    "semtimedop",
    "sendfile",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "set_robust_list",
    "set_tid_address",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "setitimer",
    "setpgid",
    "setpriority",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setrlimit",
    "setsid",
    "setsockopt",
    "setuid",
    "setxattr",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",
    "shutdown",
    "sigaltstack",
    "signalfd4",
    "splice",
    "statfs",
    "statx",
    "symlinkat",
    "sync",
    "sync_file_range",
    "syncfs",
    "sysinfo",
    "tee",
    "tgkill",
    "timer_create",
    "timer_delete",
    "timer_getoverrun",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "times",
    "tkill",
    "truncate",
    "umask",
    "uname",
    "unlinkat",
    "utimensat",
    "vmsplice",
    "wait4",
    "waitid",
    "write",
    "writev",
];

/// Older calls that newer architectures never had.
const PLAIN_X86_64: &[&str] = &[
    "access",
    "alarm",
    "arch_prctl",
    "chmod",
    "chown",
    "creat",
    "dup2",
    "epoll_create",
    "epoll_wait",
    "eventfd",
    "fork",
    "futimesat",
    "getdents",
    "getpgrp",
    "inotify_init",
    "lchown",
    "link",
    "lstat",
    "mkdir",
    "mknod",
    "open",
    "pause",
    "pipe",
    "poll",
    "readlink",
    "rename",
    "rmdir",
    "select",
    "signalfd",
    "stat",
    "symlink",
    "time",
    "unlink",
    "utime",
    "utimes",
    "vfork",
];

/// A call that is allowed only with certain values of one argument.
struct ArgumentRule {
    call: &'static str,
    argument: u8,
    values: Values,
    /// What is answered otherwise.
    errno: i32,
}

enum Values {
    OneOf(&'static [u32]),
    NoneOf(&'static [u32]),
    WithoutBits(u32),
}

const NARROW: &[ArgumentRule] = &[
    // Holes and cuts, which give space back; everything else takes some.
    ArgumentRule {
        call: "fallocate",
        argument: 1,
        values: Values::OneOf(&[
            (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u32,
            libc::FALLOC_FL_COLLAPSE_RANGE as u32,
        ]),
        errno: libc::EOPNOTSUPP,
    },
    // Local sockets, and the internet's, which lead nowhere: a box has no network.
    ArgumentRule {
        call: "socket",
        argument: 0,
        values: Values::OneOf(&[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32]),
        errno: libc::EPERM,
    },
    ArgumentRule {
        call: "socketpair",
        argument: 0,
        values: Values::OneOf(&[libc::AF_UNIX as u32]),
        errno: libc::EPERM,
    },
    // No namespace of any kind.
    ArgumentRule { call: "clone", argument: 0, values: Values::WithoutBits(NAMESPACES), errno: libc::EPERM },
    ArgumentRule { call: "ioctl", argument: 1, values: Values::NoneOf(REFUSED_IOCTLS), errno: libc::EPERM },
    // A program's own limits, not those of process 1, which is of the same user.
    ArgumentRule { call: "prlimit64", argument: 0, values: Values::OneOf(&[0]), errno: libc::EPERM },
    // Linux as it is, without randomized addresses, and asking.
    ArgumentRule {
        call: "personality",
        argument: 0,
        values: Values::OneOf(&[0, 0x0002_0000, 0x0004_0000, 0xffff_ffff]),
        errno: libc::EPERM,
    },
];

const REFUSED_IOCTLS: &[u32] = &[
    // Nothing that types into a terminal or pastes there: TIOCSTI, TIOCLINUX.
    0x5412,
    0x541c,
    // The older ways to take space without writing: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE.
    0x4030_5828,
    0x4030_582a,
    0x4030_5839,
    // FS_IOC_FSSETXATTR: how much a file system takes for the next byte, and whose quota a file counts to.
    0x401c_5820,
    // EXT4_IOC_MOVE_EXT
    0xc028_660f,
];

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32
    // CLONE_NEWTIME
    | 0x80;

/// Numbers from here on are x32's.
const FIRST_X32_CALL: u32 = 0x4000_0000;

/// Blocks of numbers, as mask and value, that together hold every number but these. Neither kind of filter can say "none
/// of"; both can look at some of the bits.
fn blocks_without(numbers: &[u32]) -> Vec<(u32, u32)> {
    let mut blocks = Vec::new();
    let mut open = vec![(0_u32, 0_u32)];
    while let Some((mask, value)) = open.pop() {
        if numbers.iter().all(|number| number & mask != value) {
            blocks.push((mask, value));
        } else if mask != u32::MAX {
            let bit = 1 << (31 - mask.count_ones());
            open.extend([(mask | bit, value), (mask | bit, value | bit)]);
        }
    }
    blocks
}

fn plain() -> impl Iterator<Item = &'static str> {
    let older: &[&str] = if cfg!(target_arch = "x86_64") { PLAIN_X86_64 } else { &[] };
    PLAIN.iter().chain(older).copied()
}

/// The filters of a sandbox, to be loaded one after the other: which calls at all, and with which arguments.
///
/// The first is by ranges of numbers: a box is opened with it, and the kernel goes through it for every call there is.
pub(crate) fn filters() -> Result<Vec<Vec<u8>>, Error> {
    let allowed = numbers(plain().chain(NARROW.iter().map(|narrow| narrow.call)))?;
    let clone3 = numbers(std::iter::once("clone3"))?;
    let mut filters = vec![as_bytes(&by_ranges(&ranges(&allowed), &clone3))];
    // A filter answers with one error.
    for errno in NARROW.iter().map(|narrow| narrow.errno).collect::<BTreeSet<_>>() {
        let narrow = NARROW.iter().filter(|narrow| narrow.errno == errno);
        let refused = json!({
            "mismatch_action": "allow",
            "match_action": { "errno": errno },
            "filter": narrow.flat_map(refused_arguments).collect::<Vec<_>>(),
        });
        filters.push(as_bytes(&compile(&refused)?));
    }
    Ok(filters)
}

/// When a call is refused for its argument; the conditions of one rule hold together.
fn refused_arguments(narrow: &ArgumentRule) -> Vec<Value> {
    let condition = |operator: Value, value: u32| json!({ "index": narrow.argument, "type": "dword", "op": operator, "val": value });
    let rule = |conditions: Vec<Value>| json!({ "syscall": narrow.call, "args": conditions });
    match narrow.values {
        Values::OneOf(values) => {
            vec![rule(values.iter().map(|&value| condition(json!("ne"), value)).collect())]
        }
        Values::NoneOf(values) => {
            values.iter().map(|&value| rule(vec![condition(json!("eq"), value)])).collect()
        }
        Values::WithoutBits(bits) => (0..u32::BITS)
            .map(|bit| 1 << bit)
            .filter(|bit| bits & bit != 0)
            .map(|bit| rule(vec![condition(json!({ "masked_eq": bit }), bit)]))
            .collect(),
    }
}

/// The numbers of calls on this architecture, sorted. The library knows them, but tells them only in what it compiles.
fn numbers<'a>(calls: impl Iterator<Item = &'a str>) -> Result<Vec<u32>, Error> {
    let list = json!({
        "mismatch_action": { "errno": libc::EPERM },
        "match_action": "allow",
        "filter": calls.map(|call| json!({ "syscall": call })).collect::<Vec<_>>(),
    });
    let is_comparison =
        |step: &&sock_filter| u32::from(step.code) == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let compared = compile(&list)?.iter().filter(is_comparison).map(|step| step.k).collect::<BTreeSet<_>>();
    Ok(compared.into_iter().filter(|&number| number != ARCHITECTURE).collect())
}

/// First and last of each run of numbers.
fn ranges(numbers: &[u32]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// Allows what is in a range and refuses the rest. Ranges are sorted, so that a number that is not above a range and not in
/// it is in none.
fn by_ranges(ranges: &[(u32, u32)], not_implemented: &[u32]) -> BpfProgram {
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    let (load, answer) = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_RET | libc::BPF_K);
    let (is_equal, is_at_least) =
        (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K);
    let refuse = |errno: i32| step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32);
    let mut program = vec![
        step(load, 0, 0, ARCHITECTURE_OFFSET),
        step(is_equal, 1, 0, ARCHITECTURE),
        step(answer, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(load, 0, 0, NUMBER_OFFSET),
    ];
    for &number in not_implemented {
        program.extend([step(is_equal, 0, 1, number), refuse(libc::ENOSYS)]);
    }
    for &(first, last) in ranges {
        program.extend([
            step(is_at_least, 3, 0, last + 1),
            step(is_at_least, 0, 1, first),
            step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
            refuse(libc::EPERM),
        ]);
    }
    program.push(refuse(libc::EPERM));
    program
}

/// Where `struct seccomp_data` has its parts.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

fn compile(filter: &Value) -> Result<BpfProgram, Error> {
    let unusable = |problem: String| {
        let detail = format!("the system call filter cannot be made on this host: {problem}");
        Error::permanent(ErrorCode::ProviderUnavailable, detail)
    };
    let architecture = std::env::consts::ARCH
        .try_into()
        .map_err(|error: seccompiler::BackendError| unusable(error.to_string()))?;
    let document = json!({ "box": filter }).to_string();
    let mut programs = seccompiler::compile_from_json(document.as_bytes(), architecture)
        .map_err(|error| unusable(error.to_string()))?;
    programs.remove("box").ok_or_else(|| unusable("nothing was compiled".into()))
}

/// As the kernel reads it, with x32 shut first.
fn as_bytes(program: &[sock_filter]) -> Vec<u8> {
    let statement = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    let shut_x32 = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, FIRST_X32_CALL),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ];
    let prefix: &[sock_filter] = if cfg!(target_arch = "x86_64") { &shut_x32 } else { &[] };
    prefix
        .iter()
        .chain(program)
        .flat_map(|one| {
            let [code0, code1] = one.code.to_ne_bytes();
            let [k0, k1, k2, k3] = one.k.to_ne_bytes();
            [code0, code1, one.jt, one.jf, k0, k1, k2, k3]
        })
        .collect()
}

/// The same list as a container's seccomp profile.
pub(crate) fn docker_profile() -> Value {
    let allow = "SCMP_ACT_ALLOW";
    let mut calls = vec![
        json!({ "names": plain().collect::<Vec<_>>(), "action": allow }),
        json!({ "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS }),
    ];
    for narrow in NARROW {
        let rule = |argument: Value| json!({ "names": [narrow.call], "action": allow, "args": [argument] });
        let index = narrow.argument;
        let bits = |mask: u32, value: u32| json!({ "index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ" });
        let masked = |mask: u32, value: u32| rule(bits(mask, value));
        match narrow.values {
            Values::OneOf(values) => {
                calls.extend(values.iter().map(|&value| masked(u32::MAX, value)));
                // Others are refused with the error of the whole list, unless they have one of their own.
                if narrow.errno != libc::EPERM {
                    calls.extend(blocks_without(values).into_iter().map(|(mask, value)| {
                        json!({
                            "names": [narrow.call], "action": "SCMP_ACT_ERRNO", "errnoRet": narrow.errno,
                            "args": [bits(mask, value)],
                        })
                    }));
                }
            }
            Values::NoneOf(values) => {
                calls.extend(blocks_without(values).into_iter().map(|(mask, value)| masked(mask, value)));
            }
            Values::WithoutBits(bits) => calls.push(masked(bits, 0)),
        }
    }
    let architecture = if cfg!(target_arch = "x86_64") { "SCMP_ARCH_X86_64" } else { "SCMP_ARCH_AARCH64" };
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": libc::EPERM,
        "architectures": [architecture],
        "syscalls": calls,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // sec/S03
    #[test]
    fn dangerous_calls_are_on_no_list() {
        let dangerous = [
            "mount",
            "umount2",
            "pivot_root",
            "chroot",
            "unshare",
            "setns",
            "ptrace",
            "process_vm_readv",
            "process_vm_writev",
            "bpf",
            "keyctl",
            "add_key",
            "request_key",
            "io_uring_setup",
            "io_uring_enter",
            "userfaultfd",
            "perf_event_open",
            "kexec_load",
            "kexec_file_load",
            "init_module",
            "finit_module",
            "delete_module",
            "open_by_handle_at",
            "quotactl",
            "swapon",
            "swapoff",
            "iopl",
            "ioperm",
            "reboot",
            "acct",
            "fsopen",
            "fsmount",
            "move_mount",
            "open_tree",
            "mount_setattr",
            "pidfd_getfd",
            "modify_ldt",
            "syslog",
            "settimeofday",
            "clock_settime",
            "adjtimex",
            "fanotify_init",
            "kcmp",
            "lookup_dcookie",
            "vhangup",
            "io_setup",
            "io_submit",
            "nfsservctl",
            "uselib",
            "ustat",
            "sysfs",
            "move_pages",
            "mbind",
            "migrate_pages",
            "set_mempolicy",
        ];
        let allowed: Vec<_> = plain().chain(NARROW.iter().map(|narrow| narrow.call)).collect();
        for call in dangerous {
            assert!(!allowed.contains(&call), "{call}");
        }
        let mut unique = allowed.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), allowed.len(), "no call is listed twice");
    }

    // sec/S07
    #[test]
    fn blocks_hold_every_number_but_those_that_are_left_out() {
        let left_out = [0x5412, 0x541c];
        let blocks = blocks_without(&left_out);
        let holding = |number: u32| blocks.iter().filter(|(mask, value)| number & mask == *value).count();
        for number in left_out {
            assert_eq!(holding(number), 0, "{number:x}");
        }
        for number in [0, 1, 0x5401, 0x5411, 0x5413, 0x541b, 0x541d, 0x8004_5430, u32::MAX] {
            assert_eq!(holding(number), 1, "{number:x}");
        }
        assert_eq!(blocks.iter().map(|(mask, _)| 1_u64 << mask.count_zeros()).sum::<u64>(), (1 << 32) - 2);
    }

    /// What the first filter answers to a call, by going through it as the kernel does.
    fn verdict(program: &[sock_filter], number: u32) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            match u32::from(step.code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    value = if step.k == NUMBER_OFFSET { number } else { ARCHITECTURE };
                }
                code if code == libc::BPF_RET | libc::BPF_K => return step.k,
                code => {
                    let is_equal = code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
                    let holds = if is_equal { value == step.k } else { value >= step.k };
                    at += usize::from(if holds { step.jt } else { step.jf });
                }
            }
        }
    }

    // sec/S03
    #[test]
    fn ranges_allow_exactly_what_is_listed() {
        let listed = numbers(plain().chain(NARROW.iter().map(|narrow| narrow.call))).unwrap();
        let clone3 = numbers(std::iter::once("clone3")).unwrap();
        assert_eq!(clone3, [435]);
        assert_eq!(listed.len(), plain().count() + NARROW.len(), "every name has a number of its own");
        let ranges = ranges(&listed);
        let program = by_ranges(&ranges, &clone3);
        assert!(program.len() < 500, "{} steps for {} ranges", program.len(), ranges.len());
        for number in 0..2_000 {
            let expected = match number {
                435 => libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32,
                _ if listed.contains(&number) => libc::SECCOMP_RET_ALLOW,
                _ => libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            };
            assert_eq!(verdict(&program, number), expected, "{number}");
        }
    }

    #[test]
    fn the_filters_are_programs_that_the_kernel_could_load() {
        for filter in filters().unwrap() {
            assert!(filter.len().is_multiple_of(8) && filter.len() / 8 < 4_096, "{}", filter.len());
        }
        let profile = docker_profile();
        assert_eq!(profile["defaultAction"], "SCMP_ACT_ERRNO");
    }
}

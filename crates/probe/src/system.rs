//! Bare system calls, and how their results are told.

#![expect(unsafe_code, reason = "the program's purpose is to make system calls that no library makes")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]

use std::io::Write as _;

use libc::{c_int, c_long};

/// What a call said: its answer, or an error number.
pub(crate) type Outcome = Result<c_long, c_int>;

/// A system call by number. The caller sees to it that pointers among the arguments are good, or are meant to be bad.
pub(crate) fn call(number: c_long, arguments: [c_long; 6]) -> Outcome {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the callers of this program pass static strings, locals that outlive the call, and plain numbers.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer < 0 { Err(last_error()) } else { Ok(answer) }
}

pub(crate) fn last_error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(-1)
}

/// An address as an argument.
pub(crate) fn at<T: ?Sized>(value: &T) -> c_long {
    std::ptr::from_ref(value).cast::<u8>() as c_long
}

/// Tells one result.
pub(crate) fn tell(name: &str, outcome: Outcome) {
    let text = match outcome {
        Ok(_) => "ok".to_owned(),
        Err(errno) => name_of(errno),
    };
    println!("{name} {text}");
}

/// Does it in a child, since what succeeds would change everything that comes after.
pub(crate) fn tell_apart(name: &str, attempt: impl FnOnce() -> Outcome) {
    let _ = std::io::stdout().flush();
    // SAFETY: this program has one thread wherever it does this.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let status = match attempt() {
            Ok(_) => 0,
            Err(errno) => errno.clamp(1, 255),
        };
        // SAFETY: ends the child at once, without what the parent has buffered.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    let text = match () {
        () if child < 0 => "no child".to_owned(),
        () if libc::WIFSIGNALED(status) => format!("signal {}", libc::WTERMSIG(status)),
        () if libc::WEXITSTATUS(status) == 0 => "ok".to_owned(),
        () => name_of(libc::WEXITSTATUS(status)),
    };
    println!("{name} {text}");
}

fn name_of(errno: c_int) -> String {
    let name = match errno {
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::ESRCH => "ESRCH",
        libc::EACCES => "EACCES",
        libc::EFAULT => "EFAULT",
        libc::ENODEV => "ENODEV",
        libc::EINVAL => "EINVAL",
        libc::EBADF => "EBADF",
        libc::EBUSY => "EBUSY",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::ENOSPC => "ENOSPC",
        libc::EROFS => "EROFS",
        libc::ENOSYS => "ENOSYS",
        libc::ENOKEY => "ENOKEY",
        libc::ENOTTY => "ENOTTY",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        libc::ECONNREFUSED => "ECONNREFUSED",
        libc::ENETUNREACH => "ENETUNREACH",
        libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EFBIG => "EFBIG",
        other => return format!("error {other}"),
    };
    name.to_owned()
}

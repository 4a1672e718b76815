//! What can be seen and opened from where the program stands (sec/S01, S02, S04, S05, S07, S21, B14).

#![expect(unsafe_code, reason = "descriptors and terminals are looked at by bare calls")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]

use std::fs::OpenOptions;
use std::io::Read as _;

use libc::c_long;

use crate::system::{at, call, tell};

pub(crate) fn identity() {
    // SAFETY: asks for numbers.
    let (user, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    println!("user {user}\neffective_user {effective}");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines() {
        let (name, value) = line.split_once(':').unwrap_or_default();
        if ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"].contains(&name) {
            println!("{name} {}", value.trim());
        }
    }
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    println!("uid_map {}", map.split_whitespace().collect::<Vec<_>>().join(" "));
}

/// All that are open, not only those that `/proc` would show.
pub(crate) fn descriptors() {
    let is_open = |number: &i32| {
        // SAFETY: asks about a number.
        unsafe { libc::fcntl(*number, libc::F_GETFD) >= 0 }
    };
    let open: Vec<String> = (0..4_096).filter(is_open).map(|number| number.to_string()).collect();
    println!("{}", open.join(" "));
}

pub(crate) fn open_for_writing(paths: &[&str]) {
    for path in paths {
        let opened = OpenOptions::new().write(true).open(path);
        tell(path, opened.map(|_| 0).map_err(|error| error.raw_os_error().unwrap_or(-1)));
    }
}

/// Puts a letter into the input of the terminal at standard input, as if somebody had typed it.
pub(crate) fn terminal() {
    const STI: c_long = 0x5412;
    const LINUX: c_long = 0x541C;
    let (letter, paste) = (b'Z', [3_u8, 0]);
    let mut settings = [0_u8; 64];
    let settings = std::ptr::from_mut(&mut settings) as c_long;
    for (name, request, argument) in [("sti", STI, at(&letter)), ("linux", LINUX, at(&paste))] {
        for (suffix, high) in [("", 0), ("_high", 1 << 32), ("_all_high", !0xffff_ffff)] {
            tell(&format!("{name}{suffix}"), call(libc::SYS_ioctl, [0, request | high, argument, 0, 0, 0]));
        }
    }
    // So that a test knows that there was one.
    tell("is_terminal", call(libc::SYS_ioctl, [0, 0x5401, settings, 0, 0, 0]));
}

/// A limit of 0 has the host's handler for core dumps run, where it has one; any way to get there from 1 is an attack.
pub(crate) fn cores() {
    const CORE: c_long = libc::RLIMIT_CORE as c_long;
    let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 1 };
    let everything = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    let me = c_long::from(std::process::id());
    for (name, limit) in [("nothing", at(&nothing)), ("everything", at(&everything))] {
        for (suffix, core) in [("", CORE), ("_high", CORE | 1 << 32)] {
            let set = [
                ("setrlimit", libc::SYS_setrlimit, [core, limit, 0, 0, 0, 0]),
                ("prlimit", libc::SYS_prlimit64, [0, core, limit, 0, 0, 0]),
                ("prlimit_of_number", libc::SYS_prlimit64, [me, core, limit, 0, 0, 0]),
            ];
            for (way, number, arguments) in set {
                let _ = call(number, arguments);
                println!("{way}_{name}{suffix} {}", core_limit());
            }
        }
    }
}

/// Soft and hard.
fn core_limit() -> String {
    let mut now = libc::rlimit { rlim_cur: 7, rlim_max: 7 };
    // SAFETY: fills the structure it is given.
    unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut now) };
    format!("{} {}", now.rlim_cur, now.rlim_max)
}

/// The text on standard input is looked for as it is and as others write it.
pub(crate) fn secrets() {
    let mut text = String::new();
    let _ = std::io::stdin().read_to_string(&mut text);
    let needle = text.trim();
    let reversed: String = needle.chars().rev().collect();
    let hexadecimal: String = needle.bytes().map(|byte| format!("{byte:02x}")).collect();
    let me = std::process::id().to_string();
    let (mut looked, mut hits) = (0, 0);
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        // Its own memory holds what it looks for.
        if name.to_string_lossy() == me || name.to_string_lossy().ends_with("self") {
            continue;
        }
        for file in ["environ", "cmdline", "auxv", "comm", "maps", "mountinfo", "task/1/environ"] {
            let Ok(bytes) = std::fs::read(entry.path().join(file)) else {
                continue;
            };
            looked += 1;
            let text = String::from_utf8_lossy(&bytes);
            if [needle, &reversed, &hexadecimal].iter().any(|form| text.contains(form)) {
                hits += 1;
                println!("hit {}/{file}", name.to_string_lossy());
            }
        }
    }
    println!("looked {looked}\nhits {hits}");
}

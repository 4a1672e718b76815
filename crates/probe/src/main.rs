//! What a hostile program in a box would try, as a static program: the tests of the security cases run it inside a box,
//! and outside of one as their control.
//!
//! ```text
//!   warren-probe primitives            52 dangerous calls, each in a child of its own: `name result`
//!   warren-probe namespaces | sockets | foreign | terminal | descriptors | identity
//!   warren-probe open PATH…            open for writing, write nothing
//!   warren-probe connect ADDRESS…      tcp:HOST:PORT, udp:HOST:PORT, icmp:HOST, unix:PATH, abstract:NAME
//!   warren-probe secrets               looks for what stdin holds in what /proc shows of other processes
//!   warren-probe fill KIND MEGABYTES   private, shared, file:PATH, anonymous
//!   warren-probe crowd KIND COUNT      processes, threads, daemons, dead
//!   warren-probe hold PROCESS          stops and traces a process
//!   warren-probe forge PROCESS         asks it to end, by signals that claim to come from outside
//!   warren-probe ipc make|find KEY     System V and POSIX objects
//!   warren-probe execute-memory        a copy of itself that is in no file
//!   warren-probe listen ADDRESS        unix:PATH or abstract:NAME; hands its working directory to whoever comes
//!   warren-probe take ADDRESS          connects there, and lists the directory that it is handed
//!   warren-probe map PATH              maps a file, makes it shorter, and reads on
//!   warren-probe cores                 sets how large a core file may be, in every way, and tells what it is then
//!   warren-probe steal NAME MS [end]   descriptors, memory and variables of processes of that name, as they come
//!   warren-probe reserve PATH MB       space beyond the end of a file, which stays empty
//!   warren-probe allocate PATH MB      space without writing, by each call that could
//!   warren-probe hide KIND MB COUNT    deleted files: open, mapped, in-flight, of-a-thread, in-a-rule, handed-on,
//!                                      unaccepted; or folders: folder, working-folder
//! ```
//!
//! A result is `ok`, the name of an error, or `signal N`. Arguments are chosen so that a call that is allowed does
//! nothing: the control runs the same calls as root.

#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
mod descriptor_passing;
#[cfg(target_os = "linux")]
mod foreign_calls;
#[cfg(target_os = "linux")]
mod hidden_files;
#[cfg(target_os = "linux")]
mod many_processes;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod primitives;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod theft;
#[cfg(target_os = "linux")]
mod visibility;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["primitives"] => primitives::all(),
        ["namespaces"] => primitives::namespaces(),
        ["sockets"] => primitives::sockets(),
        ["foreign"] => foreign_calls::calls(),
        ["terminal"] => visibility::terminal(),
        ["cores"] => visibility::cores(),
        ["descriptors"] => visibility::descriptors(),
        ["identity"] => visibility::identity(),
        ["secrets"] => visibility::secrets(),
        ["open", ref paths @ ..] => visibility::open_for_writing(paths),
        ["connect", ref addresses @ ..] => connections::connect(addresses),
        ["listen", address] => descriptor_passing::listen(address),
        ["take", address] => descriptor_passing::take(address),
        ["map", path] => memory::map_and_shorten(path),
        ["reserve", path, megabytes] => memory::reserve(path, number(megabytes)),
        ["allocate", path, megabytes] => hidden_files::allocate(path, number(megabytes)),
        ["hide", kind, megabytes, pieces] => hidden_files::hide(kind, number(megabytes), number(pieces)),
        ["ipc", verb, key] => connections::ipc(verb, key),
        ["fill", kind, megabytes] => memory::fill(kind, number(megabytes)),
        ["execute-memory"] => memory::execute(),
        ["crowd", kind, count] => many_processes::gather(kind, number(count)),
        ["forge", process] => many_processes::forge(number(process)),
        ["steal", name, milliseconds] => theft::steal(name, number(milliseconds), false),
        ["steal", name, milliseconds, "end"] => theft::steal(name, number(milliseconds), true),
        ["hold", process] => many_processes::hold(number(process)),
        _ => return std::process::ExitCode::from(2),
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn number(word: &str) -> usize {
    word.parse().unwrap_or_default()
}

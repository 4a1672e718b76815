//! Process 1 of a box: starts commands on request, and ends them with all their children (W77).
//!
//! ```text
//!   warren-init --channel fd:3 --root /workspace
//! ```
//!
//! One thread and one `epoll`. Everything a box's programs can make it wait for is bounded or not waited for.

#[cfg(target_os = "linux")]
mod program;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    program::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}

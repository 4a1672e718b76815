//! `sandbox`: files and commands in a box that the kernel keeps shut, by bubblewrap (W72). No network, no host files
//! but the system's own, no privileges, limits on memory, processors, processes and files; a user of its own where
//! Warren is root.
//!
//! ```text
//!   <base>/<workspace id>/    one workspace's files, owned by the box's user
//!   <base>/.box/              what every box is given: an /etc of our own, with process 1 in it
//!   <base>/.pool-…/           files of boxes that wait for a workspace (`pool`)
//!   <base>/.staging, .trash   see `confined_fs::Staging`
//!
//!   open ─▶ backend (found and checked) ─▶ arguments ─▶ launch ─▶ live_box ─▶ workspace
//!                                cgroup, mount_namespace ─────┘
//! ```
//!
//! The box is entered once, when it is opened; a command is a fork of its process 1.

mod arguments;
mod backend;
mod box_etc;
mod cgroup;
mod launch;
mod live_box;
mod mount_namespace;
mod pool;
mod provider;
mod workspace;

pub use backend::{Bubblewrap, Version};
pub use provider::{SandboxProvider, SandboxSettings, find_bubblewrap};

fn warren_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

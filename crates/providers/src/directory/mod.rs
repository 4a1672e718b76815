//! The `fs` module over a host directory, for every provider that keeps a workspace's files in one.
//!
//! ```text
//!   local ────┐                                     ┌── Root     a handle; paths resolve in the kernel, beneath it
//!   sandbox ──┼──▶ DirectoryFs ──▶ OpenDirectory ───┼── Staging  where things are made before they appear
//!   docker ───┘    (the Fs trait)                   └── Owner    to whom everything made in it belongs
//! ```
//!
//! A program in the workspace may rename, link and replace everything in the tree while we work, and Warren may be root
//! there. `confined-fs` has the means against that; this module puts them together: what is made for another uid is made
//! in staging, given away there through its handle, and then renamed into place. Until that rename nobody else can reach
//! it; after it we do not touch it again.
//!
//! Surprise: an `OpenDirectory` without an owner changes no ownership at all, and needs no privilege.

pub mod errno;
mod files;
mod find;
mod listing;
mod open_directory;
mod read;
mod tree;
mod walk;
mod watch;
mod write;

use std::path::Path;

use rustix::io::Errno;
use warren_confined_fs::Staging;
use warren_model::ErrorCode;
use warren_workspace::Error;

pub use files::DirectoryFs;
pub use open_directory::{FileLimits, OpenDirectory, SpaceCheck};
pub use tree::working_directory;
pub use write::open_emptied;

/// The staging of one provider's folder; see `confined_fs::Staging`.
pub(crate) fn open_staging(base: &Path, instance: String) -> Result<Staging, Errno> {
    Staging::open(base, instance, |errno| {
        tracing::warn!(%errno, "a temp file could not be deleted; the next sweep will");
    })
}

/// Runs what may block on the threads that are for it.
pub async fn blocking<T: Send + 'static>(
    operation: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(operation).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "an operation panicked or the runtime is ending");
            Err(Error::operation(ErrorCode::Internal, "the operation did not finish"))
        }
    }
}

//! Open files: a server needs more than a login shell is given.
//!
//! The usual soft limit of 1,024 is there for old programs that use `select`. A thousand slow connections would take
//! every descriptor, and no file or process could be opened any more. So the soft limit is raised to the hard one at
//! start; commands get the usual one back (see `providers`).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What files, processes and the database need beside connections.
const RESERVED: u64 = 256;

/// Raises the limit and answers how many connections there is room for; `None` where nothing limits them.
pub(super) fn make_room() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
    {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    getrlimit(Resource::Nofile).current.map(|current| current.saturating_sub(RESERVED).max(1))
}

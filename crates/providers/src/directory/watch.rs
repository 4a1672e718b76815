//! Changes below a directory, as a stream.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use rustix::io::Errno;
use tokio::io::Interest;
use warren_confined_fs::{TreeChange, TreeWatch};
use warren_model::ErrorCode;
use warren_workspace::fs::{Change, ChangeStream};
use warren_workspace::{Error, WorkspacePath};

use super::open_directory::OpenDirectory;
use crate::readiness::register;

/// Sets the watches, on the calling thread; the stream then reads without blocking.
pub(super) fn watch(place: &Arc<OpenDirectory>, path: &WorkspacePath) -> Result<Watching, Error> {
    match TreeWatch::new(&place.root, path.as_str().as_bytes()) {
        Ok(tree) => Ok(Watching { place: Arc::clone(place), tree }),
        Err(Errno::NOSPC) => Err(Error::operation(
            ErrorCode::TooManyRequests,
            format!("{path} has more directories than can be watched at once"),
        )),
        Err(errno) => Err(place.failure(errno, path)),
    }
}

#[derive(Debug)]
pub(super) struct Watching {
    place: Arc<OpenDirectory>,
    tree: TreeWatch,
}

impl Watching {
    /// Must be called within the runtime: the queue is registered with it.
    pub(super) fn into_stream(self) -> Result<ChangeStream, Error> {
        // The clone shares the kernel's queue: one is waited on, the other is read.
        let queue = self
            .tree
            .queue()
            .try_clone()
            .and_then(|queue| register(queue, Interest::READABLE))
            .map_err(|error| super::errno::io_operation(&error, &WorkspacePath::root()))?;
        let state = (queue, self);
        Ok(stream::unfold(state, |(queue, mut watching)| async move {
            loop {
                if let Some(change) = watching.tree.next_change() {
                    return Some((Ok(shown(change)), (queue, watching)));
                }
                watching.place.check_open().ok()?;
                let place = Arc::clone(&watching.place);
                let mut ready = tokio::select! {
                    () = place.closed() => return None,
                    ready = queue.readable() => ready.ok()?,
                };
                // On a thread that may block: a new directory is walked, and after a flood the whole tree.
                let read = super::blocking(move || {
                    let is_empty = watching.read();
                    Ok((watching, is_empty))
                });
                let is_empty;
                (watching, is_empty) = read.await.ok()?;
                if is_empty {
                    ready.clear_ready();
                }
            }
        })
        .boxed())
    }

    fn read(&mut self) -> bool {
        let is_empty = self.tree.read(&self.place.root);
        if let Some(errno) = self.tree.take_failure() {
            tracing::warn!(%errno, "a directory could not be watched");
        }
        is_empty
    }
}

fn shown(change: TreeChange) -> Change {
    let text = |path: Vec<u8>| String::from_utf8_lossy(&path).into_owned();
    match change {
        TreeChange::Created(path) => Change::Created(text(path)),
        TreeChange::Modified(path) => Change::Modified(text(path)),
        TreeChange::Removed(path) => Change::Removed(text(path)),
        TreeChange::Lagged => Change::Lagged,
    }
}

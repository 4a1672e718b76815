//! Moves the log into the file while the writer goes on.
//!
//! SQLite does this within a commit, when the log has grown: whoever commits then waits for thousands of pages and two
//! fsyncs, and everybody behind them. Here another thread moves what is in the log, and the writer only what came meanwhile:
//! after that the log can begin anew. Should that thread fall behind, SQLite still does it by itself (`wal_autocheckpoint`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

/// Rows that are changed before the log is worth moving: each is a page or two.
const ROWS: u64 = 2_000;
const MOVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";

#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Absent where there is no thread: then SQLite is left to itself.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    has_moved: Arc<AtomicBool>,
    /// How many rows had been changed when the log was last found to be worth moving.
    rows_then: u64,
}

impl Checkpoints {
    pub(super) fn start(connection: Connection) -> Self {
        // One request may wait while another is served.
        let (wake, requests) = sync_channel::<()>(1);
        let has_moved = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&has_moved);
        let work = move || {
            while requests.recv().is_ok() {
                move_log(&connection);
                tell.store(true, Ordering::Release);
            }
        };
        let thread = std::thread::Builder::new().name("warren-sqlite-checkpoints".into()).spawn(work);
        let wake = thread.is_ok().then_some(wake);
        Self { wake, thread: thread.ok(), has_moved, rows_then: 0 }
    }

    /// For a database that is not worth a thread.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { wake: None, thread: None, has_moved: Arc::default(), rows_then: 0 }
    }

    /// After a commit of the writer, whose connection this is.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let Some(wake) = &self.wake else { return };
        let rows = writer.total_changes();
        if rows - self.rows_then >= ROWS {
            self.rows_then = rows;
            if let Err(TrySendError::Disconnected(())) = wake.try_send(()) {
                self.wake = None;
            }
        }
        if self.has_moved.swap(false, Ordering::Acquire) {
            move_log(writer);
        }
    }
}

/// Never waits for anybody: what others still read stays in the log.
fn move_log(connection: &Connection) {
    let moved = connection.prepare_cached(MOVE).and_then(|mut pragma| pragma.query_row([], |_| Ok(())));
    if let Err(error) = moved {
        // What stays in the log is as safe there, and is moved another time.
        tracing::debug!(%error, "the database's log was not moved into its file");
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{SqliteOptions, file};

    // P18: the log is moved by the other thread, and begins anew under a writer that never pauses
    #[test]
    fn the_log_does_not_grow_with_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warren.db");
        let writer = file::open_for_writing(&path, &SqliteOptions::default()).unwrap().connection;
        // Without it, the log would only grow here.
        writer
            .execute_batch(
                "PRAGMA wal_autocheckpoint = 0; CREATE TABLE filler (id INTEGER PRIMARY KEY, words TEXT)",
            )
            .unwrap();
        let other = file::open_for_checkpoints(&path, &SqliteOptions::default()).unwrap();
        let mut checkpoints = Checkpoints::start(other);
        let log = folder.path().join("warren.db-wal");
        let words = "x".repeat(2_000);
        let written = |rows: u32, checkpoints: &mut Checkpoints| {
            for _ in 0..rows {
                writer.execute("INSERT INTO filler (words) VALUES ($1)", [&words]).unwrap();
                checkpoints.after_commit(&writer);
            }
            std::fs::metadata(&log).unwrap().len()
        };
        let first = written(4_000, &mut checkpoints);
        let latest = written(40_000, &mut checkpoints);
        assert!(latest < 6 * first, "{first} bytes after 4,000 rows, {latest} after 44,000");
        drop(checkpoints);
        let rows: u32 = writer.query_row("SELECT count(*) FROM filler", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 44_000);
    }
}

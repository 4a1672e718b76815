//! Those who follow a task. What they are told is a hint that comes fast; the row is the truth, and is read again
//! whenever a hint may have been missed: after a lag, and when another replica did the work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use warren_fleet::Error;
use warren_model::{ErrorCode, Task, TaskId, TaskUpdate, Timestamp};
use warren_store::Store;

use crate::Exchange;

/// Updates that a follower may be behind before it reads the row instead.
const BUFFER: usize = 256;
/// How often the row is looked at while events come that may be about it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
struct Hint {
    version: u64,
    update: TaskUpdate,
}

#[derive(Debug, Default)]
pub(crate) struct Watchers(Mutex<HashMap<TaskId, broadcast::Sender<Arc<Hint>>>>);

impl Watchers {
    /// Tells all who follow this task. A task that has ended is told of for the last time.
    pub(crate) fn tell(&self, task: &Task, update: TaskUpdate) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = open.get(&task.id) else { return };
        // The last word, and not the first of a task that has ended: more may come with it.
        let is_last = ends(&update);
        let _ = sender.send(Arc::new(Hint { version: task.version, update }));
        if is_last || sender.receiver_count() == 0 {
            open.remove(&task.id);
        }
    }

    fn follow(&self, id: TaskId) -> broadcast::Receiver<Arc<Hint>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry(id).or_insert_with(|| broadcast::channel(BUFFER).0).subscribe()
    }

    /// Forgets tasks that nobody follows any more.
    pub(crate) fn clear(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, sender| sender.receiver_count() > 0);
    }
}

/// Follows one task from the moment it was made.
#[derive(Debug)]
pub struct Follower {
    id: TaskId,
    hints: broadcast::Receiver<Arc<Hint>>,
    store: Arc<dyn Store>,
    newest: watch::Receiver<u64>,
    /// The newest version whose updates were handed out.
    seen: u64,
    /// The version at which the row was read last: what was said up to it is in the row.
    read_at: u64,
    has_ended: bool,
}

impl Exchange {
    /// Follows a task. What happened before is in the task that comes with it.
    pub async fn follow(&self, id: TaskId) -> Result<(Task, Follower), Error> {
        // Listening begins before the row is read, so that nothing falls between.
        let hints = self.watchers().follow(id);
        let newest = self.store().newest_event();
        let task = read(&**self.store(), id).await?;
        let has_ended = task.state.is_final();
        let follower = Follower {
            id,
            hints,
            store: Arc::clone(self.store()),
            newest,
            seen: task.version,
            read_at: task.version,
            has_ended,
        };
        Ok((task, follower))
    }

    /// Waits until the task has ended or its agent waits for more; no longer than until then.
    pub async fn settled(&self, id: TaskId, until: Option<Timestamp>) -> Result<Task, Error> {
        let (task, mut follower) = self.follow(id).await?;
        if task.state.is_final() || task.state.is_interrupted() {
            return Ok(task);
        }
        let waiting = async {
            while let Some(update) = follower.next().await? {
                let state = warren_rules::dispatch::state_of(&update);
                if state.is_some_and(|state| state.is_final() || state.is_interrupted()) {
                    break;
                }
            }
            read(&**self.store(), id).await
        };
        match until.map(|until| until.ms_since(self.clock().now()).max(0).unsigned_abs()) {
            None => waiting.await,
            Some(ms) => match tokio::time::timeout(Duration::from_millis(ms), waiting).await {
                Ok(settled) => settled,
                Err(_) => read(&**self.store(), id).await,
            },
        }
    }
}

async fn read(store: &dyn Store, id: TaskId) -> Result<Task, Error> {
    let task = store.read(move |tx| tx.task(id).map_err(Error::from)).await?;
    task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))
}

impl Follower {
    /// The next thing that happened; `None` once the task has ended and all was told.
    pub async fn next(&mut self) -> Result<Option<TaskUpdate>, Error> {
        // Any event may be about this task, written by another replica. Hints of this process come long before the look.
        let mut look = std::pin::pin!(None::<tokio::time::Sleep>);
        loop {
            if self.has_ended {
                return Ok(None);
            }
            tokio::select! {
                biased;
                hint = self.hints.recv() => match hint {
                    Ok(hint) if hint.version < self.seen || hint.version <= self.read_at => {}
                    Ok(hint) => {
                        self.seen = hint.version;
                        self.has_ended = ends(&hint.update);
                        return Ok(Some(hint.update.clone()));
                    }
                    Err(_) => {
                        self.hints = self.hints.resubscribe();
                        if let Some(update) = self.look().await? {
                            return Ok(Some(update));
                        }
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                },
                changed = self.newest.changed(), if look.is_none() => {
                    if changed.is_err() {
                        return Ok(None);
                    }
                    look.set(Some(tokio::time::sleep(LOOK_AGAIN)));
                }
                () = async {
                    match look.as_mut().as_pin_mut() {
                        Some(look) => look.await,
                        None => std::future::pending().await,
                    }
                } => {
                    look.set(None);
                    if let Some(update) = self.look().await? {
                        return Ok(Some(update));
                    }
                }
            }
        }
    }

    /// Reads the row; what changed in it unnoticed is told as one update.
    async fn look(&mut self) -> Result<Option<TaskUpdate>, Error> {
        let task = read(&*self.store, self.id).await?;
        // An end is told even if a piece of the same version was: its own hint may be the one that was missed.
        if task.version <= self.seen && !task.state.is_final() {
            return Ok(None);
        }
        self.seen = task.version;
        self.read_at = task.version;
        self.has_ended = task.state.is_final();
        Ok(Some(TaskUpdate::Status { state: task.state, message: task.status_message, at: task.updated_at }))
    }
}

fn ends(update: &TaskUpdate) -> bool {
    warren_rules::dispatch::state_of(update).is_some_and(warren_model::TaskState::is_final)
}
